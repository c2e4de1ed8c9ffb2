// Threads and streams over time. Keys as in Perfetto: w s zoom, a d move, f fits, m marks.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { RowIndex } from "../data/mipmap";
import { timelineOf, type Timeline } from "../data/trace";
import { count, name, time } from "../format";
import { ground, ink, line, ofName, on, series, soft } from "../palette";
import { fitText, useCanvas } from "../parts/canvas";

const GUTTER = 150;
const ROW = 17;
const HEAD = 40;
const GAP = 8;

/** Kinds of events, in the order of pyro_event_category. */
const KINDS = ["op", "annotation", "Python", "runtime call", "driver call", "kernel", "copy", "memset", "wait", "device annotation", "memory", "profiler", "other"];
const DEVICE_KINDS = new Set([5, 6, 7]);

interface Lane {
  index: RowIndex;
  y: number;
}

interface Track {
  label: string;
  y: number;
  height: number;
  lanes: Lane[];
}

interface Range {
  from: number;
  to: number;
}

function trackLabel(timeline: Timeline, track: number): string {
  const about = timeline.tracks[track];
  if (about.device) return about.name || `stream ${about.stream}`;
  return about.name || `thread ${about.tid}`;
}

/** Tracks from top to bottom: threads first, then devices; those that work longest first. */
function layOutTracks(timeline: Timeline, deepest: number): Track[] {
  const byTrack = new Map<number, RowIndex[]>();
  for (const row of timeline.rows) {
    if (row.row >= deepest) continue;
    const rows = byTrack.get(row.track) ?? [];
    rows.push(new RowIndex(timeline, row));
    byTrack.set(row.track, rows);
  }
  const busy = (rows: RowIndex[]) => {
    let sum = 0;
    const { first, count: length } = rows[0].row;
    for (let i = first; i < first + length; i++) sum += timeline.duration[i];
    return sum;
  };
  const order = [...byTrack].sort(([a, aRows], [b, bRows]) => {
    const device = Number(timeline.tracks[a].device) - Number(timeline.tracks[b].device);
    return device !== 0 ? device : busy(bRows) - busy(aRows);
  });
  const tracks: Track[] = [];
  let y = HEAD;
  for (const [track, rows] of order) {
    const lanes = rows.map((index) => ({ index, y: y + index.row.row * ROW }));
    const height = (Math.max(...rows.map((one) => one.row.row)) + 1) * ROW;
    tracks.push({ label: trackLabel(timeline, track), y, height, lanes });
    y += height + GAP;
  }
  return tracks;
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
    context.fillText(t === 0 ? "0" : time(t), x + 3, 8);
  }
}

interface Selection {
  slice: number | null;
  mark: Range | null;
}

function SliceDetails({ timeline, slice, onGo }: { timeline: Timeline; slice: number; onGo: (slice: number) => void }) {
  const launch = timeline.launch[slice];
  const launched = useMemo(() => {
    const found: number[] = [];
    for (let i = 0; i < timeline.launch.length && found.length < 20; i++) if (timeline.launch[i] === slice + 1) found.push(i);
    return found;
  }, [timeline, slice]);
  const merged = timeline.name[slice] === 0;
  const layer = timeline.layer[slice];
  const sliceName = (i: number) => (timeline.name[i] === 0 ? "merged events" : name(timeline.names[timeline.name[i] - 1], 160));
  return (
    <section class="details" aria-live="polite" aria-label="The chosen event">
      <h3>{merged ? `${count(timeline.events[slice])} events that are too short to be kept` : name(timeline.names[timeline.name[slice] - 1])}</h3>
      <dl>
        <dt>Kind</dt>
        <dd>{KINDS[timeline.category[slice]] ?? "other"}</dd>
        <dt>Start</dt>
        <dd>{time(timeline.start[slice])} after the start</dd>
        <dt>Duration</dt>
        <dd>
          {time(timeline.duration[slice])} ({count(timeline.duration[slice])} ns)
        </dd>
        {layer > 0 && (
          <>
            <dt>Layer</dt>
            <dd>
              <a href={`#view=layers&layer=${encodeURIComponent(timeline.layers[layer - 1])}`}>{name(timeline.layers[layer - 1])}</a>
            </dd>
          </>
        )}
        {launch > 0 && (
          <>
            <dt>Launched by</dt>
            <dd>
              <button type="button" onClick={() => onGo(launch - 1)}>
                {sliceName(launch - 1)}
              </button>
              , {time(timeline.start[slice] - timeline.start[launch - 1])} before
            </dd>
          </>
        )}
        {launched.length > 0 && (
          <>
            <dt>Launches</dt>
            <dd>
              {launched.map((i) => (
                <button type="button" onClick={() => onGo(i)}>
                  {sliceName(i)}
                </button>
              ))}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** Sums of what lies in an interval, by name. */
function rangeStatistics(timeline: Timeline, tracks: Track[], mark: Range): { label: string; busy: number; events: number }[] {
  return tracks.map((track) => {
    let busy = 0;
    let events = 0;
    const outer = track.lanes[0].index;
    for (let i = outer.firstFrom(mark.from); i < outer.row.first + outer.row.count; i++) {
      if (timeline.start[i] >= mark.to) break;
      busy += Math.min(timeline.start[i] + timeline.duration[i], mark.to) - timeline.start[i];
      events += timeline.events[i];
    }
    const before = outer.firstFrom(mark.from) - 1;
    if (before >= outer.row.first) {
      const end = Math.min(timeline.start[before] + timeline.duration[before], mark.to);
      busy += Math.max(end - mark.from, 0);
    }
    return { label: track.label, busy, events };
  });
}

export function TimelineView({ part }: ViewProps) {
  const timeline = useMemo(() => timelineOf(part)!, [part]);
  const [deepest, setDeepest] = useState(12);
  const tracks = useMemo(() => layOutTracks(timeline, deepest), [timeline, deepest]);
  const view = useRef<Range>({ from: 0, to: timeline.span_ns || 1 });
  const [selection, setSelection] = useState<Selection>({ slice: null, mark: null });
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const places = useRef<{ slice: number; x0: number; x1: number; y: number }[]>([]);
  const last = tracks[tracks.length - 1];
  const height = last ? last.y + last.height + GAP : HEAD + 40;

  const draw = (context: CanvasRenderingContext2D, width: number) => {
    const { from, to } = view.current;
    const scale = (width - GUTTER) / (to - from);
    const nsPerPixel = 1 / scale;
    const xOf = (t: number) => GUTTER + (t - from) * scale;
    places.current = [];
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    drawRuler(context, view.current, width, height);
    drawSteps(context, timeline, xOf, width);
    for (const track of tracks) {
      for (const lane of track.lanes) drawLane(context, timeline, lane, view.current, nsPerPixel, xOf, width, places.current, selection.slice);
    }
    drawArrow(context, timeline, tracks, selection.slice, xOf);
    if (selection.mark) {
      context.fillStyle = "rgb(0 114 178 / 14%)";
      context.fillRect(xOf(selection.mark.from), 0, (selection.mark.to - selection.mark.from) * scale, height);
    }
    context.fillStyle = ground();
    context.fillRect(0, 0, GUTTER, height);
    context.fillStyle = soft();
    for (const track of tracks) context.fillText(fitText(context, name(track.label, 60), GUTTER - 12), 6, track.y + ROW / 2);
    context.fillText("steps", 6, 27);
  };
  const { canvas, redraw } = useCanvas(height, draw);

  const limit = (range: Range): Range => {
    const least = 50;
    const span = Math.min(Math.max(range.to - range.from, least), timeline.span_ns * 1.1);
    const from = Math.min(Math.max(range.from, -timeline.span_ns * 0.05), timeline.span_ns * 1.05 - span);
    return { from, to: from + span };
  };
  const show = (range: Range) => {
    view.current = limit(range);
    redraw();
  };
  const zoomAt = (factor: number, at: number) => {
    const { from, to } = view.current;
    show({ from: at - (at - from) * factor, to: at + (to - at) * factor });
  };
  const move = (share: number) => {
    const { from, to } = view.current;
    show({ from: from + (to - from) * share, to: to + (to - from) * share });
  };
  const goTo = (slice: number) => {
    const middle = timeline.start[slice] + timeline.duration[slice] / 2;
    const span = Math.max(timeline.duration[slice] * 8, (view.current.to - view.current.from) / 4);
    show({ from: middle - span / 2, to: middle + span / 2 });
    setSelection({ slice, mark: null });
  };
  const timeAt = (clientX: number) => {
    const area = canvas.current!.getBoundingClientRect();
    const { from, to } = view.current;
    return from + ((clientX - area.left - GUTTER) / (area.width - GUTTER)) * (to - from);
  };
  const placeAt = (event: MouseEvent) => {
    const area = canvas.current!.getBoundingClientRect();
    const x = event.clientX - area.left;
    const y = event.clientY - area.top;
    return places.current.find((one) => y >= one.y && y < one.y + ROW && x >= one.x0 - 0.5 && x <= one.x1 + 0.5);
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (view.current.from + view.current.to) / 2;
    const actions: Record<string, () => void> = {
      w: () => zoomAt(0.7, middle),
      s: () => zoomAt(1 / 0.7, middle),
      a: () => move(-0.15),
      d: () => move(0.15),
      ArrowLeft: () => move(-0.15),
      ArrowRight: () => move(0.15),
      "+": () => zoomAt(0.7, middle),
      "-": () => zoomAt(1 / 0.7, middle),
      0: () => show({ from: 0, to: timeline.span_ns }),
      f: () => (selection.slice != null ? fitSlice(selection.slice) : show({ from: 0, to: timeline.span_ns })),
      m: () =>
        selection.slice != null &&
        setSelection({
          slice: selection.slice,
          mark: { from: timeline.start[selection.slice], to: timeline.start[selection.slice] + timeline.duration[selection.slice] },
        }),
      Escape: () => setSelection({ slice: null, mark: null }),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  const fitSlice = (slice: number) => {
    const margin = timeline.duration[slice] * 0.1 + 10;
    show({ from: timeline.start[slice] - margin, to: timeline.start[slice] + timeline.duration[slice] + margin });
  };

  const drag = useRef<{ x: number; from: number; mark: boolean; start: number; moved: boolean } | null>(null);
  const onDown = (event: PointerEvent) => {
    canvas.current!.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, from: view.current.from, mark: event.shiftKey, start: timeAt(event.clientX), moved: false };
  };
  const onMove = (event: PointerEvent) => {
    const dragged = drag.current;
    if (dragged) {
      dragged.moved = dragged.moved || Math.abs(event.clientX - dragged.x) > 3;
      if (dragged.mark) {
        const now = timeAt(event.clientX);
        setSelection({ slice: null, mark: { from: Math.min(dragged.start, now), to: Math.max(dragged.start, now) } });
      } else if (dragged.moved) {
        const area = canvas.current!.getBoundingClientRect();
        const span = view.current.to - view.current.from;
        const from = dragged.from - ((event.clientX - dragged.x) / (area.width - GUTTER)) * span;
        show({ from, to: from + span });
      }
      return;
    }
    const place = placeAt(event);
    const area = canvas.current!.getBoundingClientRect();
    setTip(
      place
        ? {
            x: Math.min(event.clientX - area.left + 14, Math.max(area.width - 300, 0)),
            y: event.clientY - area.top + 16,
            text: `${timeline.name[place.slice] ? name(timeline.names[timeline.name[place.slice] - 1], 160) : `${count(timeline.events[place.slice])} merged events`} · ${time(timeline.duration[place.slice])}`,
          }
        : null,
    );
  };
  const onUp = (event: PointerEvent) => {
    const dragged = drag.current;
    drag.current = null;
    if (dragged && !dragged.moved && !dragged.mark) {
      const place = placeAt(event);
      setSelection({ slice: place ? place.slice : null, mark: null });
    }
  };
  useEffect(() => {
    const element = canvas.current!;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
      event.preventDefault();
      zoomAt(event.deltaY > 0 ? 1.2 : 1 / 1.2, timeAt(event.clientX));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  const statistics = selection.mark ? rangeStatistics(timeline, tracks, selection.mark) : null;
  return (
    <>
      <h1>Timeline</h1>
      <p class="under">
        {count(timeline.start.length)} events over {time(timeline.span_ns)}. Keys: w and s zoom, a and d move, f fits, m marks, Esc clears; drag moves,
        shift and drag marks an interval, ctrl and the wheel zoom.
        {timeline.merged_events > 0 &&
          ` ${count(timeline.merged_events)} events shorter than ${time(timeline.merged_below_ns)} are merged; pyrometer report --from and --to show a part in full.`}
      </p>
      <div class="tools">
        <button type="button" onClick={() => show({ from: 0, to: timeline.span_ns })}>
          Show all
        </button>
        {timeline.steps.slice(0, 12).map((step) => (
          <button type="button" onClick={() => show({ from: step.start_ns, to: step.end_ns })}>
            {name(step.name, 24)}
          </button>
        ))}
        <label class="soft">
          Depth{" "}
          <select value={String(deepest)} onChange={(event) => setDeepest(Number(event.currentTarget.value))}>
            {[1, 4, 12, 24, 64].map((depth) => (
              <option value={String(depth)}>{depth}</option>
            ))}
          </select>
        </label>
      </div>
      <div class="chart">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label="Timeline of threads and streams; keys w, a, s, d, f and m"
          onKeyDown={onKey}
          onPointerDown={onDown}
          onPointerMove={onMove}
          onPointerUp={onUp}
          onPointerLeave={() => setTip(null)}
        />
        {tip && (
          <div class="tip" style={{ left: `${tip.x}px`, top: `${tip.y}px` }}>
            {tip.text}
          </div>
        )}
      </div>
      {selection.slice != null && <SliceDetails timeline={timeline} slice={selection.slice} onGo={goTo} />}
      {statistics && selection.mark && (
        <section class="details" aria-live="polite" aria-label="The marked interval">
          <h3>
            {time(selection.mark.to - selection.mark.from)} from {time(selection.mark.from)}
          </h3>
          <dl>
            {statistics.map((one) => (
              <>
                <dt>{name(one.label, 60)}</dt>
                <dd>
                  {time(one.busy)} in {count(one.events)} outermost events
                </dd>
              </>
            ))}
          </dl>
        </section>
      )}
    </>
  );
}

function drawSteps(context: CanvasRenderingContext2D, timeline: Timeline, xOf: (t: number) => number, width: number): void {
  for (const step of timeline.steps) {
    const x0 = Math.max(xOf(step.start_ns), GUTTER);
    const x1 = Math.min(xOf(step.end_ns), width);
    if (x1 <= x0) continue;
    context.fillStyle = line();
    context.fillRect(x0, 18, x1 - x0 - 1, 17);
    context.fillStyle = ink();
    context.fillText(fitText(context, name(step.name, 60), x1 - x0 - 8), x0 + 4, 27);
  }
}

function colourOf(timeline: Timeline, slice: number): string {
  const kind = timeline.category[slice];
  if (timeline.name[slice] === 0) return soft();
  if (kind === 6 || kind === 7) return series(4);
  if (kind === 3 || kind === 4) return series(6);
  return ofName(timeline.names[timeline.name[slice] - 1]);
}

function drawLane(
  context: CanvasRenderingContext2D,
  timeline: Timeline,
  lane: Lane,
  view: Range,
  nsPerPixel: number,
  xOf: (t: number) => number,
  width: number,
  places: { slice: number; x0: number; x1: number; y: number }[],
  selected: number | null,
): void {
  lane.index.visit(view.from, view.to, nsPerPixel, (slice, start, end) => {
    const x0 = Math.max(xOf(start), GUTTER);
    const x1 = Math.min(xOf(end), width);
    if (x1 < GUTTER) return;
    const colour = colourOf(timeline, slice);
    context.fillStyle = colour;
    context.fillRect(x0, lane.y, Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 0.8), ROW - 2);
    places.push({ slice, x0, x1, y: lane.y });
    if (x1 - x0 > 28) {
      const text = timeline.name[slice] === 0 ? `${timeline.events[slice]} events` : timeline.names[timeline.name[slice] - 1];
      context.fillStyle = on(colour);
      context.fillText(fitText(context, name(text, 120), x1 - x0 - 6), x0 + 3, lane.y + ROW / 2 - 1);
    }
    if (slice === selected) {
      context.strokeStyle = ink();
      context.lineWidth = 2;
      context.strokeRect(x0, lane.y, Math.max(x1 - x0, 2), ROW - 2);
    }
  });
}

/** From the launch of the chosen kernel to it. */
function drawArrow(context: CanvasRenderingContext2D, timeline: Timeline, tracks: Track[], selected: number | null, xOf: (t: number) => number): void {
  if (selected == null || timeline.launch[selected] === 0) return;
  const from = timeline.launch[selected] - 1;
  const yOf = (slice: number) => {
    for (const track of tracks)
      for (const lane of track.lanes) {
        const { first, count: length } = lane.index.row;
        if (slice >= first && slice < first + length) return lane.y + ROW / 2;
      }
    return null;
  };
  const y0 = yOf(from);
  const y1 = yOf(selected);
  if (y0 == null || y1 == null) return;
  const x0 = xOf(timeline.start[from] + timeline.duration[from]);
  const x1 = xOf(timeline.start[selected]);
  context.strokeStyle = ink();
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
  context.stroke();
  context.beginPath();
  context.arc(x1, y1, 3, 0, 7);
  context.fillStyle = ink();
  context.fill();
}

export const testing = { DEVICE_KINDS, rangeStatistics, layOutTracks };
