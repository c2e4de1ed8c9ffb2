// Two runs or two models: what changed, side by side and as the difference.
import { useState } from "preact/hooks";
import type { ViewProps } from "../app";
import type { Part } from "../data/container";
import type { TraceResult } from "../data/trace";
import { amount, bytes, count, name, time } from "../format";
import { ChangeModes, Changes, ratio, signed, type Change } from "../parts/changes";
import { Table } from "../parts/table";
import { account, causeTitle } from "./answer";

const MOST_BARS = 20;

function fileName(part: Part | undefined, otherwise: string): string {
  return part ? name(part.name.slice(part.name.lastIndexOf("/") + 1), 100) : otherwise;
}

function Numbers({ rows }: { rows: { title: string; before: number; after: number; show: (value: number) => string }[] }) {
  return (
    <div class="numbers">
      {rows.map((row) => (
        <div>
          <b>{ratio(row.before, row.after) || "0"}</b>
          <span>
            {row.title}: {row.show(row.before)} → {row.show(row.after)}
          </span>
        </div>
      ))}
    </div>
  );
}

function units(number: number, unit: string): string {
  return `${count(number)} ${unit}${number === 1 ? "" : unit === "pass" ? "es" : "s"}`;
}

interface TraceChange {
  name: string;
  short_name: string;
  before_name: string | null;
  kind: string;
  before_ns: number;
  after_ns: number;
  change_ns: number;
  before_calls: number;
  after_calls: number;
}

interface TraceDiff {
  unit: string;
  units_before: number;
  units_after: number;
  clock: string;
  span_ns_before: number;
  span_ns_after: number;
  device_busy_ns_before: number;
  device_busy_ns_after: number;
  layers: TraceChange[];
  ops: TraceChange[];
  kernels: TraceChange[];
}

const TABLES = { layers: "Layers", ops: "Ops", kernels: "Kernels" } as const;

/** Causes of both runs, per step. */
function causesOf(sides: Part[]): Change[] {
  const [before, after] = sides.map((side) => {
    const trace = side.json<TraceResult>("result");
    const steps = Math.max(trace.steps.length, 1);
    return new Map(account(trace).map((part) => [part.cause, part.ns / steps]));
  });
  const causes = [...new Set([...before.keys(), ...after.keys()])];
  return causes.map((cause) => ({ label: causeTitle(cause), before: before.get(cause) ?? 0, after: after.get(cause) ?? 0 }));
}

export function TraceDiffView({ part, place, move }: ViewProps) {
  const diff = part.json<TraceDiff>("result");
  const known = (Object.keys(TABLES) as (keyof typeof TABLES)[]).filter((table) => diff[table].length > 0);
  const table = known.find((one) => one === place.table) ?? known[0] ?? "ops";
  const [sideBySide, setSideBySide] = useState(false);
  const rows = diff[table];
  const change = diff.span_ns_after - diff.span_ns_before;
  const bars = [...rows].filter((row) => row.change_ns !== 0).sort((a, b) => Math.abs(b.change_ns) - Math.abs(a.change_ns)).slice(0, MOST_BARS);
  const causes = part.sides.length === 2 ? causesOf(part.sides) : [];
  const longer = Math.abs(change) / (diff.span_ns_before || 1) < 0.005 ? "as long as before" : `${time(Math.abs(change))} (${ratio(diff.span_ns_before, diff.span_ns_after)}) ${change > 0 ? "longer" : "shorter"} than before`;
  return (
    <>
      <h1>
        A {diff.unit} takes {time(diff.span_ns_after)}: {longer}.
      </h1>
      <p class="soft">
        Before: {fileName(part.sides[0], "the first run")}, {units(diff.units_before, diff.unit)}. After: {fileName(part.sides[1], "the second run")},{" "}
        {units(diff.units_after, diff.unit)}. {part.sides.length === 2 ? "The menu at the top shows each of them in full." : ""}
      </p>
      <Numbers
        rows={[
          { title: `one ${diff.unit}`, before: diff.span_ns_before, after: diff.span_ns_after, show: time },
          { title: "device busy", before: diff.device_busy_ns_before, after: diff.device_busy_ns_after, show: time },
        ]}
      />
      <div class="tools group" role="group" aria-label="How changes are drawn">
        <ChangeModes sideBySide={sideBySide} onChoose={setSideBySide} />
      </div>
      {causes.length > 0 && (
        <>
          <h2>Where the {diff.unit} goes</h2>
          <Changes rows={causes} show={time} sideBySide={sideBySide} />
        </>
      )}
      <h2>What changed most</h2>
      <p class="under">
        Own {diff.clock} time per {diff.unit}. What was renamed is matched by what it does.
      </p>
      <div class="tools group" role="group" aria-label="What is compared">
        {known.map((one) => (
          <button type="button" aria-pressed={one === table} onClick={() => move({ table: one })}>
            {TABLES[one]}
          </button>
        ))}
      </div>
      {bars.length === 0 && <p>Nothing changed.</p>}
      <Changes rows={bars.map((row) => ({ label: row.short_name || row.name, before: row.before_ns, after: row.after_ns }))} show={time} sideBySide={sideBySide} />
      <h2>All {TABLES[table].toLowerCase()}</h2>
      <Table
        key={table}
        caption={TABLES[table]}
        file={`diff-${table}`}
        rows={rows}
        searchText={(row) => row.name}
        columns={[
          { title: "Name", value: (row) => row.name, show: (row) => <span title={name(row.name, 800)}>{name(row.short_name || row.name, 160)}</span>, words: true },
          { title: "Kind", value: (row) => row.kind },
          { title: "Before", value: (row) => row.before_ns, show: (row) => time(row.before_ns) },
          { title: "After", value: (row) => row.after_ns, show: (row) => time(row.after_ns) },
          { title: "Change", value: (row) => row.change_ns, show: (row) => signed(row.change_ns, time) },
          { title: "Of before", value: (row) => (row.before_ns > 0 ? row.after_ns / row.before_ns - 1 : null), show: (row) => ratio(row.before_ns, row.after_ns) },
          { title: "Calls before", value: (row) => row.before_calls },
          { title: "Calls after", value: (row) => row.after_calls },
        ]}
      />
    </>
  );
}

interface ModelChange {
  name: string;
  change: string;
  [key: string]: string | number | null;
}

interface ModelDiff {
  before: { model: string; display_name: string | null };
  after: { model: string; display_name: string | null };
  total: Record<string, number>;
  layer_counts: Record<string, number>;
  layers: ModelChange[];
}

const AMOUNTS: Record<string, { title: string; show: (value: number) => string }> = {
  flops: { title: "FLOPs", show: (value) => amount(value) },
  memory: { title: "Bytes moved", show: bytes },
  params: { title: "Parameters", show: (value) => amount(value) },
  macs: { title: "MACs", show: (value) => amount(value) },
};

export function ModelDiffView({ part }: ViewProps) {
  const diff = part.json<ModelDiff>("result");
  const [chosen, setChosen] = useState("flops");
  const [sideBySide, setSideBySide] = useState(false);
  const { title, show } = AMOUNTS[chosen];
  const number = (row: Record<string, unknown>, key: string) => Number(row[key] ?? 0);
  const bars = [...diff.layers].filter((row) => number(row, `${chosen}_change`) !== 0).sort((a, b) => Math.abs(number(b, `${chosen}_change`)) - Math.abs(number(a, `${chosen}_change`))).slice(0, MOST_BARS);
  const named = (side: { model: string; display_name: string | null }) => name(side.display_name ?? side.model, 80);
  return (
    <>
      <h1>
        {named(diff.after)} needs {amount(diff.total.flops_after, "FLOP")}: {ratio(diff.total.flops_before, diff.total.flops_after)} against {named(diff.before)}.
      </h1>
      <p class="soft">
        Layers: {Object.entries(diff.layer_counts).map(([what, number]) => `${count(number)} ${what}`).join(", ")}.
        {part.sides.length === 2 ? " The menu at the top shows each model in full." : ""}
      </p>
      <Numbers
        rows={Object.entries(AMOUNTS).map(([key, one]) => ({ title: one.title, before: diff.total[`${key}_before`], after: diff.total[`${key}_after`], show: one.show }))}
      />
      <h2>Layers that changed most</h2>
      <div class="tools">
        <span class="group" role="group" aria-label="What is compared">
          {Object.entries(AMOUNTS).map(([key, one]) => (
            <button type="button" aria-pressed={key === chosen} onClick={() => setChosen(key)}>
              {one.title}
            </button>
          ))}
        </span>
        <span class="group" role="group" aria-label="How changes are drawn">
          <ChangeModes sideBySide={sideBySide} onChoose={setSideBySide} />
        </span>
      </div>
      {bars.length === 0 && <p>No layer changed.</p>}
      <Changes
        rows={bars.map((row) => ({ label: row.name, before: number(row, `${chosen}_before`), after: number(row, `${chosen}_after`) }))}
        show={show}
        sideBySide={sideBySide}
      />
      <h2>All changed layers</h2>
      <Table
        key={chosen}
        caption="Changed layers"
        file="diff-layers"
        rows={diff.layers}
        searchText={(row) => row.name}
        columns={[
          { title: "Layer", value: (row) => row.name, words: true },
          { title: "Kind", value: (row) => row.change },
          { title: `${title} before`, value: (row) => number(row, `${chosen}_before`), show: (row) => show(number(row, `${chosen}_before`)) },
          { title: `${title} after`, value: (row) => number(row, `${chosen}_after`), show: (row) => show(number(row, `${chosen}_after`)) },
          { title: "Change", value: (row) => number(row, `${chosen}_change`), show: (row) => signed(number(row, `${chosen}_change`), show) },
        ]}
      />
    </>
  );
}
