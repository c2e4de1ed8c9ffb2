// A benchmark: every sample in its order, the distribution, the percentiles, the sweep, the verdict.
import { scaleLinear, scaleLog } from "d3-scale";
import type { ViewProps } from "../app";
import type { Benchmark, BenchResult, Metric, Verdict } from "../data/bench";
import { bytes, count, measured, name, share, withUnit, unbroken } from "../format";
import { series } from "../palette";
import { Histogram, Sequence } from "../parts/samples";
import { Table } from "../parts/table";
import { Warnings } from "../parts/warnings";
import { Wide } from "../parts/wide";
import { Intervals, verdictLine, VerdictTable } from "./verdict";

/** A number of a table whose unit has its own column, except for bytes. */
function cell(metric: Metric, value: number | null | undefined): string {
  return metric.unit === "bytes" ? bytes(value) : measured(value);
}

function middle(metric: Metric): number | null {
  return metric.percentiles?.p50?.value ?? metric.value ?? metric.mean;
}

interface SweepPoint {
  batch: number;
  rate: number;
  knee: string;
}

/** Throughput by batch size, for each set of the other parameters. */
export function sweepsOf(benchmarks: Benchmark[]): Map<string, SweepPoint[]> {
  const sweeps = new Map<string, SweepPoint[]>();
  for (const benchmark of benchmarks) {
    const batch = Number(benchmark.parameters?.batch_size);
    const metric = benchmark.metrics.find((one) => /samples_per_s|throughput/.test(one.name)) ?? null;
    const rate = metric ? middle(metric) : null;
    if (!(batch > 0) || rate == null) continue;
    const others = Object.entries(benchmark.parameters).filter(([key]) => key === "precision" || key === "device");
    const key = others.map(([, value]) => String(value)).join(", ") || benchmark.name;
    const points = sweeps.get(key) ?? [];
    points.push({ batch, rate, knee: benchmark.facts?.knee ?? "" });
    sweeps.set(key, points);
  }
  for (const [key, points] of sweeps) {
    if (points.length < 2) sweeps.delete(key);
    points.sort((a, b) => a.batch - b.batch);
  }
  return sweeps;
}

const WIDTH = 1100;
const HEIGHT = 300;
const MARGIN = { left: 84, right: 150, top: 20, bottom: 50 };

function Sweep({ sweeps }: { sweeps: Map<string, SweepPoint[]> }) {
  const all = [...sweeps.values()].flat();
  const batches = [...new Set(all.map((point) => point.batch))].sort((a, b) => a - b);
  const x = scaleLog().base(2).domain([batches[0], batches[batches.length - 1]]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLinear().domain([0, Math.max(...all.map((point) => point.rate))]).nice().range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  return (
    <Wide label="Sweep of batch sizes">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" class="wide" role="img" aria-label="Samples per second by batch size; the table below has the numbers">
        {y.ticks(5).map((tick) => (
          <g>
            <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
            <text x={MARGIN.left - 10} y={y(tick) + 4} text-anchor="end">
              {tick}
            </text>
          </g>
        ))}
        {batches.map((batch) => (
          <text x={x(batch)} y={HEIGHT - MARGIN.bottom + 20} text-anchor="middle">
            {batch}
          </text>
        ))}
        <text x={(WIDTH + MARGIN.left - MARGIN.right) / 2} y={HEIGHT - 6} text-anchor="middle">
          batch size
        </text>
        <text x={18} y={HEIGHT / 2} text-anchor="middle" transform={`rotate(-90 18 ${HEIGHT / 2})`}>
          samples per second
        </text>
        {[...sweeps].map(([title, points], i) => {
          const last = points[points.length - 1];
          return (
            <g>
              <polyline points={points.map((point) => `${x(point.batch)},${y(point.rate)}`).join(" ")} fill="none" stroke={series(i)} stroke-width={2} />
              {points.map((point) => (
                <circle cx={x(point.batch)} cy={y(point.rate)} r={point.knee ? 8 : 4} fill={point.knee ? "none" : series(i)} stroke={series(i)} stroke-width={2.5}>
                  <title>{name(point.knee, 200)}</title>
                </circle>
              ))}
              <text x={x(last.batch) + 12} y={y(last.rate) + 4}>
                {name(title, 20)}
              </text>
            </g>
          );
        })}
      </svg>
    </Wide>
  );
}

function headline(result: BenchResult, verdict: Verdict | null): string {
  if (verdict) return verdictLine(verdict);
  const latencies = result.benchmarks.flatMap((benchmark) => benchmark.metrics.filter((metric) => metric.name === "latency").map((metric) => ({ benchmark, metric })));
  const failed = result.benchmarks.filter((benchmark) => benchmark.status !== "ok");
  const quickest = latencies.filter((one) => middle(one.metric) != null).sort((a, b) => middle(a.metric)! - middle(b.metric)!)[0];
  if (!quickest) return failed.length > 0 ? `${name(failed[0].name, 60)}: ${name(failed[0].message ?? failed[0].status, 200)}` : "Benchmarks";
  const text = `${withUnit(middle(quickest.metric), quickest.metric.unit)} (median of ${count(quickest.metric.n)})`;
  return latencies.length > 1 ? `${name(quickest.benchmark.name, 60)} is the quickest: ${text}.` : `${name(quickest.benchmark.name, 60)} takes ${text}.`;
}

function Thresholds({ rows }: { rows: BenchResult["thresholds"] }) {
  return (
    <>
      <h2>Thresholds</h2>
      <Table
        caption="Thresholds"
        file="thresholds"
        rows={rows}
        columns={[
          { title: "Benchmark", value: (row) => row.benchmark, words: true },
          { title: "Threshold", value: (row) => row.threshold, words: true },
          { title: "Verdict", value: (row) => row.verdict },
          { title: "Value", value: (row) => row.value, show: (row) => `${measured(row.value)} ${row.unit}` },
          { title: "Reason", value: (row) => row.reason, show: (row) => name(row.reason ?? "", 300), words: true },
        ]}
      />
    </>
  );
}

/** A fact of the machine as people read it; null when it is not known. */
export function factText(key: string, value: unknown): string | null {
  if (value == null || typeof value === "object" || value === "") return null;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (key.endsWith("_bytes")) return bytes(value);
  if (value < 0) return null;
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}

function Environment({ result }: { result: BenchResult }) {
  const rows = Object.entries(result.environment).flatMap(([key, value]) => {
    const text = factText(key, value);
    return text == null ? [] : [[key.replace(/_bytes$/, "").replace(/_/g, " "), text]];
  });
  return (
    <section class="details" aria-label="Machine and conditions">
      <h3>Machine and conditions</h3>
      <dl>
        {rows.map(([key, value]) => (
          <>
            <dt>{name(key, 60)}</dt>
            <dd>{name(value, 200)}</dd>
          </>
        ))}
        {result.benchmarks.flatMap((benchmark) =>
          Object.entries(benchmark.facts ?? {}).map(([key, value]) => (
            <>
              <dt>
                {name(benchmark.name, 40)}: {name(key, 40)}
              </dt>
              <dd>{name(value, 300)}</dd>
            </>
          )),
        )}
      </dl>
    </section>
  );
}

export function BenchView({ part }: ViewProps) {
  const result = part.json<BenchResult>("result");
  const verdict = part.has("verdict") ? part.json<Verdict>("verdict") : null;
  const rows = result.benchmarks.flatMap((benchmark) => benchmark.metrics.map((metric) => ({ benchmark: benchmark.name, ...metric })));
  const drawn = part.withDrawings ? rows.filter((row) => row.name === "latency" && row.samples?.length > 1) : [];
  const sweeps = part.withDrawings ? sweepsOf(result.benchmarks) : new Map<string, SweepPoint[]>();
  const shownPercentile = (row: Metric, key: string) => `${cell(row, row.percentiles?.[key]?.value)}${row.percentiles?.[key]?.enough === false ? " ?" : ""}`;
  return (
    <>
      <Warnings
        texts={[
          result.interrupted ? "The measurement was interrupted: the page shows the results until then." : "",
          ...result.benchmarks.filter((one) => one.status !== "ok").map((one) => `${one.name}: ${one.message ?? one.status}`),
          ...result.warnings,
        ]}
      />
      <h1>{unbroken(headline(result, verdict))}</h1>
      <p class="soft">
        {result.created.replace("T", " ").replace("Z", " UTC")}. {name(String(result.environment.cpu_model ?? ""), 80)}, {String(result.environment.usable_cpus ?? "?")} processors
        {result.environment.gpu ? `, ${name(String(result.environment.gpu), 80)}` : ""}.
      </p>
      {verdict && (
        <>
          <h2>Change against the baseline</h2>
          <p class="under">Points are changes, lines their intervals. A change within the shaded band is too small to matter.</p>
          {part.withDrawings && <Intervals metrics={verdict.metrics} />}
          <VerdictTable verdict={verdict} />
        </>
      )}
      {result.thresholds.length > 0 && <Thresholds rows={result.thresholds} />}
      {sweeps.size > 0 && (
        <>
          <h2>Throughput by batch size</h2>
          <p class="under">A ring marks the knee: from there on, a doubled batch gains less than 10 %.</p>
          <Sweep sweeps={sweeps} />
        </>
      )}
      {drawn.map((metric) => (
        <section>
          <h2>{name(metric.benchmark, 120)}</h2>
          <p class="under">
            {count(metric.n)} samples. Mean {withUnit(metric.mean, metric.unit)}
            {metric.mean_interval ? ` (95 % interval ${metric.mean_interval.map(measured).join(" to ")})` : ""}, variation {share(metric.cv)}.
          </p>
          <div class="numbers charts">
            <div>
              <Sequence metric={metric} />
            </div>
            <div>
              <Histogram metric={metric} />
            </div>
          </div>
        </section>
      ))}
      <h2>All metrics</h2>
      <Table
        caption="Metrics"
        file="bench"
        rows={rows}
        searchText={(row) => `${row.benchmark} ${row.name}`}
        columns={[
          { title: "Benchmark", value: (row) => row.benchmark, words: true },
          { title: "Metric", value: (row) => row.name },
          { title: "Unit", value: (row) => row.unit, show: (row) => (row.unit === "bytes" ? "" : row.unit) },
          { title: "Samples", value: (row) => row.n ?? null, show: (row) => count(row.n) },
          { title: "Median", value: (row) => middle(row), show: (row) => cell(row, middle(row)) },
          { title: "Mean", value: (row) => row.mean ?? null, show: (row) => cell(row, row.mean) },
          { title: "p95", value: (row) => row.percentiles?.p95?.value ?? null, show: (row) => shownPercentile(row, "p95") },
          { title: "p99", value: (row) => row.percentiles?.p99?.value ?? null, show: (row) => shownPercentile(row, "p99") },
          { title: "Min", value: (row) => row.min ?? null, show: (row) => cell(row, row.min) },
          { title: "Max", value: (row) => row.max ?? null, show: (row) => cell(row, row.max) },
        ]}
      />
      <p class="under">A question mark: too few samples for this percentile.</p>
      {part.withDetails && <Environment result={result} />}
    </>
  );
}
