// A table that sorts by a click on a title, filters, and gives its rows as CSV.
import { options, type ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { name as cleanName } from "../format";

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | null;
  /** How it is shown; `value` decides the order and the CSV. */
  show?: (row: Row) => ComponentChildren;
  words?: boolean;
}

interface TableProps<Row> {
  rows: Row[];
  columns: Column<Row>[];
  caption: string;
  /** Column that the table is sorted by first; the largest numbers come first. */
  sortBy?: number;
  searchText?: (row: Row) => string;
  selected?: (row: Row) => boolean;
  onChoose?: (row: Row) => void;
  /** File name of the CSV, without ".csv". */
  file: string;
  total?: number;
}

/** Rows that are drawn at once; more are asked for by a button. */
const CHUNK = 200;
/** Rows on paper. */
const MOST_PRINTED = 2000;

function csvOf<Row>(rows: Row[], columns: Column<Row>[]): string {
  const quote = (value: string | number | null) => {
    const text = value == null ? "" : String(value);
    // A spreadsheet must not run a name as a formula.
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const lines = [columns.map((column) => quote(column.title)).join(",")];
  for (const row of rows) lines.push(columns.map((column) => quote(column.value(row))).join(","));
  return lines.join("\n") + "\n";
}

function download(text: string, file: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function compare(a: string | number | null, b: string | number | null): number {
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1;
  if (typeof a === "number" && typeof b === "number") return b - a;
  return String(a).localeCompare(String(b));
}

export function Table<Row>(props: TableProps<Row>) {
  const { rows } = props;
  // A column without a single value says nothing.
  const columns = useMemo(() => props.columns.filter((column) => rows.length === 0 || rows.some((row) => column.value(row) != null)), [rows, props.columns]);
  const [order, setOrder] = useState({ column: props.sortBy == null ? -1 : columns.indexOf(props.columns[props.sortBy]), reversed: false });
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(CHUNK);
  useEffect(() => {
    const printed = () => {
      // The browser prints right after this event: the rows must be there at once.
      const later = options.debounceRendering;
      options.debounceRendering = (renderNow) => renderNow();
      setLimit((before) => Math.max(before, MOST_PRINTED));
      options.debounceRendering = later;
    };
    window.addEventListener("beforeprint", printed);
    return () => window.removeEventListener("beforeprint", printed);
  }, []);
  const shown = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    let chosen = rows;
    if (wanted && props.searchText)
      chosen = rows.filter((row) => props.searchText!(row).toLowerCase().includes(wanted));
    if (order.column >= 0) {
      const column = columns[order.column];
      const sign = order.reversed ? -1 : 1;
      chosen = [...chosen].sort((a, b) => sign * compare(column.value(a), column.value(b)));
    }
    return chosen;
  }, [rows, columns, search, order]);

  return (
    <div class="table">
      <div class="tools">
        {props.searchText && (
          <input
            type="search"
            placeholder="Search"
            aria-label={`Search ${props.caption}`}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <span class="soft">
          {shown.length === rows.length ? `${rows.length} ${rows.length === 1 ? "row" : "rows"}` : `${shown.length} of ${rows.length} rows`}
          {props.total && props.total > rows.length ? `; the file has ${props.total}` : ""}
        </span>
        <button type="button" onClick={() => download(csvOf(shown, columns), `${props.file}.csv`)}>
          CSV
        </button>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={props.caption}>
        <table>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th
                  class={column.words ? "words" : ""}
                  scope="col"
                  aria-sort={order.column !== i ? "none" : order.reversed ? "ascending" : "descending"}
                >
                  <button
                    type="button"
                    onClick={() => setOrder({ column: i, reversed: order.column === i && !order.reversed })}
                  >
                    {column.title}
                    {order.column === i ? (order.reversed ? " ▴" : " ▾") : ""}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, limit).map((row) => (
              <tr
                aria-selected={props.selected?.(row) ? "true" : undefined}
                onClick={props.onChoose && (() => props.onChoose!(row))}
              >
                {columns.map((column) => (
                  <td class={column.words ? "words" : ""}>
                    {column.show ? column.show(row) : showValue(column.value(row))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length > limit && (
        <button type="button" onClick={() => setLimit(limit * 4)}>
          Show more rows
        </button>
      )}
    </div>
  );
}

function showValue(value: string | number | null): string {
  if (value == null) return "–";
  return typeof value === "string" ? cleanName(value, 300) : String(value);
}
