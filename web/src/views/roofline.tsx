// Layers by arithmetic intensity and FLOP/s, both axes logarithmic.
import { scaleLog, type ScaleLogarithmic } from "d3-scale";
import { useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { layerOwnTime, type LayerRow, type TraceResult } from "../data/trace";
import { amount, bytes, name, rate, share, time } from "../format";
import { series } from "../palette";
import { Table } from "../parts/table";

const WIDTH = 1100;
const HEIGHT = 520;
const MARGIN = { left: 84, right: 24, top: 30, bottom: 52 };

interface Dot {
  layer: LayerRow;
  intensity: number;
  speed: number;
  ns: number;
}

export function dotsOf(trace: TraceResult): Dot[] {
  const leaves = new Set(trace.layers.map((_layer, i) => i));
  trace.layers.forEach((layer) => layer.parent != null && leaves.delete(layer.parent));
  return trace.layers
    .filter((layer, i) => leaves.has(i) && layer.flops && layer.bytes && layer.flops_per_s)
    .map((layer) => ({
      layer,
      intensity: layer.flops! / layer.bytes!,
      speed: layer.flops_per_s!,
      ns: layerOwnTime(trace, layer),
    }));
}

/** The rates of the chip that the shares of its layers imply; null when they are not known. */
export function roofOf(trace: TraceResult): { peak: number | null; dtype: string; bytesPerSecond: number | null; mixed: boolean } {
  const known = trace.layers.filter((layer) => layer.peak_share && layer.flops_per_s);
  const best = [...known].sort((a, b) => (b.flops ?? 0) - (a.flops ?? 0))[0];
  const moved = trace.layers.filter((layer) => layer.bandwidth_share && layer.bytes_per_s).sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))[0];
  return {
    peak: best ? best.flops_per_s! / best.peak_share! : null,
    dtype: best?.dtype ?? "",
    bytesPerSecond: moved ? moved.bytes_per_s! / moved.bandwidth_share! : null,
    mixed: new Set(known.map((layer) => layer.dtype)).size > 1,
  };
}

function decades(domain: [number, number]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(domain[0])); 10 ** power <= domain[1]; power++) if (10 ** power >= domain[0]) ticks.push(10 ** power);
  return ticks;
}

interface RoofProps {
  x: ScaleLogarithmic<number, number>;
  y: ScaleLogarithmic<number, number>;
  peak: number;
  dtype: string;
  bytesPerSecond: number | null;
}

/** The slope of the memory up to the corner, then the peak of the arithmetic. */
function Roof({ x, y, peak, dtype, bytesPerSecond }: RoofProps) {
  const [left, right] = x.domain();
  const ridge = bytesPerSecond ? peak / bytesPerSecond : left;
  // The slope enters the picture on its left side or at its bottom.
  const start = bytesPerSecond ? Math.max(left, y.domain()[0] / bytesPerSecond) : left;
  const middle = Math.sqrt(start * ridge);
  return (
    <g>
      <polyline
        points={[[start, bytesPerSecond ? start * bytesPerSecond : peak], [Math.max(ridge, start), peak], [right, peak]].map(([a, b]) => `${x(a)},${y(b)}`).join(" ")}
        fill="none"
        stroke={series(5)}
        stroke-width={2}
      />
      <text class="label" x={WIDTH - MARGIN.right} y={y(peak) - 8} text-anchor="end">
        peak {rate(peak)}
        {dtype ? ` (${dtype})` : ""}
      </text>
      {bytesPerSecond && ridge > start && (
        <text class="label" x={x(middle) - 10} y={y(middle * bytesPerSecond) - 6} text-anchor="end">
          memory {amount(bytesPerSecond, "B/s")}
        </text>
      )}
    </g>
  );
}

export function Roofline({ part, place }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const dots = dotsOf(trace);
  const [over, setOver] = useState<Dot | null>(null);
  if (dots.length === 0)
    return (
      <>
        <h1>No layer is in the roofline.</h1>
        <p>No layer without parts has FLOPs, bytes and a rate. Record with shapes to get them.</p>
      </>
    );
  const { peak, dtype, bytesPerSecond, mixed } = roofOf(trace);
  const ridge = peak && bytesPerSecond ? peak / bytesPerSecond : null;
  const x = scaleLog()
    .domain([Math.min(...dots.map((dot) => dot.intensity)) / 1.6, Math.max(ridge ?? 0, ...dots.map((dot) => dot.intensity)) * 2.2])
    .range([MARGIN.left, WIDTH - MARGIN.right]);
  const fastest = Math.max(peak ?? 0, ...dots.map((dot) => dot.speed));
  const y = scaleLog()
    .domain([Math.min(...dots.map((dot) => dot.speed)) / 2, fastest * 2])
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const longest = Math.max(...dots.map((dot) => dot.ns), 1);
  const selected = over ?? dots.find((dot) => dot.layer.path === place.layer) ?? null;
  return (
    <>
      <h1>Roofline</h1>
      <p class="under">
        One circle per layer without children; its area is its own time. Right: more FLOPs per byte. Up: faster.
        {peak ? " Nothing can be above the line: left of its corner memory is the limit, right of it the arithmetic." : " The chip's peak is not known."}
        {mixed ? " Layers of other element types have another peak; the table has their shares." : ""}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Roofline">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" class="wide" role="img" aria-label="Roofline of the layers; the view Layers has the numbers">
          {decades(x.domain() as [number, number]).map((tick) => (
            <g>
              <line class="grid" x1={x(tick)} x2={x(tick)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
              <text x={x(tick)} y={HEIGHT - MARGIN.bottom + 18} text-anchor="middle">
                {tick}
              </text>
            </g>
          ))}
          {decades(y.domain() as [number, number]).map((tick) => (
            <g>
              <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
              <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
                {amount(tick)}
              </text>
            </g>
          ))}
          <text x={(WIDTH + MARGIN.left) / 2} y={HEIGHT - 10} text-anchor="middle">
            FLOPs per byte
          </text>
          <text x={18} y={HEIGHT / 2} text-anchor="middle" transform={`rotate(-90 18 ${HEIGHT / 2})`}>
            FLOP/s
          </text>
          {peak && <Roof x={x} y={y} peak={peak} dtype={dtype} bytesPerSecond={bytesPerSecond} />}
          {dots.map((dot) => (
            <circle
              cx={x(dot.intensity)}
              cy={y(dot.speed)}
              r={3 + 14 * Math.sqrt(dot.ns / longest)}
              fill={series(dot === selected ? 5 : 0)}
              fill-opacity={0.55}
              stroke={series(dot === selected ? 5 : 0)}
              onPointerEnter={() => setOver(dot)}
            >
              <title>{name(dot.layer.path, 200)}</title>
            </circle>
          ))}
        </svg>
      </div>
      {selected && (
        <section class="details" aria-live="polite" aria-label="The layer under the pointer">
          <h3>
            <a href={`#view=layers&layer=${encodeURIComponent(selected.layer.path)}`}>{name(selected.layer.path)}</a>
          </h3>
          <dl>
            <dt>Own time</dt>
            <dd>{time(selected.ns)}</dd>
            <dt>Work</dt>
            <dd>
              {amount(selected.layer.flops, "FLOP")} and {bytes(selected.layer.bytes)}: {selected.intensity.toPrecision(3)} FLOPs per byte
            </dd>
            <dt>Speed</dt>
            <dd>
              {rate(selected.speed)}, {share(selected.layer.peak_share)} of the peak
            </dd>
          </dl>
        </section>
      )}
      <h2>Layers</h2>
      <Table
        caption="Layers in the roofline"
        file="roofline"
        rows={dots}
        sortBy={1}
        searchText={(dot) => dot.layer.path}
        selected={(dot) => dot === selected}
        onChoose={setOver}
        columns={[
          { title: "Layer", value: (dot) => dot.layer.path, words: true },
          { title: "Own time", value: (dot) => dot.ns, show: (dot) => time(dot.ns) },
          { title: "FLOPs", value: (dot) => dot.layer.flops, show: (dot) => amount(dot.layer.flops) },
          { title: "Bytes", value: (dot) => dot.layer.bytes, show: (dot) => bytes(dot.layer.bytes) },
          { title: "FLOPs per byte", value: (dot) => dot.intensity, show: (dot) => dot.intensity.toPrecision(3) },
          { title: "FLOP/s", value: (dot) => dot.speed, show: (dot) => amount(dot.speed) },
          { title: "Of peak", value: (dot) => dot.layer.peak_share, show: (dot) => share(dot.layer.peak_share) },
        ]}
      />
    </>
  );
}
