// Measures a page in Chromium: node tools/frames.mjs PAGE.html. Prints JSON: the time to the first paint,
// and the frames while the timeline is moved and zoomed (headless, software rendering, 1440 x 900).
import { chromium } from "playwright-core";

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
const zooms = await frames(["w"], 30);
const moves = await frames(["d", "d", "d", "a"], 60);
const back = await frames(["s"], 30);
await frames(["0"], 1);
const whole = await frames(["w", "s"], 40);
const all = [...zooms, ...moves, ...back, ...whole];
const events = await page.evaluate(() => document.querySelector("main .under").textContent.split(" ")[0]);
console.log(
  JSON.stringify({
    events: Number(events.replace(/,/g, "")),
    first_paint_ms: Math.round(firstPaint),
    frames: all.length,
    median_ms: Number(quantile(all, 0.5).toFixed(1)),
    p95_ms: Number(quantile(all, 0.95).toFixed(1)),
    max_ms: Number(Math.max(...all).toFixed(1)),
  }),
);
await browser.close();
