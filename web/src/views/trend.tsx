// Results over commits: every line with its level, and where it changed.
import { scaleLinear } from "d3-scale";
import { useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { count, median, name, upperFirst } from "../format";
import { series } from "../palette";
import { signed } from "../parts/changes";
import { Table } from "../parts/table";
import { Wide } from "../parts/wide";
import { percent } from "./verdict";

interface Point {
  result: number;
  time: string;
  commit: string;
  value: number | null;
  n: number;
  vanished: boolean;
}

interface Line {
  project: string;
  benchmark: string;
  metric: string;
  unit: string;
  machine_class: string;
  better: "higher" | "lower";
  points: Point[];
}

interface ChangePoint {
  id: string;
  project: string;
  benchmark: string;
  metric: string;
  unit: string;
  machine_class: string;
  class: string;
  index: number;
  commit: string;
  commit_before: string;
  time: string;
  before: number | null;
  after: number | null;
  change: number | null;
  interval: (number | null)[];
  detectors: string[];
  acknowledged: boolean;
}

interface TrendResult {
  lines?: Line[];
  changes?: ChangePoint[];
}

const WIDTH = 1100;
const HEIGHT = 260;
const MARGIN = { left: 90, right: 24, top: 24, bottom: 40 };

const COLOURS: Record<string, number> = { regression: 5, improvement: 2 };

function belongs(change: ChangePoint, line: Line): boolean {
  return change.project === line.project && change.benchmark === line.benchmark && change.metric === line.metric && change.machine_class === line.machine_class;
}

function Chart({ line, changes }: { line: Line; changes: ChangePoint[] }) {
  const [over, setOver] = useState<number | null>(null);
  const points = line.points.map((point, i) => ({ ...point, i })).filter((point) => point.value != null);
  const values = points.map((point) => point.value!);
  const x = scaleLinear().domain([0, Math.max(line.points.length - 1, 1)]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLinear().domain([Math.min(...values), Math.max(...values)]).nice().range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const borders = [0, ...changes.map((change) => change.index).sort((a, b) => a - b), line.points.length];
  const shown = over != null ? line.points[over] : null;
  const dates = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * (line.points.length - 1)));
  const nearest = (event: PointerEvent) => {
    const area = (event.currentTarget as SVGElement).getBoundingClientRect();
    const at = ((event.clientX - area.left) / area.width) * WIDTH;
    return Math.min(Math.max(Math.round(x.invert(at)), 0), line.points.length - 1);
  };
  return (
    <>
      <Wide label={`Chart of ${name(line.benchmark, 80)} ${line.metric}`}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width="100%"
        class="wide"
        role="img"
        aria-label={`${name(line.benchmark, 80)} ${line.metric} over ${line.points.length} results; the table below has the numbers`}
        onPointerMove={(event) => setOver(nearest(event))}
        onPointerLeave={() => setOver(null)}
      >
        {y.ticks(5).map((tick) => (
          <g>
            <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
            <text x={MARGIN.left - 10} y={y(tick) + 4} text-anchor="end">
              {tick} {line.unit}
            </text>
          </g>
        ))}
        {[...new Set(dates)].map((i, k, list) => (
          <text x={x(i)} y={HEIGHT - 14} text-anchor={k === 0 ? "start" : k === list.length - 1 ? "end" : "middle"}>
            {line.points[i]?.time.slice(0, 10)}
          </text>
        ))}
        {borders.slice(1).map((end, k) => {
          const level = median(points.filter((point) => point.i >= borders[k] && point.i < end).map((point) => point.value!));
          return isFinite(level) ? <line class="level" x1={x(Math.max(borders[k] - 0.5, 0))} x2={x(Math.min(end - 0.5, line.points.length - 1))} y1={y(level)} y2={y(level)} /> : null;
        })}
        {points.map((point) => (
          <circle cx={x(point.i)} cy={y(point.value!)} r={points.length > 300 ? 2 : 3.5} fill={series(0)} fill-opacity={point.vanished ? 0.25 : 0.8} />
        ))}
        {changes.map((change) => {
          const at = x(change.index - 0.5);
          const left = change.index > line.points.length * 0.75;
          return (
            <g>
              <line x1={at} x2={at} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} stroke={series(COLOURS[change.class] ?? 6)} stroke-width={2} stroke-dasharray="5 4" />
              <text x={at + (left ? -8 : 8)} y={MARGIN.top - 8} text-anchor={left ? "end" : "start"} class="label">
                {upperFirst(change.class)} {change.change == null ? "" : signed(change.change, percent)}
              </text>
            </g>
          );
        })}
        {over != null && shown?.value != null && <circle cx={x(over)} cy={y(shown.value)} r={6} fill="none" stroke="currentColor" stroke-width={2} />}
      </svg>
      </Wide>
      <p class="under" aria-live="polite">
        {shown
          ? `${shown.time.slice(0, 16).replace("T", " ")}, commit ${name(shown.commit.slice(0, 10), 12) || "unknown"}: ${shown.value ?? "–"} ${line.unit} (${shown.n} samples)`
          : `${line.points.length} results on ${name(line.machine_class, 60)}; ${line.better} is better. The horizontal line is the median between changes.`}
      </p>
    </>
  );
}

function headline(lines: Line[], changes: ChangePoint[]): string {
  const regressions = changes.filter((change) => change.class === "regression" && !change.acknowledged);
  const latest = [...(regressions.length > 0 ? regressions : changes)].sort((a, b) => (a.time < b.time ? 1 : -1))[0];
  if (!latest) return `No change in ${count(lines.length)} ${lines.length === 1 ? "line" : "lines"}.`;
  const size = latest.change == null ? "" : ` by ${signed(latest.change, percent)}`;
  return `${name(latest.benchmark, 60)} ${latest.metric} changed${size} at ${name(latest.commit.slice(0, 10), 12) || latest.time.slice(0, 10)}.`;
}

/** Charts that are drawn at once. */
const CHUNK = 8;

export function TrendView({ part }: ViewProps) {
  const result = part.json<TrendResult>("result");
  const lines = result.lines ?? [];
  const changes = result.changes ?? [];
  const [limit, setLimit] = useState(CHUNK);
  const weight = (line: Line) => changes.filter((change) => belongs(change, line)).length;
  const ordered = [...lines].sort((a, b) => weight(b) - weight(a));
  return (
    <>
      <h1>{headline(lines, changes)}</h1>
      {ordered.slice(0, limit).map((line) => (
        <section>
          <h2>
            {name(line.benchmark, 120)} · {name(line.metric, 60)}
          </h2>
          <Chart line={line} changes={changes.filter((change) => belongs(change, line))} />
        </section>
      ))}
      {ordered.length > limit && (
        <button type="button" onClick={() => setLimit(limit * 3)}>
          Show more of {ordered.length} lines
        </button>
      )}
      {changes.length > 0 && (
        <>
          <h2>Changes</h2>
          <Table
            caption="Changes"
            file="changes"
            rows={changes}
            searchText={(row) => `${row.benchmark} ${row.metric} ${row.commit}`}
            columns={[
              { title: "Benchmark", value: (row) => row.benchmark, words: true },
              { title: "Metric", value: (row) => row.metric },
              { title: "Class", value: (row) => row.class },
              { title: "Change", value: (row) => row.change, show: (row) => (row.change == null ? "–" : signed(row.change, percent)) },
              { title: "Before", value: (row) => row.before, show: (row) => `${row.before?.toPrecision(4) ?? "–"} ${row.unit}` },
              { title: "After", value: (row) => row.after, show: (row) => `${row.after?.toPrecision(4) ?? "–"} ${row.unit}` },
              { title: "Commit", value: (row) => row.commit, show: (row) => <code>{name(row.commit.slice(0, 10), 12)}</code> },
              { title: "When", value: (row) => row.time, show: (row) => row.time.slice(0, 10) },
              { title: "Detectors", value: (row) => row.detectors.length, show: (row) => `${row.detectors.length} of 3` },
            ]}
          />
        </>
      )}
      <h2>Results</h2>
      <Table
        caption="Results"
        file="trend"
        rows={lines.flatMap((line) => line.points.map((point) => ({ ...point, line })))}
        searchText={(row) => `${row.line.benchmark} ${row.line.metric} ${row.commit}`}
        columns={[
          { title: "Benchmark", value: (row) => row.line.benchmark, words: true },
          { title: "Metric", value: (row) => row.line.metric },
          { title: "When", value: (row) => row.time },
          { title: "Commit", value: (row) => row.commit, show: (row) => <code>{name(row.commit.slice(0, 10), 12)}</code> },
          { title: "Value", value: (row) => row.value, show: (row) => `${row.value ?? "–"} ${row.line.unit}` },
          { title: "Samples", value: (row) => row.n },
        ]}
      />
    </>
  );
}
