// A training step of a model: its memory from operator to operator, its FLOPs by phase, and its layers.
import { scaleLinear } from "d3-scale";
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { PHASES, stretchesOf, type Phase, type TrainResult, type TrainRow } from "../data/train";
import { amount, bytes, count, name, share, unbroken, upperFirst } from "../format";
import { series } from "../palette";
import { areaPath, byteTicks } from "../parts/area";
import { Bars } from "../parts/bars";
import { Table } from "../parts/table";
import { Wide } from "../parts/wide";

const WIDTH = 1140;
const HEIGHT = 340;
const MARGIN = { left: 84, right: 16, top: 24, bottom: 44 };
/** Of the drawing: a longer curve keeps the largest value of each stretch. */
const MOST_POINTS = 2000;
const COLOURS: Record<Phase, number> = { forward: 0, backward: 1, recompute: 3, optimizer: 2 };

/** Parts of the memory, with their titles and colours. */
const HELD: [string, string, number][] = [
  ["weight_bytes", "Weights", 0],
  ["master_weight_bytes", "Master weights", 4],
  ["gradient_bytes", "Gradients", 1],
  ["optimizer_state_bytes", "Optimizer states", 2],
  ["optimizer_scratch_bytes", "Optimizer scratch", 7],
  ["saved_activation_bytes", "Saved activations", 5],
  ["input_bytes", "Inputs", 6],
];

/** "backward of conv1 (layer1.0)" */
function placeOf(point: { phase: string; node: string; layer: string }): string {
  if (!point.node) return point.phase;
  return `${point.phase} of ${name(point.node, 80)}${point.layer ? ` (${name(point.layer, 120)})` : ""}`;
}

interface Point {
  index: number;
  bytes: number;
}

/** At most MOST_POINTS points: the largest of each group of neighbours. */
export function thin(curve: { bytes: number }[]): Point[] {
  const group = Math.ceil(curve.length / MOST_POINTS);
  const points: Point[] = [];
  for (let from = 0; from < curve.length; from += group) {
    let most = from;
    for (let i = from; i < Math.min(from + group, curve.length); i++) if (curve[i].bytes > curve[most].bytes) most = i;
    points.push({ index: from, bytes: curve[most].bytes });
  }
  return points;
}

function Curve({ train, at, onMove }: { train: TrainResult; at: number; onMove: (index: number) => void }) {
  const { curve, peak_memory: peak } = train;
  const points = useMemo(() => thin(curve), [curve]);
  const x = scaleLinear().domain([0, curve.length]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLinear().domain([0, peak.total_bytes * 1.06 || 1]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const floor = y(0);
  // A checkpointed step changes its phase for every block: one path per phase.
  const areas = useMemo(() => {
    const paths: Partial<Record<Phase, string>> = {};
    for (const { phase, from, to } of stretchesOf(points.map((point) => curve[point.index]))) {
      const part = points.slice(from, to);
      const end = points[to]?.index ?? curve.length;
      const across = [...part.map((point) => x(point.index)), x(end)];
      const up = [...part, part[part.length - 1]].map((point) => y(point.bytes));
      paths[phase] = (paths[phase] ?? "") + areaPath(across, across.map(() => floor), up);
    }
    return paths;
  }, [points]);
  const nearest = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const wanted = Math.floor(x.invert(((event.clientX - box.left) / box.width) * WIDTH));
    return Math.min(Math.max(wanted, 0), curve.length - 1);
  };
  return (
    <Wide label="Memory over the step">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" class="wide" role="img" aria-label="Memory after every operator of the step; the tables below have the numbers" onPointerMove={(event) => onMove(nearest(event))}>
        {byteTicks(peak.total_bytes).map((tick) => (
          <g>
            <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} />
            <text x={MARGIN.left - 10} y={y(tick) + 4} text-anchor="end">
              {bytes(tick)}
            </text>
          </g>
        ))}
        {x.ticks(8).filter(Number.isInteger).map((tick) => (
          <text x={x(tick)} y={HEIGHT - MARGIN.bottom + 18} text-anchor="middle">
            {count(tick)}
          </text>
        ))}
        <text x={(WIDTH + MARGIN.left) / 2} y={HEIGHT - 6} text-anchor="middle">
          operators of the step, in their order
        </text>
        {PHASES.filter((phase) => areas[phase]).map((phase) => (
          <path d={areas[phase]} fill={series(COLOURS[phase])} fill-opacity={0.78} />
        ))}
        <circle cx={x(peak.step + 0.5)} cy={y(peak.total_bytes)} r={5} fill="none" stroke="currentColor" stroke-width={2} />
        <text x={x(peak.step + 0.5)} y={y(peak.total_bytes) - 9} text-anchor={peak.step > curve.length / 2 ? "end" : "start"} class="label">
          peak {bytes(peak.total_bytes)}
        </text>
        <line class="zero" x1={x(at + 0.5)} x2={x(at + 0.5)} y1={MARGIN.top} y2={floor} />
      </svg>
    </Wide>
  );
}

function MemoryOverStep({ train }: { train: TrainResult }) {
  const { curve, peak_memory: peak } = train;
  const [moved, setMoved] = useState<number | null>(null);
  const at = Math.min(Math.max(moved ?? peak.step, 0), curve.length - 1);
  const point = curve[at];
  if (!point) return null;
  const where = placeOf(point);
  return (
    <>
      <h2>Memory over the step</h2>
      <div class="bands" role="list" aria-label="Phases in the picture">
        {PHASES.filter((phase) => curve.some((one) => one.phase === phase)).map((phase) => (
          <span role="listitem">
            <i style={{ background: series(COLOURS[phase]) }} /> {upperFirst(phase)}
          </span>
        ))}
      </div>
      <Curve train={train} at={at} onMove={setMoved} />
      <label class="slider">
        Cursor
        <input type="range" min={0} max={curve.length - 1} value={at} aria-valuetext={`${where}: ${bytes(point.bytes)}`} onInput={(event) => setMoved(Number(event.currentTarget.value))} />
        <span>
          {upperFirst(where)}: <b>{bytes(point.bytes)}</b>
        </span>
        <button type="button" onClick={() => setMoved(null)}>
          Peak
        </button>
      </label>
    </>
  );
}

function Layers({ rows }: { rows: TrainRow[] }) {
  const step = (row: TrainRow) => PHASES.reduce((sum, phase) => sum + row[phase].flops, 0);
  return (
    <Table
      caption="Layers"
      file="train-layers"
      rows={rows}
      sortBy={2}
      searchText={(row) => `${row.name} ${row.type}`}
      columns={[
        { title: "Layer", value: (row) => row.name, words: true },
        { title: "Type", value: (row) => row.type },
        { title: "FLOPs of the step", value: step, show: (row) => amount(step(row)) },
        ...PHASES.map((phase) => ({ title: upperFirst(phase), value: (row: TrainRow) => row[phase].flops, show: (row: TrainRow) => amount(row[phase].flops) })),
        { title: "Saved activations", value: (row) => row.saved_activation_bytes, show: (row) => bytes(row.saved_activation_bytes) },
        { title: "Gradients", value: (row) => row.gradient_bytes, show: (row) => bytes(row.gradient_bytes) },
        { title: "Optimizer states", value: (row) => row.optimizer_state_bytes, show: (row) => bytes(row.optimizer_state_bytes) },
        { title: "Trained parameters", value: (row) => row.trainable_params, show: (row) => amount(row.trainable_params) },
      ]}
    />
  );
}

function Alive({ train }: { train: TrainResult }) {
  const total = train.peak_memory.total_bytes || 1;
  return (
    <>
      <h2>What is alive at the peak</h2>
      <Table
        caption="Alive at the peak"
        file="alive"
        rows={train.alive_at_peak}
        sortBy={3}
        searchText={(row) => `${row.what} ${row.name} ${row.layer}`}
        columns={[
          { title: "What", value: (row) => row.what, words: true },
          { title: "Name", value: (row) => row.name, words: true },
          { title: "Layer", value: (row) => row.layer, words: true },
          { title: "Bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
          { title: "Share", value: (row) => row.bytes / total, show: (row) => share(row.bytes / total) },
        ]}
      />
    </>
  );
}

export function TrainView({ part }: ViewProps) {
  const train = part.json<TrainResult>("result");
  const { peak_memory: peak, options } = train;
  const shapes = train.inputs.map((input) => `${name(input.name, 40)} ${input.shape.join(" × ")} ${input.dtype}`).join(", ");
  const held = HELD.map(([key, title, colour]) => ({ title, colour, value: Number(peak[key] ?? 0) })).filter((row) => row.value > 0);
  return (
    <>
      {train.coverage.uncounted.length > 0 && (
        <p class="warning">{train.coverage.uncounted.length} kinds of operators have no price: {share(train.coverage.share)} of all are counted.</p>
      )}
      <h1>
        {unbroken(`A training step of ${name(train.display_name ?? train.model, 80)} needs ${bytes(peak.total_bytes)} of memory and ${amount(train.total_flops, "FLOP")}.`)}
      </h1>
      <p class="soft">
        The peak is in the {placeOf(peak)}. Optimizer {options.optimizer}, checkpointing {options.checkpoint}, precision {options.precision === "file" ? `of the file (${train.dtype})` : options.precision}
        {options.lora ? `, LoRA ${name(options.lora, 80)}` : ""}
        {options.freeze ? `, frozen: ${name(options.freeze, 80)}` : ""}. Input: {shapes}.
      </p>
      <MemoryOverStep train={train} />
      <h2>What fills the memory</h2>
      <p class="under">The most of each part over the step; not all of them are there at the peak.</p>
      <Bars rows={held.map((row) => ({ ...row, text: bytes(row.value), note: "" }))} total={peak.total_bytes} />
      <h2>Where the FLOPs go</h2>
      <p class="under">{name(train.convention_summary, 200)}.</p>
      <Bars
        rows={PHASES.filter((phase) => train[phase].flops > 0).map((phase) => ({
          title: upperFirst(phase),
          value: train[phase].flops,
          text: amount(train[phase].flops),
          note: `${bytes(train[phase].memory)} moved`,
          colour: COLOURS[phase],
        }))}
        total={train.total_flops}
      />
      <Alive train={train} />
      <h2>Layers</h2>
      <p class="under">
        {amount(train.trainable_params)} trained parameters{train.frozen_params ? `, ${amount(train.frozen_params)} frozen` : ""}
        {train.lora_params ? `, ${amount(train.lora_params)} of LoRA` : ""}.
      </p>
      <Layers rows={train.layers} />
      {train.notes.length > 0 && (
        <ul>
          {train.notes.map((text) => (
            <li>{upperFirst(name(text, 500))}</li>
          ))}
        </ul>
      )}
    </>
  );
}
