import { describe, expect, it } from "vitest";
import { findItem, firstOpen, treeOfGraph, visibleItems, visibleLinks, type GraphNode, type GraphResult } from "../src/data/graph";
import { layOutGraph } from "../src/data/graph_layout";

function node(id: number, name: string, kind: GraphNode["kind"], path: string, type: string): GraphNode {
  return { id, name, kind, path, type, operators: 1, parameters: 0, parameter_bytes: 0, median_ns: null, flops: 10, moved_bytes: 1, output_bytes: 1 };
}

/** x, then four equal blocks of conv and add with a residual connection around conv, then fc. */
function blocks(count: number): GraphResult {
  const nodes = [node(0, "x", "input", "", "input")];
  const edges: GraphResult["edges"] = [];
  const join = (from: number, to: number) => edges.push({ from, to, bytes: 100, assumed: false, tensors: [] });
  for (let i = 0; i < count; i++) {
    const before = nodes.length - 1;
    nodes.push(node(nodes.length, `layers.${i}.conv`, "module", `layers.${i}.conv`, "Conv2d"));
    nodes.push(node(nodes.length, `layers.${i}/add`, "op", `layers.${i}`, "aten.add"));
    join(before, before + 1);
    join(before + 1, before + 2);
    join(before, before + 2);
  }
  nodes.push(node(nodes.length, "fc", "module", "fc", "Linear"));
  join(nodes.length - 2, nodes.length - 1);
  return { name: "net", granularity: "layer", nodes, edges, notes: [], stats: { nodes: nodes.length, edges: edges.length, passes: 0, flops: 1, pass_median_ns: null } };
}

describe("a graph", () => {
  it("folds equal blocks into one item that unfolds to them", () => {
    const root = treeOfGraph(blocks(4));
    expect(root.children.map((item) => item.label)).toEqual(["x", "layers", "fc"]);
    const run = root.children[1].children[0];
    expect(run.kind).toBe("run");
    expect(run.children.map((item) => item.label)).toEqual(["0", "1", "2", "3"]);
    expect(run.nodes.length).toBe(8);
  });

  it("shows every node once, however it is unfolded", () => {
    const graph = blocks(4);
    const root = treeOfGraph(graph);
    for (const open of [new Set<string>(), firstOpen(root, 4), firstOpen(root, 100)]) {
      const seen = visibleItems(root, open).flatMap((item) => item.nodes.map((one) => one.id));
      expect(seen.sort((a, b) => a - b)).toEqual(graph.nodes.map((one) => one.id));
    }
  });

  it("finds a layer, and keeps residual connections apart", () => {
    const graph = blocks(2);
    const root = treeOfGraph(graph);
    const open = firstOpen(root, 100);
    const links = visibleLinks(graph, visibleItems(root, open));
    const picture = layOutGraph(root, open, links);
    expect(findItem(root, "layers.1.conv")?.id).toBe("layers.1.conv");
    expect(picture.routes.length).toBe(links.length);
    const skips = picture.routes.filter((route) => route.skips).map((route) => route.link.to.id);
    expect(skips.sort()).toEqual(["layers.0/add", "layers.1/add"]);
  });

  it("places no box over another", () => {
    const graph = blocks(3);
    const root = treeOfGraph(graph);
    const open = firstOpen(root, 100);
    const leaves = layOutGraph(root, open, visibleLinks(graph, visibleItems(root, open))).boxes.filter((box) => !box.open);
    for (const a of leaves)
      for (const b of leaves)
        if (a !== b) expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true);
  });
});
