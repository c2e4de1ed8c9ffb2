// Opens pages that the tool wrote in a real browser.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deflateSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drawn, files, folder, json, open as openIn, planted, run, show, startBrowser, strangers, viewsOf, violations, writePage } from "./pages";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => browser?.close());

const open = (file: string, hash = "", size?: { width: number; height: number }, before?: () => void) => openIn(browser, file, hash, size, before);
const makePage = (name: string, ...inputs: string[]) => writePage(name, "report", ...inputs);

function smallTraces(): string[] {
  return readdirSync(planted)
    .filter((file) => /\.json(\.gz)?$/.test(file))
    .slice(0, 6)
    .map((file) => join(planted, file));
}

/** The page of a file that cannot be read. */
function unreadable(name: string, file: string, content: string | Buffer): string {
  const [input, output] = [join(folder, file), join(folder, `${name}.html`)];
  writeFileSync(input, content);
  expect(() => run("report", input, "-q", "-o", output)).toThrow(file);
  return output;
}

/** One page of every kind of result. */
function everyKind(): string[] {
  const bench = join(folder, "kinds.json");
  run("bench", "--runs", "5", "-n", "one", "true", "--export-json", bench, "-q");
  const database = join(folder, "kinds.db");
  run("history", "import", join(files, "history/line.json"), "--db", database);
  return [
    makePage("kind-model", "resnet18"),
    makePage("kind-bench", bench),
    writePage("kind-compare", "cost", "resnet18", "resnet34"),
    writePage("kind-graph", "graph", "resnet18"),
    writePage("kind-diff", "diff", "resnet18", "resnet34"),
    writePage("kind-traces", "diff", smallTraces()[0], smallTraces()[1]),
    writePage("kind-verdict", "diff", bench, bench),
    writePage("kind-trend", "history", "trend", "--db", database),
    writePage("kind-ranks", "ranks", join(files, "ranks/trace_rank_0.json"), join(files, "ranks/trace_rank_1.json")),
  ];
}

/** Pages of predictions, and of a file that cannot be read: their own views. */
function predictions(): string[] {
  return [
    writePage("kind-fit", "fit", "llama3_8b", "--on", "l40s,t4"),
    writePage("kind-map", "map", "gpt2", "--on", "h100,t4", "--no-calibration"),
    writePage("kind-train", "cost", "resnet18", "--train", "--checkpoint", "blocks"),
    writePage("kind-fuse", "fuse", "resnet18"),
    writePage("kind-hardware", "hardware"),
    unreadable("kind-failure", "short.pyro", "PYR"),
  ];
}

/** Opens views of pages in light and dark; no error, no request, no violation. */
async function checkAccess(pages: string[], most: number): Promise<void> {
  for (const file of pages) {
    const { page, errors, requests } = await open(file);
    for (const view of (await viewsOf(page)).slice(0, most)) {
      await show(page, view);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await drawn(page);
        expect(await violations(page), `${file}${view} ${colorScheme}`).toEqual([]);
      }
    }
    expect(errors, file).toEqual([]);
    expect(requests, file).toEqual([]);
    await page.close();
  }
}

describe("a page", () => {
  it("shows every view of traces without an error or a request", async () => {
    const file = makePage("traces", ...smallTraces());
    const { page, errors, requests } = await open(file);
    const parts = await page.$$eval("header select option", (options) => options.length);
    for (let part = 0; part < parts; part++) {
      await show(page, `#part=${part}`);
      for (const view of await viewsOf(page)) {
        await show(page, view);
        expect(await page.textContent("main"), view).not.toBe("");
      }
    }
    expect(errors).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  });

  it("has no violations of accessibility in any view, light and dark", async () => {
    await checkAccess([makePage("one", smallTraces()[0]), ...everyKind()], 100);
  });

  it("has none in the views of predictions", async () => {
    // The tables of all numbers are checked above.
    await checkAccess(predictions(), 1);
  });

  it("shows a layer by a link", async () => {
    const { page, errors } = await open(makePage("model", "resnet18"), "#layer=layer1.0.conv1");
    expect(await page.textContent("tr[aria-selected=true]")).toContain("layer1.0.conv1");
    await show(page, "#view=graph&layer=layer1.0.conv1");
    expect(await page.textContent(".side h3")).toBe("layer1.0.conv1");
    expect(errors).toEqual([]);
    await page.close();
  });

  it("leads from the headline to a named layer in six keys", async () => {
    const { page } = await open(makePage("keys", "resnet18"));
    // "/" opens the finder from anywhere; Enter goes to the first layer whose name has these letters.
    for (const key of ["/", "l", "1", "0", "c", "Enter"]) await page.keyboard.press(key);
    await drawn(page);
    expect(new URL(page.url()).hash).toContain("layer=layer1.0.conv1");
    expect(await page.textContent("tr[aria-selected=true]")).toContain("layer1.0.conv1");
    await page.close();
  });

  it("loses no key that comes before the page is drawn", async () => {
    const { page, errors } = await open(makePage("early-keys", "resnet18"), "#view=cost", undefined, () => {
      window.requestAnimationFrame = () => 0;
    });
    // Again and again: the finder opens as soon as it has closed.
    for (const key of ["/", "l", "1", "0", "c", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/layer=layer1\.0\.conv1$/);
    for (const key of ["/", "c", "o", "n", "v", "1", "ArrowDown", "ArrowUp", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/layer=conv1$/);
    for (const key of ["/", "x", "Escape", "/", "f", "c", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/layer=fc$/);
    expect(await page.isVisible(".finder")).toBe(false);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("prints every row and no buttons", async () => {
    const { page } = await open(makePage("print", "resnet18"), "#view=layers");
    await page.emulateMedia({ media: "print" });
    expect(await page.isVisible("nav")).toBe(false);
    expect((await page.pdf({ format: "A4" })).length).toBeGreaterThan(20_000);
    await page.close();
  });

  it("prints drawings in light colours", async () => {
    const file = makePage("print-dark", smallTraces()[0]);
    for (const dark of ["system", "button"]) {
      const { page } = await open(file, "#view=timeline");
      if (dark === "system") await page.emulateMedia({ colorScheme: "dark" });
      else await page.click("footer button");
      await page.waitForSelector("canvas");
      await drawn(page);
      // The median lightness of the drawing: now, and while the browser prints.
      await page.evaluate(() => {
        const look = () => {
          const canvas = document.querySelector("canvas")!;
          const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
          const light: number[] = [];
          for (let i = 0; i < data.length; i += 4 * 97) if (data[i + 3] > 0) light.push(0.2126 * data[i] + 0.7152 * data[i + 1] + 0.0722 * data[i + 2]);
          light.sort((a, b) => a - b);
          return light[light.length >> 1];
        };
        const seen = window as unknown as { before: unknown; printed: unknown };
        seen.before = look();
        window.addEventListener("beforeprint", () => (seen.printed = look()));
      });
      const grounds = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(await grounds()).toBe("rgb(20, 22, 26)");
      await page.pdf({ format: "A4" });
      const [before, printed] = await page.evaluate(() => {
        const seen = window as unknown as { before: number; printed: number };
        return [seen.before, seen.printed];
      });
      expect(before, dark).toBeLessThan(120);
      expect(printed, dark).toBeGreaterThan(180);
      await page.emulateMedia({ media: "print" });
      expect(await grounds(), dark).toBe("rgb(255, 255, 255)");
      await page.close();
    }
  });

  it("shows what is missing of a trace or recording that cannot be read", async () => {
    const cases: [string, string, string][] = [
      ["three.pyro", "PYR", "pyrometer run train.py"],
      ["nothing.pyro", "", "pyrometer top train.pyro"],
      ["no-events.json", '{"traceEvents": []}', "export_chrome_trace"],
      ["cut.json", '{"traceEvents": [{"ph": "X", "na', "active=3"],
    ];
    for (const [name, content, advice] of cases) {
      const { page, errors, requests } = await open(unreadable(`unreadable-${name}`, name, content));
      expect(await page.textContent("main h1")).toContain(name);
      expect(await page.textContent("main")).toContain(advice);
      expect(await page.textContent("main .warning")).not.toBe("");
      expect(errors, name).toEqual([]);
      expect(requests, name).toEqual([]);
      await page.close();
    }
    // The inputs that can be read are shown beside it.
    const both = join(folder, "both.html");
    expect(() => run("report", smallTraces()[0], join(folder, "three.pyro"), "-q", "-o", both)).toThrow();
    const { page } = await open(both);
    expect(await page.$$eval("header select option", (options) => options.length)).toBe(2);
    await show(page, "#part=1");
    expect(await page.textContent("main h1")).toContain("three.pyro");
    await page.close();
  });

  it("leaves folders out with --strip-paths", async () => {
    const paths = ["/secret/a.py(3): f", "/secret/my folder/of secret/b.py(4): g", "C:\\secret\\c.py(5): h", "open /secret/d.txt, /secret/e.txt"];
    const events = paths.map((name, i) => ({ ph: "X", cat: i < 3 ? "python_function" : "cpu_op", name, pid: 1, tid: 1, ts: i * 10, dur: 5 }));
    const trace = join(folder, "paths.json");
    writeFileSync(trace, JSON.stringify({ traceEvents: events }));
    const { page } = await open(writePage("stripped", "report", trace, "--strip-paths"), "#view=flame&side=host");
    const texts = [await page.textContent("main")];
    for (const view of await viewsOf(page)) {
      await show(page, view);
      texts.push(await page.textContent("main"));
    }
    const all = texts.join(" ");
    expect(all).not.toContain("secret");
    expect(all).not.toContain(folder);
    for (const kept of ["a.py(3): f", "b.py(4): g", "c.py(5): h", "open d.txt, e.txt"]) expect(all).toContain(kept);
    await page.close();
  });

  it("shows the steps that were asked for", async () => {
    const steps = (json("trace", join(files, "trace/good-1-training.json"), "-v") as unknown as { steps: { number: number }[] }).steps;
    if (steps.length === 0) return;
    const file = writePage("steps", "report", join(files, "trace/good-1-training.json"), "--steps", String(steps[0].number));
    const { page } = await open(file, "#view=timeline");
    expect(await page.textContent("main .under")).toContain("from");
    await page.close();
  });

  it("shows a frame of a notebook", async () => {
    const inner = readFileSync(makePage("inner", "resnet18"), "utf8");
    const outer = join(folder, "notebook.html");
    const text = inner.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
    writeFileSync(outer, `<!doctype html><title>n</title><h1>n</h1><main><h1>n</h1></main><iframe style="width:100%;height:700px" srcdoc="${text}"></iframe>`);
    const { page, errors } = await open(outer);
    const frame = page.frames()[1];
    await frame.waitForSelector("main h1");
    await frame.click("nav a:text-is('Layers')");
    await frame.waitForSelector("main table");
    expect(await frame.textContent("main h1")).toBe("Layers");
    expect(errors).toEqual([]);
    await page.close();
  });

  it("escapes hostile names and keeps to its policy", async () => {
    const hostile = [`</script><script>document.title='bad'</script>`, `<img src=x onerror="document.title='bad'">`, "a\u202eb", "x".repeat(1_000_000)];
    const events = hostile.map((name, i) => ({ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: i * 10, dur: 5 }));
    const trace = join(folder, "hostile.json");
    writeFileSync(trace, JSON.stringify({ traceEvents: events }));
    const file = makePage("hostile", trace);
    const { page, errors, requests } = await open(file);
    for (const view of await viewsOf(page)) {
      await show(page, view);
      expect(await page.title()).toBe("hostile.json");
      expect(await page.$$eval("main img, main script", (found) => found.length)).toBe(0);
      expect(await page.textContent("main")).not.toContain("\u202e");
    }
    expect(errors).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  });

  it("fits a narrow screen", async () => {
    const file = makePage("narrow", smallTraces()[0]);
    const { page } = await open(file, "", { width: 400, height: 800 });
    for (const view of await viewsOf(page)) {
      await show(page, view);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(wide, view).toBeLessThanOrEqual(1);
    }
    await page.close();
  });

  it("says that its data is damaged, or of a newer version", async () => {
    const template = readFileSync(resolve("dist/index.html"), "utf8");
    const withData = (data: string) => {
      const file = join(folder, "other-data.html");
      writeFileSync(file, template.replace("@PYROMETER_DATA@", () => data));
      return file;
    };
    const header = Buffer.from(JSON.stringify({ schema: "pyrometer.page/2", made_by: "pyrometer 9", title: "t", parts: [] }));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    const newer = deflateSync(Buffer.concat([length, header])).toString("base64");
    for (const [data, words] of [["bm90IGRhdGE=", "cannot show its data"], [newer, "pyrometer.page/2"]]) {
      const { page } = await open(withData(data));
      expect(await page.textContent("[role=alert]")).toContain(words);
      await page.close();
    }
  });

  it("opens a page of the first version", async () => {
    // Written by an earlier version of the tool: the data alone, in the page of today.
    const old = readFileSync(resolve("test/data/page-1.txt"), "utf8").trim();
    const file = join(folder, "old.html");
    writeFileSync(file, readFileSync(resolve("dist/index.html"), "utf8").replace("@PYROMETER_DATA@", () => old));
    const { page, errors } = await open(file);
    for (const view of await viewsOf(page)) {
      await show(page, view);
      expect(await page.textContent("main h1"), view).not.toBe("");
    }
    expect(errors).toEqual([]);
    await page.close();
  });

  it("opens the traces of strangers, where they are present", async () => {
    for (const name of strangers().filter((_one, i) => i % 5 === 0)) {
      const { page, errors, requests } = await open(makePage("stranger", name));
      for (const view of await viewsOf(page)) await show(page, view);
      expect(errors, name).toEqual([]);
      expect(requests, name).toEqual([]);
      await page.close();
    }
  });
});
