// The cost of a model (schemas/cost-1.json), and of several (schemas/cost.compare-1.json).

export interface CostRow {
  name: string;
  type: string;
  class: string;
  operators: number;
  macs: number;
  flops: number;
  memory: number;
  params: number;
  arithmetic_intensity: number | null;
  band: string;
}

export interface CostTotals {
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
  arithmetic_intensity: number | null;
  bottleneck: string;
  footprint: { total_bytes: number; weight_bytes: number; kv_cache_bytes: number | null };
  peak_memory?: { total_bytes: number; layer: string } | null;
  coverage: { share: number; uncounted: unknown[] };
  advice: string[];
  notes: string[];
}

export interface CostResult extends CostTotals {
  layers: CostRow[];
  modules: (CostRow & { depth: number })[];
  operators_by_type: CostRow[];
}

/** Bands of FLOPs per byte, as pyrometer cost names them. */
export const BANDS: [string, string][] = [
  ["memory-bound", "below 10 FLOPs per byte"],
  ["balanced", "10 to 50"],
  ["compute-bound", "50 to 100"],
  ["strongly compute-bound", "above 100"],
];
