// Finds what to draw of millions of slices: per pixel the longest one, in logarithmic time.
import type { Timeline, TimelineRow } from "./trace";

/** A segment tree over the durations of one row: for any range of slices, the longest. */
export class RowIndex {
  private readonly size: number;
  private readonly tree: Uint32Array; // slices, by node; leaves are at the end

  constructor(
    private readonly timeline: Timeline,
    readonly row: TimelineRow,
  ) {
    this.size = Math.max(row.count, 1);
    this.tree = new Uint32Array(2 * this.size);
    for (let i = 0; i < row.count; i++) this.tree[this.size + i] = row.first + i;
    for (let node = this.size - 1; node > 0; node--)
      this.tree[node] = this.longer(this.tree[2 * node], this.tree[2 * node + 1]);
  }

  private longer(a: number, b: number): number {
    return this.timeline.duration[b] > this.timeline.duration[a] ? b : a;
  }

  /** The longest of the slices from `from` up to, not including, `to`. */
  longest(from: number, to: number): number {
    let best = from;
    let low = from - this.row.first + this.size;
    let high = to - this.row.first + this.size;
    for (; low < high; low >>= 1, high >>= 1) {
      if (low & 1) best = this.longer(best, this.tree[low++]);
      if (high & 1) best = this.longer(best, this.tree[--high]);
    }
    return best;
  }

  /** The first slice that starts at `time` or later, looked for from `from` on. */
  firstFrom(time: number, from = this.row.first): number {
    const { start } = this.timeline;
    let low = from;
    let high = this.row.first + this.row.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Calls `draw` for what is visible, at most once per pixel and slice. */
  visit(from: number, to: number, nsPerPixel: number, draw: (slice: number, start: number, end: number) => void): void {
    const { start, duration } = this.timeline;
    const end = this.row.first + this.row.count;
    let i = this.firstFrom(from);
    // The one before may reach into the view.
    if (i > this.row.first && start[i - 1] + duration[i - 1] > from) i--;
    while (i < end && start[i] < to) {
      if (duration[i] >= nsPerPixel) {
        draw(i, start[i], start[i] + duration[i]);
        i++;
        continue;
      }
      const bucketEnd = (Math.floor(start[i] / nsPerPixel) + 1) * nsPerPixel;
      const next = Math.max(this.firstFrom(bucketEnd, i + 1), i + 1);
      const slice = this.longest(i, next);
      draw(slice, start[slice], Math.max(start[slice] + duration[slice], start[slice] + nsPerPixel));
      i = next;
    }
  }
}
