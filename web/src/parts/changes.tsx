// Amounts before and after: as two bars each, or as their difference to both sides of zero.
import { name } from "../format";
import { series } from "../palette";

export interface Change {
  label: string;
  before: number;
  after: number;
}

/** Blue before and for less, orange after and for more. */
const BEFORE = 0;
const AFTER = 1;

export function signed(value: number, show: (value: number) => string): string {
  return value === 0 ? "0" : `${value > 0 ? "+" : "−"}${show(Math.abs(value))}`;
}

/** "+12 %" of what was before. */
export function ratio(before: number, after: number): string {
  if (before === 0) return after === 0 ? "" : "new";
  if (after === 0) return "gone";
  const change = (after / before - 1) * 100;
  if (Math.abs(change) < 0.05) return "same";
  if (Math.abs(change) >= 1000) return `× ${(after / before).toPrecision(3)}`;
  return `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(Math.abs(change) < 10 ? 1 : 0)}\u00a0%`;
}

interface ChangesProps {
  rows: Change[];
  show: (value: number) => string;
  sideBySide: boolean;
}

function Row({ row, show, sideBySide, most }: { row: Change; show: (value: number) => string; sideBySide: boolean; most: number }) {
  const change = row.after - row.before;
  const width = (value: number) => `${(Math.abs(value) / most) * 100}%`;
  return (
    <div role="listitem" class="contents">
      <span class="what">{name(row.label, 120)}</span>
      {sideBySide ? (
        <span class="bar pair" aria-hidden="true">
          <i style={{ left: "0", width: width(row.before), background: series(BEFORE) }} />
          <i style={{ left: "0", width: width(row.after), background: series(AFTER) }} />
        </span>
      ) : (
        <span class="bar" aria-hidden="true">
          <b />
          <i
            hidden={change === 0}
            style={{
              left: `${50 - (change < 0 ? (Math.abs(change) / most) * 50 : 0)}%`,
              width: `${(Math.abs(change) / most) * 50}%`,
              background: series(change < 0 ? BEFORE : AFTER),
            }}
          />
        </span>
      )}
      <span class="value">
        {sideBySide ? `${show(row.before)} → ${show(row.after)}` : signed(change, show)} <span class="soft">{ratio(row.before, row.after)}</span>
      </span>
    </div>
  );
}

export function Changes({ rows, show, sideBySide }: ChangesProps) {
  const most = Math.max(...rows.map((row) => (sideBySide ? Math.max(row.before, row.after) : Math.abs(row.after - row.before))), 1e-12);
  return (
    <div class="changes" role="list">
      {rows.map((row) => (
        <Row row={row} show={show} sideBySide={sideBySide} most={most} />
      ))}
    </div>
  );
}

export function ChangeModes({ sideBySide, onChoose }: { sideBySide: boolean; onChoose: (sideBySide: boolean) => void }) {
  return (
    <>
      <button type="button" aria-pressed={!sideBySide} onClick={() => onChoose(false)}>
        Difference
      </button>
      <button type="button" aria-pressed={sideBySide} onClick={() => onChoose(true)}>
        Side by side
      </button>
      <span class="keys" aria-hidden="true">
        <i style={{ background: series(BEFORE) }} /> {sideBySide ? "before" : "less"} <i style={{ background: series(AFTER) }} /> {sideBySide ? "after" : "more"}
      </span>
    </>
  );
}
