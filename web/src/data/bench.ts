// Results of benchmarks (schemas/bench-1.json) and the verdict on two of them (schemas/verdict-1.json).

export interface Sampled {
  name: string;
  unit: string;
  n: number;
  samples: number[];
  percentiles: Record<string, { value: number; interval: number[] | null; enough: boolean }>;
}

export interface Metric extends Sampled {
  value?: number | null;
  mean: number | null;
  mean_interval: number[] | null;
  stddev: number | null;
  cv: number | null;
  min: number | null;
  max: number | null;
}

export interface Benchmark {
  name: string;
  status: string;
  message: string | null;
  parameters: Record<string, string | number>;
  facts?: Record<string, string>;
  metrics: Metric[];
}

export interface BenchResult {
  created: string;
  warnings: string[];
  interrupted: boolean;
  environment: Record<string, unknown>;
  benchmarks: Benchmark[];
  thresholds: { threshold: string; benchmark: string; unit: string; limit: number | null; value: number | null; verdict: string; reason: string | null }[];
}

export interface VerdictMetric {
  benchmark: string;
  metric: string;
  unit: string;
  verdict: string;
  base: number | null;
  current: number | null;
  change: number | null;
  interval: (number | null)[];
  confidence: number | null;
  delta: number | null;
  p: number | null;
  base_n: number;
  current_n: number;
  reason: string | null;
}

export interface Verdict {
  verdict: string;
  notes: string[];
  metrics: VerdictMetric[];
}
