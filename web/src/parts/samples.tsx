// The samples of a metric: in their order, and as a distribution.
import { bin } from "d3-array";
import { scaleLinear } from "d3-scale";
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Sampled } from "../data/bench";
import { name } from "../format";
import { series } from "../palette";
import { Plot } from "./plot";

const WIDTH = 540;
const HEIGHT = 210;
const MARGIN = { left: 64, right: 14, top: 12, bottom: 46 };
/** More samples are a line. */
const MOST_CIRCLES = 2000;

function extent(samples: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const sample of samples) {
    low = Math.min(low, sample);
    high = Math.max(high, sample);
  }
  return [low, high > low ? high : low + Math.max(Math.abs(low) * 0.01, 1e-9)];
}

/** Percentiles that are marked: their text and colour. */
const MARKS: [string, string, number][] = [
  ["p50", "median", 5],
  ["p95", "p95", 6],
  ["p99", "p99", 6],
];

export function Histogram({ metric }: { metric: Sampled }) {
  const x = scaleLinear().domain(extent(metric.samples)).nice().range([MARGIN.left, WIDTH - MARGIN.right]);
  const bins = bin().domain(x.domain() as [number, number]).thresholds(x.ticks(Math.min(40, Math.ceil(Math.sqrt(metric.n)) + 6)))(metric.samples);
  const most = bins.reduce((all, one) => Math.max(all, one.length), 1);
  const y = scaleLinear().domain([0, most]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="img" aria-label={`Distribution of ${name(metric.name, 60)}`}>
      {y.ticks(3).filter(Number.isInteger).map((tick) => (
        <g>
          <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
          <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
            {tick}
          </text>
        </g>
      ))}
      {bins.map((one) => (
        <rect x={x(one.x0!)} width={Math.max(x(one.x1!) - x(one.x0!) - 1, 1)} y={y(one.length)} height={y(0) - y(one.length)} fill={series(0)} />
      ))}
      {MARKS.map(([key, title, colour], i) => {
        const mark = metric.percentiles?.[key];
        if (mark?.value == null) return null;
        const isRight = x(mark.value) > WIDTH - 90;
        return (
          <g>
            <line x1={x(mark.value)} x2={x(mark.value)} y1={MARGIN.top} y2={y(0)} stroke={series(colour)} stroke-width={2} />
            <text class="on-bars" x={x(mark.value) + (isRight ? -5 : 5)} y={MARGIN.top + 9 + i * 16} text-anchor={isRight ? "end" : "start"}>
              {title}
            </text>
          </g>
        );
      })}
      {x.ticks(5).map((tick) => (
        <text x={x(tick)} y={HEIGHT - MARGIN.bottom + 18} text-anchor="middle">
          {tick}
        </text>
      ))}
      <text x={(WIDTH + MARGIN.left) / 2} y={HEIGHT - 6} text-anchor="middle">
        {name(metric.unit, 20)}
      </text>
      <text x={14} y={(HEIGHT - MARGIN.bottom + MARGIN.top) / 2} text-anchor="middle" transform={`rotate(-90 14 ${(HEIGHT - MARGIN.bottom + MARGIN.top) / 2})`}>
        samples
      </text>
    </svg>
  );
}

/** Very many samples, by uPlot. */
function LongSequence({ metric }: { metric: Sampled }) {
  const data = useMemo<uPlot.AlignedData>(() => [metric.samples.map((_sample, i) => i), metric.samples], [metric]);
  return (
    <Plot
      data={data}
      label={`Samples of ${name(metric.name, 60)} in their order`}
      height={210}
      formatX={(value) => String(value)}
      formatY={(value) => `${Number(value.toPrecision(4))}`}
      series={[{ label: "sample" }, { label: name(metric.unit, 20), stroke: series(0), width: 1, points: { show: false } }]}
    />
  );
}

export function Sequence({ metric }: { metric: Sampled }) {
  return metric.samples.length > MOST_CIRCLES ? <LongSequence metric={metric} /> : <ShortSequence metric={metric} />;
}

function ShortSequence({ metric }: { metric: Sampled }) {
  const x = scaleLinear().domain([0, Math.max(metric.samples.length - 1, 1)]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLinear().domain(extent(metric.samples)).nice().range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="img" aria-label={`Samples of ${name(metric.name, 60)} in their order`}>
      {y.ticks(4).map((tick) => (
        <g>
          <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
          <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
            {tick}
          </text>
        </g>
      ))}
      {metric.samples.map((sample, i) => (
        <circle cx={x(i)} cy={y(sample)} r={3} fill={series(0)} fill-opacity={0.8} />
      ))}
      <text x={(WIDTH + MARGIN.left) / 2} y={HEIGHT - 6} text-anchor="middle">
        number of the sample
      </text>
      <text x={14} y={(HEIGHT - MARGIN.bottom + MARGIN.top) / 2} text-anchor="middle" transform={`rotate(-90 14 ${(HEIGHT - MARGIN.bottom + MARGIN.top) / 2})`}>
        {name(metric.unit, 20)}
      </text>
    </svg>
  );
}
