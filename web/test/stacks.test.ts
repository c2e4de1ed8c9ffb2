import { describe, expect, it } from "vitest";
import { byName, calleesOf, callersOf, stacksOf } from "../src/data/stacks";
import type { Timeline } from "../src/data/trace";

/** main calls f twice and g once; f calls g in its first call. */
const timeline: Timeline = {
  start_ns: 0,
  span_ns: 100,
  from_ns: 0,
  to_ns: 100,
  merged_events: 0,
  merged_below_ns: 0,
  names: ["main", "f", "g", "kernel"],
  layers: ["a.b"],
  tracks: [
    { name: "", device: false, pid: 1, tid: 1, stream: -1 },
    { name: "", device: true, pid: 0, tid: 7, stream: 7 },
  ],
  steps: [],
  rows: [
    { track: 0, row: 0, first: 0, count: 1 },
    { track: 0, row: 1, first: 1, count: 3 },
    { track: 0, row: 2, first: 4, count: 1 },
    { track: 1, row: 0, first: 5, count: 2 },
  ],
  start: new Float64Array([0, 10, 40, 70, 15, 20, 60]),
  duration: new Float64Array([100, 20, 20, 10, 5, 8, 2]),
  name: new Float64Array([1, 2, 2, 3, 3, 4, 4]),
  layer: new Float64Array([0, 0, 0, 0, 0, 1, 0]),
  launch: new Float64Array(7),
  forward: new Float64Array(7),
  events: new Float64Array([1, 1, 1, 1, 1, 1, 1]),
  category: new Uint8Array([2, 2, 2, 2, 2, 5, 5]),
  phase: new Uint8Array(7),
};

describe("stacks", () => {
  it("sums own times to the time of the outermost", () => {
    const root = stacksOf(timeline, false);
    expect(root.total).toBe(100);
    const rows = byName(root);
    expect(rows.reduce((sum, row) => sum + row.own, 0)).toBe(100);
    expect(rows.find((row) => row.name === "f")).toMatchObject({ own: 35, total: 40, calls: 2 });
    expect(rows.find((row) => row.name === "g")).toMatchObject({ own: 15, total: 15, calls: 2 });
  });

  it("finds callers and callees of a name", () => {
    const root = stacksOf(timeline, false);
    const callers = callersOf(root, "g");
    expect(callers.total).toBe(15);
    expect([...callers.children.keys()].sort()).toEqual(["f", "main"]);
    expect(calleesOf(root, "f").children.get("g")?.total).toBe(5);
  });

  it("puts device work under its layer", () => {
    const root = stacksOf(timeline, true);
    expect(root.total).toBe(10);
    expect(root.children.get("a")?.children.get("b")?.children.get("kernel")?.total).toBe(8);
    expect(root.children.get("(outside any layer)")?.total).toBe(2);
  });
});
