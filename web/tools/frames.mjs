// Measures a page in Chromium: node tools/frames.mjs PAGE.html. Prints JSON: the time to the first paint,
// and the frames while the timeline is moved and zoomed (headless, software rendering, 1440 x 900).
// The browser's processor time is measured too: beside other programs it says more than the clock.
import { readdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

/** Processor time of all processes below this one, in milliseconds (Linux). */
function childrenCpu() {
  const all = new Map();
  for (const pid of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
      all.set(Number(pid), { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) });
    } catch {
      // It has ended.
    }
  }
  const isBelow = (pid) => pid === process.pid || (all.has(pid) && isBelow(all.get(pid).parent));
  return [...all].filter(([pid]) => pid !== process.pid && isBelow(pid)).reduce((sum, [, one]) => sum + one.ticks * 10, 0);
}

const file = process.argv[2];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-frame-rate-limit", "--disable-gpu-vsync"],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(`file://${file}#view=timeline`);
await page.waitForSelector("canvas", { timeout: 60_000 });
// The first frame with the timeline, since the navigation began.
const firstPaint = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))));
const loadingCpu = childrenCpu();
await page.focus("canvas");

/** Times of frames while a key is pressed again and again, one press per frame. */
async function frames(keys, presses) {
  return page.evaluate(
    async ([keys, presses]) => {
      const canvas = document.querySelector("canvas");
      const times = [];
      for (let i = 0; i < presses; i++) {
        const begin = performance.now();
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key: keys[i % keys.length], bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - begin);
      }
      return times;
    },
    [keys, presses],
  );
}

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(Math.floor(values.length * share), values.length - 1)];
const before = childrenCpu();
const zooms = await frames(["w"], 30);
const moves = await frames(["d", "d", "d", "a"], 60);
const back = await frames(["s"], 30);
await frames(["0"], 1);
const whole = await frames(["w", "s"], 40);
const cpu = childrenCpu() - before;
const all = [...zooms, ...moves, ...back, ...whole];
const events = await page.evaluate(() => document.querySelector("main .under").textContent.split(" ")[0]);
console.log(
  JSON.stringify({
    events: Number(events.replace(/,/g, "")),
    first_paint_ms: Math.round(firstPaint),
    first_paint_cpu_ms: loadingCpu,
    load: Number(readFileSync("/proc/loadavg", "utf8").split(" ")[0]),
    frames: all.length,
    cpu_ms_per_frame: Number((cpu / all.length).toFixed(1)),
    least_ms: Number(Math.min(...all).toFixed(1)),
    median_ms: Number(quantile(all, 0.5).toFixed(1)),
    p95_ms: Number(quantile(all, 0.95).toFixed(1)),
    p95_by_motion_ms: Object.fromEntries(Object.entries({ zooms, moves, back, whole }).map(([name, times]) => [name, Number(quantile(times, 0.95).toFixed(1))])),
    max_ms: Number(Math.max(...all).toFixed(1)),
  }),
);
await browser.close();
