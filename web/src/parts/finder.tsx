// Finds a layer or a view by a few letters of its name: "/" opens it, Enter goes there.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { name } from "../format";

export interface Target {
  title: string;
  kind: string;
  go: () => void;
}

const MOST = 8;

/** Whether all letters occur in this order. */
export function fits(text: string, letters: string): boolean {
  let at = 0;
  for (const letter of letters) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/** Whole words first, then beginnings, then letters anywhere; short names first. */
export function find<T extends { title: string }>(targets: T[], wanted: string): T[] {
  const letters = wanted.toLowerCase().replace(/\s/g, "");
  const rank = (text: string) => (text === letters ? 0 : text.startsWith(letters) ? 1 : text.includes(letters) ? 2 : 3);
  return targets
    .map((target) => ({ target, text: target.title.toLowerCase() }))
    .filter(({ text }) => fits(text, letters))
    .sort((a, b) => rank(a.text) - rank(b.text) || a.text.length - b.text.length || (a.text < b.text ? -1 : 1))
    .slice(0, MOST)
    .map(({ target }) => target);
}

function isTyping(event: KeyboardEvent): boolean {
  const element = event.target as HTMLElement;
  return element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;
}

export function Finder({ what, targets }: { what: string; targets: () => Target[] }) {
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const all = useMemo(() => (open ? targets() : []), [open]);
  const found = useMemo(() => find(all, wanted), [all, wanted]);
  const close = () => {
    setOpen(false);
    setWanted("");
    setChosen(0);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      event.preventDefault();
      setOpen(true);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    if (open) input.current?.focus();
  }, [open]);
  const pick = (target: Target | undefined) => {
    close();
    target?.go();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((chosen + step + Math.max(found.length, 1)) % Math.max(found.length, 1));
    else if (event.key === "Enter") pick(found[chosen]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  if (!open)
    return (
      <button type="button" class="finder-button" onClick={() => setOpen(true)}>
        {what} <kbd>/</kbd>
      </button>
    );
  return (
    <div class="finder" role="dialog" aria-label="Find a layer or a view">
      <input
        ref={input}
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls="finder-list"
        aria-activedescendant={found.length > 0 ? `finder-${chosen}` : undefined}
        aria-label="Letters of a layer's name"
        placeholder="Letters of a layer's name: l10c finds layer1.0.conv1"
        value={wanted}
        onInput={(event) => {
          setWanted(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKey}
        onBlur={() => setTimeout(close, 150)}
      />
      <div id="finder-list" role="listbox" aria-label="Found">
        {found.map((target, i) => (
          <div id={`finder-${i}`} role="option" aria-selected={i === chosen} onPointerDown={() => pick(target)}>
            {name(target.title, 120)} <span class="soft">{target.kind}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
