// The cost of a training step (schemas/train-1.json).

export interface PhaseCost {
  macs: number;
  flops: number;
  memory: number;
}

export type Phase = "forward" | "backward" | "recompute" | "optimizer";

export const PHASES: Phase[] = ["forward", "recompute", "backward", "optimizer"];

export interface TrainRow extends Record<Phase, PhaseCost> {
  name: string;
  type: string;
  trainable_params: number;
  gradient_bytes: number;
  optimizer_state_bytes: number;
  saved_activation_bytes: number;
}

export interface TrainResult extends Record<Phase, PhaseCost> {
  model: string;
  display_name: string | null;
  convention_summary: string;
  dtype: string;
  inputs: { name: string; dtype: string; shape: number[] }[];
  options: { optimizer: string; checkpoint: string; precision: string; freeze: string | null; lora: string | null };
  total_flops: number;
  total_macs: number;
  total_memory: number;
  trainable_params: number;
  frozen_params: number;
  lora_params: number;
  peak_memory: { total_bytes: number; phase: string; node: string; layer: string; step: number } & Record<string, number | string>;
  layers: TrainRow[];
  curve: { phase: Phase; node: string; layer: string; bytes: number }[];
  alive_at_peak: { what: string; name: string; layer: string; bytes: number }[];
  coverage: { share: number | null; uncounted: unknown[] };
  notes: string[];
}

/** Stretches of one phase in the curve: where they begin and end. */
export function stretchesOf(curve: { phase: Phase }[]): { phase: Phase; from: number; to: number }[] {
  const stretches: { phase: Phase; from: number; to: number }[] = [];
  curve.forEach(({ phase }, i) => {
    const last = stretches[stretches.length - 1];
    if (last?.phase === phase) last.to = i + 1;
    else stretches.push({ phase, from: i, to: i + 1 });
  });
  return stretches;
}
