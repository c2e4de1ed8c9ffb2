// Predicted times of models on chips: side by side with their ranges, then the layers of one chip.
import { scaleLinear } from "d3-scale";
import type { ViewProps } from "../app";
import { amount, bytes, count, name, share, time, unbroken } from "../format";
import { series } from "../palette";
import { Table } from "../parts/table";
import { Warnings } from "../parts/warnings";
import { Wide } from "../parts/wide";

interface MapRow {
  name: string;
  time_ns: number | null;
  low_ns: number | null;
  high_ns: number | null;
  least_ns: number | null;
  measured_ns: number | null;
  bound: string;
  utilisation: number | null;
  energy_joules: number | null;
  flops: number | null;
  bytes: number | null;
  kernels: number | null;
}

interface MapChip {
  chip: string;
  total: MapRow;
  unpriced_ns: number | null;
  known: { learnt_ns: number | null; calibrated_ns: number | null; data_sheet_ns: number | null };
  memory_bytes: number | null;
  available_bytes: number | null;
  fits: boolean;
  samples_per_s: number | null;
  price_per_million: number | null;
  tokens: { context: number; sequences: number; prefill_per_s: number | null; decode_per_s: number | null; decode_ms: number | null; fits: boolean }[];
  layers: MapRow[];
}

interface Mapping {
  model: string;
  phase: string;
  dtype: string;
  batch: number | null;
  gpus: number;
  parallel: string;
  fused: boolean;
  measured_on: string | null;
  best_by_time: string | null;
  best_by_energy: string | null;
  best_by_price: string | null;
  chips: MapChip[];
}

/** One model on one chip. */
interface Prediction {
  map: Mapping;
  chip: MapChip;
  title: string;
}

const WIDTH = 1100;
const ROW = 38;
const LEFT = 260;
const RIGHT = 230;
const BOUNDS: Record<string, number> = { compute: 0, memory: 1, launch: 3, communication: 2 };

function placesOf(maps: Mapping[]): Prediction[] {
  return maps.flatMap((map) => map.chips.map((chip) => ({ map, chip, title: maps.length > 1 ? `${map.model}, ${chip.chip}` : chip.chip })));
}

export function mapHeadline(maps: Mapping[]): string {
  const [map] = maps;
  if (!map) return "Nothing was predicted.";
  const best = map.chips.find((chip) => chip.chip === map.best_by_time) ?? map.chips[0];
  const model = name(map.model, 60);
  const range = best.total.low_ns != null && best.total.high_ns != null ? ` (${time(best.total.low_ns)} to ${time(best.total.high_ns)})` : "";
  const takes = `${time(best.total.time_ns)}${range}`;
  if (maps.length > 1) return `${maps.length} models on ${new Set(maps.flatMap((one) => one.chips.map((chip) => chip.chip))).size} chips: ${model} takes ${takes} on ${name(best.chip, 40)}.`;
  const equal = map.chips.filter((chip) => chip.total.time_ns != null && chip.total.time_ns <= (best.total.time_ns ?? 0) * 1.01).length;
  if (equal > 1) return `${equal} of ${map.chips.length} chips are equally quick for ${model}: ${takes}. They are bound by ${best.total.bound === "launch" ? "launches" : best.total.bound}.`;
  return map.chips.length > 1 ? `${name(best.chip, 40)} is the quickest for ${model}: ${takes}.` : `${model} takes ${takes} on ${name(best.chip, 40)}.`;
}

/** A point per prediction, a line for its range, a bar for the least time, a ring for what was measured. */
function Ranges({ places }: { places: Prediction[] }) {
  const rows = places.filter(({ chip }) => chip.total.time_ns != null).slice(0, 60);
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(({ chip }) => Math.max(chip.total.high_ns ?? 0, chip.total.time_ns ?? 0, chip.total.measured_ns ?? 0)), 1);
  const x = scaleLinear().domain([0, most]).range([LEFT, WIDTH - RIGHT]);
  const height = rows.length * ROW + 56;
  return (
    <Wide label="Predicted times with their ranges">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} width="100%" class="wide" role="img" aria-label="Predicted time on every chip with its range; the table below has the numbers">
        {x.ticks(6).map((tick) => (
          <g>
            <line class="grid" x1={x(tick)} x2={x(tick)} y1={0} y2={height - 46} />
            <text x={x(tick)} y={height - 28} text-anchor="middle">
              {tick === 0 ? "0" : time(tick)}
            </text>
          </g>
        ))}
        <text x={(LEFT + WIDTH - RIGHT) / 2} y={height - 6} text-anchor="middle">
          predicted time
        </text>
        {rows.map(({ chip, title }, i) => {
          const { time_ns: predicted, low_ns: low, high_ns: high, least_ns: least, measured_ns: measured, bound } = chip.total;
          const y = i * ROW + ROW / 2;
          const colour = series(BOUNDS[bound] ?? 6);
          return (
            <g>
              <text x={LEFT - 14} y={y + 4} text-anchor="end">
                {name(title, 38)}
              </text>
              {low != null && high != null && <line x1={x(low)} x2={x(high)} y1={y} y2={y} stroke={colour} stroke-width={4} stroke-opacity={0.55} />}
              {least != null && <line class="zero" x1={x(least)} x2={x(least)} y1={y - 9} y2={y + 9} />}
              <circle cx={x(predicted!)} cy={y} r={7} fill={colour} />
              {measured != null && <circle cx={x(measured)} cy={y} r={10} fill="none" stroke="currentColor" stroke-width={2} />}
              <text x={WIDTH - RIGHT + 16} y={y + 4}>
                <tspan class="label">{time(predicted)}</tspan>, {bound}-bound{chip.fits ? "" : ", does not fit"}
              </text>
            </g>
          );
        })}
      </svg>
    </Wide>
  );
}

/** "80 % learnt, 20 % data sheet" */
function knownText({ known }: MapChip): string {
  const parts: [string, number][] = [
    ["learnt", known.learnt_ns ?? 0],
    ["calibrated", known.calibrated_ns ?? 0],
    ["data sheet", known.data_sheet_ns ?? 0],
  ];
  const total = parts.reduce((sum, [, ns]) => sum + ns, 0);
  const texts = parts.filter(([, ns]) => ns > 0).map(([title, ns]) => `${share(ns / total)} ${title}`);
  return texts.join(", ");
}

function ChipsTable({ places }: { places: Prediction[] }) {
  const energy = (joules: number | null) => (joules == null ? "–" : joules < 1 ? `${(joules * 1000).toPrecision(3)} mJ` : `${joules.toPrecision(3)} J`);
  return (
    <Table
      caption="Chips"
      file="map"
      rows={places}
      searchText={({ title }) => title}
      columns={[
        { title: "Chip", value: ({ title }) => title, words: true },
        { title: "Time", value: ({ chip }) => chip.total.time_ns, show: ({ chip }) => time(chip.total.time_ns) },
        { title: "From", value: ({ chip }) => chip.total.low_ns, show: ({ chip }) => time(chip.total.low_ns) },
        { title: "To", value: ({ chip }) => chip.total.high_ns, show: ({ chip }) => time(chip.total.high_ns) },
        { title: "At least", value: ({ chip }) => chip.total.least_ns, show: ({ chip }) => time(chip.total.least_ns) },
        { title: "Measured", value: ({ chip }) => chip.total.measured_ns, show: ({ chip }) => time(chip.total.measured_ns) },
        { title: "Bound", value: ({ chip }) => chip.total.bound },
        { title: "Of peak", value: ({ chip }) => chip.total.utilisation, show: ({ chip }) => share(chip.total.utilisation) },
        { title: "Energy", value: ({ chip }) => chip.total.energy_joules, show: ({ chip }) => energy(chip.total.energy_joules) },
        { title: "Memory", value: ({ chip }) => chip.memory_bytes, show: ({ chip }) => `${bytes(chip.memory_bytes)}${chip.available_bytes ? ` of ${bytes(chip.available_bytes)}` : ""}` },
        { title: "Fits", value: ({ chip }) => (chip.fits ? "yes" : "no") },
        { title: "Samples per s", value: ({ chip }) => chip.samples_per_s, show: ({ chip }) => amount(chip.samples_per_s) },
        { title: "Price per million", value: ({ chip }) => chip.price_per_million, show: ({ chip }) => chip.price_per_million?.toPrecision(3) ?? "–" },
        { title: "Known from", value: ({ chip }) => knownText(chip), words: true },
      ]}
    />
  );
}

function LayersTable({ chip }: { chip: MapChip }) {
  const total = chip.layers.reduce((sum, layer) => sum + (layer.time_ns ?? 0), 0) || 1;
  return (
    <Table
      key={chip.chip}
      caption="Layers"
      file="map-layers"
      rows={chip.layers}
      sortBy={1}
      searchText={(row) => row.name}
      columns={[
        { title: "Layer", value: (row) => row.name, words: true },
        { title: "Time", value: (row) => row.time_ns, show: (row) => time(row.time_ns) },
        { title: "From", value: (row) => row.low_ns, show: (row) => time(row.low_ns) },
        { title: "To", value: (row) => row.high_ns, show: (row) => time(row.high_ns) },
        { title: "Share", value: (row) => (row.time_ns == null ? null : row.time_ns / total), show: (row) => share(row.time_ns == null ? null : row.time_ns / total) },
        { title: "At least", value: (row) => row.least_ns, show: (row) => time(row.least_ns) },
        { title: "Measured", value: (row) => row.measured_ns, show: (row) => time(row.measured_ns) },
        { title: "Bound", value: (row) => row.bound },
        { title: "Of peak", value: (row) => row.utilisation, show: (row) => share(row.utilisation) },
        { title: "FLOPs", value: (row) => row.flops, show: (row) => amount(row.flops) },
        { title: "Bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
        { title: "Kernels", value: (row) => row.kernels, show: (row) => count(row.kernels) },
      ]}
    />
  );
}

function Tokens({ places }: { places: Prediction[] }) {
  const rows = places.flatMap(({ chip, title }) => chip.tokens.map((row) => ({ title, ...row })));
  if (rows.length === 0) return null;
  return (
    <>
      <h2>Tokens per second</h2>
      <p class="under">Of all sequences together.</p>
      <Table
        caption="Tokens per second"
        file="tokens"
        rows={rows}
        columns={[
          { title: "Chip", value: (row) => row.title, words: true },
          { title: "Context", value: (row) => row.context, show: (row) => count(row.context) },
          { title: "Sequences", value: (row) => row.sequences },
          { title: "Prefill", value: (row) => row.prefill_per_s, show: (row) => amount(row.prefill_per_s) },
          { title: "Decode", value: (row) => row.decode_per_s, show: (row) => amount(row.decode_per_s) },
          { title: "ms per token", value: (row) => row.decode_ms, show: (row) => row.decode_ms?.toPrecision(3) ?? "–" },
          { title: "Fits", value: (row) => (row.fits ? "yes" : "no") },
        ]}
      />
    </>
  );
}

function conditions(map: Mapping): string {
  const parts = [map.phase, map.dtype, map.batch ? `batch ${count(map.batch)}` : "", map.gpus > 1 ? `${map.gpus} devices (${map.parallel})` : "", map.fused ? "fused" : ""];
  const best = [map.best_by_energy && `least energy: ${map.best_by_energy}`, map.best_by_price && `lowest price: ${map.best_by_price}`].filter(Boolean).join("; ");
  return `${parts.filter(Boolean).join(", ")}${map.measured_on ? `; measured on ${map.measured_on}` : ""}${map.chips.length > 1 && best ? `; ${best}` : ""}.`;
}

export function MapView({ part, place, move }: ViewProps) {
  const { maps } = part.json<{ maps: Mapping[] }>("result");
  const places = placesOf(maps);
  const chosen = places[Math.min(Math.max(Number(place.chip) || 0, 0), places.length - 1)];
  const full = places.filter(({ chip }) => !chip.fits).map(({ title, chip }) => `${title}: needs ${bytes(chip.memory_bytes)} of memory, the chip has ${bytes(chip.available_bytes)}.`);
  return (
    <>
      <Warnings texts={full} />
      <h1>{unbroken(mapHeadline(maps))}</h1>
      {maps.map((map) => (
        <p class="soft">
          {name(map.model, 60)}: {name(conditions(map), 300)}
        </p>
      ))}
      <h2>Chips side by side</h2>
      <p class="under">
        A point is the prediction, the line its 80 % range, the upright mark the least time by the chip's peaks
        {places.some(({ chip }) => chip.total.measured_ns != null) ? ", a ring what was measured" : ""}. Blue: bound by compute; orange: by memory; green: by communication; pink: by launches.
      </p>
      <Ranges places={places} />
      <ChipsTable places={places} />
      <Tokens places={places} />
      {chosen && (
        <>
          <h2>Layers on {name(chosen.title, 80)}</h2>
          {places.length > 1 && (
            <div class="tools">
              <label>
                Chip{" "}
                <select value={String(places.indexOf(chosen))} onChange={(event) => move({ chip: event.currentTarget.value })}>
                  {places.map(({ title }, i) => (
                    <option value={String(i)}>{name(title, 80)}</option>
                  ))}
                </select>
              </label>
            </div>
          )}
          <LayersTable chip={chosen.chip} />
        </>
      )}
    </>
  );
}
