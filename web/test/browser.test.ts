// Opens pages that the tool wrote in a real browser.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const tool = resolve(process.env.PYRO_TOOL ?? "../build/pyrometer");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const folder = mkdtempSync(join(tmpdir(), "pyrometer-page-"));
const planted = resolve("../tests/trace/planted");
const axe = readFileSync(resolve("node_modules/axe-core/axe.min.js"), "utf8");

let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
}, 60_000);

afterAll(async () => browser?.close());

interface Opened {
  page: Page;
  errors: string[];
  requests: string[];
}

function makePage(name: string, ...inputs: string[]): string {
  const file = join(folder, `${name}.html`);
  execFileSync(tool, ["report", ...inputs, "-q", "-o", file]);
  return file;
}

async function open(file: string, hash = "", size = { width: 1440, height: 900 }): Promise<Opened> {
  const page = await browser.newPage({ viewport: size });
  const errors: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${file}`)) requests.push(request.url());
  });
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("main h1, .warning", { timeout: 20_000 });
  return { page, errors, requests };
}

async function viewsOf(page: Page): Promise<string[]> {
  return page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href")!));
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const found = await (window as unknown as { axe: { run: (o: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run({
      runOnly: ["wcag2a", "wcag2aa"],
    });
    return found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
  });
}

/** The rows of the CSV that the view's first table gives. */
async function csvOf(page: Page): Promise<string[][]> {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("button:text-is('CSV')")]);
  const text = readFileSync((await download.path())!, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, -1).map((cell) => cell[1].replace(/^"|"$/g, "").replace(/""/g, '"')));
}

function smallTraces(): string[] {
  return readdirSync(planted)
    .filter((file) => /\.json(\.gz)?$/.test(file))
    .slice(0, 6)
    .map((file) => join(planted, file));
}

describe("a page", () => {
  it("shows every view of traces without an error or a request", async () => {
    const file = makePage("traces", ...smallTraces());
    const { page, errors, requests } = await open(file);
    const parts = await page.$$eval("header select option", (options) => options.length);
    for (let part = 0; part < parts; part++) {
      await page.goto(`file://${file}#part=${part}`);
      await page.waitForTimeout(50);
      for (const view of await viewsOf(page)) {
        await page.goto(`file://${file}${view}`);
        await page.waitForSelector("main");
        expect(await page.textContent("main"), view).not.toBe("");
      }
    }
    expect(errors).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  }, 120_000);

  it("has no violations of accessibility in any view, light and dark", async () => {
    const file = makePage("one", smallTraces()[0]);
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await open(file);
      await page.emulateMedia({ colorScheme });
      for (const view of await viewsOf(page)) {
        await page.goto(`file://${file}${view}`);
        await page.waitForTimeout(100);
        expect(await violations(page), `${view} ${colorScheme}`).toEqual([]);
      }
      await page.close();
    }
  }, 120_000);

  it("shows the numbers of the JSON", async () => {
    const input = smallTraces()[0];
    const json = JSON.parse(execFileSync(tool, ["trace", input, "--format", "json"], { maxBuffer: 1 << 28 }).toString());
    const { page } = await open(makePage("numbers", input), "#view=ops");
    const [head, ...rows] = await csvOf(page);
    const byName = new Map<string, Record<string, unknown>>(json.ops.map((op: { name: string }) => [op.name, op]));
    expect(rows.length).toBe(json.ops.length);
    for (const row of rows) {
      const op = byName.get(row[0])!;
      expect(Number(row[head.indexOf("Host, own")])).toBe(op.host_self_ns);
      expect(Number(row[head.indexOf("Device, total")])).toBe(op.device_total_ns);
      expect(Number(row[head.indexOf("Calls")])).toBe(op.calls);
    }
    await page.close();
  }, 60_000);

  it("shows a model's cost, and a layer by a link", async () => {
    const file = makePage("model", "resnet18");
    const json = JSON.parse(execFileSync(tool, ["cost", "resnet18", "--format", "json"], { maxBuffer: 1 << 28 }).toString());
    const { page, errors } = await open(file, "#view=layers&layer=layer1.0.conv1");
    expect(await page.textContent("tr[aria-selected=true]")).toContain("layer1.0.conv1");
    const [head, ...rows] = await csvOf(page);
    const wanted = json.layers.find((layer: { name: string }) => layer.name === "layer1.0.conv1");
    const row = rows.find((one) => one[0] === "layer1.0.conv1")!;
    expect(Number(row[head.indexOf("FLOPs")])).toBe(wanted.flops);
    expect(errors).toEqual([]);
    await page.close();
  }, 60_000);

  it("escapes hostile names and keeps to its policy", async () => {
    const hostile = [`</script><script>document.title='bad'</script>`, `<img src=x onerror="document.title='bad'">`, "a\u202eb", "x".repeat(1_000_000)];
    const events = hostile.map((name, i) => ({ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: i * 10, dur: 5 }));
    const trace = join(folder, "hostile.json");
    writeFileSync(trace, JSON.stringify({ traceEvents: events }));
    const file = makePage("hostile", trace);
    const { page, errors, requests } = await open(file);
    for (const view of await viewsOf(page)) {
      await page.goto(`file://${file}${view}`);
      await page.waitForTimeout(100);
      expect(await page.title()).toBe("hostile.json");
      expect(await page.$$eval("main img, main script", (found) => found.length)).toBe(0);
      expect(await page.textContent("main")).not.toContain("\u202e");
    }
    expect(errors).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  }, 60_000);

  it("fits a narrow screen", async () => {
    const file = makePage("narrow", smallTraces()[0]);
    const { page } = await open(file, "", { width: 400, height: 800 });
    for (const view of await viewsOf(page)) {
      await page.goto(`file://${file}${view}`);
      await page.waitForTimeout(100);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(wide, view).toBeLessThanOrEqual(1);
    }
    await page.close();
  }, 60_000);

  it("says that a newer version of the data cannot be shown", async () => {
    const file = join(folder, "empty.html");
    writeFileSync(file, readFileSync(resolve("dist/index.html"), "utf8").replace("@PYROMETER_DATA@", "bm90IGRhdGE="));
    const { page } = await open(file);
    expect(await page.textContent("[role=alert]")).toContain("cannot show its data");
    await page.close();
  }, 60_000);

  it("opens the traces of strangers, where they are present", async () => {
    const strangers = resolve("../../shared/traces");
    if (!existsSync(strangers)) return;
    for (const name of readdirSync(strangers).filter((one) => one.endsWith(".json.gz")).slice(0, 4)) {
      const { page, errors } = await open(makePage("stranger", join(strangers, name)));
      expect(errors, name).toEqual([]);
      await page.close();
    }
  }, 120_000);
});
