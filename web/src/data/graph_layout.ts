// Places the items of a graph in rows from top to bottom; unfolded modules are boxes around theirs.
import type { Item, Link } from "./graph";

export interface Placed {
  item: Item;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Whether its content is drawn inside. */
  open: boolean;
}

export interface Route {
  link: Link;
  path: string;
  /** It passes other items: a residual connection. */
  skips: boolean;
}

export interface Picture {
  width: number;
  height: number;
  boxes: Placed[];
  routes: Route[];
}

export const LEAF = { width: 190, height: 42 };
const TITLE = 24;
const GAP = { x: 26, y: 26 };
const PADDING = 14;
const LANE = 9;

interface Block {
  item: Item;
  width: number;
  height: number;
  rows: Block[][];
  padding: number;
  open: boolean;
}

function childOf(parent: Item, inner: Item): Item | null {
  let at: Item | null = inner;
  while (at && at.parent !== parent) at = at.parent;
  return at;
}

/** Rows of a module's children: one below everything that it reads. */
function rowsOf(parent: Item, links: Link[]): { rows: Item[][]; skips: number } {
  const order = new Map(parent.children.map((child, i) => [child, i]));
  const reads = new Map<Item, Set<Item>>();
  for (const link of links) {
    const from = childOf(parent, link.from);
    const to = childOf(parent, link.to);
    // A module that is entered twice would make a cycle: what comes later in time is below.
    if (!from || !to || from === to || order.get(from)! > order.get(to)!) continue;
    reads.set(to, (reads.get(to) ?? new Set()).add(from));
  }
  const rank = new Map<Item, number>();
  let skips = 0;
  for (const child of parent.children) {
    const above = [...(reads.get(child) ?? [])].map((one) => rank.get(one) ?? 0);
    rank.set(child, above.length > 0 ? Math.max(...above) + 1 : 0);
    skips += above.filter((one) => one < rank.get(child)! - 1).length;
  }
  const rows: Item[][] = [];
  for (const child of parent.children) (rows[rank.get(child)!] ??= []).push(child);
  return { rows: rows.filter(Boolean), skips };
}

function blockOf(item: Item, open: Set<string>, links: Link[], isRoot = false): Block {
  if (item.children.length === 0 || (!isRoot && !open.has(item.id))) return { item, ...LEAF, rows: [], padding: 0, open: false };
  const { rows, skips } = rowsOf(item, links);
  const blocks = rows.map((row) => row.map((child) => blockOf(child, open, links)));
  const padding = PADDING + Math.min(skips, 6) * LANE + (skips > 0 ? 12 : 0);
  const widths = blocks.map((row) => row.reduce((sum, one) => sum + one.width, (row.length - 1) * GAP.x));
  const heights = blocks.map((row) => Math.max(...row.map((one) => one.height)));
  return {
    item,
    rows: blocks,
    padding,
    open: true,
    width: Math.max(...widths, LEAF.width) + 2 * padding,
    height: heights.reduce((sum, one) => sum + one, (heights.length - 1) * GAP.y) + 2 * PADDING + (isRoot ? 0 : TITLE),
  };
}

function place(block: Block, x: number, y: number, isRoot: boolean, boxes: Placed[]): void {
  if (!isRoot) boxes.push({ item: block.item, x, y, width: block.width, height: block.height, open: block.open });
  let top = y + PADDING + (isRoot ? 0 : TITLE);
  for (const row of block.rows) {
    const width = row.reduce((sum, one) => sum + one.width, (row.length - 1) * GAP.x);
    const height = Math.max(...row.map((one) => one.height));
    let left = x + (block.width - width) / 2;
    for (const one of row) {
      place(one, left, top + (height - one.height) / 2, false, boxes);
      left += one.width + GAP.x;
    }
    top += height + GAP.y;
  }
}

/** Whether the straight way between two points touches a box. */
function touches(box: Placed, x0: number, y0: number, x1: number, y1: number): boolean {
  const top = Math.max(box.y - 2, Math.min(y0, y1));
  const bottom = Math.min(box.y + box.height + 2, Math.max(y0, y1));
  if (top >= bottom) return false;
  const xAt = (y: number) => x0 + ((y - y0) / (y1 - y0 || 1)) * (x1 - x0);
  const [a, b] = [xAt(top), xAt(bottom)];
  return Math.max(a, b) > box.x - 4 && Math.min(a, b) < box.x + box.width + 4;
}

function direct(from: Placed, to: Placed): string {
  const [x0, y0] = [from.x + from.width / 2, from.y + from.height];
  const [x1, y1] = [to.x + to.width / 2, to.y];
  const bend = Math.min((y1 - y0) / 2, 40);
  return `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
}

/** On the right of everything between. */
function around(from: Placed, to: Placed, x: number): string {
  const y0 = from.y + from.height * 0.7;
  const y1 = to.y + to.height * 0.3;
  const bend = Math.min(18, Math.abs(y1 - y0) / 2) * Math.sign(y1 - y0 || 1);
  return `M${from.x + from.width} ${y0}C${x} ${y0} ${x} ${y0} ${x} ${y0 + bend}L${x} ${y1 - bend}C${x} ${y1} ${x} ${y1} ${to.x + to.width} ${y1}`;
}

function routesOf(links: Link[], boxes: Placed[]): { routes: Route[]; right: number } {
  const leaves = boxes.filter((box) => !box.open);
  const of = new Map(leaves.map((box) => [box.item, box]));
  const lanes: { x: number; top: number; bottom: number }[] = [];
  let right = 0;
  const length = (link: Link) => Math.abs((of.get(link.to)?.y ?? 0) - (of.get(link.from)?.y ?? 0));
  const routes: Route[] = [];
  // Short ones first: they take the inner lanes.
  for (const link of [...links].sort((a, b) => length(a) - length(b))) {
    const from = of.get(link.from);
    const to = of.get(link.to);
    if (!from || !to) continue;
    const ends = [from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y] as const;
    const between = leaves.filter((box) => box !== from && box !== to && touches(box, ...ends));
    if (between.length === 0 && to.y >= from.y + from.height) {
      routes.push({ link, path: direct(from, to), skips: false });
      continue;
    }
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y + from.height, to.y + to.height)];
    const inRange = leaves.filter((box) => box.y < bottom && box.y + box.height > top && (between.includes(box) || box === from || box === to));
    let x = Math.max(...inRange.map((box) => box.x + box.width)) + 16;
    while (lanes.some((lane) => Math.abs(lane.x - x) < LANE && lane.top < bottom && lane.bottom > top)) x += LANE;
    lanes.push({ x, top, bottom });
    right = Math.max(right, x);
    routes.push({ link, path: around(from, to, x), skips: true });
  }
  return { routes, right };
}

export function layOutGraph(root: Item, open: Set<string>, links: Link[]): Picture {
  const block = blockOf(root, open, links, true);
  const boxes: Placed[] = [];
  place(block, 0, 0, true, boxes);
  const { routes, right } = routesOf(links, boxes);
  return { width: Math.max(block.width, right + 12), height: block.height, boxes, routes };
}
