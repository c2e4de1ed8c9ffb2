// Takes a picture of every view in light and dark: node tools/screenshots.mjs OUTPUT [NAME...]
// Uses traces of ../shared/traces where they are present, else planted ones of the tests.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const tool = resolve(process.env.PYRO_TOOL ?? "../build/pyrometer");
const output = resolve(process.argv[2] ?? "../build/screenshots");
const wanted = process.argv.slice(3);
const folder = mkdtempSync(join(tmpdir(), "pyrometer-screens-"));
const shared = ["../../shared/traces", "../../../shared/traces"].map((one) => resolve(one)).find(existsSync);
const planted = resolve("../tests/trace/planted");

function run(...args) {
  execFileSync(tool, args, { stdio: ["ignore", "ignore", "inherit"] });
}

function page(name, ...args) {
  const file = join(folder, `${name}.html`);
  run(...args, "-q", "-o", file);
  return file;
}

function traceOr(name, otherwise) {
  return shared && existsSync(join(shared, name)) ? join(shared, name) : join(planted, otherwise);
}

function bench(name, ...commands) {
  const file = join(folder, `${name}.json`);
  run("bench", "--runs", "30", ...commands.flatMap((command, i) => ["-n", `command ${i + 1}`, command]), "--export-json", file, "-q");
  return file;
}

/** Name of the picture to the page and the address in it. */
function scenes() {
  const train = page("train", "report", traceOr("h200_resnet18_train.json.gz", "cause-compute.hit.json"));
  const memory = page("memory", "report", traceOr("h200_gpt_train_memory.json.gz", "cause-copy.hit.json"));
  const model = page("model", "report", "resnet18");
  const language = page("language", "report", "gpt2");
  const models = page("models", "cost", "resnet18", "resnet50", "vit_b_16");
  const ranks = page("ranks", "ranks", ...["0", "1"].map((rank) => traceOr(`ranks2_rank${rank}.json.gz`, "cause-communication.hit.json")));
  const traceDiff = page("trace-diff", "diff", traceOr("diff_control.json.gz", "cause-ops.miss.json"), traceOr("diff_test.json.gz", "cause-ops.hit.json"));
  const modelDiff = page("model-diff", "diff", "resnet18", "resnet34");
  const results = [bench("before", "sleep 0.004", "sleep 0.006"), bench("after", "sleep 0.005", "sleep 0.006")];
  const verdict = join(folder, "verdict.html");
  try {
    run("diff", ...results, "-q", "-o", verdict);
  } catch {
    // A regression is not a failure here.
  }
  const fit = page("fit", "fit", "llama3_8b", "--on", "t4,l40s,h100,mi300x", "--seq", "8192");
  const predicted = page("predicted", "map", "gpt2", "--on", "t4,a100,h100,h200,b200,mi300x", "--dtype", "bfloat16", "--no-calibration");
  const step = page("step", "cost", "resnet50", "--train", "--batch", "32");
  const fused = page("fused", "fuse", "resnet50");
  const hardware = page("hardware", "hardware");
  const broken = join(folder, "broken.html");
  writeFileSync(join(folder, "broken.pyro"), "PYR");
  try {
    run("report", join(folder, "broken.pyro"), "-q", "-o", broken);
  } catch {
    // A file that cannot be read has a page, and the command fails.
  }
  const benchPage = page("bench", "report", results[0]);
  const database = join(folder, "history.db");
  run("history", "import", resolve("../tests/files/history/line.json"), "--db", database, "-q");
  const trend = page("trend", "history", "trend", "--db", database);
  return [
    ["answer", train, ""],
    ["layers", train, "#view=layers"],
    ["flame", train, "#view=flame"],
    ["flame-host", train, "#view=flame&side=host"],
    ["timeline", train, "#view=timeline"],
    ["roofline", train, "#view=roofline"],
    ["memory", memory, "#view=memory"],
    ["ops", train, "#view=ops"],
    ["kernels", train, "#view=kernels"],
    ["all", train, "#view=all"],
    ["cost", model, ""],
    ["cost-layers", model, "#view=layers&layer=layer1.0.conv1"],
    ["graph", model, "#view=graph"],
    ["graph-unfolded", model, "#view=graph&layer=layer2.0.conv1"],
    ["graph-language", language, "#view=graph"],
    ["models", models, ""],
    ["ranks", ranks, ""],
    ["diff-traces", traceDiff, ""],
    ["diff-models", modelDiff, ""],
    ["verdict", verdict, ""],
    ["bench", benchPage, ""],
    ["trend", trend, ""],
    ["fit", fit, ""],
    ["map", predicted, ""],
    ["train", step, ""],
    ["fuse", fused, ""],
    ["hardware", hardware, ""],
    ["failure", broken, ""],
  ];
}

mkdirSync(output, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [name, file, hash] of scenes().filter(([one]) => wanted.length === 0 || wanted.includes(one))) {
  for (const colorScheme of ["light", "dark"]) {
    const tab = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme });
    await tab.goto(`file://${file}${hash}`);
    await tab.waitForSelector("main h1");
    await tab.waitForTimeout(400);
    const height = await tab.evaluate(() => document.documentElement.scrollHeight);
    await tab.setViewportSize({ width: 1440, height: Math.min(Math.max(height, 900), 2600) });
    await tab.waitForTimeout(200);
    await tab.screenshot({ path: join(output, `${name}-${colorScheme}.png`) });
    await tab.close();
  }
  const narrow = await browser.newPage({ viewport: { width: 400, height: 800 } });
  await narrow.goto(`file://${file}${hash}`);
  await narrow.waitForSelector("main h1");
  await narrow.waitForTimeout(300);
  await narrow.screenshot({ path: join(output, `${name}-narrow.png`) });
  await narrow.close();
}
await browser.close();
console.log(`${readdirSync(output).length} pictures in ${output}`);
