// Stacks: left-heavy (merged, largest first), and sandwich (one name, its callers and callees).
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { byName, calleesOf, callersOf, stacksOf, type StackNode } from "../data/stacks";
import { timelineOf } from "../data/trace";
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

export function Flame({ part, place, move }: ViewProps) {
  const timeline = useMemo(() => timelineOf(part)!, [part]);
  const hasDevice = timeline.tracks.some((track) => track.device);
  const device = place.side ? place.side === "device" : hasDevice;
  const root = useMemo(() => stacksOf(timeline, device), [timeline, device]);
  const rows = useMemo(() => byName(root), [root]);
  const [chosen, setChosen] = useState(place.name ?? "");
  const focused = chosen && rows.some((row) => row.name === chosen) ? chosen : "";
  const whole = useMemo(() => toIcicle(root, root.total || 1), [root]);
  const callers = useMemo(() => (focused ? toIcicle(callersOf(root, focused), root.total || 1) : null), [root, focused]);
  const callees = useMemo(() => (focused ? toIcicle(calleesOf(root, focused), root.total || 1) : null), [root, focused]);
  const choose = (wanted: string) => setChosen(wanted === focused ? "" : wanted);
  return (
    <>
      <h1>{device ? "Device time by layer and kernel" : "Host time by what ran inside of what"}</h1>
      <div class="tools">
        {hasDevice && (
          <>
            <button type="button" aria-pressed={!device} onClick={() => move({ side: "host" })}>
              Host
            </button>
            <button type="button" aria-pressed={device} onClick={() => move({ side: "device" })}>
              Device
            </button>
          </>
        )}
        <span class="soft">
          The same stacks are merged, the largest first. {time(root.total)} in all{device ? "" : ", threads added up"}. Choose a name in the table for its
          callers and callees.
        </span>
      </div>
      <Icicle root={whole} label="Flame graph; the table below has the same numbers" />
      {focused && callers && callees && (
        <>
          <h2>{name(focused, 200)}</h2>
          <p class="under">Called by (innermost first)</p>
          <Icicle root={callers} label={`Callers of ${name(focused, 80)}`} />
          <p class="under">Calls</p>
          <Icicle root={callees} label={`Callees of ${name(focused, 80)}`} />
        </>
      )}
      <Table
        caption="Names"
        file="stacks"
        rows={rows}
        sortBy={1}
        searchText={(row) => row.name}
        selected={(row) => row.name === focused}
        onChoose={(row) => choose(row.name)}
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
