// Every view shows the numbers of the JSON: 20 random cells of each are compared.
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { csvOf, files, folder, json, open, random, run, show, startBrowser, stranger, writePage } from "./pages";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);
afterAll(async () => browser?.close());

type Row = Record<string, unknown>;

interface Check {
  view: string;
  caption: string;
  rows: Row[];
  /** Title of the column that names a row, and the member that it shows. */
  key: [string, string | ((row: Row) => string)];
  /** Title of a column to its number. */
  cells: Record<string, string | ((row: Row) => number | null)>;
}

const get = (row: Row, what: string | ((row: Row) => unknown)) => (typeof what === "string" ? row[what] : what(row));

/** Compares 20 random cells of a table with the JSON's numbers. */
async function compare(file: string, checks: Check[]): Promise<void> {
  const { page, errors, requests } = await open(browser, file);
  const next = random(7);
  for (const check of checks) {
    await show(page, check.view);
    const shown = await csvOf(page, check.caption);
    const byKey = new Map<string, Row[]>();
    for (const row of check.rows) {
      const key = String(get(row, check.key[1]));
      byKey.set(key, [...(byKey.get(key) ?? []), row]);
    }
    expect(shown.length, check.view).toBe(check.rows.length);
    const titles = Object.keys(check.cells);
    for (let i = 0; i < 20 && shown.length > 0; i++) {
      const row = shown[Math.floor(next() * shown.length)];
      const title = titles[Math.floor(next() * titles.length)];
      const wanted = (byKey.get(row[check.key[0]].replace(/^'/, "")) ?? []).map((one) => get(one, check.cells[title]));
      expect(row, `${check.view} ${title}`).toHaveProperty(title);
      const value = row[title] === "" ? null : Number(row[title]);
      expect(wanted, `${check.view}: ${row[check.key[0]]}, ${title}`).toContain(value);
    }
  }
  expect(errors).toEqual([]);
  expect(requests).toEqual([]);
  await page.close();
}

describe("numbers of the JSON", () => {
  it("in the views of a trace", async () => {
    const input = stranger("h200_gpt_train_memory.json.gz", "trace/h200_resnet18_train.json.gz");
    const trace = json("trace", input, "-v") as unknown as Record<string, Row[]> & { memory: { devices: { holders: Row[] }[] } };
    const own = (row: Row) => Number(row.forward_device_self_ns) + Number(row.backward_device_self_ns);
    await compare(writePage("trace", "report", input), [
      {
        view: "#view=layers", caption: "Layers", rows: trace.layers, key: ["Layer", "path"],
        cells: { Calls: "calls", "Own time": own, Forward: "forward_device_ns", Backward: "backward_device_ns", FLOPs: "flops", Memory: "allocated_bytes", "FLOP/s": "flops_per_s", "Of peak": "peak_share" },
      },
      {
        view: "#view=ops", caption: "Ops", rows: trace.ops, key: ["Op", "name"],
        cells: { Calls: "calls", "Device, own": "device_self_ns", "Device, total": "device_total_ns", "Host, own": "host_self_ns", "Host, total": "host_total_ns", FLOPs: "flops" },
      },
      {
        view: "#view=kernels", caption: "Kernels", rows: trace.kernels, key: ["Kernel", "name"],
        cells: { Calls: "calls", Total: "total_ns", Median: "median_ns", Max: "max_ns" },
      },
      {
        view: "#view=memory", caption: "Holders at the peak", rows: trace.memory.devices[0]?.holders ?? [], key: ["Layer", "layer"],
        cells: { Bytes: "bytes", Blocks: "blocks" },
      },
      {
        view: "#view=all&table=gaps", caption: "gaps", rows: trace.gaps, key: ["start_ns", "start_ns"],
        cells: { duration_ns: "duration_ns", device: "device", step: "step" },
      },
    ]);
  }, 120_000);

  it("in the timeline, the flame graph and the memory at the cursor", async () => {
    const input = stranger("h200_gpt_train_memory.json.gz", "trace/h200_resnet18_train.json.gz");
    const trace = json("trace", input, "-v") as unknown as { kernels: Row[]; device_total_ns: number; memory: { devices: { holders: Row[] }[] } };
    const { page } = await open(browser, writePage("timeline", "report", input), "#view=flame&side=device");
    const names = await csvOf(page, "Names");
    const next = random(11);
    for (let i = 0; i < 20; i++) {
      const kernel = trace.kernels[Math.floor(next() * trace.kernels.length)];
      const same = trace.kernels.filter((one) => one.name === kernel.name);
      const row = names.find((one) => one.Name === kernel.name)!;
      expect(Number(row.Own)).toBe(same.reduce((sum, one) => sum + Number(one.total_ns), 0));
      expect(Number(row.Calls)).toBe(same.reduce((sum, one) => sum + Number(one.calls), 0));
    }
    await show(page, "#view=timeline");
    await page.focus("canvas");
    await page.keyboard.press("m");
    const inside = await csvOf(page, "In the interval, by name");
    for (let i = 0; i < 20; i++) {
      const kernel = trace.kernels[Math.floor(next() * trace.kernels.length)];
      const same = trace.kernels.filter((one) => one.name === kernel.name);
      const row = inside.find((one) => one.Name === kernel.name && one.Where === "device")!;
      expect(Number(row.Time)).toBe(same.reduce((sum, one) => sum + Number(one.total_ns), 0));
    }
    await show(page, "#view=memory");
    const alive = await csvOf(page, "Alive at the peak");
    for (const holder of (trace.memory.devices[0]?.holders ?? []).filter((one) => one.layer !== "").slice(0, 20)) {
      const row = alive.find((one) => one.Layer === holder.layer && one.Op === holder.op)!;
      expect(Number(row.Bytes), String(holder.layer)).toBe(holder.bytes);
    }
    await page.close();
  }, 120_000);

  it("in the views of a model", async () => {
    const cost = json("cost", "resnet18") as unknown as Record<string, Row[]>;
    const graph = json("graph", "resnet18", "--granularity", "layer") as unknown as Record<string, Row[]>;
    await compare(writePage("model", "report", "resnet18"), [
      {
        view: "#view=layers", caption: "Layers", rows: cost.layers, key: ["Layer", "name"],
        cells: { FLOPs: "flops", MACs: "macs", "Bytes moved": "memory", Parameters: "params", "FLOPs per byte": "arithmetic_intensity" },
      },
      {
        view: "#view=cost", caption: "Operators by type", rows: cost.operators_by_type, key: ["Type", "name"],
        cells: { FLOPs: "flops", MACs: "macs", "Bytes moved": "memory", Operators: "operators" },
      },
      {
        view: "#view=graph", caption: "Nodes of the graph", rows: graph.nodes, key: ["Name", "name"],
        cells: { FLOPs: "flops", "Bytes moved": "moved_bytes", Parameters: "parameters", Output: "output_bytes" },
      },
    ]);
    const both = json("cost", "resnet18", "resnet34") as unknown as Record<string, Row[]>;
    await compare(writePage("models", "cost", "resnet18", "resnet34"), [
      { view: "#view=models", caption: "Models", rows: both.models, key: ["Model", "model"], cells: { FLOPs: "total_flops", MACs: "total_macs", Parameters: "params", "Bytes moved": "total_memory" } },
    ]);
  }, 120_000);

  it("in the roofline's table", async () => {
    const input = stranger("h200_resnet18_train.json.gz", "trace/h200_resnet18_train.json.gz");
    const trace = json("trace", input, "-v") as unknown as Record<string, Row[]>;
    const leaves = trace.layers.filter((row, i) => !trace.layers.some((other) => other.parent === i) && row.flops && row.bytes && row.flops_per_s);
    if (leaves.length === 0) return;
    await compare(writePage("roofline", "report", input), [
      {
        view: "#view=roofline", caption: "Layers in the roofline", rows: leaves, key: ["Layer", "path"],
        cells: { FLOPs: "flops", Bytes: "bytes", "FLOP/s": "flops_per_s", "Of peak": "peak_share" },
      },
    ]);
  }, 120_000);

  it("in the differences", async () => {
    const runs = [stranger("diff_control.json.gz", "trace/good-1-training.json"), stranger("diff_test.json.gz", "trace/h200_resnet18_train.json.gz")];
    const traces = json("diff", ...runs) as unknown as Record<string, Row[]>;
    await compare(writePage("trace-diff", "diff", ...runs), [
      {
        view: "#view=diff&part=0&table=ops", caption: "Ops", rows: traces.ops, key: ["Name", "name"],
        cells: { Before: "before_ns", After: "after_ns", Change: "change_ns", "Calls before": "before_calls" },
      },
    ]);
    const models = json("diff", "resnet18", "resnet34") as unknown as Record<string, Row[]>;
    await compare(writePage("model-diff", "diff", "resnet18", "resnet34"), [
      {
        view: "#view=diff&part=0", caption: "Changed layers", rows: models.layers, key: ["Layer", "name"],
        cells: { "FLOPs before": "flops_before", "FLOPs after": "flops_after", Change: "flops_change" },
      },
    ]);
  }, 120_000);

  it("in benchmarks, verdicts and trends", async () => {
    const results = ["a", "b"].map((name) => join(folder, `${name}.json`));
    for (const file of results) run("bench", "--runs", "12", "-n", "one", "true", "-n", "two", "true", "--export-json", file, "-q");
    const bench = json("bench", "--runs", "3", "true") && (JSON.parse(run("bench", "--runs", "8", "-n", "x", "true", "--format", "json")) as Row);
    expect(bench.schema).toBe("pyrometer.bench/1");
    const verdict = json("diff", ...results) as unknown as Record<string, Row[]>;
    await compare(writePage("verdict", "diff", ...results), [
      {
        view: "#view=verdict&part=0", caption: "Metrics", rows: verdict.metrics, key: ["Benchmark", "benchmark"],
        cells: { Before: "base", After: "current", Change: "change", "Samples before": "base_n" },
      },
    ]);
    run("history", "import", join(files, "history/line.json"), "--db", join(folder, "h.db"));
    const trend = json("history", "trend", "--db", join(folder, "h.db")) as unknown as { lines: { points: Row[] }[]; changes: Row[] };
    await compare(writePage("trend", "history", "trend", "--db", join(folder, "h.db")), [
      { view: "#view=trend", caption: "Results", rows: trend.lines.flatMap((line) => line.points), key: ["When", "time"], cells: { Value: "value", Samples: "n" } },
      { view: "#view=trend", caption: "Changes", rows: trend.changes, key: ["Commit", "commit"], cells: { Change: "change", Before: "before", After: "after" } },
    ]);
  }, 120_000);

  it("in the ranks", async () => {
    const inputs = ["0", "1"].map((rank) => stranger(`ranks2_rank${rank}.json.gz`, `ranks/trace_rank_${rank}.json`));
    const ranks = json("ranks", ...inputs) as unknown as Record<string, Row[]>;
    await compare(writePage("ranks", "ranks", ...inputs), [
      {
        view: "#view=ranks", caption: "Ranks", rows: ranks.ranks, key: ["Rank", "rank"],
        cells: { Step: "step_ns", Compute: "compute_ns", Idle: "idle_ns", Late: "late_ns", Waits: "wait_ns" },
      },
      {
        view: "#view=ranks", caption: "Ranks by steps", rows: ranks.cells, key: ["Rank and step", (row) => `${row.rank ?? "?"}/${row.number ?? "?"}`],
        cells: { Length: "step_ns", Compute: "compute_ns", "Exposed communication": "communication_exposed_ns", Idle: "idle_ns", Late: "late_ns", Waits: "wait_ns" },
      },
      {
        view: "#view=ranks", caption: "Collectives", rows: ranks.groups, key: ["Collective", "kind"],
        cells: { Time: "time_ns", Exposed: "exposed_ns", Waits: "wait_ns", Ranks: "ranks" },
      },
    ]);
  }, 120_000);
});
