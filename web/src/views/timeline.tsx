// Threads and streams over time. Keys as in Perfetto: w s zoom, a d move, f fits, m marks.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { heightOf, laneOf, layOutTracks, rangeNames, rangeStatistics, sliceAt, type Range, type Track } from "../data/tracks";
import { countersOf, timelineOf, type Timeline } from "../data/trace";
import { count, name, time } from "../format";
import { useCanvas } from "../parts/canvas";
import { arrowsOf, Colours, COUNTER_HEIGHT, drawTimeline, GUTTER, Raster } from "../parts/timeline_draw";
import { Table } from "../parts/table";

/** Kinds of events, in the order of pyro_event_category. */
const KINDS = ["op", "annotation", "Python", "runtime call", "driver call", "kernel", "copy", "memset", "wait", "device annotation", "memory", "profiler", "other"];

/** More steps than this are a list. */
const MOST_BUTTONS = 12;

type Step = Timeline["steps"][number];

interface Selection {
  slice: number | null;
  mark: Range | null;
}

function sliceName(timeline: Timeline, slice: number, most = 160): string {
  return timeline.name[slice] === 0 ? `${count(timeline.events[slice])} merged events` : name(timeline.names[timeline.name[slice] - 1], most);
}

function Links({ timeline, title, slices, onGo }: { timeline: Timeline; title: string; slices: number[]; onGo: (slice: number) => void }) {
  if (slices.length === 0) return null;
  return (
    <>
      <dt>{title}</dt>
      <dd>
        {slices.map((slice) => (
          <button type="button" class="link" onClick={() => onGo(slice)}>
            {sliceName(timeline, slice, 80)}
          </button>
        ))}
      </dd>
    </>
  );
}

function SliceDetails({ timeline, slice, onGo }: { timeline: Timeline; slice: number; onGo: (slice: number) => void }) {
  const { launches, gradients } = useMemo(() => arrowsOf(timeline, slice), [timeline, slice]);
  const others = (pairs: [number, number][], end: 0 | 1) => pairs.filter((pair) => pair[1 - end] === slice).map((pair) => pair[end]);
  const layer = timeline.layer[slice];
  return (
    <section class="details" aria-live="polite" aria-label="The chosen event">
      <h3>{timeline.name[slice] === 0 ? `${count(timeline.events[slice])} events that are too short to be kept` : name(timeline.names[timeline.name[slice] - 1])}</h3>
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
        <Links timeline={timeline} title="Launched by" slices={others(launches, 0)} onGo={onGo} />
        <Links timeline={timeline} title="Launches" slices={others(launches, 1)} onGo={onGo} />
        <Links timeline={timeline} title="Forward" slices={others(gradients, 0)} onGo={onGo} />
        <Links timeline={timeline} title="Backward" slices={others(gradients, 1)} onGo={onGo} />
      </dl>
    </section>
  );
}

function MarkDetails({ timeline, tracks, mark }: { timeline: Timeline; tracks: Track[]; mark: Range }) {
  const sums = useMemo(() => rangeStatistics(timeline, tracks, mark), [timeline, tracks, mark]);
  const names = useMemo(() => rangeNames(timeline, tracks, mark), [timeline, tracks, mark]);
  return (
    <section class="details" aria-live="polite" aria-label="The marked interval">
      <h3>
        {time(mark.to - mark.from)} from {time(mark.from)}
      </h3>
      <dl>
        {sums.map((one) => (
          <>
            <dt>{name(one.label, 60)}</dt>
            <dd>
              {time(one.busy)} in {count(one.events)} outermost events
            </dd>
          </>
        ))}
      </dl>
      <Table
        caption="In the interval, by name"
        file="interval"
        rows={names}
        sortBy={3}
        searchText={(row) => row.name}
        columns={[
          { title: "Name", value: (row) => row.name, words: true },
          { title: "Where", value: (row) => row.where },
          { title: "Events", value: (row) => row.count, show: (row) => count(row.count) },
          { title: "Time", value: (row) => row.total, show: (row) => time(row.total) },
        ]}
      />
    </section>
  );
}

/** The visible range, which draws without a render of the page. */
function useRange(timeline: Timeline, redraw: { current: () => void }) {
  const whole = { from: timeline.from_ns, to: Math.max(timeline.to_ns, timeline.from_ns + 1) };
  const view = useRef<Range>(whole);
  const length = whole.to - whole.from;
  const show = (range: Range) => {
    const span = Math.min(Math.max(range.to - range.from, 50), length * 1.1);
    const from = Math.min(Math.max(range.from, whole.from - length * 0.05), whole.to + length * 0.05 - span);
    view.current = { from, to: from + span };
    redraw.current();
  };
  const zoomAt = (factor: number, at: number) => {
    const { from, to } = view.current;
    show({ from: at - (at - from) * factor, to: at + (to - at) * factor });
  };
  const shift = (share: number) => {
    const { from, to } = view.current;
    show({ from: from + (to - from) * share, to: to + (to - from) * share });
  };
  const fit = (slice: number) => {
    const margin = timeline.duration[slice] * 0.1 + 10;
    show({ from: timeline.start[slice] - margin, to: timeline.start[slice] + timeline.duration[slice] + margin });
  };
  return { view, whole, show, zoomAt, shift, fit };
}

/** A button for each step, or a list when they are many. */
function Steps({ steps, show }: { steps: Step[]; show: (range: Range) => void }) {
  const choose = (one: Step) => show({ from: one.start_ns, to: one.end_ns });
  if (steps.length <= MOST_BUTTONS)
    return (
      <>
        {steps.map((one) => (
          <button type="button" onClick={() => choose(one)}>
            {name(one.name, 24)}
          </button>
        ))}
      </>
    );
  return (
    <label class="soft">
      Step{" "}
      <select onChange={(event) => event.currentTarget.value && choose(steps[Number(event.currentTarget.value)])}>
        <option value="">{count(steps.length)} steps</option>
        {steps.map((one, i) => (
          <option value={String(i)}>{name(one.name, 40)}</option>
        ))}
      </select>
    </label>
  );
}

export function TimelineView({ part, place, move }: ViewProps) {
  const timeline = useMemo(() => timelineOf(part)!, [part]);
  const counters = useMemo(() => countersOf(part), [part]);
  const [deepest, setDeepest] = useState(12);
  const tracks = useMemo(() => layOutTracks(timeline, deepest), [timeline, deepest]);
  const tools = useMemo(() => ({ raster: new Raster(), colours: new Colours(timeline) }), [timeline]);
  const asked = Number(place.event ?? -1);
  const [selection, setSelection] = useState<Selection>({ slice: asked >= 0 && asked < timeline.start.length ? asked : null, mark: null });
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const redrawer = useRef(() => {});
  const { view, whole, show, zoomAt, shift, fit } = useRange(timeline, redrawer);
  const height = heightOf(tracks) + counters.length * COUNTER_HEIGHT;
  const { canvas, redraw } = useCanvas(height, (context, width) =>
    drawTimeline(context, { timeline, tracks, counters, view: view.current, selected: selection.slice, mark: selection.mark, height }, width, tools.raster, tools.colours),
  );
  redrawer.current = redraw;
  useEffect(() => {
    if (selection.slice != null && asked >= 0) goTo(selection.slice);
  }, []);

  const select = (slice: number | null) => {
    setSelection({ slice, mark: null });
    move({ event: slice == null ? "" : String(slice) });
  };
  const goTo = (slice: number) => {
    const middle = timeline.start[slice] + timeline.duration[slice] / 2;
    const span = Math.max(timeline.duration[slice] * 8, (view.current.to - view.current.from) / 4);
    show({ from: middle - span / 2, to: middle + span / 2 });
    select(slice);
  };
  const timeAt = (clientX: number) => {
    const area = canvas.current!.getBoundingClientRect();
    const { from, to } = view.current;
    return from + ((clientX - area.left - GUTTER) / (area.width - GUTTER)) * (to - from);
  };
  const hit = (event: MouseEvent) => {
    const area = canvas.current!.getBoundingClientRect();
    if (event.clientX - area.left < GUTTER) return null;
    const { from, to } = view.current;
    return sliceAt(tracks, event.clientY - area.top, timeAt(event.clientX), (to - from) / Math.max(area.width - GUTTER, 1));
  };
  /** The next or previous slice in the row of the chosen one. */
  const step = (by: 1 | -1) => {
    const lane = selection.slice != null ? laneOf(tracks, selection.slice) : tracks[0]?.lanes[0];
    if (!lane) return;
    const { first, count: length } = lane.index.row;
    const next = selection.slice != null ? selection.slice + by : lane.index.firstFrom(view.current.from);
    if (next < first || next >= first + length) return;
    const start = timeline.start[next];
    const span = view.current.to - view.current.from;
    if (start < view.current.from || start > view.current.to) show({ from: start - span / 2, to: start + span / 2 });
    select(next);
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (view.current.from + view.current.to) / 2;
    const chosen = selection.slice;
    const actions: Record<string, () => void> = {
      w: () => zoomAt(0.7, middle),
      s: () => zoomAt(1 / 0.7, middle),
      a: () => shift(-0.15),
      d: () => shift(0.15),
      ArrowLeft: () => shift(-0.15),
      ArrowRight: () => shift(0.15),
      "+": () => zoomAt(0.7, middle),
      "-": () => zoomAt(1 / 0.7, middle),
      ".": () => step(1),
      ",": () => step(-1),
      0: () => show(whole),
      f: () => (chosen != null ? fit(chosen) : show(whole)),
      m: () => setSelection({ slice: chosen, mark: chosen != null ? { from: timeline.start[chosen], to: timeline.start[chosen] + timeline.duration[chosen] } : { ...view.current } }),
      Escape: () => select(null),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  const drag = useRef<{ x: number; from: number; mark: boolean; start: number; moved: boolean } | null>(null);
  const onDown = (event: PointerEvent) => {
    canvas.current!.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, from: view.current.from, mark: event.shiftKey, start: timeAt(event.clientX), moved: false };
  };
  const onDrag = (event: PointerEvent, dragged: NonNullable<typeof drag.current>) => {
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
  };
  const onMove = (event: PointerEvent) => {
    if (drag.current) return onDrag(event, drag.current);
    const slice = hit(event);
    const area = canvas.current!.getBoundingClientRect();
    const x = Math.min(event.clientX - area.left + 14, Math.max(area.width - 300, 0));
    setTip(slice == null ? null : { x, y: event.clientY - area.top + 16, text: `${sliceName(timeline, slice)} · ${time(timeline.duration[slice])}` });
  };
  const onUp = (event: PointerEvent) => {
    const dragged = drag.current;
    drag.current = null;
    if (dragged && !dragged.moved && !dragged.mark) select(hit(event));
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

  const isPart = timeline.from_ns > 0 || timeline.to_ns < timeline.span_ns;
  return (
    <>
      <h1>Timeline</h1>
      <p class="under">
        {count(timeline.start.length)} events{isPart ? `, from ${time(timeline.from_ns)} to ${time(timeline.to_ns)} of ${time(timeline.span_ns)}` : ` over ${time(timeline.span_ns)}`}. Drag
        moves, shift and drag marks an interval, ctrl and the wheel zoom. Keys: <kbd>w</kbd> <kbd>s</kbd> zoom, <kbd>a</kbd> <kbd>d</kbd> move, <kbd>f</kbd> fits, <kbd>m</kbd> marks,{" "}
        <kbd>,</kbd> <kbd>.</kbd> step through events, <kbd>Esc</kbd> clears.
      </p>
      {timeline.merged_events > 0 && (
        <p class="warning">
          {count(timeline.merged_events)} events shorter than {time(timeline.merged_below_ns)} are merged into grey stretches. <code>pyrometer report --from</code> and <code>--to</code>{" "}
          (seconds) or <code>--steps</code> show a part of the run in full, and <code>--events</code> keeps more.
        </p>
      )}
      <div class="tools">
        <button type="button" onClick={() => show(whole)}>
          Show all
        </button>
        <Steps steps={timeline.steps.filter((one) => one.end_ns > timeline.from_ns && one.start_ns < timeline.to_ns)} show={show} />
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
          aria-label="Timeline of threads and streams; keys w, a, s, d, f, m, comma and period"
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
      {selection.mark && <MarkDetails timeline={timeline} tracks={tracks} mark={selection.mark} />}
    </>
  );
}
