// A model's data flow (schemas/graph-1.json) as a tree of modules that can be folded.

export interface GraphNode {
  id: number;
  name: string;
  kind: "input" | "module" | "op";
  path: string;
  type: string;
  operators: number;
  parameters: number | null;
  parameter_bytes: number | null;
  median_ns: number | null;
  flops: number | null;
  moved_bytes: number | null;
  output_bytes: number | null;
}

export interface GraphEdge {
  from: number;
  to: number;
  bytes: number | null;
  assumed: boolean;
  tensors: { dtype: string; shape: number[]; bytes: number | null }[];
}

export interface GraphResult {
  name: string;
  granularity: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  notes: string[];
  stats: { nodes: number; edges: number; passes: number; flops: number | null; pass_median_ns: number | null };
}

/** A node of the graph, a module of them, or a run of equal modules. */
export interface Item {
  id: string;
  label: string;
  type: string;
  kind: "input" | "op" | "leaf" | "module" | "run";
  parent: Item | null;
  children: Item[];
  /** The graph's nodes inside. */
  nodes: GraphNode[];
}

/** Equal blocks in a row are one item from this number on. */
const SHORTEST_RUN = 3;

function newItem(id: string, label: string, kind: Item["kind"], parent: Item | null, type = ""): Item {
  return { id, label, type, kind, parent, children: [], nodes: [] };
}

/** The module with this path, made with its parents if it is new. */
function moduleAt(modules: Map<string, Item>, path: string): Item {
  const known = modules.get(path);
  if (known) return known;
  const dot = path.lastIndexOf(".");
  const parent = moduleAt(modules, dot < 0 ? "" : path.slice(0, dot));
  const made = newItem(path, path.slice(dot + 1), "module", parent);
  parent.children.push(made);
  modules.set(path, made);
  return made;
}

function addNode(modules: Map<string, Item>, node: GraphNode): void {
  let container = "";
  let label = node.name;
  if (node.kind === "op") {
    container = node.path;
    label = node.name.slice(node.name.lastIndexOf("/") + 1);
  } else if (node.kind === "module") {
    const dot = node.path.lastIndexOf(".");
    container = dot < 0 ? "" : node.path.slice(0, dot);
    label = container && node.name.startsWith(`${container}.`) ? node.name.slice(container.length + 1) : node.name;
  }
  const parent = moduleAt(modules, container);
  const item = newItem(node.name, label, node.kind === "module" ? "leaf" : node.kind, parent, node.type);
  item.nodes.push(node);
  parent.children.push(item);
  for (let at: Item | null = parent; at; at = at.parent) at.nodes.push(node);
}

/** A module whose only content is another module stands for it: "model.layers". */
function mergeChains(item: Item): void {
  while (item.parent && item.children.length === 1 && item.children[0].kind === "module") {
    const only = item.children[0];
    item.id = only.id;
    item.label = `${item.label}.${only.label}`;
    item.type = only.type;
    item.children = only.children;
    for (const child of item.children) child.parent = item;
  }
  item.children.forEach(mergeChains);
}

function signature(item: Item): string {
  if (item.children.length === 0) return item.type;
  return `(${item.children.map((child) => `${child.label}:${signature(child)}`).join(",")})`;
}

/** Replaces runs of equal modules by one item, which unfolds to them. */
function foldRuns(item: Item): void {
  item.children.sort((a, b) => a.nodes[0].id - b.nodes[0].id);
  item.children.forEach(foldRuns);
  const folded: Item[] = [];
  for (let i = 0; i < item.children.length; ) {
    const first = item.children[i];
    const shape = signature(first);
    let end = i + 1;
    const numbered = (one: Item) => one.kind !== "input" && one.kind !== "op" && /^\d+$/.test(one.label);
    while (end < item.children.length && numbered(first) && numbered(item.children[end]) && signature(item.children[end]) === shape) end++;
    if (end - i < SHORTEST_RUN) {
      folded.push(first);
      i++;
      continue;
    }
    const members = item.children.slice(i, end);
    const run = newItem(`${item.id}.${first.label}…${members[members.length - 1].label}`, `${first.label} … ${members[members.length - 1].label}`, "run", item);
    run.type = first.type;
    run.children = members;
    for (const member of members) {
      member.parent = run;
      run.nodes.push(...member.nodes);
    }
    folded.push(run);
    i = end;
  }
  item.children = folded;
}

/** `classes`: of modules, by path; the graph itself names those of its nodes only. */
export function treeOfGraph(graph: GraphResult, classes = new Map<string, string>()): Item {
  const root = newItem("", graph.name, "module", null);
  const modules = new Map([["", root]]);
  for (const node of graph.nodes) addNode(modules, node);
  for (const [path, module] of modules) module.type = classes.get(path) ?? "";
  root.children.forEach(mergeChains);
  foldRuns(root);
  return root;
}

/** What is drawn: the children of unfolded items. */
export function visibleItems(root: Item, open: Set<string>): Item[] {
  return root.children.flatMap((child) => (child.children.length > 0 && open.has(child.id) ? visibleItems(child, open) : [child]));
}

/** A picture with fewer items says nothing, so that the next level may be larger. */
const TOO_FEW = 8;

/** Unfolds whole levels while the picture stays small. */
export function firstOpen(root: Item, most = 28): Set<string> {
  const open = new Set<string>();
  for (let level = root.children; level.length > 0; ) {
    const inner = level.filter((item) => item.children.length > 0);
    const next = new Set([...open, ...inner.map((item) => item.id)]);
    const limit = visibleItems(root, open).length < TOO_FEW ? 3 * most : most;
    if (inner.length === 0 || visibleItems(root, next).length > limit) break;
    inner.forEach((item) => open.add(item.id));
    level = inner.flatMap((item) => item.children);
  }
  return open;
}

/** Everything around an item. */
export function parentsOf(item: Item): Item[] {
  const found: Item[] = [];
  for (let at = item.parent; at && at.parent; at = at.parent) found.push(at);
  return found;
}

/** The item with a path; the module or node that holds it where it has none of its own. */
export function findItem(root: Item, path: string): Item | null {
  let best: Item | null = null;
  const visit = (item: Item) => {
    if (item.id === path || item.nodes.some((node) => item.children.length === 0 && (node.name === path || (node.kind === "module" && node.path === path)))) {
      if (!best) best = item;
      return;
    }
    item.children.forEach(visit);
  };
  root.children.forEach(visit);
  return best;
}

export interface Link {
  from: Item;
  to: Item;
  bytes: number;
  edges: GraphEdge[];
}

/** The edges between what is drawn, merged. */
export function visibleLinks(graph: GraphResult, visible: Item[]): Link[] {
  const holder = new Map<number, Item>();
  for (const item of visible) for (const node of item.nodes) holder.set(node.id, item);
  const links = new Map<string, Link>();
  for (const edge of graph.edges) {
    const from = holder.get(edge.from);
    const to = holder.get(edge.to);
    if (!from || !to || from === to) continue;
    const key = `${from.id}\n${to.id}`;
    const link = links.get(key) ?? { from, to, bytes: 0, edges: [] };
    link.bytes += edge.bytes ?? 0;
    link.edges.push(edge);
    links.set(key, link);
  }
  return [...links.values()];
}
