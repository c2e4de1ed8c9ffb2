// Stacks from the timeline: what ran inside of what, merged by name.
import type { Timeline } from "./trace";

export interface StackNode {
  name: string;
  total: number;
  own: number;
  calls: number;
  children: Map<string, StackNode>;
}

function node(name: string): StackNode {
  return { name, total: 0, own: 0, calls: 0, children: new Map() };
}

function childOf(parent: StackNode, name: string): StackNode {
  let child = parent.children.get(name);
  if (!child) {
    child = node(name);
    parent.children.set(name, child);
  }
  return child;
}

const known = new WeakMap<Timeline, string[]>();

/** A name without the address of an object, so that equal calls have equal names. */
function nameOf(timeline: Timeline, index: number): string {
  const names = known.get(timeline) ?? timeline.names.map((one) => one.replace(/ object at 0x[0-9a-f]+/g, " object"));
  known.set(timeline, names);
  return names[index];
}

function textOf(timeline: Timeline, slice: number): string {
  return timeline.name[slice] === 0 ? "(merged short events)" : nameOf(timeline, timeline.name[slice] - 1);
}

/** Host stacks of one track: rows nest by time. */
function addHostTrack(timeline: Timeline, root: StackNode, track: number): void {
  const rows = timeline.rows.filter((row) => row.track === track).sort((a, b) => a.row - b.row);
  const next = rows.map((row) => row.first);
  const visit = (depth: number, parent: StackNode, end: number) => {
    const row = rows[depth];
    if (!row) return 0;
    let inside = 0;
    while (next[depth] < row.first + row.count && timeline.start[next[depth]] < end) {
      const slice = next[depth]++;
      const child = childOf(parent, textOf(timeline, slice));
      const below = visit(depth + 1, child, timeline.start[slice] + timeline.duration[slice]);
      child.total += timeline.duration[slice];
      child.own += Math.max(timeline.duration[slice] - below, 0);
      child.calls += timeline.events[slice];
      inside += timeline.duration[slice];
    }
    return inside;
  };
  const sum = visit(0, root, Infinity);
  root.total += sum;
}

/** Device work under the layers that launched it. */
function addDeviceTrack(timeline: Timeline, root: StackNode, track: number): void {
  for (const row of timeline.rows) {
    if (row.track !== track) continue;
    for (let slice = row.first; slice < row.first + row.count; slice++) {
      const layer = timeline.layer[slice];
      let at = root;
      const duration = timeline.duration[slice];
      const path = layer > 0 ? timeline.layers[layer - 1].split(".") : ["(outside any layer)"];
      for (const step of [...path, textOf(timeline, slice)]) {
        at = childOf(at, step);
        at.total += duration;
      }
      at.own += duration;
      at.calls += timeline.events[slice];
      root.total += duration;
    }
  }
}

export function stacksOf(timeline: Timeline, device: boolean): StackNode {
  const root = node(device ? "device" : "host");
  timeline.tracks.forEach((about, track) => {
    if (about.device !== device) return;
    if (device) addDeviceTrack(timeline, root, track);
    else addHostTrack(timeline, root, track);
  });
  return root;
}

/** Everything with one name: its callers above it, or its callees below it, each merged. */
export function callersOf(root: StackNode, wanted: string): StackNode {
  const result = node(wanted);
  const visit = (at: StackNode, path: StackNode[]) => {
    if (at.name === wanted && !path.some((one) => one.name === wanted)) {
      result.total += at.total;
      result.own += at.own;
      result.calls += at.calls;
      let into = result;
      for (let i = path.length - 1; i > 0; i--) {
        into = childOf(into, path[i].name);
        into.total += at.total;
      }
    }
    path.push(at);
    for (const child of at.children.values()) visit(child, path);
    path.pop();
  };
  visit(root, []);
  return result;
}

export function calleesOf(root: StackNode, wanted: string): StackNode {
  const result = node(wanted);
  const merge = (into: StackNode, from: StackNode) => {
    into.total += from.total;
    into.own += from.own;
    into.calls += from.calls;
    for (const child of from.children.values()) merge(childOf(into, child.name), child);
  };
  const visit = (at: StackNode) => {
    if (at.name === wanted) merge(result, at);
    else for (const child of at.children.values()) visit(child);
  };
  visit(root);
  return result;
}

/** Own and total time by name; a name inside of itself counts once. */
export function byName(root: StackNode): { name: string; own: number; total: number; calls: number }[] {
  const sums = new Map<string, { name: string; own: number; total: number; calls: number }>();
  const open = new Map<string, number>();
  const visit = (at: StackNode) => {
    const row = sums.get(at.name) ?? { name: at.name, own: 0, total: 0, calls: 0 };
    sums.set(at.name, row);
    row.own += at.own;
    row.calls += at.calls;
    const depth = open.get(at.name) ?? 0;
    if (depth === 0) row.total += at.total;
    open.set(at.name, depth + 1);
    for (const child of at.children.values()) visit(child);
    open.set(at.name, depth);
  };
  for (const child of root.children.values()) visit(child);
  return [...sums.values()];
}
