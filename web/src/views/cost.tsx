// The cost of a model: totals, operators and layers.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { amount, bytes, count, name, share, upperFirst } from "../format";
import { ofName, series } from "../palette";
import { Icicle, type IcicleNode } from "../parts/icicle";
import { Table } from "../parts/table";

interface CostLayer {
  name: string;
  type: string;
  class: string;
  operators: number;
  macs: number;
  flops: number;
  memory: number;
  params?: number;
  arithmetic_intensity?: number | null;
}

interface CostResult {
  model: string;
  display_name: string | null;
  convention_summary: string;
  dtype: string;
  inputs: { name: string; dtype: string; shape: number[] }[];
  operators: number;
  total_macs: number;
  total_flops: number;
  total_memory: number;
  params: number;
  param_bytes: number;
  arithmetic_intensity: number;
  bottleneck: string;
  footprint: { total_bytes: number; weight_bytes: number; kv_cache_bytes: number | null };
  coverage: { share: number; uncounted: unknown[] };
  advice: string[];
  notes: string[];
  layers: CostLayer[];
}

function byType(layers: CostLayer[]): { type: string; flops: number; memory: number; count: number }[] {
  const sums = new Map<string, { type: string; flops: number; memory: number; count: number }>();
  for (const layer of layers) {
    const row = sums.get(layer.type) ?? { type: layer.type, flops: 0, memory: 0, count: 0 };
    row.flops += layer.flops;
    row.memory += layer.memory;
    row.count++;
    sums.set(layer.type, row);
  }
  return [...sums.values()].sort((a, b) => b.flops - a.flops);
}

export function CostSummary({ part }: ViewProps) {
  const cost = part.json<CostResult>("result");
  const types = byType(cost.layers);
  const shapes = cost.inputs.map((input) => `${name(input.name, 40)} ${input.shape.join(" × ")} ${input.dtype}`).join(", ");
  return (
    <>
      {cost.coverage.uncounted.length > 0 && (
        <p class="warning">{cost.coverage.uncounted.length} kinds of operators have no price: {share(cost.coverage.share)} of all are counted.</p>
      )}
      <h1>
        {name(cost.display_name ?? cost.model, 80)} needs {amount(cost.total_flops, "FLOP")} and moves {bytes(cost.total_memory)}.
      </h1>
      <p class="soft">
        It is {cost.bottleneck} at {cost.arithmetic_intensity.toPrecision(3)} FLOPs per byte. Input: {shapes}.
      </p>
      <div class="numbers">
        <div>
          <b>{amount(cost.total_flops)}</b>
          <span>{cost.convention_summary}</span>
        </div>
        <div>
          <b>{amount(cost.total_macs)}</b>
          <span>multiply-accumulates</span>
        </div>
        <div>
          <b>{amount(cost.params)}</b>
          <span>parameters, {bytes(cost.param_bytes)} of weights</span>
        </div>
        <div>
          <b>{bytes(cost.footprint.total_bytes)}</b>
          <span>footprint of weights{cost.footprint.kv_cache_bytes ? " and key-value cache" : ""}</span>
        </div>
      </div>
      <h2>FLOPs by kind of layer</h2>
      <div class="waterfall" role="list">
        {types.slice(0, 12).map((row, i) => (
          <div role="listitem" style={{ display: "contents" }}>
            <span>{name(row.type, 60)}</span>
            <span class="bar" aria-hidden="true">
              <i style={{ left: "0", width: `${(row.flops / (cost.total_flops || 1)) * 100}%`, background: series(i) }} />
            </span>
            <span class="value">
              {amount(row.flops)} <span class="soft">{share(row.flops / (cost.total_flops || 1))}</span>
            </span>
            <span class="note">
              {count(row.count)} {row.count === 1 ? "layer" : "layers"}, {bytes(row.memory)} moved
            </span>
          </div>
        ))}
      </div>
      {[...cost.advice, ...cost.notes].length > 0 && (
        <>
          <h2>What follows</h2>
          <ul>
            {[...cost.advice, ...cost.notes].map((line) => (
              <li>{upperFirst(name(line, 500))}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** Dotted names as a tree. */
export function treeOf(layers: CostLayer[], value: (layer: CostLayer) => number, title: string): IcicleNode {
  const make = (id: string, label: string): IcicleNode => ({ id, label, value: 0, colour: ofName(label), children: [], tip: () => [] });
  const root = make("", title);
  const nodes = new Map<string, IcicleNode>([["", root]]);
  const nodeOf = (path: string): IcicleNode => {
    const known = nodes.get(path);
    if (known) return known;
    const dot = path.lastIndexOf(".");
    const parent = nodeOf(dot < 0 ? "" : path.slice(0, dot));
    const node = make(path, path.slice(dot + 1));
    parent.children.push(node);
    nodes.set(path, node);
    return node;
  };
  for (const layer of layers) {
    const node = nodeOf(layer.name);
    node.value += value(layer);
    node.colour = ofName(layer.type);
    node.tip = () => [name(layer.name, 200), `${name(layer.class || layer.type, 80)}: ${amount(layer.flops, "FLOP")}, ${bytes(layer.memory)}`];
  }
  const sum = (node: IcicleNode): number => {
    node.value += node.children.reduce((all, child) => all + sum(child), 0);
    const total = node.value;
    if (node.children.length > 0) node.tip = () => [node.id || title, String(total)];
    return node.value;
  };
  sum(root);
  return root;
}

export function CostLayers({ part, place, move }: ViewProps) {
  const cost = part.json<CostResult>("result");
  const [measure, setMeasure] = useState<"flops" | "memory">("flops");
  const root = useMemo(() => treeOf(cost.layers, (layer) => layer[measure], name(cost.model, 60)), [cost, measure]);
  return (
    <>
      <h1>Layers</h1>
      <div class="tools" role="group" aria-label="What the width shows">
        <button type="button" aria-pressed={measure === "flops"} onClick={() => setMeasure("flops")}>
          FLOPs
        </button>
        <button type="button" aria-pressed={measure === "memory"} onClick={() => setMeasure("memory")}>
          Bytes moved
        </button>
      </div>
      <Icicle root={root} label="Layers as nested boxes; the table below has the same numbers" selected={place.layer} onChoose={(node) => move({ layer: node.id })} />
      <Table
        caption="Layers"
        file="layers"
        rows={cost.layers}
        sortBy={3}
        searchText={(row) => `${row.name} ${row.type} ${row.class}`}
        selected={(row) => row.name === place.layer}
        onChoose={(row) => move({ layer: row.name })}
        columns={[
          { title: "Layer", value: (row) => row.name, words: true },
          { title: "Type", value: (row) => row.type },
          { title: "MACs", value: (row) => row.macs, show: (row) => amount(row.macs) },
          { title: "FLOPs", value: (row) => row.flops, show: (row) => amount(row.flops) },
          { title: "Bytes moved", value: (row) => row.memory, show: (row) => bytes(row.memory) },
        ]}
      />
    </>
  );
}
