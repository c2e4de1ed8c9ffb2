// Opens every view of the pages of traces in Chromium, light and dark: node tools/open-all.mjs FILE...
// A page (.html) is opened as it is. Prints one line per file, and fails on an error or a request.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { chromium } from "playwright-core";

const tool = resolve(process.env.PYRO_TOOL ?? "../build/pyrometer");
const folder = mkdtempSync(join(tmpdir(), "pyrometer-open-"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let failed = 0;

function pageOf(input) {
  if (input.endsWith(".html")) return resolve(input);
  const file = join(folder, "page.html");
  execFileSync(tool, ["report", input, "-q", "-o", file]);
  return file;
}

for (const input of process.argv.slice(2)) {
  const file = pageOf(input);
  const problems = [];
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => !request.url().startsWith(`file://${file}`) && problems.push(`request: ${request.url()}`));
  await page.goto(`file://${file}`);
  await page.waitForSelector("main h1", { timeout: 60_000 });
  const views = await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href")));
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const view of views) {
      await page.evaluate((wanted) => (window.location.hash = wanted), view);
      await page.waitForTimeout(80);
      const text = (await page.textContent("main")) ?? "";
      if (!(await page.$("main h1")) || /NaN|undefined|Infinity|\[object/.test(text)) problems.push(`${view}: ${/.{0,40}(NaN|undefined|Infinity|\[object).{0,20}/.exec(text)?.[0] ?? "no heading"}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 1) problems.push(`${view}: ${wide} px too wide`);
    }
  }
  await page.close();
  failed += problems.length > 0;
  console.log(`${basename(input)}: ${views.length} views${problems.length > 0 ? `; ${problems.slice(0, 5).join("; ")}` : ""}`);
}
await browser.close();
rmSync(folder, { recursive: true });
console.log(`${process.argv.length - 2} files, ${failed} with problems`);
process.exitCode = failed > 0 ? 1 : 0;
