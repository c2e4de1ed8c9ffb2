// Blocks of memory with their lifetimes and owners: who is alive when, and stacks of layers.
import type { Part } from "./container";

export interface Blocks {
  /** Since the start of the timeline, in order. */
  start: Float64Array;
  end: Float64Array;
  bytes: Float64Array;
  layer: Float64Array;
  op: Float64Array;
  device: Uint8Array;
  texts: string[];
  /** Smaller blocks that are not listed, and from which size on all are. */
  leftOut: number;
  leastBytes: number;
  /** Of each device: the times of its curve. */
  curveTimes: number[][];
}

export function blocksOf(part: Part): Blocks | null {
  if (!part.has("blocks")) return null;
  const head = part.json<{ left_out: number; least_bytes: number; texts: string[]; curve_times: number[][] }>("blocks");
  const start = part.column("block_start") as Float64Array;
  const lifetime = part.column("block_lifetime") as Float64Array;
  return {
    start,
    end: start.map((from, i) => from + lifetime[i]),
    bytes: part.column("block_bytes") as Float64Array,
    layer: part.column("block_layer") as Float64Array,
    op: part.column("block_op") as Float64Array,
    device: part.column("block_device") as Uint8Array,
    texts: head.texts,
    leftOut: head.left_out,
    leastBytes: head.least_bytes,
    curveTimes: head.curve_times,
  };
}

export interface Holder {
  layer: string;
  op: string;
  bytes: number;
  blocks: number;
}

/** Who holds memory at a time, the largest first. */
export function aliveAt(blocks: Blocks, device: number, time: number): Holder[] {
  const found = new Map<string, Holder>();
  for (let i = 0; i < blocks.start.length && blocks.start[i] <= time; i++) {
    if (blocks.end[i] <= time || blocks.device[i] !== device) continue;
    const key = `${blocks.layer[i]} ${blocks.op[i]}`;
    const holder = found.get(key) ?? { layer: blocks.texts[blocks.layer[i]], op: blocks.texts[blocks.op[i]], bytes: 0, blocks: 0 };
    holder.bytes += blocks.bytes[i];
    holder.blocks++;
    found.set(key, holder);
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes);
}

export interface Stack {
  times: number[];
  /** From the bottom: what nobody is known to hold, then layers. */
  bands: { title: string; bytes: number[] }[];
}

/** The part of a path that tells layers apart: as deep as there are at most `most` of them. */
export function groupsOf(paths: Set<string>, most: number): (path: string) => string {
  let depth = 1;
  const at = (path: string, length: number) => path.split(".").slice(0, length).join(".");
  for (let next = 2; next < 12; next++) {
    if (new Set([...paths].map((path) => at(path, next))).size > most) break;
    depth = next;
  }
  return (path) => at(path, depth);
}

/** Live bytes of the largest layers at the given times. `total` is what the allocator says. */
export function stackBlocks(blocks: Blocks, device: number, times: number[], total: number[], most: number): Stack {
  const used = new Set<string>();
  for (let i = 0; i < blocks.start.length; i++) if (blocks.device[i] === device && blocks.texts[blocks.layer[i]]) used.add(blocks.texts[blocks.layer[i]]);
  const groupOf = groupsOf(used, most + 4);
  const firstFrom = (time: number) => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const differences = new Map<string, Float64Array>();
  for (let i = 0; i < blocks.start.length; i++) {
    if (blocks.device[i] !== device) continue;
    const path = blocks.texts[blocks.layer[i]];
    const group = path ? groupOf(path) : "";
    const line = differences.get(group) ?? new Float64Array(times.length + 1);
    line[firstFrom(blocks.start[i])] += blocks.bytes[i];
    line[firstFrom(blocks.end[i])] -= blocks.bytes[i];
    differences.set(group, line);
  }
  const lines = [...differences].map(([title, line]) => {
    let live = 0;
    const values = times.map((_time, i) => (live += line[i]));
    return { title, bytes: values, peak: Math.max(...values) };
  });
  const named = lines.filter((one) => one.title !== "").sort((a, b) => b.peak - a.peak);
  const outside = lines.find((one) => one.title === "");
  const rest = named.slice(most);
  const sum = (parts: { bytes: number[] }[]) => times.map((_time, i) => parts.reduce((all, part) => all + part.bytes[i], 0));
  const known = sum(lines);
  return {
    times,
    bands: [
      { title: "from before the trace, or unknown", bytes: total.map((bytes, i) => Math.max(bytes - known[i], 0)) },
      ...(outside ? [{ title: "outside any layer", bytes: outside.bytes }] : []),
      ...(rest.length > 0 ? [{ title: `${rest.length} other layers`, bytes: sum(rest) }] : []),
      ...named.slice(0, most),
    ],
  };
}
