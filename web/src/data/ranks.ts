// Ranks of a distributed run (schemas/ranks-1.json).

export interface RankRow {
  rank: number | null;
  file: string;
  device: string;
  steps: number;
  step_ns: number;
  compute_ns: number;
  communication_ns: number;
  communication_exposed_ns: number;
  idle_ns: number;
  data_loading_ns: number;
  late_ns: number;
  wait_ns: number;
  memory_peak_bytes: number | null;
  flops_per_s: number | null;
  straggler: boolean;
}

/** One step of one rank. */
export interface RankCell {
  rank: number | null;
  number: number | null;
  step_ns: number;
  compute_ns: number;
  communication_exposed_ns: number;
  idle_ns: number;
  data_loading_ns: number;
  late_ns: number;
  wait_ns: number;
}

export interface RankStep {
  number: number | null;
  ranks: number;
  min_ns: number;
  median_ns: number;
  max_ns: number;
  slowest_rank: number | null;
  skew_ns: number;
  last_rank: number | null;
  late_ns: number;
}

export interface RankGroup {
  group: string;
  kind: string;
  group_size: number | null;
  ranks: number;
  calls: number;
  bytes: number | null;
  calls_per_step: number;
  time_ns: number;
  exposed_ns: number;
  wait_ns: number;
  matched: number;
  arrival_skew_ns: number | null;
  last_rank: number | null;
  last_share: number;
  bus_gb_per_s: number | null;
}

export interface Straggler {
  rank: number | null;
  late_ns: number;
  late_share: number;
  late_steps: number;
  steps: number;
  layer: string;
  class: string;
  phase: string;
  op: string;
  where: string;
  layer_ns: number;
  others_ns: number;
  excess_ns: number;
  explained: number;
}

export interface RanksResult {
  world_size: number | null;
  missing: number;
  step_ns: number;
  step_skew_ns: number;
  time: string;
  collectives: number;
  matched_collectives: number;
  notes: string[];
  ranks: RankRow[];
  steps: RankStep[];
  /** Not in results of older versions. */
  cells?: RankCell[];
  groups: RankGroup[];
  stragglers: Straggler[];
}

export interface HeatMap {
  ranks: (number | null)[];
  steps: (number | null)[];
  /** By rank, then step; null where a rank has no such step. */
  cells: (RankCell | null)[][];
}

export function heatMapOf(cells: RankCell[]): HeatMap {
  const byNumber = (a: number | null, b: number | null) => (a ?? -1) - (b ?? -1);
  const ranks = [...new Set(cells.map((cell) => cell.rank))].sort(byNumber);
  const steps = [...new Set(cells.map((cell) => cell.number))].sort(byNumber);
  const row = new Map(ranks.map((rank, i) => [rank, i]));
  const column = new Map(steps.map((step, i) => [step, i]));
  const grid = ranks.map(() => new Array<RankCell | null>(steps.length).fill(null));
  for (const cell of cells) grid[row.get(cell.rank)!][column.get(cell.number)!] = cell;
  return { ranks, steps, cells: grid };
}
