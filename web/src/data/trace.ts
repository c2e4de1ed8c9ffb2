// The parts of a trace's result (schemas/trace-1.json) that the views show, and its timeline.
import type { Part } from "./container";

export interface StepRow {
  name: string;
  number: number;
  start_ns: number;
  span_ns: number;
  compute_ns: number;
  communication_exposed_ns: number;
  copy_exposed_ns: number;
  idle_ns: number;
}

export interface LayerRow {
  path: string;
  class: string;
  parent: number | null; // index of a row
  depth: number;
  calls: number;
  forward_host_ns: number;
  forward_host_self_ns: number;
  forward_device_ns: number;
  forward_device_self_ns: number;
  backward_host_ns: number;
  backward_host_self_ns: number;
  backward_device_ns: number;
  backward_device_self_ns: number;
  kernels: number;
  flops: number | null;
  bytes: number | null;
  allocated_bytes: number | null;
  dtype: string | null;
  flops_per_s: number | null;
  peak_share: number | null;
  bytes_per_s?: number | null;
  bandwidth_share?: number | null;
}

export interface OpRow {
  name: string;
  shapes: string;
  calls: number;
  host_total_ns: number;
  host_self_ns: number;
  device_total_ns: number;
  device_self_ns: number;
  flops: number | null;
  bytes: number | null;
  dtype: string | null;
  flops_per_s: number | null;
  phase: string;
}

export interface KernelRow {
  name: string;
  short_name: string;
  op: string;
  category: string;
  calls: number;
  total_ns: number;
  median_ns: number;
  min_ns: number;
  max_ns: number;
  occupancy_percent: number | null;
}

export interface FindingRow {
  id: string;
  severity: string;
  title: string;
  evidence: string;
  advice: string;
  place: string;
  gain_ns: number | null;
  gain_basis: string;
}

export interface FindingPart {
  finding: string;
  id: string;
  title: string;
  evidence: string;
  place: string;
  gain_ns: number | null;
}

export interface MemoryPoint {
  time_ns: number;
  allocated_bytes: number | null;
  reserved_bytes: number | null;
}

export interface MemoryDevice {
  device: string;
  peak_bytes: number;
  peak_reserved_bytes: number | null;
  holders: { layer: string; op: string; bytes: number; blocks: number }[];
  curve: MemoryPoint[];
}

export interface StackRow {
  stack: string;
  [key: string]: unknown;
}

export interface TraceResult {
  schema: string;
  file: string;
  events: number;
  warnings: string[];
  notes: string[];
  device: string | null;
  has_layers: boolean;
  has_shapes: boolean;
  has_stacks: boolean;
  has_memory: boolean;
  start_ns: number;
  span_ns: number;
  device_total_ns: number;
  device_busy_ns: number;
  kernel_count: number;
  step_source: string;
  steps_inferred: boolean;
  unattributed: { no_launch_ns: number; outside_layer_ns: number; optimizer_ns: number; collective_ns: number };
  steps: StepRow[];
  training: { flops: number | null; flops_per_s: number | null; peak_flops_per_s: number | null; dtype: string | null }[];
  /** What recording added to the steps; an estimate. */
  profiler_cost?: { time_ns: number | null; step_without_ns: number | null; step_without_low_ns: number | null; step_without_high_ns: number | null };
  layers: LayerRow[];
  ops: OpRow[];
  kernels: KernelRow[];
  categories: { category: string; calls: number; total_ns: number; share: number }[];
  /** What the chip needs at least for the ops with a price, and what they take. */
  least_time?: { known_ns: number; least_ns: number | null };
  causes: { step: number; cause: string; time_ns: number; profiler_ns?: number }[];
  cause_places: { cause: string; op: string; layer: string; line: string; time_ns: number }[];
  memory: { device: string | null; peak_bytes: number | null; devices: MemoryDevice[] };
  findings: FindingRow[];
  finding_parts: FindingPart[];
  stacks?: StackRow[];
  cut?: Record<string, number>;
}

export interface TimelineRow {
  track: number;
  row: number;
  first: number;
  count: number;
}

export interface TimelineHead {
  start_ns: number;
  span_ns: number;
  /** What is shown of it. */
  from_ns: number;
  to_ns: number;
  merged_events: number;
  merged_below_ns: number;
  names: string[];
  layers: string[];
  tracks: { name: string; device: boolean; pid: number; tid: number; stream: number }[];
  steps: { name: string; start_ns: number; end_ns: number }[];
  rows: TimelineRow[];
}

/** The columns of all slices; `start` is since the start of the timeline. */
export interface Timeline extends TimelineHead {
  start: Float64Array;
  duration: Float64Array;
  name: Float64Array;
  layer: Float64Array;
  launch: Float64Array;
  /** Of a backward op: the forward op, plus 1. */
  forward: Float64Array;
  events: Float64Array;
  category: Uint8Array;
  phase: Uint8Array;
}

export function timelineOf(part: Part): Timeline | null {
  if (!part.has("timeline")) return null;
  const numbers = (name: string) => part.column(name) as Float64Array;
  const head = part.json<TimelineHead>("timeline");
  const launch = numbers("launch");
  return {
    ...head,
    from_ns: head.from_ns ?? 0,
    to_ns: head.to_ns ?? head.span_ns,
    start: numbers("start"),
    duration: numbers("duration"),
    name: numbers("name"),
    layer: numbers("layer"),
    launch,
    forward: part.has("forward") ? numbers("forward") : new Float64Array(launch.length),
    events: numbers("events"),
    category: part.column("category") as Uint8Array,
    phase: part.column("phase") as Uint8Array,
  };
}

/** A series of numbers over time; times are since the start of the timeline. */
export interface Counter {
  name: string;
  series: string;
  track: number;
  times: number[];
  values: number[];
}

export function countersOf(part: Part): Counter[] {
  return part.has("counters") ? part.json<Counter[]>("counters") : [];
}

/** Whether times of layers are on a device, else on the host. */
export function onDevice(trace: TraceResult): boolean {
  return trace.kernel_count > 0;
}

/** Causes of the account that are work, not waiting. */
const WORK = new Set(["compute", "copy", "communication", "forward", "backward", "optimizer"]);

const lostTimes = new WeakMap<TraceResult, Map<string, number>>();

/** Time that the device waited for a layer's ops, by its path, with what is inside of it. */
export function lostTime(trace: TraceResult, layer: LayerRow): number {
  let known = lostTimes.get(trace);
  if (!known) {
    known = new Map<string, number>();
    const index = new Map(trace.layers.map((one) => [one.path, one]));
    for (const place of onDevice(trace) ? trace.cause_places : []) {
      if (WORK.has(place.cause)) continue;
      let at = index.get(place.layer);
      while (at) {
        known.set(at.path, (known.get(at.path) ?? 0) + place.time_ns);
        at = at.parent == null ? undefined : trace.layers[at.parent];
      }
    }
    lostTimes.set(trace, known);
  }
  return known.get(layer.path) ?? 0;
}

export function layerTime(trace: TraceResult, layer: LayerRow): number {
  return onDevice(trace)
    ? layer.forward_device_ns + layer.backward_device_ns
    : layer.forward_host_ns + layer.backward_host_ns;
}

export function layerOwnTime(trace: TraceResult, layer: LayerRow): number {
  return onDevice(trace)
    ? layer.forward_device_self_ns + layer.backward_device_self_ns
    : layer.forward_host_self_ns + layer.backward_host_self_ns;
}
