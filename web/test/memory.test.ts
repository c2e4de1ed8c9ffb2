import { describe, expect, it } from "vitest";
import { aliveAt, groupsOf, stackBlocks, type Blocks } from "../src/data/memory";
import { find } from "../src/parts/finder";

const blocks: Blocks = {
  start: new Float64Array([0, 10, 20]),
  end: new Float64Array([100, 15, 60]),
  bytes: new Float64Array([1000, 500, 50]),
  layer: new Float64Array([1, 2, 0]),
  op: new Float64Array([3, 3, 3]),
  device: new Uint8Array([0, 0, 0]),
  texts: ["", "a.b", "a.c", "op"],
  leftOut: 0,
  leastBytes: 0,
  curveTimes: [],
};

describe("memory", () => {
  it("says who is alive: from its start until before its end", () => {
    expect(aliveAt(blocks, 0, 10).map((one) => one.layer)).toEqual(["a.b", "a.c"]);
    expect(aliveAt(blocks, 0, 15).map((one) => one.layer)).toEqual(["a.b"]);
    expect(aliveAt(blocks, 1, 10)).toEqual([]);
  });

  it("stacks up to what the allocator says", () => {
    const total = [1200, 1700, 1250, 1200];
    const stack = stackBlocks(blocks, 0, [0, 10, 20, 60], total, 6);
    total.forEach((wanted, i) => expect(stack.bands.reduce((sum, band) => sum + band.bytes[i], 0)).toBe(wanted));
    expect(stack.bands.find((band) => band.title === "a.c")?.bytes).toEqual([0, 500, 0, 0]);
  });

  it("groups layers as deep as there are few of them", () => {
    const paths = new Set(["m.0.a", "m.0.b", "m.1.a", "m.1.b"]);
    expect(groupsOf(paths, 3)("m.0.a")).toBe("m.0");
    expect(groupsOf(paths, 4)("m.0.a")).toBe("m.0.a");
  });
});

describe("the finder", () => {
  it("finds letters in their order, the shortest name first", () => {
    const targets = ["layer1.0.conv2", "layer1.0.conv1", "layer10.conv", "fc"].map((title) => ({ title }));
    expect(find(targets, "fc")[0].title).toBe("fc");
    expect(find(targets, "l10c").map((one) => one.title)).toEqual(["layer10.conv", "layer1.0.conv1", "layer1.0.conv2"]);
    expect(find(targets, "xyz")).toEqual([]);
  });
});
