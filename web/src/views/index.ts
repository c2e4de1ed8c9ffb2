// Which views a result has: one row per kind.
import type { View } from "../app";
import type { Part } from "../data/container";
import { onDevice, type TraceResult } from "../data/trace";
import { count } from "../format";
import { Answer } from "./answer";
import { BenchView } from "./bench";
import { CostLayers, CostSummary } from "./cost";
import { ModelDiffView, TraceDiffView } from "./diff";
import { FailureView } from "./failure";
import { FitView } from "./fit";
import { Flame } from "./flame";
import { FuseView } from "./fuse";
import { GraphView } from "./graph";
import { HardwareView } from "./hardware";
import { Layers } from "./layers";
import { MapView } from "./map";
import { Memory } from "./memory";
import { ModelsView } from "./models";
import { RanksView } from "./ranks";
import { Roofline } from "./roofline";
import { Kernels, Ops } from "./rows";
import { Everything, OnlyTables } from "./everything";
import { TimelineView } from "./timeline";
import { TrainView } from "./train";
import { TrendView } from "./trend";
import { VerdictView } from "./verdict";

function traceViews(part: Part): View[] {
  const trace = part.json<TraceResult>("result");
  const views: View[] = [{ id: "answer", title: "Answer", show: Answer }];
  if (trace.layers.length > 0) views.push({ id: "layers", title: "Layers", show: Layers });
  if (part.has("timeline")) {
    views.push({ id: "flame", title: "Flame", show: Flame });
    views.push({ id: "timeline", title: "Timeline", show: TimelineView });
  }
  if (trace.layers.some((layer) => layer.flops && layer.bytes))
    views.push({ id: "roofline", title: "Roofline", show: Roofline });
  if (part.has("graph")) views.push({ id: "graph", title: "Graph", show: GraphView });
  views.push({ id: "memory", title: "Memory", show: Memory });
  views.push({ id: "ops", title: "Ops", show: Ops });
  if (onDevice(trace)) views.push({ id: "kernels", title: "Kernels", show: Kernels });
  return views;
}

const BY_KIND: Record<string, (part: Part) => View[]> = {
  trace: traceViews,
  cost: (part) => [
    { id: "cost", title: "Cost", show: CostSummary },
    { id: "layers", title: "Layers", show: CostLayers },
    ...(part.has("graph") ? [{ id: "graph", title: "Graph", show: GraphView }] : []),
  ],
  "cost.compare": () => [{ id: "models", title: "Models", show: ModelsView }],
  graph: () => [{ id: "graph", title: "Graph", show: GraphView }],
  bench: () => [{ id: "bench", title: "Bench", show: BenchView }],
  tracediff: () => [{ id: "diff", title: "Difference", show: TraceDiffView }],
  diff: () => [{ id: "diff", title: "Difference", show: ModelDiffView }],
  verdict: () => [{ id: "verdict", title: "Verdict", show: VerdictView }],
  history: (part) => ("lines" in part.json<object>("result") ? [{ id: "trend", title: "Trend", show: TrendView }] : []),
  fit: () => [{ id: "fit", title: "Fit", show: FitView }],
  fuse: () => [{ id: "fuse", title: "Fusion", show: FuseView }],
  hardware: () => [{ id: "hardware", title: "Chips", show: HardwareView }],
  map: () => [{ id: "map", title: "Chips", show: MapView }],
  train: () => [{ id: "train", title: "Training step", show: TrainView }],
  failure: () => [{ id: "failure", title: "What is missing", show: FailureView }],
  ranks: () => [{ id: "ranks", title: "Ranks", show: RanksView }],
};

export function viewsOf(part: Part): View[] {
  const own = BY_KIND[part.kind]?.(part) ?? [];
  if (part.kind === "failure") return own;
  return [...own, { id: "all", title: "All numbers", show: own.length > 0 ? Everything : OnlyTables }];
}

/** Paths of the layers that a link can name. */
export function layerNames(part: Part): string[] {
  const result = part.json<{ layers?: { path?: string; name?: string }[]; nodes?: { name: string }[] }>("result");
  if (part.kind === "graph") return (result.nodes ?? []).map((node) => node.name);
  if (part.kind !== "trace" && part.kind !== "cost") return [];
  return (result.layers ?? []).map((layer) => layer.path ?? layer.name ?? "").filter(Boolean);
}

export function conditionsOf(part: Part): string {
  if (part.kind !== "trace") return "";
  const trace = part.json<TraceResult>("result");
  const parts = [trace.device ?? "CPU only", `${count(trace.events)} events`];
  if (trace.steps.length > 0)
    parts.push(`${trace.steps.length} ${trace.steps.length === 1 ? "step" : "steps"}${trace.steps_inferred ? " (inferred)" : ""}`);
  const recorded = [trace.has_stacks && "stacks", trace.has_shapes && "shapes", trace.has_memory && "memory"].filter(Boolean);
  if (recorded.length > 0) parts.push(`with ${recorded.join(", ")}`);
  return parts.join(" · ");
}
