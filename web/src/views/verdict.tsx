// The verdict on two benchmark results: the change of every metric with its interval.
import { scaleLinear } from "d3-scale";
import type { ViewProps } from "../app";
import type { Part } from "../data/container";
import type { BenchResult, Verdict, VerdictMetric } from "../data/bench";
import { bytes, median, name, upperFirst, withUnit, unbroken } from "../format";
import { series } from "../palette";
import { signed } from "../parts/changes";
import { Table } from "../parts/table";
import { Warnings } from "../parts/warnings";
import { Wide } from "../parts/wide";

const COLOURS: Record<string, number> = { regressed: 5, improved: 2, "no change": 0 };
const WIDTH = 1100;
const ROW = 34;
const LEFT = 300;
const RIGHT = 200;

export function percent(value: number): string {
  const size = Math.abs(value) * 100;
  return `${size.toFixed(size < 10 ? 1 : 0)}\u00a0%`;
}

function known(metric: VerdictMetric): metric is VerdictMetric & { change: number; interval: number[] } {
  return metric.change != null && metric.interval.length === 2 && metric.interval.every((one) => one != null);
}

/** One line per metric: the interval of its change, around zero. */
export function Intervals({ metrics }: { metrics: VerdictMetric[] }) {
  const rows = metrics.filter(known).slice(0, 60);
  if (rows.length === 0) return null;
  // A few very wide intervals must not squeeze all others.
  const ends = rows.flatMap((row) => [row.change, ...row.interval]).map(Math.abs).sort((a, b) => a - b);
  const limit = Math.max(Math.min(ends[Math.floor(ends.length * 0.9)] * 1.3, 2), 0.05, ...rows.map((row) => row.delta ?? 0));
  const x = scaleLinear().domain([-limit, limit]).range([LEFT, WIDTH - RIGHT]).clamp(true);
  const height = rows.length * ROW + 40;
  const band = Math.max(...rows.map((row) => row.delta ?? 0));
  return (
    <Wide label="Changes with their intervals">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} width="100%" class="wide" role="img" aria-label="Change of every metric with its interval; the table below has the numbers">
        {band > 0 && <rect x={x(-band)} width={x(band) - x(-band)} y={0} height={height - 30} fill="var(--panel)" />}
        {x.ticks(7).map((tick) => (
          <g>
            <line class={tick === 0 ? "zero" : "grid"} x1={x(tick)} x2={x(tick)} y1={0} y2={height - 30} />
            <text x={x(tick)} y={height - 10} text-anchor="middle">
              {tick === 0 ? "0" : signed(tick, percent)}
            </text>
          </g>
        ))}
        {rows.map((row, i) => {
          const y = i * ROW + ROW / 2;
          const colour = series(COLOURS[row.verdict] ?? 6);
          return (
            <g>
              <text x={LEFT - 14} y={y + 4} text-anchor="end">
                {name(`${row.benchmark} ${row.metric}`, 44)}
              </text>
              <line x1={x(row.interval[0])} x2={x(row.interval[1])} y1={y} y2={y} stroke={colour} stroke-width={3} />
              {row.interval[1] > limit && <path d={`M${WIDTH - RIGHT} ${y - 6}l9 6l-9 6z`} fill={colour} />}
              {row.interval[0] < -limit && <path d={`M${LEFT} ${y - 6}l-9 6l9 6z`} fill={colour} />}
              <circle cx={x(row.change)} cy={y} r={6} fill={colour} />
              <text x={WIDTH - RIGHT + 14} y={y + 4}>
                {signed(row.change, percent)}, {row.verdict}
              </text>
            </g>
          );
        })}
      </svg>
    </Wide>
  );
}

export function verdictLine(verdict: Verdict): string {
  const worst = verdict.metrics.filter((row) => row.verdict === verdict.verdict && row.change != null).sort((a, b) => Math.abs(b.change!) - Math.abs(a.change!))[0];
  const text = upperFirst(verdict.verdict);
  if (!worst) return `${text}.`;
  if (verdict.verdict === "cannot tell" && known(worst))
    return `Cannot tell whether ${name(worst.benchmark, 60)} changed: the change of its ${worst.metric} is between ${(worst.interval as number[]).map((one) => signed(one, percent)).join(" and ")}.`;
  if (verdict.verdict === "no change") return "No metric changed.";
  return `${text}: ${name(worst.benchmark, 60)} ${worst.metric} changed by ${signed(worst.change!, percent)}.`;
}

export function VerdictTable({ verdict }: { verdict: Verdict }) {
  return (
    <Table
      caption="Metrics"
      file="verdict"
      rows={verdict.metrics}
      searchText={(row) => `${row.benchmark} ${row.metric} ${row.verdict}`}
      columns={[
        { title: "Benchmark", value: (row) => row.benchmark, words: true },
        { title: "Metric", value: (row) => row.metric },
        { title: "Verdict", value: (row) => row.verdict },
        { title: "Before", value: (row) => row.base, show: (row) => withUnit(row.base, row.unit) },
        { title: "After", value: (row) => row.current, show: (row) => withUnit(row.current, row.unit) },
        { title: "Change", value: (row) => row.change, show: (row) => (row.change == null ? "–" : signed(row.change, percent)) },
        { title: "From", value: (row) => row.interval[0] ?? null, show: (row) => (row.interval[0] == null ? "–" : signed(row.interval[0], percent)) },
        { title: "To", value: (row) => row.interval[1] ?? null, show: (row) => (row.interval[1] == null ? "–" : signed(row.interval[1], percent)) },
        { title: "Samples before", value: (row) => row.base_n },
        { title: "Samples after", value: (row) => row.current_n },
        { title: "Reason", value: (row) => row.reason, show: (row) => name(row.reason ?? "", 300), words: true },
      ]}
    />
  );
}

interface Pair {
  title: string;
  unit: string;
  sides: number[][];
}

/** The samples of metrics that both results have. */
function pairsOf(sides: Part[]): Pair[] {
  const [before, after] = sides.map((side) => side.json<BenchResult>("result"));
  return before.benchmarks.flatMap((benchmark) =>
    benchmark.metrics.flatMap((metric) => {
      const other = after.benchmarks.find((one) => one.name === benchmark.name)?.metrics.find((one) => one.name === metric.name);
      if (!other || !(metric.samples?.length > 1) || !(other.samples?.length > 1)) return [];
      return [{ title: `${benchmark.name} ${metric.name}`, unit: metric.unit, sides: [metric.samples, other.samples] }];
    }),
  );
}

/** Every sample of both sides on one axis; the upright line is the median. */
function Strips({ pair }: { pair: Pair }) {
  const all = pair.sides.flat();
  const x = scaleLinear().domain([Math.min(...all), Math.max(...all)]).nice().range([90, WIDTH - 20]);
  return (
    <svg viewBox={`0 0 ${WIDTH} 118`} width="100%" class="wide" role="img" aria-label={`Samples of ${name(pair.title, 100)}, before and after`}>
      {x.ticks(6).map((tick) => (
        <g>
          <line class="grid" x1={x(tick)} x2={x(tick)} y1={0} y2={88} />
          <text x={x(tick)} y={106} text-anchor={x(tick) > WIDTH - 60 ? "end" : "middle"}>
            {pair.unit === "bytes" ? bytes(tick) : `${tick} ${pair.unit}`}
          </text>
        </g>
      ))}
      {pair.sides.map((samples, side) => (
        <g>
          <text x={80} y={side * 44 + 26} text-anchor="end">
            {side === 0 ? "before" : "after"}
          </text>
          {samples.slice(0, 2000).map((sample, i) => (
            <circle cx={x(sample)} cy={side * 44 + 22 + ((i * 7) % 19) - 9} r={3} fill={series(side)} fill-opacity={0.55} />
          ))}
          <line x1={x(median(samples))} x2={x(median(samples))} y1={side * 44 + 6} y2={side * 44 + 38} stroke="currentColor" stroke-width={2.5} />
        </g>
      ))}
    </svg>
  );
}

export function VerdictView({ part }: ViewProps) {
  const verdict = part.json<Verdict>("result");
  const pairs = part.sides.length === 2 ? pairsOf(part.sides).slice(0, 24) : [];
  return (
    <>
      <Warnings texts={verdict.notes} />
      <h1>{unbroken(verdictLine(verdict))}</h1>
      <p class="soft">
        Points are changes of the metric, lines their intervals. A change within the shaded band is too small to matter. Left of zero is less, right is more; an arrow: the interval goes on.
        {part.sides.length === 2 ? " The menu at the top shows each result in full." : ""}
      </p>
      <Intervals metrics={verdict.metrics} />
      {pairs.length > 0 && <h2>All samples, before and after</h2>}
      {pairs.map((pair) => (
        <section>
          <h3>{name(pair.title, 120)}</h3>
          <Wide label={`Samples of ${name(pair.title, 80)}`}>
            <Strips pair={pair} />
          </Wide>
        </section>
      ))}
      <h2>Every metric</h2>
      <VerdictTable verdict={verdict} />
    </>
  );
}
