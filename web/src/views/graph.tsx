// The model's data flow: modules that fold, residual connections, colours by cost.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import type { CostResult } from "../data/cost";
import { findItem, firstOpen, parentsOf, treeOfGraph, visibleItems, visibleLinks, type GraphNode, type GraphResult, type Item } from "../data/graph";
import { layOutGraph, type Placed, type Route } from "../data/graph_layout";
import { amount, bytes, count, name, share, time } from "../format";
import { ofCost, on } from "../palette";
import { Warnings } from "../parts/warnings";
import { Table } from "../parts/table";

interface Measure {
  title: string;
  value: (node: GraphNode) => number | null;
  show: (value: number) => string;
}

const MEASURES: Record<string, Measure> = {
  time: { title: "Time", value: (node) => node.median_ns, show: time },
  flops: { title: "FLOPs", value: (node) => node.flops, show: (value) => amount(value, "FLOP") },
  bytes: { title: "Bytes moved", value: (node) => node.moved_bytes, show: bytes },
  parameters: { title: "Parameters", value: (node) => node.parameters, show: (value) => amount(value) },
};

function sum(item: Item, measure: Measure): number {
  return item.nodes.reduce((all, node) => all + (measure.value(node) ?? 0), 0);
}

function shapeText(tensor: { dtype: string; shape: number[] }): string {
  return `${tensor.dtype} ${tensor.shape.map((one) => (one < 0 ? "?" : one)).join(" × ")}`;
}

interface Cost {
  measure: Measure;
  total: number;
}

function describe(item: Item, cost: Cost): string {
  const value = sum(item, cost.measure);
  return value > 0 ? `${cost.measure.show(value)}, ${share(value / (cost.total || 1))}` : "";
}

function title(item: Item): string {
  return item.kind === "run" ? `${item.label}  × ${item.children.length}` : item.label;
}

interface BoxProps {
  box: Placed;
  cost: Cost;
  selected: boolean;
  onChoose: (item: Item) => void;
}

function Box({ box, cost, selected, onChoose }: BoxProps) {
  const { item } = box;
  const folds = item.children.length > 0;
  const fill = box.open ? "none" : ofCost(sum(item, cost.measure) / (cost.total || 1));
  const colour = box.open ? "currentColor" : on(fill);
  const mark = folds ? (box.open ? "▾ " : "▸ ") : "";
  const second = item.kind === "input" ? bytes(item.nodes[0].output_bytes) : describe(item, cost) || item.type;
  const fits = (text: string, letters: number) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);
  const letters = Math.max(Math.floor((box.width - 20) / 7.2), 8);
  const heading = box.open ? title(item) : `${title(item)}${item.type && second !== item.type ? `  ${item.type}` : ""}`;
  return (
    <g
      role="button"
      tabIndex={0}
      class={`node ${box.open ? "open" : ""} ${selected ? "chosen" : ""}`}
      aria-label={`${name(item.id, 200) || "model"}${item.type ? `, ${name(item.type, 80)}` : ""}, ${describe(item, cost)}`}
      aria-expanded={folds ? box.open : undefined}
      onClick={(event) => {
        event.stopPropagation();
        onChoose(item);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onChoose(item);
      }}
    >
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={item.kind === "input" ? box.height / 2 : 6} fill={fill} />
      <text x={box.x + (box.open ? 10 : box.width / 2)} y={box.y + 17} text-anchor={box.open ? "start" : "middle"} style={{ fill: colour }} class="label">
        {mark}
        {fits(name(heading, 200), box.open ? Math.floor(letters / 2) : letters)}
      </text>
      {box.open && (
        <text x={box.x + box.width - 10} y={box.y + 17} text-anchor="end">
          {share(sum(item, cost.measure) / (cost.total || 1))}
        </text>
      )}
      {!box.open && (
        <text x={box.x + box.width / 2} y={box.y + 34} text-anchor="middle" style={{ fill: colour }}>
          {fits(name(second, 100), letters)}
        </text>
      )}
    </g>
  );
}

function Arrow({ route }: { route: Route }) {
  const tensors = route.link.edges.flatMap((edge) => edge.tensors);
  const width = 1 + Math.min(Math.max(Math.log10((route.link.bytes || 1) / 1e4), 0), 4) * 0.7;
  return (
    <path class={route.skips ? "residual" : "flow"} d={route.path} stroke-width={width} marker-end={route.skips ? "url(#head-residual)" : "url(#head)"}>
      <title>
        {[`${route.link.from.id} to ${route.link.to.id}: ${bytes(route.link.bytes)}`, ...tensors.slice(0, 6).map(shapeText)].map((text) => name(text, 200)).join("\n")}
      </title>
    </path>
  );
}

function Details({ graph, item, cost }: { graph: GraphResult; item: Item; cost: Cost }) {
  const inside = new Set(item.nodes.map((node) => node.id));
  const tensorsOf = (wanted: (edge: GraphResult["edges"][number]) => boolean) => {
    const texts = new Set(graph.edges.filter(wanted).flatMap((edge) => edge.tensors.map(shapeText)));
    return [...texts].slice(0, 6);
  };
  const reads = tensorsOf((edge) => inside.has(edge.to) && !inside.has(edge.from));
  const gives = tensorsOf((edge) => inside.has(edge.from) && !inside.has(edge.to));
  const total = (measure: Measure) => sum(item, measure);
  return (
    <>
      <h3>{name(item.id, 200) || name(graph.name, 200)}</h3>
      <dl>
        {item.type && (
          <>
            <dt>Type</dt>
            <dd>{name(item.type, 120)}</dd>
          </>
        )}
        {Object.values(MEASURES).map((measure) =>
          total(measure) > 0 ? (
            <>
              <dt>{measure.title}</dt>
              <dd>
                {measure.show(total(measure))}
                {measure === cost.measure ? `, ${share(total(measure) / (cost.total || 1))}` : ""}
              </dd>
            </>
          ) : null,
        )}
        <dt>Operators</dt>
        <dd>{count(item.nodes.reduce((all, node) => all + node.operators, 0))}</dd>
        {reads.length > 0 && (
          <>
            <dt>Reads</dt>
            <dd>{reads.map((text) => <div>{text}</div>)}</dd>
          </>
        )}
        {gives.length > 0 && (
          <>
            <dt>Gives</dt>
            <dd>{gives.map((text) => <div>{text}</div>)}</dd>
          </>
        )}
      </dl>
    </>
  );
}

export function graphOf(part: ViewProps["part"]): GraphResult {
  return part.json<GraphResult>(part.has("graph") ? "graph" : "result");
}

function classesOf(part: ViewProps["part"]): Map<string, string> {
  if (part.kind !== "cost") return new Map();
  return new Map(part.json<CostResult>("result").modules.map((module) => [module.depth === 0 ? "" : module.name, module.class]));
}

/** What is unfolded at first: enough to see the chosen layer. */
function openAt(root: Item, layer: string | undefined): Set<string> {
  const open = firstOpen(root);
  const found = layer ? findItem(root, layer) : null;
  if (found) parentsOf(found).forEach((item) => open.add(item.id));
  return open;
}

function headline(graph: GraphResult, root: Item, cost: Cost): string {
  const most = [...graph.nodes].sort((a, b) => (cost.measure.value(b) ?? 0) - (cost.measure.value(a) ?? 0))[0];
  const value = most ? (cost.measure.value(most) ?? 0) : 0;
  const layers = graph.nodes.filter((node) => node.kind !== "input").length;
  const begin = `${name(graph.name, 80) || name(root.label, 80)}: ${count(layers)} ${graph.granularity === "op" ? "operators" : "layers"}`;
  return value > 0 ? `${begin}; ${name(most.name, 80)} costs most, ${share(value / (cost.total || 1))} of the ${cost.measure.title.toLowerCase().replace("flops", "FLOPs")}.` : `${begin}.`;
}

export function GraphView({ part, place, move }: ViewProps) {
  const graph = graphOf(part);
  const root = useMemo(() => treeOfGraph(graph, classesOf(part)), [graph]);
  const [open, setOpen] = useState(() => openAt(root, place.layer));
  const known = Object.entries(MEASURES).filter(([, one]) => graph.nodes.some((node) => (one.value(node) ?? 0) > 0));
  const [chosenMeasure, setMeasure] = useState(place.measure ?? known[0]?.[0] ?? "flops");
  const measure = MEASURES[chosenMeasure] ?? MEASURES.flops;
  const cost: Cost = { measure, total: graph.nodes.reduce((all, node) => all + (measure.value(node) ?? 0), 0) };
  const links = useMemo(() => visibleLinks(graph, visibleItems(root, open)), [graph, root, open]);
  const picture = useMemo(() => layOutGraph(root, open, links), [root, open, links]);
  const selected = place.layer ? findItem(root, place.layer) : null;
  const choose = (item: Item) => {
    if (item.children.length > 0) {
      const next = new Set(open);
      if (!next.delete(item.id)) next.add(item.id);
      setOpen(next);
    }
    if (item.id && item.kind !== "run") move({ layer: item.id, measure: chosenMeasure });
  };
  const all = (item: Item): string[] => [item.id, ...item.children.flatMap(all)];
  const residuals = picture.routes.filter((route) => route.skips).length;
  return (
    <>
      <Warnings texts={graph.notes} />
      <h1>{headline(graph, root, cost)}</h1>
      <div class="tools">
        <span role="group" aria-label="What the colour shows" class="group">
          {known.map(([id, one]) => (
            <button type="button" aria-pressed={id === chosenMeasure} onClick={() => setMeasure(id)}>
              {one.title}
            </button>
          ))}
        </span>
        <button type="button" onClick={() => setOpen(firstOpen(root))}>
          Fold
        </button>
        {graph.nodes.length <= 600 && (
          <button type="button" onClick={() => setOpen(new Set(root.children.flatMap(all)))}>
            Unfold all
          </button>
        )}
        <span class="scale" aria-hidden="true">
          0 %
          {[0.001, 0.01, 0.03, 0.08, 0.2, 0.5].map((one) => (
            <i style={{ background: ofCost(one) }} />
          ))}
          50 % of the {measure.title}
        </span>
      </div>
      <p class="under">
        Data flows down. A click on a module unfolds or folds it. {residuals > 0 ? "Blue lines on the right pass other layers: residual connections. " : ""}A line is thicker where more
        bytes flow.
      </p>
      <div class="graph">
        <div class="picture" tabIndex={0} role="region" aria-label="Graph">
          <svg width={picture.width} height={picture.height} viewBox={`0 0 ${picture.width} ${picture.height}`} role="group" aria-label="The model's data flow; the table below has the same numbers">
            <defs>
              <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
                <path class="head" d="M0 0L8 4L0 8z" />
              </marker>
              <marker id="head-residual" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
                <path class="head residual-head" d="M0 0L8 4L0 8z" />
              </marker>
            </defs>
            {picture.boxes.filter((box) => box.open).map((box) => (
              <Box key={box.item.id} box={box} cost={cost} selected={box.item === selected} onChoose={choose} />
            ))}
            {picture.routes.map((route) => (
              <Arrow route={route} />
            ))}
            {picture.boxes.filter((box) => !box.open).map((box) => (
              <Box key={box.item.id} box={box} cost={cost} selected={box.item === selected} onChoose={choose} />
            ))}
          </svg>
        </div>
        <section class="details side" aria-live="polite" aria-label="The chosen part">
          <Details graph={graph} item={selected ?? root} cost={cost} />
          {place.layer && !selected && <p class="warning">Nothing is called “{name(place.layer, 200)}”.</p>}
        </section>
      </div>
      <h2>Layers and operators</h2>
      <Table
        caption="Nodes of the graph"
        file="graph"
        rows={graph.nodes}
        searchText={(row) => `${row.name} ${row.type}`}
        selected={(row) => row.name === place.layer}
        onChoose={(row) => {
          setOpen(new Set([...open, ...openAt(root, row.name)]));
          move({ layer: row.name, measure: chosenMeasure });
        }}
        columns={[
          { title: "Name", value: (row) => row.name, words: true },
          { title: "Type", value: (row) => row.type, words: true },
          { title: "FLOPs", value: (row) => row.flops, show: (row) => amount(row.flops) },
          { title: "Bytes moved", value: (row) => row.moved_bytes, show: (row) => bytes(row.moved_bytes) },
          { title: "Parameters", value: (row) => row.parameters, show: (row) => amount(row.parameters) },
          { title: "Output", value: (row) => row.output_bytes, show: (row) => bytes(row.output_bytes) },
          { title: "Time", value: (row) => row.median_ns, show: (row) => time(row.median_ns) },
        ]}
      />
    </>
  );
}
