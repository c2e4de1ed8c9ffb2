// What the browser tests share: pages that the tool writes, and a browser that opens them.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

export const tool = resolve(process.env.PYRO_TOOL ?? "../build/pyrometer");
export const folder = mkdtempSync(join(tmpdir(), "pyrometer-page-"));
export const planted = resolve("../tests/trace/planted");
export const files = resolve("../tests/files");
const axe = readFileSync(resolve("node_modules/axe-core/axe.min.js"), "utf8");

export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** Runs the tool; 1 and 3 are verdicts. */
export function run(...args: string[]): string {
  try {
    return execFileSync(tool, args, { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }).toString();
  } catch (error) {
    const failed = error as { status: number; stdout: Buffer; stderr: Buffer };
    if (failed.status === 1 || failed.status === 3) return failed.stdout.toString();
    throw new Error(`${args.join(" ")}: ${failed.stderr}`);
  }
}

export function json(...args: string[]): Record<string, never> {
  return JSON.parse(run(...args, "--format", "json"));
}

/** The page that a command writes. */
export function writePage(name: string, ...args: string[]): string {
  const file = join(folder, `${name}.html`);
  run(...args, "-q", "-o", file);
  return file;
}

export interface Opened {
  page: Page;
  errors: string[];
  requests: string[];
}

/** Waits for what must come; a busy machine may be slow. */
export const PATIENCE = 120_000;

/** Opens a page; `before` runs in it before its own script. */
export async function open(browser: Browser, file: string, hash = "", size = { width: 1440, height: 900 }, before?: () => void): Promise<Opened> {
  const page = await browser.newPage({ viewport: size });
  if (before) await page.addInitScript(before);
  page.setDefaultTimeout(PATIENCE);
  const errors: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${file}`) && !request.url().startsWith("blob:")) requests.push(request.url());
  });
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("main h1, .warning");
  return { page, errors, requests };
}

export async function viewsOf(page: Page): Promise<string[]> {
  return page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href")!));
}

/** Until the page has drawn what is to be drawn: effects run after a frame and may ask for another. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let frame = 0; frame < 4; frame++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  });
}

/** Goes to another view of the same page without loading it again. */
export async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate(async (wanted) => {
    if (window.location.hash === wanted) return;
    const changed = new Promise((done) => window.addEventListener("hashchange", done, { once: true }));
    window.location.hash = wanted;
    await changed;
  }, hash);
  await drawn(page);
}

export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const found = await (window as unknown as { axe: { run: (o: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run({
      runOnly: ["wcag2a", "wcag2aa"],
    });
    return found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
  });
}

/** The rows of the CSV of a table, the first by default. */
export async function csvOf(page: Page, caption?: string): Promise<Record<string, string>[]> {
  const table = caption ? page.locator(`.table:has([aria-label="${caption}"])`).first() : page.locator(".table").first();
  await page.$$eval("main details", (all) => all.forEach((one) => ((one as HTMLDetailsElement).open = true)));
  const [download] = await Promise.all([page.waitForEvent("download"), table.locator("button:text-is('CSV')").click()]);
  const text = readFileSync((await download.path())!, "utf8");
  const [head, ...rows] = text
    .trimEnd()
    .split("\n")
    .map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, -1).map((cell) => cell[1].replace(/^"|"$/g, "").replace(/""/g, '"')));
  return rows.map((row) => Object.fromEntries(head.map((title, i) => [title, row[i]])));
}

/** The cells of a table as the screen shows them, by row and by title. */
export async function shownCells(page: Page, caption: string): Promise<Record<string, string>[]> {
  const table = page.locator(`.table:has([aria-label="${caption}"])`).first();
  return table.locator("table").evaluate((element) => {
    const texts = (row: Element, what: string) => [...row.querySelectorAll(what)].map((one) => (one.textContent ?? "").trim());
    const titles = texts(element, "th").map((title) => title.replace(/ [▴▾]$/, ""));
    return [...element.querySelectorAll("tbody tr")].map((row) => Object.fromEntries(texts(row, "td").map((text, i) => [titles[i], text])));
  });
}

const FACTORS: Record<string, number> = {
  "": 1, ns: 1, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9,
  B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
  k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, "%": 0.01, J: 1, mJ: 1e-3, W: 1,
};

/** Whether a text with three digits and a unit stands for a number: in its base unit, or in the unit itself. */
export function standsFor(text: string, value: number | null): boolean {
  if (value == null || text === "–" || text === "") return value == null && (text === "–" || text === "");
  if (text === "none") return value === 0;
  const found = /^[≈~]?\s*(<?)\s*([+−-]?)([\d,.]+(?:e[+-]?\d+)?)\s*([a-zA-Zµ%/]*)/.exec(text.replace(/\u00a0/g, " "));
  if (!found) return false;
  const [, below, sign, digits, unit] = found;
  const factor = FACTORS[unit] ?? FACTORS[unit.replace(/(FLOP|op|B)?(\/s)?$/, "")];
  const number = Number(digits.replace(/,/g, "")) * (sign === "" || sign === "+" ? 1 : -1);
  if (factor === undefined) return false;
  if (below) return Math.abs(value) < number * factor;
  // Half of the last digit that is shown.
  const step = 0.51 * 10 ** -(digits.split(/e/)[0].split(".")[1]?.length ?? 0);
  return [1, factor].some((one) => Math.abs(value - number * one) <= Math.max(step * one, Math.abs(value) * 1e-9));
}

/** The same numbers on every run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/** Traces of strangers, where they are present. */
export function strangers(): string[] {
  const at = ["../../shared/traces", "../../../shared/traces"].map((one) => resolve(one)).find(existsSync);
  return at ? readdirSync(at).filter((one) => one.endsWith(".json.gz")).map((one) => join(at, one)) : [];
}

export function stranger(name: string, otherwise: string): string {
  return strangers().find((one) => one.endsWith(name)) ?? resolve(files, otherwise);
}
