// A benchmark: every sample in its order, the distribution, and the percentiles.
import { bin } from "d3-array";
import { scaleLinear } from "d3-scale";
import type { ViewProps } from "../app";
import { count, name, share } from "../format";
import { series } from "../palette";
import { Table } from "../parts/table";

interface Metric {
  name: string;
  unit: string;
  n: number;
  mean: number | null;
  mean_interval: number[] | null;
  stddev: number | null;
  cv: number | null;
  min: number | null;
  max: number | null;
  percentiles: Record<string, { value: number; interval: number[] | null; enough: boolean }>;
  samples: number[];
}

interface BenchResult {
  created: string;
  warnings: string[];
  environment: Record<string, unknown>;
  benchmarks: { name: string; status: string; message: string | null; metrics: Metric[] }[];
}

const WIDTH = 540;
const HEIGHT = 190;
const MARGIN = { left: 60, right: 10, top: 10, bottom: 30 };

function number(value: number | null): string {
  return value == null ? "–" : value.toPrecision(4);
}

function Histogram({ metric }: { metric: Metric }) {
  const [low, high] = [Math.min(...metric.samples), Math.max(...metric.samples)];
  const x = scaleLinear().domain([low, high > low ? high : low + 1]).nice().range([MARGIN.left, WIDTH - MARGIN.right]);
  const bins = bin().domain(x.domain() as [number, number]).thresholds(Math.min(40, Math.ceil(Math.sqrt(metric.n)) + 4))(metric.samples);
  const most = Math.max(...bins.map((one) => one.length), 1);
  const y = scaleLinear().domain([0, most]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const middle = metric.percentiles.p50?.value;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="img" aria-label={`Distribution of ${metric.name}`}>
      {bins.map((one) => (
        <rect x={x(one.x0!)} width={Math.max(x(one.x1!) - x(one.x0!) - 1, 1)} y={y(one.length)} height={y(0) - y(one.length)} fill={series(0)} />
      ))}
      {middle != null && <line x1={x(middle)} x2={x(middle)} y1={MARGIN.top} y2={y(0)} stroke={series(5)} stroke-width={2} />}
      {x.ticks(5).map((tick) => (
        <text x={x(tick)} y={HEIGHT - 10} text-anchor="middle">
          {tick}
        </text>
      ))}
      <text x={MARGIN.left - 8} y={MARGIN.top + 10} text-anchor="end">
        {most}
      </text>
    </svg>
  );
}

function Sequence({ metric }: { metric: Metric }) {
  const x = scaleLinear().domain([0, Math.max(metric.samples.length - 1, 1)]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLinear().domain([Math.min(...metric.samples), Math.max(...metric.samples)]).nice().range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="img" aria-label={`Samples of ${metric.name} in their order`}>
      {y.ticks(4).map((tick) => (
        <g>
          <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
          <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
            {tick}
          </text>
        </g>
      ))}
      {metric.samples.map((sample, i) => (
        <circle cx={x(i)} cy={y(sample)} r={2.5} fill={series(0)} fill-opacity={0.6} />
      ))}
      <text x={(WIDTH + MARGIN.left) / 2} y={HEIGHT - 8} text-anchor="middle">
        sample, in order
      </text>
    </svg>
  );
}

export function BenchView({ part }: ViewProps) {
  const result = part.json<BenchResult>("result");
  const rows = result.benchmarks.flatMap((benchmark) => benchmark.metrics.map((metric) => ({ benchmark: benchmark.name, ...metric })));
  const latencies = rows.filter((row) => row.name === "latency" && row.samples?.length > 1);
  const quickest = [...latencies].sort((a, b) => (a.percentiles.p50?.value ?? 0) - (b.percentiles.p50?.value ?? 0))[0];
  return (
    <>
      {result.warnings.map((warning) => (
        <p class="warning">{name(warning, 400)}</p>
      ))}
      <h1>
        {quickest
          ? latencies.length > 1
            ? `${name(quickest.benchmark, 60)} is the quickest: ${number(quickest.percentiles.p50?.value ?? null)} ${quickest.unit} (median of ${quickest.n}).`
            : `${name(quickest.benchmark, 60)} takes ${number(quickest.percentiles.p50?.value ?? null)} ${quickest.unit} (median of ${quickest.n}).`
          : "Benchmarks"}
      </h1>
      <p class="soft">
        {result.created}. {name(String(result.environment.cpu_model ?? ""), 80)}, {String(result.environment.usable_cpus ?? "?")} processors
        {result.environment.gpu ? `, ${name(String(result.environment.gpu), 80)}` : ""}.
      </p>
      {latencies.map((metric) => (
        <section>
          <h2>{name(metric.benchmark, 120)}</h2>
          <p class="under">
            {metric.n} samples in {metric.unit}. Mean {number(metric.mean)}
            {metric.mean_interval ? ` (${metric.mean_interval.map(number).join(" to ")})` : ""}, variation {share(metric.cv)}. The line in the distribution is the
            median.
          </p>
          <div class="numbers">
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
          { title: "Unit", value: (row) => row.unit },
          { title: "Samples", value: (row) => row.n, show: (row) => count(row.n) },
          { title: "Median", value: (row) => row.percentiles?.p50?.value ?? null, show: (row) => number(row.percentiles?.p50?.value ?? null) },
          { title: "Mean", value: (row) => row.mean, show: (row) => number(row.mean) },
          { title: "p95", value: (row) => row.percentiles?.p95?.value ?? null, show: (row) => `${number(row.percentiles?.p95?.value ?? null)}${row.percentiles?.p95?.enough === false ? " ?" : ""}` },
          { title: "p99", value: (row) => row.percentiles?.p99?.value ?? null, show: (row) => `${number(row.percentiles?.p99?.value ?? null)}${row.percentiles?.p99?.enough === false ? " ?" : ""}` },
          { title: "Min", value: (row) => row.min, show: (row) => number(row.min) },
          { title: "Max", value: (row) => row.max, show: (row) => number(row.max) },
        ]}
      />
      <p class="under">A question mark: too few samples for this percentile.</p>
    </>
  );
}
