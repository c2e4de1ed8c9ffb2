// Ranks of a distributed run: who is late, when, why, and where a step goes on each rank.
import { useState } from "preact/hooks";
import type { ViewProps } from "../app";
import type { RankCell, RankGroup, RankRow, RanksResult, Straggler } from "../data/ranks";
import { bytes, count, name, rate, share, time, unbroken } from "../format";
import { series } from "../palette";
import { HeatMap, type HeatMeasure } from "../parts/heat_map";
import { Table, type Column } from "../parts/table";
import { Breakable, Warnings } from "../parts/warnings";

const MEASURES: Record<string, HeatMeasure> = {
  late: { title: "Late", value: (cell) => cell.late_ns },
  wait: { title: "Waits for others", value: (cell) => cell.wait_ns },
  step: { title: "Step", value: (cell) => cell.step_ns },
  compute: { title: "Compute", value: (cell) => cell.compute_ns },
  communication: { title: "Exposed communication", value: (cell) => cell.communication_exposed_ns },
  idle: { title: "Idle", value: (cell) => cell.idle_ns },
};

/** Parts of a step in the order of the bars, with their colours. */
const PARTS: [string, (row: RankRow) => number, number][] = [
  ["compute", (row) => row.compute_ns, 2],
  ["exposed communication", (row) => row.communication_exposed_ns, 3],
  ["idle", (row) => Math.max(row.step_ns - row.compute_ns - row.communication_exposed_ns, 0), 6],
];
/** More bars than that are no picture. */
const MOST_BARS = 32;

function headline(result: RanksResult): string {
  const worst = result.stragglers[0];
  const all = result.ranks.length;
  if (!worst) return `No rank of ${all} is late by a noticeable part of the step of ${time(result.step_ns)}.`;
  const others = result.stragglers.length > 1 ? ` ${result.stragglers.length - 1} more ${result.stragglers.length === 2 ? "rank is" : "ranks are"} late too.` : "";
  return `Rank ${worst.rank ?? "?"} of ${result.world_size ?? all} makes the others wait ${time(worst.late_ns)} per step, ${share(worst.late_share)} of it.${others}`;
}

function Stragglers({ rows }: { rows: Straggler[] }) {
  return (
    <>
      <h2>Stragglers</h2>
      <Table
        caption="Stragglers"
        file="stragglers"
        rows={rows}
        columns={[
          { title: "Rank", value: (row) => row.rank },
          { title: "Late per step", value: (row) => row.late_ns, show: (row) => time(row.late_ns) },
          { title: "Of the step", value: (row) => row.late_share, show: (row) => share(row.late_share) },
          { title: "Late steps", value: (row) => row.late_steps, show: (row) => `${row.late_steps} of ${row.steps}` },
          { title: "Layer", value: (row) => row.layer, show: (row) => (row.layer ? <Breakable text={name(row.layer, 200)} /> : <span class="soft">no layer explains it</span>), words: true },
          { title: "Phase", value: (row) => row.phase },
          { title: "Op", value: (row) => row.op, show: (row) => name(row.op, 80) || "–" },
          { title: "There", value: (row) => row.layer_ns, show: (row) => (row.layer ? time(row.layer_ns) : "–") },
          { title: "On the others", value: (row) => row.others_ns, show: (row) => (row.layer ? time(row.others_ns) : "–") },
          { title: "Explains", value: (row) => row.explained, show: (row) => share(row.explained) },
        ]}
      />
    </>
  );
}

function Collectives({ rows }: { rows: RankGroup[] }) {
  const columns: Column<RankGroup>[] = [
    { title: "Collective", value: (row) => row.kind, show: (row) => name(row.kind, 80), words: true },
    { title: "Group", value: (row) => row.group, show: (row) => name(row.group, 60) || "–" },
    { title: "Ranks", value: (row) => row.ranks },
    { title: "Calls per step", value: (row) => row.calls_per_step, show: (row) => String(Number(row.calls_per_step.toPrecision(3))) },
    { title: "Bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
    { title: "Time", value: (row) => row.time_ns, show: (row) => time(row.time_ns) },
    { title: "Exposed", value: (row) => row.exposed_ns, show: (row) => time(row.exposed_ns) },
    { title: "Waits", value: (row) => row.wait_ns, show: (row) => time(row.wait_ns) },
    { title: "Arrival skew", value: (row) => row.arrival_skew_ns, show: (row) => time(row.arrival_skew_ns) },
    { title: "Last rank", value: (row) => row.last_rank, show: (row) => (row.last_rank == null ? "–" : `${row.last_rank} (${share(row.last_share)})`) },
    { title: "Bus GB/s", value: (row) => row.bus_gb_per_s, show: (row) => (row.bus_gb_per_s == null ? "–" : row.bus_gb_per_s.toPrecision(3)) },
  ];
  return (
    <>
      <h2>Collectives</h2>
      <p class="under">Times are means per rank and step. Waits are the part until the last rank arrived. Bytes are those of all ranks and steps.</p>
      <Table caption="Collectives" file="collectives" rows={rows} sortBy={6} columns={columns} searchText={(row) => `${row.kind} ${row.group}`} />
    </>
  );
}

function Heat({ result, cells }: { result: RanksResult; cells: RankCell[] }) {
  const known = Object.entries(MEASURES).filter(([, one]) => cells.some((cell) => one.value(cell) > 0));
  const [chosen, setChosen] = useState(known[0]?.[0] ?? "step");
  const isCut = new Set(cells.map((cell) => cell.number)).size < result.steps.length;
  return (
    <>
      <h2>Ranks by steps</h2>
      <div class="tools" role="group" aria-label="What the colour shows">
        {known.map(([id, one]) => (
          <button type="button" aria-pressed={id === chosen} onClick={() => setChosen(id)}>
            {one.title}
          </button>
        ))}
      </div>
      {isCut && <p class="under">The first steps of each rank; all have {count(result.steps.length)} steps.</p>}
      <HeatMap cells={cells} measure={MEASURES[chosen]} marked={new Set(result.stragglers.map((one) => one.rank))} />
    </>
  );
}

function Bars({ rows }: { rows: RankRow[] }) {
  const longest = Math.max(...rows.map((row) => row.step_ns), 1);
  const shown = rows.length > MOST_BARS ? [...rows].sort((a, b) => b.late_ns - a.late_ns || b.step_ns - a.step_ns).slice(0, MOST_BARS) : rows;
  return (
    <>
      <h2>Where a step goes</h2>
      <p class="under keys">
        {PARTS.map(([title, , colour]) => (
          <>
            <i style={{ background: series(colour) }} /> {title}
          </>
        ))}
        {shown.length < rows.length ? `. The ${MOST_BARS} latest of ${count(rows.length)} ranks; the table has all.` : ""}
      </p>
      <div class="waterfall" role="list">
        {shown.map((row) => {
          let from = 0;
          return (
            <div role="listitem" class="contents">
              <span>
                rank {row.rank ?? "?"}
                {row.straggler ? " ▸ late" : ""}
              </span>
              <span class="bar" aria-hidden="true">
                {PARTS.map(([, value, colour]) => {
                  const left = from;
                  from += value(row);
                  return <i style={{ left: `${(left / longest) * 100}%`, width: `${(value(row) / longest) * 100}%`, background: series(colour) }} />;
                })}
              </span>
              <span class="value">{time(row.step_ns)}</span>
              <span class="note">{PARTS.map(([title, value]) => `${title} ${share(value(row) / (row.step_ns || 1))}`).join(", ")}</span>
            </div>
          );
        })}
      </div>
    </>
  );
}

const RANK_COLUMNS: Column<RankRow>[] = [
  { title: "Rank", value: (row) => row.rank },
  { title: "Steps", value: (row) => row.steps, show: (row) => count(row.steps) },
  { title: "Step", value: (row) => row.step_ns, show: (row) => time(row.step_ns) },
  { title: "Compute", value: (row) => row.compute_ns, show: (row) => time(row.compute_ns) },
  { title: "Exposed communication", value: (row) => row.communication_exposed_ns, show: (row) => time(row.communication_exposed_ns) },
  { title: "Idle", value: (row) => row.idle_ns, show: (row) => time(row.idle_ns) },
  { title: "Late", value: (row) => row.late_ns, show: (row) => time(row.late_ns) },
  { title: "Waits", value: (row) => row.wait_ns, show: (row) => time(row.wait_ns) },
  { title: "Memory peak", value: (row) => row.memory_peak_bytes, show: (row) => bytes(row.memory_peak_bytes) },
  { title: "FLOP/s", value: (row) => row.flops_per_s, show: (row) => rate(row.flops_per_s) },
];

const CELL_COLUMNS: Column<RankCell>[] = [
  { title: "Rank and step", value: (row) => `${row.rank ?? "?"}/${row.number ?? "?"}` },
  { title: "Rank", value: (row) => row.rank },
  { title: "Step", value: (row) => row.number },
  { title: "Length", value: (row) => row.step_ns, show: (row) => time(row.step_ns) },
  { title: "Compute", value: (row) => row.compute_ns, show: (row) => time(row.compute_ns) },
  { title: "Exposed communication", value: (row) => row.communication_exposed_ns, show: (row) => time(row.communication_exposed_ns) },
  { title: "Idle", value: (row) => row.idle_ns, show: (row) => time(row.idle_ns) },
  { title: "Late", value: (row) => row.late_ns, show: (row) => time(row.late_ns) },
  { title: "Waits", value: (row) => row.wait_ns, show: (row) => time(row.wait_ns) },
];

export function RanksView({ part }: ViewProps) {
  const result = part.json<RanksResult>("result");
  const cells = result.cells ?? [];
  const latest = [...result.ranks].sort((a, b) => b.late_ns - a.late_ns)[0];
  const worst = result.stragglers[0];
  return (
    <>
      <Warnings texts={result.notes} />
      <h1>{unbroken(headline(result))}</h1>
      <p class="soft">
        {worst?.layer
          ? `${worst.layer} takes ${time(worst.layer_ns)} in the ${worst.phase} pass on rank ${worst.rank}, ${time(worst.others_ns)} on the others. `
          : latest && latest.late_ns > 0
            ? `Rank ${latest.rank} arrives last at collectives, by ${time(latest.late_ns)} per step. `
            : ""}
        {count(result.matched_collectives)} of {count(result.collectives)} collectives were found on several ranks. Times are {result.time} times.
      </p>
      <div class="numbers">
        <div>
          <b>{time(result.step_ns)}</b>
          <span>per step, median of {count(result.ranks.length)} ranks</span>
        </div>
        <div>
          <b>{time(result.step_skew_ns)}</b>
          <span>between the slowest and the fastest rank</span>
        </div>
        <div>
          <b>{count(result.stragglers.length)}</b>
          <span>{result.stragglers.length === 1 ? "straggler" : "stragglers"}</span>
        </div>
        <div>
          <b>
            {count(result.ranks.length)} of {result.world_size == null ? "?" : count(result.world_size)}
          </b>
          <span>ranks have a file</span>
        </div>
      </div>
      {result.stragglers.length > 0 && <Stragglers rows={result.stragglers} />}
      {cells.length > 0 && <Heat result={result} cells={cells} />}
      <Bars rows={result.ranks} />
      {result.groups.length > 0 && <Collectives rows={result.groups} />}
      <h2>Ranks</h2>
      <Table caption="Ranks" file="ranks" rows={result.ranks} columns={RANK_COLUMNS} />
      {cells.length > 0 && (
        <>
          <h2>All steps of all ranks</h2>
          <Table caption="Ranks by steps" file="ranks-by-steps" rows={cells} columns={CELL_COLUMNS} />
        </>
      )}
    </>
  );
}
