// One track as nested boxes in the order of time.
import type { Timeline } from "./trace";

export interface TimedNode {
  slice: number;
  start: number;
  duration: number;
  children: TimedNode[];
}

/** The slices of a track, those inside of others below them; shorter ones than `least` are left out. */
export function inTimeOrder(timeline: Timeline, track: number, least: number): TimedNode[] {
  const rows = timeline.rows.filter((row) => row.track === track).sort((a, b) => a.row - b.row);
  const next = rows.map((row) => row.first);
  const visit = (depth: number, end: number): TimedNode[] => {
    const row = rows[depth];
    const found: TimedNode[] = [];
    if (!row) return found;
    while (next[depth] < row.first + row.count && timeline.start[next[depth]] < end) {
      const slice = next[depth]++;
      const [start, duration] = [timeline.start[slice], timeline.duration[slice]];
      const children = visit(depth + 1, start + duration);
      if (duration >= least) found.push({ slice, start, duration, children });
    }
    return found;
  };
  return visit(0, Infinity);
}
