// The tracks of a timeline from top to bottom, what is under a point, and sums over an interval.
import { RowIndex } from "./mipmap";
import type { Timeline } from "./trace";

export const ROW = 17;
const HEAD = 40;
const GAP = 8;

export interface Lane {
  index: RowIndex;
  y: number;
}

export interface Track {
  label: string;
  device: boolean;
  y: number;
  height: number;
  lanes: Lane[];
}

export interface Range {
  from: number;
  to: number;
}

function trackLabel(timeline: Timeline, track: number): string {
  const about = timeline.tracks[track];
  if (about.device) return about.name || `stream ${about.stream}`;
  return about.name || `thread ${about.tid}`;
}

/** Threads first, then devices; those that work longest first. */
export function layOutTracks(timeline: Timeline, deepest: number): Track[] {
  const byTrack = new Map<number, RowIndex[]>();
  for (const row of timeline.rows) {
    if (row.row >= deepest) continue;
    const rows = byTrack.get(row.track) ?? [];
    rows.push(new RowIndex(timeline, row));
    byTrack.set(row.track, rows);
  }
  const busy = (rows: RowIndex[]) => {
    let sum = 0;
    const { first, count: length } = rows[0].row;
    for (let i = first; i < first + length; i++) sum += timeline.duration[i];
    return sum;
  };
  const sums = new Map([...byTrack].map(([track, rows]) => [track, busy(rows)]));
  const order = [...byTrack].sort(([a], [b]) => {
    const device = Number(timeline.tracks[a].device) - Number(timeline.tracks[b].device);
    return device !== 0 ? device : sums.get(b)! - sums.get(a)!;
  });
  const tracks: Track[] = [];
  let y = HEAD;
  for (const [track, rows] of order) {
    const lanes = rows.map((index) => ({ index, y: y + index.row.row * ROW }));
    const height = (Math.max(...rows.map((one) => one.row.row)) + 1) * ROW;
    tracks.push({ label: trackLabel(timeline, track), device: timeline.tracks[track].device, y, height, lanes });
    y += height + GAP;
  }
  return tracks;
}

export function heightOf(tracks: Track[]): number {
  const last = tracks[tracks.length - 1];
  return last ? last.y + last.height + GAP : HEAD + 40;
}

export function laneOf(tracks: Track[], slice: number): Lane | null {
  for (const track of tracks)
    for (const lane of track.lanes) {
      const { first, count } = lane.index.row;
      if (slice >= first && slice < first + count) return lane;
    }
  return null;
}

/** The slice under a point; a pixel beside a short one counts too. */
export function sliceAt(tracks: Track[], y: number, time: number, nsPerPixel: number): number | null {
  for (const track of tracks)
    for (const lane of track.lanes) {
      if (y < lane.y || y >= lane.y + ROW) continue;
      let found: number | null = null;
      lane.index.visit(time - nsPerPixel, time + nsPerPixel, nsPerPixel, (slice, start, end) => {
        if (start - nsPerPixel <= time && end + nsPerPixel >= time) found = slice;
      });
      return found;
    }
  return null;
}

export interface TrackSum {
  label: string;
  busy: number;
  events: number;
}

/** Of each track: how long its outermost events lie in the interval. */
export function rangeStatistics(timeline: Timeline, tracks: Track[], mark: Range): TrackSum[] {
  return tracks.map((track) => {
    let busy = 0;
    let events = 0;
    const outer = track.lanes[0].index;
    for (let i = outer.firstFrom(mark.from); i < outer.row.first + outer.row.count; i++) {
      if (timeline.start[i] >= mark.to) break;
      busy += Math.min(timeline.start[i] + timeline.duration[i], mark.to) - timeline.start[i];
      events += timeline.events[i];
    }
    const before = outer.firstFrom(mark.from) - 1;
    if (before >= outer.row.first) {
      const end = Math.min(timeline.start[before] + timeline.duration[before], mark.to);
      busy += Math.max(end - mark.from, 0);
    }
    return { label: track.label, busy, events };
  });
}

export interface NameSum {
  name: string;
  where: string;
  count: number;
  total: number;
}

/** What lies in the interval, by name: every row of every track. */
export function rangeNames(timeline: Timeline, tracks: Track[], mark: Range): NameSum[] {
  const sums = new Map<string, NameSum>();
  for (const track of tracks)
    for (const lane of track.lanes) {
      const { first, count } = lane.index.row;
      let i = lane.index.firstFrom(mark.from);
      if (i > first && timeline.start[i - 1] + timeline.duration[i - 1] > mark.from) i--;
      for (; i < first + count && timeline.start[i] < mark.to; i++) {
        const inside = Math.min(timeline.start[i] + timeline.duration[i], mark.to) - Math.max(timeline.start[i], mark.from);
        const name = timeline.name[i] === 0 ? "(merged short events)" : timeline.names[timeline.name[i] - 1];
        const key = `${track.device}${name}`;
        const sum = sums.get(key) ?? { name, where: track.device ? "device" : "host", count: 0, total: 0 };
        sum.count += timeline.events[i];
        sum.total += Math.max(inside, 0);
        sums.set(key, sum);
      }
    }
  return [...sums.values()];
}
