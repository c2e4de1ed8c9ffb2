// Draws a timeline: ruler, steps, slices, counters, arrows. Short slices go into an image, pixel by pixel.
import { laneOf, ROW, type Lane, type Range, type Track } from "../data/tracks";
import type { Counter, Timeline } from "../data/trace";
import { name, time } from "../format";
import { ground, ink, isDark, line, ofName, on, rgbOf, series, soft } from "../palette";
import { fitName, fitText } from "./canvas";

/** Room for the names of tracks; less on a telephone. */
export const GUTTER = typeof window !== "undefined" && window.innerWidth < 600 ? 84 : 150;
export const COUNTER_HEIGHT = 46;
/** Slices that are narrower go into the image. */
const WIDE = 3;
const LABEL = 28;

export interface Scene {
  timeline: Timeline;
  tracks: Track[];
  counters: Counter[];
  view: Range;
  selected: number | null;
  mark: Range | null;
  height: number;
}

/** Colours by name, made once per theme. */
export class Colours {
  private css: string[] = [];
  private numbers = new Uint32Array(0);
  private dark: boolean | null = null;

  constructor(private readonly timeline: Timeline) {}

  /** Once per frame: to ask for the theme takes longer than a slice may. */
  refresh(): void {
    if (this.dark === isDark()) return;
    this.dark = isDark();
    this.css = [soft(), ...this.timeline.names.map(ofName), series(4), series(6)];
    this.numbers = Uint32Array.from(this.css, (one) => {
      const [r, g, b] = rgbOf(one);
      return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    });
  }

  private indexOf(slice: number): number {
    const { category, name: names } = this.timeline;
    if (names[slice] === 0) return 0;
    const kind = category[slice];
    if (kind === 6 || kind === 7) return this.timeline.names.length + 1;
    if (kind === 3 || kind === 4) return this.timeline.names.length + 2;
    return names[slice];
  }

  text(slice: number): string {
    return this.css[this.indexOf(slice)];
  }

  number(slice: number): number {
    return this.numbers[this.indexOf(slice)];
  }
}

/** An image of the slices, as large as the canvas right of the gutter. */
export class Raster {
  private readonly canvas = document.createElement("canvas");
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);

  begin(width: number, height: number): void {
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0);
  }

  /** Colours a few pixels of one line; `spread` copies the line downwards when its lane is done. */
  fill(x0: number, x1: number, y: number, colour: number): void {
    const { width, height } = this.image!;
    if (y < 0 || y >= height) return;
    const end = y * width + Math.min(x1, width);
    for (let at = y * width + Math.max(x0, 0); at < end; at++) this.pixels[at] = colour;
  }

  spread(y0: number, y1: number): void {
    const { width, height } = this.image!;
    if (y0 < 0 || y0 >= height) return;
    for (let y = y0 + 1; y < Math.min(y1, height); y++) this.pixels.copyWithin(y * width, y0 * width, (y0 + 1) * width);
  }

  drawOn(context: CanvasRenderingContext2D, x: number, width: number, height: number): void {
    this.canvas.getContext("2d")!.putImageData(this.image!, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, x, 0, width, height);
  }
}

function niceStep(ns: number): number {
  const power = 10 ** Math.floor(Math.log10(ns));
  for (const factor of [1, 2, 5, 10]) if (power * factor >= ns) return power * factor;
  return power * 10;
}

function drawRuler(context: CanvasRenderingContext2D, view: Range, width: number, height: number): void {
  const span = view.to - view.from;
  const step = niceStep((span / Math.max(width - GUTTER, 1)) * 110);
  context.fillStyle = soft();
  context.strokeStyle = line();
  context.lineWidth = 1;
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(GUTTER + ((t - view.from) / span) * (width - GUTTER)) + 0.5;
    context.beginPath();
    context.moveTo(x, 16);
    context.lineTo(x, height);
    context.stroke();
    context.fillText(Math.abs(t) < step / 2 ? "0" : time(t), x + 3, 8);
  }
}

function drawSteps(context: CanvasRenderingContext2D, timeline: Timeline, xOf: (t: number) => number, width: number): void {
  for (const step of timeline.steps) {
    const x0 = Math.max(xOf(step.start_ns), GUTTER);
    const x1 = Math.min(xOf(step.end_ns), width);
    if (x1 <= x0) continue;
    context.fillStyle = line();
    context.fillRect(x0, 18, Math.max(x1 - x0 - 1, 1), 17);
    if (x1 - x0 < LABEL) continue;
    context.fillStyle = ink();
    context.fillText(fitText(context, name(step.name, 60), x1 - x0 - 8), x0 + 4, 27);
  }
}

interface Wide {
  slice: number;
  x0: number;
  x1: number;
  y: number;
}

/** Fills the image with the short slices of a lane; returns the others. */
function rasterLane(scene: Scene, lane: Lane, raster: Raster, colours: Colours, width: number, ratio: number): Wide[] {
  const { view } = scene;
  const scale = ((width - GUTTER) * ratio) / (view.to - view.from);
  const top = Math.round(lane.y * ratio);
  const bottom = Math.round((lane.y + ROW - 2) * ratio);
  const wide: Wide[] = [];
  lane.index.visit(view.from, view.to, 1 / scale, (slice, start, end) => {
    const x0 = Math.floor((start - view.from) * scale);
    const x1 = Math.max(Math.ceil((end - view.from) * scale), x0 + 1);
    if (x1 - x0 > WIDE * ratio) wide.push({ slice, x0: Math.max(GUTTER + x0 / ratio, GUTTER), x1: Math.min(GUTTER + x1 / ratio, width), y: lane.y });
    else raster.fill(x0, x1, top, colours.number(slice));
  });
  raster.spread(top, bottom);
  return wide;
}

function drawWide(context: CanvasRenderingContext2D, timeline: Timeline, colours: Colours, wide: Wide[]): void {
  for (const { slice, x0, x1, y } of wide) {
    const colour = colours.text(slice);
    context.fillStyle = colour;
    context.fillRect(x0, y, Math.max(x1 - x0 - 1, 0.8), ROW - 2);
    if (x1 - x0 <= LABEL) continue;
    const text = timeline.name[slice] === 0 ? `${timeline.events[slice]} events` : timeline.names[timeline.name[slice] - 1];
    context.fillStyle = on(colour);
    context.fillText(fitName(context, name(text, 120), x1 - x0 - 6), x0 + 3, y + ROW / 2 - 1);
  }
}

function drawSelected(context: CanvasRenderingContext2D, scene: Scene, xOf: (t: number) => number): void {
  if (scene.selected == null) return;
  const lane = laneOf(scene.tracks, scene.selected);
  if (!lane) return;
  const x0 = xOf(scene.timeline.start[scene.selected]);
  const x1 = xOf(scene.timeline.start[scene.selected] + scene.timeline.duration[scene.selected]);
  context.strokeStyle = ink();
  context.lineWidth = 2;
  context.strokeRect(x0, lane.y, Math.max(x1 - x0, 2), ROW - 2);
}

/** From the end of one slice to the start of another. */
function drawArrow(context: CanvasRenderingContext2D, scene: Scene, from: number, to: number, colour: string, xOf: (t: number) => number): void {
  const [start, end] = [laneOf(scene.tracks, from), laneOf(scene.tracks, to)];
  if (!start || !end) return;
  const { timeline } = scene;
  const [x0, y0] = [xOf(timeline.start[from] + timeline.duration[from]), start.y + ROW / 2 - 1];
  const [x1, y1] = [xOf(timeline.start[to]), end.y + ROW / 2 - 1];
  const bend = Math.max(Math.abs(x1 - x0) / 2, 24);
  context.strokeStyle = colour;
  context.lineWidth = 1.8;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 7, y1 - 4);
  context.lineTo(x1 - 7, y1 + 4);
  context.closePath();
  context.fillStyle = colour;
  context.fill();
}

/** What a slice belongs together with: [from, to] of each arrow. */
export function arrowsOf(timeline: Timeline, slice: number, most = 20): { launches: [number, number][]; gradients: [number, number][] } {
  const launches: [number, number][] = [];
  const gradients: [number, number][] = [];
  if (timeline.launch[slice] > 0) launches.push([timeline.launch[slice] - 1, slice]);
  if (timeline.forward[slice] > 0) gradients.push([timeline.forward[slice] - 1, slice]);
  for (let i = 0; i < timeline.launch.length; i++) {
    if (timeline.launch[i] === slice + 1 && launches.length < most) launches.push([slice, i]);
    if (timeline.forward[i] === slice + 1 && gradients.length < most) gradients.push([slice, i]);
  }
  return { launches, gradients };
}

function drawCounter(context: CanvasRenderingContext2D, counter: Counter, top: number, xOf: (t: number) => number, width: number): void {
  const bottom = top + COUNTER_HEIGHT - 8;
  let most = 0;
  for (const value of counter.values) most = Math.max(most, value);
  const yOf = (value: number) => bottom - (Math.max(value, 0) / (most || 1)) * (COUNTER_HEIGHT - 14);
  context.beginPath();
  context.moveTo(Math.max(xOf(counter.times[0]), GUTTER), bottom);
  for (let i = 0; i < counter.times.length; i++) {
    const x = Math.min(Math.max(xOf(counter.times[i]), GUTTER), width);
    const next = i + 1 < counter.times.length ? Math.min(Math.max(xOf(counter.times[i + 1]), GUTTER), width) : x;
    if (next <= GUTTER || x >= width) continue;
    context.lineTo(x, yOf(counter.values[i]));
    context.lineTo(next, yOf(counter.values[i]));
  }
  context.lineTo(Math.min(Math.max(xOf(counter.times[counter.times.length - 1]), GUTTER), width), bottom);
  context.closePath();
  context.fillStyle = series(2);
  context.globalAlpha = 0.55;
  context.fill();
  context.globalAlpha = 1;
}

function drawGutter(context: CanvasRenderingContext2D, scene: Scene): void {
  context.fillStyle = ground();
  context.fillRect(0, 0, GUTTER, scene.height);
  context.fillStyle = soft();
  for (const track of scene.tracks) context.fillText(fitText(context, name(track.label, 60), GUTTER - 12), 6, track.y + ROW / 2);
  if (scene.timeline.steps.length > 0) context.fillText("steps", 6, 27);
}

export function drawTimeline(context: CanvasRenderingContext2D, scene: Scene, width: number, raster: Raster, colours: Colours): void {
  const { timeline, tracks, counters, view } = scene;
  const ratio = window.devicePixelRatio || 1;
  const scale = (width - GUTTER) / (view.to - view.from);
  const xOf = (t: number) => GUTTER + (t - view.from) * scale;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  drawRuler(context, view, width, scene.height);
  drawSteps(context, timeline, xOf, width);
  colours.refresh();
  raster.begin(Math.max(Math.round((width - GUTTER) * ratio), 1), Math.round(scene.height * ratio));
  const wide = tracks.flatMap((track) => track.lanes.flatMap((lane) => rasterLane(scene, lane, raster, colours, width, ratio)));
  raster.drawOn(context, GUTTER, width - GUTTER, scene.height);
  drawWide(context, timeline, colours, wide);
  const top = scene.height - counters.length * COUNTER_HEIGHT;
  counters.forEach((counter, i) => drawCounter(context, counter, top + i * COUNTER_HEIGHT, xOf, width));
  if (scene.selected != null) {
    const { launches, gradients } = arrowsOf(timeline, scene.selected);
    launches.forEach(([from, to]) => drawArrow(context, scene, from, to, ink(), xOf));
    gradients.forEach(([from, to]) => drawArrow(context, scene, from, to, series(5), xOf));
  }
  drawSelected(context, scene, xOf);
  if (scene.mark) {
    context.fillStyle = "rgb(0 114 178 / 14%)";
    context.fillRect(xOf(scene.mark.from), 0, (scene.mark.to - scene.mark.from) * scale, scene.height);
  }
  drawGutter(context, scene);
  context.fillStyle = soft();
  counters.forEach((counter, i) => {
    const text = counter.series && counter.series !== "value" ? `${counter.name} ${counter.series}` : counter.name;
    context.fillText(fitText(context, name(text, 60), GUTTER - 12), 6, top + i * COUNTER_HEIGHT + 14);
    context.fillText(`0 to ${Number(Math.max(...counter.values).toPrecision(4))}`, 6, top + i * COUNTER_HEIGHT + 30);
  });
}
