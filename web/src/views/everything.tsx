// Every number of a result: its plain members, and its lists as tables. For any kind of result.
import type { ViewProps } from "../app";
import { count, name } from "../format";
import { Table, type Column } from "../parts/table";

type Row = Record<string, unknown>;

function isTable(value: unknown): value is Row[] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => row !== null && typeof row === "object" && !Array.isArray(row));
}

function plain(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return JSON.stringify(value);
}

/** "layers", "memory.devices", ... of a result, at any depth of objects. */
export function tablesOf(result: Row, prefix = ""): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const [key, value] of Object.entries(result)) {
    if (isTable(value)) found.set(prefix + key, value);
    else if (value !== null && typeof value === "object" && !Array.isArray(value))
      tablesOf(value as Row, `${prefix}${key}.`).forEach((rows, inner) => found.set(inner, rows));
  }
  return found;
}

function columnsOf(rows: Row[]): Column<Row>[] {
  const keys = new Set<string>();
  rows.slice(0, 50).forEach((row) => Object.keys(row).forEach((key) => keys.add(key)));
  return [...keys].map((key) => ({
    title: key,
    value: (row) => plain(row[key]),
    words: rows.slice(0, 50).some((row) => typeof row[key] === "string"),
    show: (row) => {
      const value = plain(row[key]);
      if (value === null) return "–";
      return typeof value === "number" ? (Number.isInteger(value) ? count(value) : value.toPrecision(6)) : name(value, 200);
    },
  }));
}

/** A result that has other views too. */
export function Everything(props: ViewProps) {
  return <Tables {...props} heading="All numbers" />;
}

/** A result that has no other view. */
export function OnlyTables(props: ViewProps) {
  return <Tables {...props} heading={`Result of pyrometer ${name(props.part.kind.replace(".", " "), 40)}`} />;
}

function Tables({ part, place, move, heading }: ViewProps & { heading: string }) {
  const result = part.json<Row>("result");
  const tables = tablesOf(result);
  const names = [...tables.keys()];
  const chosen = place.table && tables.has(place.table) ? place.table : (names[0] ?? "");
  const rows = tables.get(chosen);
  const cut = (result.cut as Record<string, number> | undefined)?.[chosen];
  const single = Object.entries(result).filter(([, value]) => value === null || typeof value !== "object");
  return (
    <>
      <h1>{heading}</h1>
      <p class="under">The result as pyrometer writes it with --format json: {String(result.schema ?? "")}. Names end in their units.</p>
      <section class="details" aria-label="Single values">
        <dl>
          {single.map(([key, value]) => (
            <>
              <dt>{name(key, 60)}</dt>
              <dd>{value === null ? "–" : typeof value === "number" && Number.isInteger(value) ? count(value) : name(String(plain(value)), 400)}</dd>
            </>
          ))}
        </dl>
      </section>
      {names.length > 0 && <div class="tools">
        <label>
          Table{" "}
          <select value={chosen} onChange={(event) => move({ table: event.currentTarget.value })}>
            {names.map((one) => (
              <option value={one}>
                {name(one, 60)} ({tables.get(one)!.length})
              </option>
            ))}
          </select>
        </label>
      </div>}
      {rows && (
        <Table
          key={chosen}
          caption={chosen}
          file={chosen}
          rows={rows}
          columns={columnsOf(rows)}
          searchText={(row) => Object.values(row).join(" ")}
          total={cut}
        />
      )}
    </>
  );
}
