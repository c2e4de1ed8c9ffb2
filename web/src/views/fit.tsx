// Whether a model fits into the memory of chips: the answer, its parts against the memory, and what saves memory.
import type { ViewProps } from "../app";
import { amount, bytes, count, name, share, time, unbroken, upperFirst } from "../format";
import { series } from "../palette";
import { Table } from "../parts/table";

interface Layout {
  tensor: number;
  pipeline: number;
  data: number;
  expert: number;
  sharding: string;
  sequence: boolean;
}

interface FitAnswer {
  chip: string;
  memory_bytes: number;
  gpus: number;
  layout: Layout;
  fits: boolean;
  total_bytes: number;
  margin_bytes: number;
  peak: string;
  held_bytes: Record<string, number>;
  peak_bytes: Record<string, number>;
  largest_batch: number | null;
  largest_sequence: number | null;
  largest_concurrent: number | null;
  enough_gpus?: number;
  enough_layout?: Layout;
  communication: { total_bytes: number; seconds: number };
  levers: { name: string; how: string; saved_bytes: number; total_bytes: number; fits: boolean }[];
}

interface FitResult {
  model: string;
  dtype: string;
  parameters: number;
  mode: string;
  training?: { optimizer: string; checkpoint: string; precision: string };
  batch: number;
  sequence: number;
  concurrent: number;
  answers: FitAnswer[];
  assumptions: string[];
  notes: string[];
}

/** What the model does not use itself is pale. */
const RESERVE = -1;

/** Parts of the memory in the order of the bars, with their colours. */
const PARTS: [string, number][] = [
  ["weights", 0],
  ["master_weights", 4],
  ["gradients", 1],
  ["optimizer_states", 2],
  ["optimizer_scratch", 7],
  ["activations", 5],
  ["kv_cache", 3],
  ["buffers", 6],
  ["reserve", RESERVE],
];

function colourOf(colour: number): string {
  return colour === RESERVE ? "var(--pale)" : series(colour);
}

function partTitle(part: string): string {
  return part === "kv_cache" ? "KV cache" : upperFirst(part.replace(/_/g, " "));
}

/** "tp=2,pp=4,fsdp", as --parallel takes it. */
export function layoutText(layout: Layout): string {
  const ranks: [string, number][] = [
    ["tp", layout.tensor],
    ["pp", layout.pipeline],
    ["dp", layout.data],
    ["ep", layout.expert],
  ];
  const parts = ranks.filter(([, ranked]) => ranked > 1).map(([title, ranked]) => `${title}=${ranked}`);
  if (layout.sharding !== "none") parts.push(layout.sharding);
  if (layout.sequence) parts.push("sp");
  return parts.join(",") || "one GPU";
}

function chipTitle(answer: FitAnswer): string {
  return `${answer.gpus} × ${name(answer.chip, 40)}`;
}

export function fitHeadline(fit: FitResult): string {
  const model = name(fit.model, 60);
  const task = fit.mode === "training" ? "training" : "inference";
  const fitting = fit.answers.filter((answer) => answer.fits);
  const [first] = fit.answers;
  if (fit.answers.length > 1) {
    if (fitting.length === 0) return `No: ${model} fits on none of these ${fit.answers.length} chips for ${task}.`;
    if (fitting.length === fit.answers.length) return `Yes: ${model} fits on all ${fit.answers.length} of these chips for ${task}.`;
    return `${model} fits on ${fitting.length} of these ${fit.answers.length} chips for ${task}.`;
  }
  const margin = bytes(Math.abs(first.margin_bytes));
  return first.fits
    ? `Yes: ${model} fits on ${chipTitle(first)} for ${task}. ${margin} of ${bytes(first.memory_bytes)} stay free.`
    : `No: ${model} does not fit on ${chipTitle(first)} for ${task}. ${margin} are missing.`;
}

/** One bar per chip: what is there at the peak, against the memory of one GPU. */
function Stacks({ answers }: { answers: FitAnswer[] }) {
  const most = Math.max(...answers.map((answer) => Math.max(answer.memory_bytes, answer.total_bytes)), 1);
  const width = (value: number) => `${(value / most) * 100}%`;
  const shown = PARTS.filter(([part]) => answers.some((answer) => answer.peak_bytes[part] > 0));
  return (
    <>
      <div class="bands" role="list" aria-label="Parts in the bars">
        {shown.map(([part, colour]) => (
          <span role="listitem">
            <i style={{ background: colourOf(colour) }} /> {partTitle(part)}
          </span>
        ))}
      </div>
      <div class="waterfall stacks" role="list">
        {answers.map((answer) => {
          let from = 0;
          return (
            <div role="listitem" class="contents">
              <span>{chipTitle(answer)}</span>
              <span class="bar" aria-hidden="true">
                <u style={{ width: width(answer.memory_bytes) }} />
                {shown.map(([part, colour]) => {
                  const left = from;
                  from += answer.peak_bytes[part];
                  return <i hidden={from === left} style={{ left: width(left), width: width(from - left), background: colourOf(colour) }} />;
                })}
                <b style={{ left: width(answer.memory_bytes) }} />
              </span>
              <span class="value">
                {bytes(answer.total_bytes)} <span class="soft">{share(answer.total_bytes / (answer.memory_bytes || 1))}</span>
              </span>
              <span class="note">
                {answer.fits ? `fits: ${bytes(answer.margin_bytes)} of ${bytes(answer.memory_bytes)} free` : `does not fit: ${bytes(-answer.margin_bytes)} above ${bytes(answer.memory_bytes)}`}
                {!answer.fits && answer.enough_gpus ? `; ${answer.enough_gpus} GPUs hold it (${layoutText(answer.enough_layout!)})` : ""}
              </span>
            </div>
          );
        })}
      </div>
    </>
  );
}

function Chips({ answers }: { answers: FitAnswer[] }) {
  const most = (value: number | null) => (value === 0 ? "none" : count(value));
  return (
    <Table
      caption="Chips"
      file="fit"
      rows={answers}
      columns={[
        { title: "Chip", value: (row) => row.chip, words: true },
        { title: "GPUs", value: (row) => row.gpus },
        { title: "Layout", value: (row) => layoutText(row.layout) },
        { title: "Fits", value: (row) => (row.fits ? "yes" : "no") },
        { title: "Needs", value: (row) => row.total_bytes, show: (row) => bytes(row.total_bytes) },
        { title: "Memory", value: (row) => row.memory_bytes, show: (row) => bytes(row.memory_bytes) },
        { title: "Free", value: (row) => row.margin_bytes, show: (row) => (row.margin_bytes < 0 ? `−${bytes(-row.margin_bytes)}` : bytes(row.margin_bytes)) },
        { title: "Largest batch", value: (row) => row.largest_batch, show: (row) => most(row.largest_batch) },
        { title: "Largest sequence", value: (row) => row.largest_sequence, show: (row) => most(row.largest_sequence) },
        { title: "Concurrent sequences", value: (row) => row.largest_concurrent, show: (row) => most(row.largest_concurrent) },
        { title: "Enough GPUs", value: (row) => row.enough_gpus ?? null },
        { title: "Sent per GPU", value: (row) => row.communication.total_bytes || null, show: (row) => (row.communication.total_bytes ? `${bytes(row.communication.total_bytes)}${row.communication.seconds ? `, ${time(row.communication.seconds * 1e9)}` : ""}` : "–") },
        { title: "Peak in", value: (row) => row.peak, words: true },
      ]}
    />
  );
}

/** Rows of all chips, each with its chip's name. */
function PartsTable({ answers }: { answers: FitAnswer[] }) {
  const rows = answers.flatMap((answer) =>
    PARTS.filter(([part]) => answer.held_bytes[part] > 0).map(([part]) => ({ chip: chipTitle(answer), part, held: answer.held_bytes[part], peak: answer.peak_bytes[part], memory: answer.memory_bytes })),
  );
  return (
    <Table
      caption="Parts"
      file="parts"
      rows={rows}
      columns={[
        ...(answers.length > 1 ? [{ title: "Chip", value: (row: (typeof rows)[0]) => row.chip, words: true }] : []),
        { title: "Part", value: (row) => partTitle(row.part), words: true },
        { title: "At the peak", value: (row) => row.peak, show: (row) => bytes(row.peak) },
        { title: "Most", value: (row) => row.held, show: (row) => bytes(row.held) },
        { title: "Of memory", value: (row) => row.peak / (row.memory || 1), show: (row) => share(row.peak / (row.memory || 1)) },
      ]}
    />
  );
}

function Levers({ answers }: { answers: FitAnswer[] }) {
  const rows = answers.flatMap((answer) => answer.levers.map((lever) => ({ chip: chipTitle(answer), ...lever })));
  if (rows.length === 0) return null;
  return (
    <>
      <h2>What saves memory</h2>
      <p class="under">Each measure by itself.</p>
      <Table
        caption="Measures"
        file="measures"
        rows={rows}
        columns={[
          ...(answers.length > 1 ? [{ title: "Chip", value: (row: (typeof rows)[0]) => row.chip, words: true }] : []),
          { title: "Measure", value: (row) => row.name, words: true },
          { title: "Saves", value: (row) => row.saved_bytes, show: (row) => bytes(row.saved_bytes) },
          { title: "Then needs", value: (row) => row.total_bytes, show: (row) => bytes(row.total_bytes) },
          { title: "Fits", value: (row) => (row.fits ? "yes" : "no") },
          { title: "How", value: (row) => row.how, words: true },
        ]}
      />
    </>
  );
}

export function FitView({ part }: ViewProps) {
  const fit = part.json<FitResult>("result");
  const sizes = [`batch ${count(fit.batch)}`, fit.sequence > 0 ? `${count(fit.sequence)} tokens` : "", fit.concurrent > 1 ? `${count(fit.concurrent)} sequences at once` : ""].filter(Boolean).join(", ");
  const training = fit.training ? `, optimizer ${fit.training.optimizer}, checkpointing ${fit.training.checkpoint}, precision ${fit.training.precision}` : "";
  return (
    <>
      <h1>{unbroken(fitHeadline(fit))}</h1>
      <p class="soft">
        {amount(fit.parameters)} parameters in {name(fit.dtype, 30)}; {sizes}
        {name(training, 200)}.
      </p>
      <h2>What fills the memory of one GPU</h2>
      <p class="under">At its peak, on the fullest GPU. The upright line is the memory of the chip.</p>
      <Stacks answers={fit.answers} />
      <h2>Chips</h2>
      <Chips answers={fit.answers} />
      <h2>Parts</h2>
      <PartsTable answers={fit.answers} />
      <Levers answers={fit.answers} />
      <h2>Assumptions</h2>
      <ul>
        {[...fit.assumptions, ...fit.notes].map((text) => (
          <li>{upperFirst(name(text, 500))}</li>
        ))}
      </ul>
    </>
  );
}
