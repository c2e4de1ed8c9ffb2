// Warnings above a headline: one box, the first ones in full, the others on request.
import type { ComponentChildren } from "preact";
import { name, upperFirst } from "../format";

const MOST_OPEN = 2;

export function Warnings({ texts }: { texts: string[] }) {
  const shown = texts.filter(Boolean);
  if (shown.length === 0) return null;
  const lines = (from: string[]) => from.map((text) => <p>{upperFirst(name(text, 500))}</p>);
  const rest = shown.slice(MOST_OPEN);
  return (
    <div class="warning" role="note" aria-label="Warnings">
      {lines(shown.slice(0, MOST_OPEN))}
      {rest.length > 0 && (
        <details>
          <summary>
            {rest.length} more {rest.length === 1 ? "warning" : "warnings"}
          </summary>
          {lines(rest)}
        </details>
      )}
    </div>
  );
}

/** A name that may break after its dots, slashes and underscores, and not inside of a word. */
export function Breakable({ text }: { text: string }) {
  const parts: ComponentChildren[] = [];
  for (const piece of text.split(/(?<=[._/,:<])(?=\w)/)) parts.push(piece, <wbr />);
  return <>{parts}</>;
}
