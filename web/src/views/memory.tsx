// Memory over time: stacked by layer, the peak, and who is alive at the cursor.
import { scaleLinear } from "d3-scale";
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { aliveAt, blocksOf, stackBlocks, type Blocks, type Holder, type Stack } from "../data/memory";
import type { MemoryDevice, TraceResult } from "../data/trace";
import { bytes, name, share, time } from "../format";
import { series } from "../palette";
import { areaPath, byteTicks } from "../parts/area";
import { Table } from "../parts/table";
import { Wide } from "../parts/wide";

const WIDTH = 1140;
const HEIGHT = 340;
const MARGIN = { left: 84, right: 16, top: 20, bottom: 44 };
const MOST_BANDS = 6;

interface Curve {
  times: number[];
  allocated: number[];
  reserved: (number | null)[];
  peak: number;
}

function curveOf(trace: TraceResult, device: MemoryDevice, exact: number[] | undefined): Curve {
  const times = exact ?? device.curve.map((point) => point.time_ns - trace.start_ns);
  const allocated = device.curve.map((point) => point.allocated_bytes ?? 0);
  return { times, allocated, reserved: device.curve.map((point) => point.reserved_bytes), peak: allocated.indexOf(Math.max(...allocated)) };
}

function colourOf(index: number, count: number): string {
  // What is unknown is grey; layers have the other colours.
  return series(index === 0 ? 6 : [0, 1, 2, 3, 4, 5, 7][(count - 1 - index) % 7]);
}

interface ChartProps {
  curve: Curve;
  stack: Stack | null;
  at: number;
  label: string;
  onMove: (index: number) => void;
}

function Chart({ curve, stack, at, label, onMove }: ChartProps) {
  const { times, allocated, reserved } = curve;
  const most = allocated[curve.peak];
  // A reservation far above all use would squeeze the picture; its number stands in the heading.
  const reservedMost = Math.max(...reserved.map((value) => value ?? 0));
  const showsReserved = reservedMost > 0 && reservedMost < most * 2;
  const highest = showsReserved ? Math.max(most, reservedMost) : most;
  const x = scaleLinear().domain([times[0], times[times.length - 1] || 1]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLinear().domain([0, highest * 1.04 || 1]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const areas = useMemo(() => {
    const bands = stack?.bands ?? [{ title: "allocated", bytes: allocated }];
    const lower = new Array<number>(times.length).fill(0);
    return bands.map((band) => {
      const upper = lower.map((bottom, i) => bottom + band.bytes[i]);
      const path = areaPath(times.map((one) => x(one)), lower.map((one) => y(one)), upper.map((one) => y(one)));
      upper.forEach((one, i) => (lower[i] = one));
      return path;
    });
  }, [curve, stack]);
  const step = (values: (number | null)[]) => values.map((value, i) => (value == null ? "" : i === 0 ? `M${x(times[i])} ${y(value)}` : `H${x(times[i])}V${y(value)}`)).join("");
  const nearest = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const wanted = x.invert(((event.clientX - box.left) / box.width) * WIDTH);
    let [low, high] = [0, times.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= wanted) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return (
    <Wide label={label}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" class="wide" role="img" aria-label={`${label}; the tables below have the numbers`} onPointerMove={(event) => onMove(nearest(event))}>
        {byteTicks(highest).map((tick) => (
          <g>
            <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
            <text x={MARGIN.left - 10} y={y(tick) + 4} text-anchor="end">
              {bytes(tick)}
            </text>
          </g>
        ))}
        {x.ticks(8).map((tick) => (
          <text x={x(tick)} y={HEIGHT - MARGIN.bottom + 18} text-anchor="middle">
            {tick === 0 ? "0" : time(tick)}
          </text>
        ))}
        <text x={(WIDTH + MARGIN.left) / 2} y={HEIGHT - 6} text-anchor="middle">
          time since the start
        </text>
        {areas.map((path, i) => (
          <path d={path} fill={colourOf(stack ? i : 1, areas.length)} fill-opacity={0.78} />
        ))}
        {stack && <path d={step(allocated)} fill="none" stroke="currentColor" stroke-width={1} />}
        {showsReserved && <path d={step(reserved)} fill="none" stroke={series(6)} stroke-width={1.5} stroke-dasharray="6 4" />}
        <circle cx={x(times[curve.peak])} cy={y(most)} r={5} fill="none" stroke="currentColor" stroke-width={2} />
        <text x={x(times[curve.peak])} y={y(most) - 9} text-anchor={x(times[curve.peak]) > WIDTH / 2 ? "end" : "start"} class="label">
          peak {bytes(most)}
        </text>
        <line class="zero" x1={x(times[at])} x2={x(times[at])} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
      </svg>
    </Wide>
  );
}

function Bands({ stack, at }: { stack: Stack; at: number }) {
  const bands = stack.bands.map((band, i) => ({ ...band, colour: colourOf(i, stack.bands.length) })).sort((a, b) => b.bytes[at] - a.bytes[at]);
  return (
    <div class="bands" role="list" aria-label="Layers in the picture">
      {bands.map((band) => (
        <span role="listitem">
          <i style={{ background: band.colour }} /> {name(band.title, 60)} <b>{bytes(band.bytes[at])}</b>
        </span>
      ))}
    </div>
  );
}

function Holders({ rows, total, title, file }: { rows: Holder[]; total: number; title: string; file: string }) {
  return (
    <Table
      caption={title}
      file={file}
      rows={rows}
      sortBy={2}
      searchText={(row) => `${row.layer} ${row.op}`}
      columns={[
        { title: "Layer", value: (row) => row.layer, words: true, show: (row) => name(row.layer, 200) || <span class="soft">outside any layer</span> },
        { title: "Op", value: (row) => row.op, words: true, show: (row) => name(row.op, 200) || <span class="soft">none</span> },
        { title: "Bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
        { title: "Share", value: (row) => row.bytes / (total || 1), show: (row) => share(row.bytes / (total || 1)) },
        { title: "Blocks", value: (row) => row.blocks },
      ]}
    />
  );
}

interface DeviceProps {
  trace: TraceResult;
  device: MemoryDevice;
  blocks: Blocks | null;
  number: number;
}

function Device({ trace, device, blocks, number }: DeviceProps) {
  const curve = useMemo(() => curveOf(trace, device, blocks?.curveTimes[number]), [device]);
  const [moved, setMoved] = useState<number | null>(null);
  const at = Math.min(moved ?? curve.peak, curve.times.length - 1);
  const stack = useMemo(() => (blocks && curve.times.length > 1 ? stackBlocks(blocks, number, curve.times, curve.allocated, MOST_BANDS) : null), [blocks, curve]);
  const alive = useMemo(() => (blocks && curve.times.length > 0 ? aliveAt(blocks, number, curve.times[at]) : []), [blocks, curve, at]);
  const when = at === curve.peak ? "at the peak" : `at ${time(curve.times[at])}`;
  const known = alive.reduce((sum, holder) => sum + holder.bytes, 0);
  return (
    <>
      <h2>
        {name(device.device, 80)}: peak {bytes(device.peak_bytes)}
        {device.peak_reserved_bytes ? `, ${bytes(device.peak_reserved_bytes)} reserved` : ""}
      </h2>
      {curve.times.length > 1 && (
        <>
          <Chart curve={curve} stack={stack} at={at} label={`Memory of ${name(device.device, 40)} over time`} onMove={setMoved} />
          {stack && <Bands stack={stack} at={at} />}
          <label class="slider">
            Cursor
            <input
              type="range"
              min={0}
              max={curve.times.length - 1}
              value={at}
              aria-valuetext={`${time(curve.times[at])}: ${bytes(curve.allocated[at])}`}
              onInput={(event) => setMoved(Number(event.currentTarget.value))}
            />
            <span>
              {time(curve.times[at])}: <b>{bytes(curve.allocated[at])}</b> allocated
              {curve.reserved[at] != null ? `, ${bytes(curve.reserved[at])} reserved` : ""}
            </span>
            <button type="button" onClick={() => setMoved(null)}>
              Peak
            </button>
          </label>
        </>
      )}
      {blocks && curve.times.length > 0 && (
        <>
          <h2>Who is alive {when}</h2>
          <p class="under">
            {bytes(known)} of {bytes(curve.allocated[at])} were allocated within the trace{blocks.leftOut > 0 ? `, in blocks of at least ${bytes(blocks.leastBytes)}` : ""}; the rest is from before it
            {blocks.leftOut > 0 ? " or in smaller blocks" : ""}.
          </p>
          <Holders rows={alive} total={curve.allocated[at]} title={`Alive ${when}`} file="alive" />
        </>
      )}
      {device.holders.length > 0 && (
        <>
          {alive.length === 0 ? (
            <>
              <h2>Who is alive at the peak</h2>
              <Holders rows={device.holders} total={device.peak_bytes} title="Holders at the peak" file="memory" />
            </>
          ) : (
            <details>
              <summary>Holders at the peak, with what was allocated before the trace began</summary>
              <Holders rows={device.holders} total={device.peak_bytes} title="Holders at the peak" file="memory" />
            </details>
          )}
        </>
      )}
    </>
  );
}

export function Memory({ part }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const blocks = useMemo(() => blocksOf(part), [part]);
  const devices = trace.memory.devices;
  const largest = [...devices].sort((a, b) => b.peak_bytes - a.peak_bytes)[0];
  return (
    <>
      <h1>{largest ? `Memory peaks at ${bytes(largest.peak_bytes)} on ${name(largest.device, 40)}.` : "No memory was recorded."}</h1>
      {devices.length === 0 && (
        <p>
          Record it: <code>torch.profiler.profile(profile_memory=True)</code>, or <code>pyrometer run</code>, which does so by default.
        </p>
      )}
      {devices.map((device, number) => (
        <Device trace={trace} device={device} blocks={blocks} number={number} />
      ))}
    </>
  );
}
