// Amounts of one total as bars, each with its number, its share and a note.
import { name, share } from "../format";
import { series } from "../palette";

export interface Bar {
  title: string;
  value: number;
  text: string;
  note: string;
  colour: number;
}

/** Bars of one total. */
export function Bars({ rows, total }: { rows: Bar[]; total: number }) {
  return (
    <div class="waterfall" role="list">
      {rows.map((row) => (
        <div role="listitem" class="contents">
          <span>{name(row.title, 60)}</span>
          <span class="bar" aria-hidden="true">
            <i style={{ left: "0", width: `${(row.value / (total || 1)) * 100}%`, background: series(row.colour) }} />
          </span>
          <span class="value">
            {row.text} <span class="soft">{share(row.value / (total || 1))}</span>
          </span>
          <span class="note">{row.note}</span>
        </div>
      ))}
    </div>
  );
}
