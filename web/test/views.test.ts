// Every view shows the numbers of the JSON: 20 random cells of each are compared.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { account, causeTitle } from "../src/views/answer";
import type { TraceResult } from "../src/data/trace";
import { csvOf, files, folder, json, open, random, run, show, shownCells, standsFor, startBrowser, stranger, writePage } from "./pages";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => browser?.close());

type Row = Record<string, unknown>;

interface Check {
  view: string;
  caption: string;
  rows: Row[];
  /** Title of the column that names a row, and the member that it shows. */
  key: [string, string | ((row: Row) => string)];
  /** A second column that names a row. */
  second?: [string, string];
  /** Title of a column to its number. */
  cells: Record<string, string | ((row: Row) => number | null)>;
}

const get = (row: Row, what: string | ((row: Row) => unknown)) => (typeof what === "string" ? row[what] : what(row));

/** Compares 20 random cells of a table with the JSON's numbers: its CSV, and what the screen shows. */
async function compare(file: string, checks: Check[]): Promise<void> {
  const { page, errors, requests } = await open(browser, file);
  const next = random(7);
  for (const check of checks) {
    await show(page, check.view);
    const shown = await csvOf(page, check.caption);
    const onScreen = await shownCells(page, check.caption);
    const byKey = new Map<string, Row[]>();
    for (const row of check.rows) {
      const key = String(get(row, check.key[1])) + (check.second ? `/${row[check.second[1]]}` : "");
      byKey.set(key, [...(byKey.get(key) ?? []), row]);
    }
    expect(shown.length, check.view).toBe(check.rows.length);
    const titles = Object.keys(check.cells);
    for (let i = 0; i < 20 && shown.length > 0; i++) {
      const index = Math.floor(next() * Math.min(shown.length, onScreen.length));
      const row = shown[index];
      const title = titles[Math.floor(next() * titles.length)];
      const key = row[check.key[0]].replace(/^'/, "") + (check.second ? `/${row[check.second[0]]}` : "");
      const wanted = (byKey.get(key) ?? []).map((one) => get(one, check.cells[title]));
      expect(row, `${check.view} ${title}`).toHaveProperty(title);
      const value = row[title] === "" ? null : Number(row[title]);
      expect(wanted, `${check.view}: ${key}, ${title}`).toContain(value);
      const text = onScreen[index][title].replace(/ \?$/, "");
      expect(standsFor(text, value), `${check.view}: ${key}, ${title}: the screen shows ${text} for ${value}`).toBe(true);
    }
  }
  expect(errors).toEqual([]);
  expect(requests).toEqual([]);
  await page.close();
}

describe("numbers of the JSON", () => {
  it("in the views of a trace", async () => {
    const input = resolve(files, "trace/h200_gpt_train_memory.json.gz");
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
  });

  it("in the answer", async () => {
    const input = resolve(files, "trace/h200_resnet18_train.json.gz");
    const trace = json("trace", input, "-v") as unknown as TraceResult;
    const { page, errors } = await open(browser, writePage("answer", "report", input), "#view=answer");
    const steps = trace.steps.length || 1;
    const profiler = new Map<string, number>();
    for (const row of trace.causes) profiler.set(row.cause, (profiler.get(row.cause) ?? 0) + (row.profiler_ns ?? 0));
    // What the screen shows, and the number of the JSON that it stands for.
    const cells: [string, number][] = [];
    const rows = await page.$$eval(".waterfall [role=listitem]", (all) => all.map((one) => [one.children[0].textContent ?? "", one.querySelector(".value")?.firstChild?.textContent ?? ""]));
    const shown = new Map(rows.map(([title, text]) => [title, text.trim()]));
    for (const { cause, ns } of account(trace)) {
      const text = shown.get(causeTitle(cause));
      if (text) cells.push([text, (ns - (profiler.get(cause) ?? 0)) / steps]);
    }
    expect(cells.length).toBeGreaterThan(2);
    const findings = await page.$$eval(".finding", (all) => all.map((one) => [one.querySelector("h3")?.textContent ?? "", one.querySelector(".gain")?.textContent ?? ""]));
    expect(findings.map(([title]) => title)).toEqual(trace.findings.slice(0, 3).map((finding) => finding.title));
    findings.forEach(([, text], i) => text && cells.push([text.replace("up to ", ""), trace.findings[i].gain_ns! / steps]));
    const numbers = await page.$$eval(".numbers > div", (all) => all.map((one) => [one.querySelector("b")?.textContent ?? "", one.querySelector("span")?.textContent ?? ""]));
    for (const [text, what] of numbers) if (what.startsWith("device busy")) cells.push([text, trace.device_busy_ns / trace.span_ns]);
    const spans = trace.steps.map((step) => step.span_ns).sort((a, b) => a - b);
    if (spans.length % 2 === 1) cells.push([numbers[0][0], spans[spans.length >> 1]]);
    const next = random(5);
    for (let i = 0; i < 20; i++) {
      const [text, value] = cells[Math.floor(next() * cells.length)];
      expect(standsFor(text, value), `the screen shows ${text} for ${value}`).toBe(true);
    }
    expect(errors).toEqual([]);
    await page.close();
  });

  it("in the timeline, the flame graph and the memory at the cursor", async () => {
    const input = resolve(files, "trace/h200_gpt_train_memory.json.gz");
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
  });

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
  });

  it("in the roofline's table", async () => {
    const input = resolve(files, "trace/h200_resnet18_train.json.gz");
    const trace = json("trace", input, "-v") as unknown as Record<string, Row[]>;
    const leaves = trace.layers.filter((row, i) => !trace.layers.some((other) => other.parent === i) && row.flops && row.bytes && row.flops_per_s);
    if (leaves.length === 0) return;
    await compare(writePage("roofline", "report", input), [
      {
        view: "#view=roofline", caption: "Layers in the roofline", rows: leaves, key: ["Layer", "path"],
        cells: { FLOPs: "flops", Bytes: "bytes", "FLOP/s": "flops_per_s", "Of peak": "peak_share" },
      },
    ]);
  });

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
  });

  it("in benchmarks, verdicts and trends", async () => {
    const results = ["a", "b"].map((name) => join(folder, `${name}.json`));
    for (const file of results) run("bench", "--runs", "12", "-n", "one", "true", "-n", "two", "true", "--export-json", file, "-q");
    const bench = json("bench", "--runs", "3", "true") && (JSON.parse(run("bench", "--runs", "8", "-n", "x", "true", "--format", "json")) as Row);
    expect(bench.schema).toBe("pyrometer.bench/1");
    const measured = JSON.parse(readFileSync(results[0], "utf8")) as { benchmarks: { name: string; metrics: Row[] }[] };
    const percentile = (row: Row, key: string) => (row.percentiles as Record<string, { value: number }> | undefined)?.[key]?.value ?? null;
    await compare(writePage("bench", "report", results[0]), [
      {
        view: "#view=bench", caption: "Metrics", rows: measured.benchmarks.flatMap((one) => one.metrics.map((metric) => ({ benchmark: one.name, ...metric }))), key: ["Benchmark", "benchmark"], second: ["Metric", "name"],
        cells: {
          Samples: (row) => (row.n as number) ?? null, Mean: (row) => (row.mean as number) ?? null, Min: (row) => (row.min as number) ?? null, Max: (row) => (row.max as number) ?? null,
          Median: (row) => percentile(row, "p50") ?? (row.value as number) ?? (row.mean as number) ?? null,
        },
      },
    ]);
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
  });

  it("in fits, predictions, training steps, fusions and chips", async () => {
    const fit = json("fit", "llama3_8b", "--on", "l40s,t4,h100") as unknown as { answers: Row[] };
    const title = (row: Row) => `${row.gpus} × ${row.chip}`;
    await compare(writePage("fit", "fit", "llama3_8b", "--on", "l40s,t4,h100"), [
      {
        view: "#view=fit", caption: "Chips", rows: fit.answers, key: ["Chip", "chip"],
        cells: { Needs: "total_bytes", Memory: "memory_bytes", Free: "margin_bytes", "Largest batch": "largest_batch", "Largest sequence": "largest_sequence", "Concurrent sequences": "largest_concurrent" },
      },
      {
        view: "#view=fit", caption: "Measures", rows: fit.answers.flatMap((one) => (one.levers as Row[]).map((lever) => ({ title: title(one), ...lever }))), key: ["Chip", "title"], second: ["Measure", "name"],
        cells: { Saves: "saved_bytes", "Then needs": "total_bytes" },
      },
    ]);
    const map = json("map", "resnet18", "--on", "h100,b200,l40s", "--no-calibration") as unknown as { maps: { chips: (Row & { total: Row; layers: Row[] })[] }[] };
    const chips = map.maps[0].chips;
    const total = (key: string) => (row: Row) => (row.total as Record<string, number | null>)[key];
    await compare(writePage("map", "map", "resnet18", "--on", "h100,b200,l40s", "--no-calibration"), [
      {
        view: "#view=map", caption: "Chips", rows: chips, key: ["Chip", "chip"],
        cells: { Time: total("time_ns"), From: total("low_ns"), To: total("high_ns"), "At least": total("least_ns"), Energy: total("energy_joules"), Memory: "memory_bytes", "Samples per s": "samples_per_s" },
      },
      {
        view: "#view=map&chip=1", caption: "Layers", rows: chips[1].layers, key: ["Layer", "name"],
        cells: { Time: "time_ns", From: "low_ns", To: "high_ns", "At least": "least_ns", FLOPs: "flops", Bytes: "bytes" },
      },
    ]);
    const train = json("cost", "resnet18", "--train") as unknown as { layers: Row[]; alive_at_peak: Row[] };
    const flops = (phase: string) => (row: Row) => (row[phase] as { flops: number }).flops;
    await compare(writePage("training-step", "cost", "resnet18", "--train"), [
      {
        view: "#view=train", caption: "Layers", rows: train.layers, key: ["Layer", "name"],
        cells: { Forward: flops("forward"), Backward: flops("backward"), Optimizer: flops("optimizer"), "Saved activations": "saved_activation_bytes", Gradients: "gradient_bytes", "Optimizer states": "optimizer_state_bytes" },
      },
      { view: "#view=train", caption: "Alive at the peak", rows: train.alive_at_peak, key: ["Name", "name"], second: ["What", "what"], cells: { Bytes: "bytes" } },
    ]);
    const fuse = json("fuse", "resnet18") as unknown as { groups: Row[] };
    await compare(writePage("fuse", "fuse", "resnet18"), [
      { view: "#view=fuse", caption: "Groups", rows: fuse.groups, key: ["Layer", "layer"], second: ["Kind", "kind"], cells: { FLOPs: "flops", "Bytes before": "bytes_before", "Bytes after": "bytes_after" } },
    ]);
    const hardware = json("hardware") as unknown as { chips: Row[] };
    await compare(writePage("hardware", "hardware"), [
      { view: "#view=hardware", caption: "Chips", rows: hardware.chips, key: ["Chip", "name"], cells: { Memory: "memory_bytes", Cache: "cache_bytes", Power: "power_watts", Link: "link_bytes_per_s" } },
    ]);
  });

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
  });
});
