import { describe, expect, it } from "vitest";
import { RowIndex } from "../src/data/mipmap";
import type { Timeline } from "../src/data/trace";

/** Numbers that look random and are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function timelineOf(count: number, next: () => number): Timeline {
  const start = new Float64Array(count);
  const duration = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    at += Math.floor(next() ** 4 * 1000);
    start[i] = at;
    duration[i] = Math.floor(next() ** 6 * 5000);
    at += duration[i];
  }
  return { start, duration } as Timeline;
}

describe("what is drawn of a row", () => {
  it("is the longest slice of every pixel, as brute force finds it", () => {
    const next = random(7);
    const count = 5000;
    const timeline = timelineOf(count, next);
    const index = new RowIndex(timeline, { track: 0, row: 0, first: 0, count });
    for (let turn = 0; turn < 300; turn++) {
      const from = Math.floor(next() * count);
      const to = from + 1 + Math.floor(next() * (count - from - 1 || 1));
      let best = from;
      for (let i = from; i < to; i++) if (timeline.duration[i] > timeline.duration[best]) best = i;
      expect(timeline.duration[index.longest(from, to)]).toBe(timeline.duration[best]);
    }
  });

  it("leaves out no slice that is at least a pixel wide", () => {
    const next = random(11);
    const count = 3000;
    const timeline = timelineOf(count, next);
    const index = new RowIndex(timeline, { track: 0, row: 0, first: 0, count });
    const end = timeline.start[count - 1] + timeline.duration[count - 1];
    for (const pixels of [50, 400, 3000]) {
      const nsPerPixel = end / pixels;
      const drawn = new Set<number>();
      let calls = 0;
      index.visit(0, end + 1, nsPerPixel, (slice) => {
        drawn.add(slice);
        calls++;
      });
      for (let i = 0; i < count; i++) if (timeline.duration[i] >= nsPerPixel) expect(drawn.has(i)).toBe(true);
      expect(calls).toBeLessThanOrEqual(2 * pixels + 2);
    }
  });

  it("begins with the slice that reaches into the view", () => {
    const timeline = { start: new Float64Array([0, 100]), duration: new Float64Array([90, 10]) } as Timeline;
    const drawn: number[] = [];
    new RowIndex(timeline, { track: 0, row: 0, first: 0, count: 2 }).visit(50, 200, 1, (slice) => drawn.push(slice));
    expect(drawn).toEqual([0, 1]);
  });
});
