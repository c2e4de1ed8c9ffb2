// Finds a layer or a view by a few letters of its name: "/" opens it, Enter goes there.
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
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

interface Search {
  all: Target[];
  found: Target[];
  chosen: number;
}

const NOTHING: Search = { all: [], found: [], chosen: 0 };

/**
 * Opens, searches and goes. Keys can come faster than the page is drawn: each is answered from the search
 * as it stands, never from what was drawn last, and the input is there from the start to take them.
 */
function useSearch(targets: () => Target[]) {
  const [open, setOpen] = useState(false);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const search = useRef(NOTHING);
  const change = (next: Search) => {
    search.current = next;
    redraw(undefined);
  };
  const type = (letters: string) => {
    const { all } = search.current;
    change({ all, found: find(all, letters), chosen: 0 });
  };
  const show = () => {
    search.current = { ...NOTHING, all: targets() };
    type("");
    box.current!.hidden = false;
    input.current!.focus();
    setOpen(true);
  };
  const close = () => {
    input.current!.value = "";
    input.current!.blur();
    box.current!.hidden = true;
    change(NOTHING);
    setOpen(false);
  };
  const choose = (step: number) => {
    const { all, found, chosen } = search.current;
    if (found.length > 0) change({ all, found, chosen: (chosen + step + found.length) % found.length });
  };
  const pick = (target: Target | undefined) => {
    close();
    target?.go();
  };
  return { open, box, input, search, type, show, close, choose, pick };
}

export function Finder({ what, targets }: { what: string; targets: () => Target[] }) {
  const { open, box, input, search, type, show, close, choose, pick } = useSearch(targets);
  const { found, chosen } = search.current;
  // Before the page can be seen, so that no key is too early.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      event.preventDefault();
      show();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [targets]);
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(step);
    else if (event.key === "Enter") pick(search.current.found[search.current.chosen]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  return (
    <>
      <button type="button" class="finder-button" hidden={open} onClick={show}>
        {what} <kbd>/</kbd>
      </button>
      <div ref={box} class="finder" role="dialog" aria-label="Find a layer or a view" hidden={!open}>
        <input
          ref={input}
          type="search"
          role="combobox"
          aria-expanded="true"
          aria-controls="finder-list"
          aria-activedescendant={found.length > 0 ? `finder-${chosen}` : undefined}
          aria-label="Letters of a layer's name"
          placeholder="Letters of a layer's name: l10c finds layer1.0.conv1"
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={onKey}
          onBlur={close}
        />
        <div id="finder-list" role="listbox" aria-label="Found">
          {found.map((target, i) => (
            <div id={`finder-${i}`} role="option" aria-selected={i === chosen} onPointerDown={() => pick(target)}>
              {name(target.title, 120)} <span class="soft">{target.kind}</span>
            </div>
          ))}
        </div>
      </div>
    </>
  );
}
