// Opens `pyrometer serve` in a real browser: the list, a page that follows a recording, Perfetto.
import { spawn, type ChildProcess } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { files, PATIENCE, planted, run, startBrowser, tool, violations } from "./pages";

const sample = join(dirname(tool), "record_sample");
let browser: Browser;
const started: ChildProcess[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => browser?.close());
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

function start(program: string, ...args: string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  return child;
}

/** The address that the server prints. */
function serve(folder: string): Promise<string> {
  const child = start(tool, "serve", folder, "--port", "0", "-q");
  return new Promise((done) => child.stdout?.once("data", (text) => done(String(text).trim())));
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pyrometer-serve-"));
  for (const name of readdirSync(planted).filter((file) => file.endsWith(".json.gz")).slice(0, 2)) copyFileSync(join(planted, name), join(folder, name));
  copyFileSync(join(files, "trace/good-1-training.json"), join(folder, "training.json"));
  run("cost", "resnet18", "-q", "-o", join(folder, "cost.json"));
  symlinkSync("/etc/passwd", join(folder, "link.json"));
  return folder;
}

async function open(address: string, origin = new URL(address).origin): Promise<{ page: Page; errors: string[]; foreign: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const errors: string[] = [];
  const foreign: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) foreign.push(request.url());
  });
  await page.goto(address);
  return { page, errors, foreign };
}

const revision = (page: Page) => page.getAttribute("iframe[data-revision]", "data-revision", { timeout: PATIENCE }).then(Number);

describe("pyrometer serve", () => {
  it("lists the files of its folder, without the token in the address", async () => {
    const address = await serve(makeFolder());
    const { page, errors, foreign } = await open(address);
    await page.waitForSelector("#rows tr");
    const names = await page.$$eval("#rows a", (links) => links.map((link) => link.textContent));
    expect(names).toContain("cost.json");
    expect(names).toContain("training.json");
    expect(names).not.toContain("link.json");
    expect(page.url()).not.toContain("token");
    expect(await page.textContent("#rows")).toContain("cost result");
    await page.fill("#search", "cost");
    expect(await page.$$eval("#rows tr", (rows) => rows.length)).toBe(1);
    await page.fill("#search", "");
    await page.click("th[data-key=size_bytes] button");
    expect(await page.getAttribute("th[data-key=size_bytes]", "aria-sort")).toBe("descending");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page), colorScheme).toEqual([]);
    }
    await page.reload();
    await page.waitForSelector("#rows tr");
    expect(errors).toEqual([]);
    expect(foreign).toEqual([]);
    await page.close();
  });

  it("needs the token", async () => {
    const address = await serve(makeFolder());
    const { page } = await open(new URL(address).origin);
    await page.waitForSelector("#status.failed");
    expect(await page.textContent("#status")).toContain("token");
    expect(await page.$$eval("#rows tr", (rows) => rows.length)).toBe(0);
    await page.close();
  });

  it("shows the page of a file, and leads back", async () => {
    const address = await serve(makeFolder());
    const { page, errors, foreign } = await open(address);
    await page.click("text=training.json");
    await revision(page);
    const frame = page.frames()[1];
    expect(await frame.textContent("main h1")).not.toBe("");
    expect(await page.isVisible("#perfetto")).toBe(true);
    await page.click("#home");
    await page.waitForSelector("#rows tr");
    await page.click("text=cost.json");
    await revision(page);
    expect(await page.isVisible("#perfetto")).toBe(false);
    expect(errors).toEqual([]);
    expect(foreign).toEqual([]);
    await page.close();
  });

  it.skipIf(!existsSync(sample))("follows a recording while it grows, at the same place of the page", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pyrometer-live-"));
    const recorder = start(sample, folder, "300");
    const { page, errors } = await open(await serve(folder));
    await page.waitForSelector(".live", { timeout: PATIENCE });
    await page.click("text=sample.pyro");
    const first = await revision(page);
    await page.frames()[1].evaluate(() => {
      location.hash = "#view=layers";
    });
    await page.waitForFunction((before) => Number(document.querySelector<HTMLElement>("iframe[data-revision]")?.dataset.revision) > before + 1, first, { timeout: PATIENCE });
    expect(await page.textContent("#status")).toContain("recording");
    const frames = page.frames();
    expect(new URL(frames[frames.length - 1].url()).hash).toContain("view=layers");
    recorder.kill("SIGKILL");
    await page.waitForFunction(() => document.querySelector("#status")?.textContent === "", undefined, { timeout: PATIENCE });
    expect(errors).toEqual([]);
    await page.close();
  });

  it("hands a trace to Perfetto's page by its message", async () => {
    const address = await serve(makeFolder());
    const { page, errors } = await open(address);
    // A stand-in for ui.perfetto.dev, which tests cannot reach: it answers as Perfetto documents.
    await page.context().route("https://ui.perfetto.dev/**", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<script>addEventListener("message", (event) => {
          if (event.data === "PING") event.source.postMessage("PONG", event.origin);
          else window.got = { size: event.data.perfetto.buffer.byteLength, title: event.data.perfetto.title,
            first: new Uint8Array(event.data.perfetto.buffer)[0] };
        });</script>`,
      }),
    );
    await page.click("text=training.json");
    await revision(page);
    const [popup] = await Promise.all([page.waitForEvent("popup"), page.click("#perfetto")]);
    await popup.waitForFunction(() => "got" in window, undefined, { timeout: PATIENCE });
    const got = (await popup.evaluate(() => (window as unknown as { got: unknown }).got)) as { size: number; title: string; first: number };
    expect(got.title).toBe("training.json");
    expect(got.first).toBe(0x0a); // the tag of a packet
    expect(got.size).toBeGreaterThan(1000);
    expect(errors).toEqual([]);
    await page.close();
  });
});
