// Stacks: left-heavy (merged, largest first), in the order of time, and sandwich (one name, its
// callers and callees).
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { byName, calleesOf, callersOf, stacksOf, type StackNode } from "../data/stacks";
import { inTimeOrder, type TimedNode } from "../data/time_order";
import { timelineOf, type Timeline } from "../data/trace";
import { count, name, share, time } from "../format";
import { ofName } from "../palette";
import { Icicle, type IcicleNode } from "../parts/icicle";
import { Table } from "../parts/table";

/** Boxes below this share of the whole are not drawn. */
const SMALLEST = 1 / 4000;

function toIcicle(from: StackNode, total: number, path = ""): IcicleNode {
  const id = `${path}/${from.name}`;
  const children = [...from.children.values()]
    .filter((child) => child.total / total > SMALLEST)
    .sort((a, b) => b.total - a.total)
    .map((child) => toIcicle(child, total, id));
  return {
    id,
    label: name(from.name, 200),
    value: Math.max(from.total, children.reduce((sum, child) => sum + child.value, 0)),
    colour: ofName(from.name),
    children,
    tip: () => [name(from.name, 300), `${time(from.total)}, ${share(from.total / total)}`, `own ${time(from.own)}, ${count(from.calls)} calls`],
  };
}

function timedNode(timeline: Timeline, node: TimedNode): IcicleNode {
  const text = timeline.name[node.slice] === 0 ? `${count(timeline.events[node.slice])} merged events` : timeline.names[timeline.name[node.slice] - 1];
  return {
    id: String(node.slice),
    label: name(text, 200),
    value: node.duration,
    start: node.start,
    colour: ofName(text),
    children: node.children.map((child) => timedNode(timeline, child)),
    tip: () => [name(text, 300), `${time(node.duration)} from ${time(node.start)}`],
  };
}

/** Busy time of a track's outermost slices. */
function busyOf(timeline: Timeline, track: number): number {
  const row = timeline.rows.find((one) => one.track === track && one.row === 0);
  let sum = 0;
  for (let i = row?.first ?? 0; row && i < row.first + row.count; i++) sum += timeline.duration[i];
  return sum;
}

function TimeOrder({ timeline, device }: { timeline: Timeline; device: boolean }) {
  const tracks = useMemo(
    () =>
      timeline.tracks
        .map((track, i) => ({ i, label: track.name || (track.device ? `stream ${track.stream}` : `thread ${track.tid}`), device: track.device, busy: busyOf(timeline, i) }))
        .filter((track) => track.device === device && track.busy > 0)
        .sort((a, b) => b.busy - a.busy),
    [timeline, device],
  );
  const [chosen, setChosen] = useState(0);
  const track = tracks.find((one) => one.i === chosen) ?? tracks[0];
  const root = useMemo<IcicleNode>(() => {
    const nodes = track ? inTimeOrder(timeline, track.i, timeline.span_ns / 20000) : [];
    const value = Math.max(timeline.to_ns, 1);
    return { id: "", label: track?.label ?? "nothing", value, colour: ofName("root"), children: nodes.map((node) => timedNode(timeline, node)), tip: () => [`${time(value)} in all`] };
  }, [timeline, track]);
  return (
    <>
      <div class="tools">
        <label>
          Track{" "}
          <select value={String(track?.i ?? 0)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {tracks.map((one) => (
              <option value={String(one.i)}>{name(one.label, 60)}</option>
            ))}
          </select>
        </label>
        <span class="soft">From left to right in the order of time; a click zooms. Boxes below 1/20,000 of the run are left out; the timeline has them.</span>
      </div>
      <Icicle root={root} label="Flame graph in the order of time; the view Timeline has all events" maxRows={48} />
    </>
  );
}

type Mode = "heavy" | "time" | "sandwich";
const MODES: Record<Mode, string> = { heavy: "Left heavy", time: "Time order", sandwich: "Sandwich" };

/** One name: who calls it, above, and what it calls, below. */
function Sandwich({ root, focused }: { root: StackNode; focused: string }) {
  const callers = useMemo(() => toIcicle(callersOf(root, focused), root.total || 1), [root, focused]);
  const callees = useMemo(() => toIcicle(calleesOf(root, focused), root.total || 1), [root, focused]);
  return (
    <>
      <h2>{name(focused, 200)}</h2>
      <p class="under">Called by, the innermost first</p>
      <Icicle root={callers} upwards label={`Callers of ${name(focused, 80)}`} />
      <p class="under">Calls</p>
      <Icicle root={callees} label={`Callees of ${name(focused, 80)}`} />
    </>
  );
}

export function Flame({ part, place, move }: ViewProps) {
  const timeline = useMemo(() => timelineOf(part)!, [part]);
  const hasDevice = timeline.tracks.some((track) => track.device);
  const device = place.side ? place.side === "device" : hasDevice;
  const mode: Mode = place.mode === "time" || place.mode === "sandwich" ? place.mode : "heavy";
  const root = useMemo(() => stacksOf(timeline, device), [timeline, device]);
  const rows = useMemo(() => byName(root), [root]);
  const largest = useMemo(() => rows.reduce((best, row) => (row.own > (best?.own ?? -1) ? row : best), rows[0])?.name ?? "", [rows]);
  const focused = place.name && rows.some((row) => row.name === place.name) ? place.name : largest;
  const whole = useMemo(() => toIcicle(root, root.total || 1), [root]);
  return (
    <>
      <h1>{device ? "Device time by layer and kernel" : "Host time by what ran inside of what"}</h1>
      <div class="tools">
        {hasDevice && (
          <span class="group" role="group" aria-label="Side">
            <button type="button" aria-pressed={!device} onClick={() => move({ side: "host" })}>
              Host
            </button>
            <button type="button" aria-pressed={device} onClick={() => move({ side: "device" })}>
              Device
            </button>
          </span>
        )}
        <span class="group" role="group" aria-label="Kind of flame graph">
          {(Object.keys(MODES) as Mode[]).map((one) => (
            <button type="button" aria-pressed={one === mode} onClick={() => move({ mode: one })}>
              {MODES[one]}
            </button>
          ))}
        </span>
        <span class="soft">
          {time(root.total)} in all{device ? "" : ", threads added up"}.
          {mode === "heavy" ? " Equal stacks are merged, the largest first; a click zooms." : ""}
          {mode === "sandwich" ? " Choose a name in the table." : ""}
        </span>
      </div>
      {mode === "heavy" && <Icicle root={whole} label="Flame graph; the table below has the same numbers" />}
      {mode === "time" && <TimeOrder timeline={timeline} device={device} />}
      {mode === "sandwich" && focused && <Sandwich root={root} focused={focused} />}
      <h2>Names</h2>
      <Table
        caption="Names"
        file="stacks"
        rows={rows}
        sortBy={1}
        searchText={(row) => row.name}
        selected={(row) => mode === "sandwich" && row.name === focused}
        onChoose={(row) => move({ mode: "sandwich", name: row.name })}
        columns={[
          { title: "Name", value: (row) => row.name, words: true },
          { title: "Own", value: (row) => row.own, show: (row) => time(row.own) },
          { title: "Share", value: (row) => row.own / (root.total || 1), show: (row) => share(row.own / (root.total || 1)) },
          { title: "Total", value: (row) => row.total, show: (row) => time(row.total) },
          { title: "Calls", value: (row) => row.calls, show: (row) => count(row.calls) },
        ]}
      />
    </>
  );
}
