// The cost of a model: totals, operators and layers.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { BANDS, type CostResult, type CostRow } from "../data/cost";
import { amount, bytes, count, name, share, upperFirst } from "../format";
import { ofName } from "../palette";
import { Bars, type Bar } from "../parts/bars";
import { Icicle, type IcicleNode } from "../parts/icicle";
import { Table } from "../parts/table";

function bandBars(cost: CostResult): Bar[] {
  return BANDS.map(([band, range], i) => {
    const layers = cost.layers.filter((layer) => layer.band === band);
    const flops = layers.reduce((sum, layer) => sum + layer.flops, 0);
    const moved = layers.reduce((sum, layer) => sum + layer.memory, 0);
    return {
      title: upperFirst(band),
      value: flops,
      text: amount(flops),
      note: `${range}: ${count(layers.length)} ${layers.length === 1 ? "layer" : "layers"}, ${share(moved / (cost.total_memory || 1))} of the bytes`,
      colour: [5, 1, 4, 0][i],
    };
  });
}

export function CostSummary({ part }: ViewProps) {
  const cost = part.json<CostResult>("result");
  const operators = [...cost.operators_by_type].sort((a, b) => b.flops - a.flops);
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
        It is {cost.bottleneck} at {cost.arithmetic_intensity?.toPrecision(3) ?? "0"} FLOPs per byte. Input: {shapes}.
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
          <b>{bytes(cost.peak_memory?.total_bytes ?? cost.footprint.total_bytes)}</b>
          <span>{cost.peak_memory ? `of memory at the peak of a forward pass${cost.peak_memory.layer ? `, in ${name(cost.peak_memory.layer, 60)}` : ""}` : `footprint of weights${cost.footprint.kv_cache_bytes ? " and key-value cache" : ""}`}</span>
        </div>
      </div>
      <h2>Where the FLOPs go</h2>
      <Bars
        rows={operators.slice(0, 8).map((row) => ({
          title: row.name,
          value: row.flops,
          text: amount(row.flops),
          note: `${count(row.operators)} ${row.operators === 1 ? "operator" : "operators"}, ${bytes(row.memory)} moved`,
          colour: 0,
        }))}
        total={cost.total_flops}
      />
      <h2>What bounds them</h2>
      <p class="under">FLOPs of layers by their FLOPs per byte: few mean that memory is the limit, many that the arithmetic is.</p>
      <Bars rows={bandBars(cost)} total={cost.total_flops} />
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
      <h2>Operators</h2>
      <Table
        caption="Operators by type"
        file="operators"
        rows={operators}
        columns={[
          { title: "Type", value: (row) => row.name, words: true },
          { title: "Operators", value: (row) => row.operators, show: (row) => count(row.operators) },
          { title: "FLOPs", value: (row) => row.flops, show: (row) => amount(row.flops) },
          { title: "MACs", value: (row) => row.macs, show: (row) => amount(row.macs) },
          { title: "Bytes moved", value: (row) => row.memory, show: (row) => bytes(row.memory) },
          { title: "FLOPs per byte", value: (row) => row.arithmetic_intensity, show: (row) => row.arithmetic_intensity?.toPrecision(3) ?? "–" },
          { title: "Band", value: (row) => row.band },
        ]}
      />
    </>
  );
}

/** Dotted names as a tree. */
export function treeOf(layers: CostRow[], value: (layer: CostRow) => number, title: string, show: (value: number) => string): IcicleNode {
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
    if (node.children.length > 0) node.tip = () => [name(node.id, 200) || title, show(total)];
    return node.value;
  };
  sum(root);
  return root;
}

export function CostLayers({ part, place, move }: ViewProps) {
  const cost = part.json<CostResult>("result");
  const [measure, setMeasure] = useState<"flops" | "memory">("flops");
  const root = useMemo(() => treeOf(cost.layers, (layer) => layer[measure], name(cost.model, 60), measure === "flops" ? (value) => amount(value, "FLOP") : bytes), [cost, measure]);
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
          { title: "Parameters", value: (row) => row.params, show: (row) => amount(row.params) },
          { title: "FLOPs per byte", value: (row) => row.arithmetic_intensity, show: (row) => row.arithmetic_intensity?.toPrecision(3) ?? "–" },
          { title: "Band", value: (row) => row.band },
        ]}
      />
    </>
  );
}
