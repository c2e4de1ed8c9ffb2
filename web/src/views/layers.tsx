// Layers as nested boxes and as a table, linked: a click in one selects in the other.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { layerOwnTime, lostTime, layerTime, onDevice, timelineOf, type LayerRow, type TraceResult } from "../data/trace";
import { amount, bytes, count, lastPart, name, rate, share, time } from "../format";
import { ofShare } from "../palette";
import { Icicle, type IcicleNode } from "../parts/icicle";
import { Table, type Column } from "../parts/table";
import { Breakable } from "../parts/warnings";

const MEASURES: Record<string, { title: string; value: (trace: TraceResult, layer: LayerRow) => number; show: (value: number) => string }> = {
  time: { title: "Time", value: layerTime, show: time },
  forward: {
    title: "Forward",
    value: (trace, layer) => (onDevice(trace) ? layer.forward_device_ns : layer.forward_host_ns),
    show: time,
  },
  backward: {
    title: "Backward",
    value: (trace, layer) => (onDevice(trace) ? layer.backward_device_ns : layer.backward_host_ns),
    show: time,
  },
  lost: { title: "Lost time", value: lostTime, show: time },
  flops: { title: "FLOPs", value: (_trace, layer) => layer.flops ?? 0, show: (value) => amount(value, "FLOP") },
  bytes: { title: "Bytes moved", value: (_trace, layer) => layer.bytes ?? 0, show: bytes },
  memory: { title: "Memory", value: (_trace, layer) => Math.max(layer.allocated_bytes ?? 0, 0), show: bytes },
};

/** The layers as a tree; a parent is at least as wide as its children. */
export function layerTree(
  trace: TraceResult,
  value: (layer: LayerRow) => number,
  colour: (layer: LayerRow) => string,
): IcicleNode {
  const nodes: IcicleNode[] = trace.layers.map((layer) => ({
    id: layer.path,
    label: lastPart(name(layer.path)) || name(layer.class),
    value: value(layer),
    colour: colour(layer),
    children: [],
    tip: () => [
      name(layer.path, 300),
      name(layer.class, 100),
      `${time(layerTime(trace, layer))} (own ${time(layerOwnTime(trace, layer))}), ${count(layer.calls)} calls`,
      layer.flops_per_s ? `${rate(layer.flops_per_s)}, ${share(layer.peak_share)} of the peak` : "",
    ].filter(Boolean),
  }));
  const roots: IcicleNode[] = [];
  trace.layers.forEach((layer, i) => {
    if (layer.parent != null && nodes[layer.parent]) nodes[layer.parent].children.push(nodes[i]);
    else roots.push(nodes[i]);
  });
  const widen = (node: IcicleNode): number => {
    const inside = node.children.reduce((sum, child) => sum + widen(child), 0);
    node.value = Math.max(node.value, inside);
    return node.value;
  };
  const total = roots.reduce((sum, node) => sum + widen(node), 0);
  if (roots.length === 1) return roots[0];
  return { id: "", label: "all layers", value: total, colour: ofShare(null), children: roots, tip: () => ["all layers"] };
}

/** What the colours of layers mean: half of the peak and more is blue. */
export function PeakScale() {
  return (
    <p class="scale peak">
      share of the chip's peak 0 %
      {[0, 0.2, 0.4, 0.6, 0.8, 1].map((part) => (
        <i style={{ background: ofShare(part) }} />
      ))}
      50 % and more
      <i class="unknown" style={{ background: ofShare(null) }} /> unknown
    </p>
  );
}

function Details({ part, trace, layer }: { part: ViewProps["part"]; trace: TraceResult; layer: LayerRow }) {
  const kernels = useMemo(() => kernelsOf(part, layer.path), [part, layer.path]);
  return (
    <section class="details" aria-label="The chosen layer">
      <h3>{name(layer.path)}</h3>
      <dl>
        <dt>Class</dt>
        <dd>{name(layer.class)}</dd>
        <dt>Calls</dt>
        <dd>{count(layer.calls)}</dd>
        <dt>Forward</dt>
        <dd>
          {time(layer.forward_host_ns)} on the host{onDevice(trace) ? `, ${time(layer.forward_device_ns)} on the device` : ""}
        </dd>
        <dt>Backward</dt>
        <dd>
          {time(layer.backward_host_ns)} on the host{onDevice(trace) ? `, ${time(layer.backward_device_ns)} on the device` : ""}
        </dd>
        {layer.flops != null && (
          <>
            <dt>Work</dt>
            <dd>
              {amount(layer.flops, "FLOP")}, {bytes(layer.bytes)} moved, {rate(layer.flops_per_s)} ({share(layer.peak_share)} of the
              peak)
            </dd>
          </>
        )}
      </dl>
      {kernels.length > 0 && (
        <Table
          caption={`What runs in ${name(layer.path, 80)}`}
          file="layer"
          rows={kernels}
          sortBy={2}
          columns={[
            { title: "Op or kernel", value: (row) => row.name, words: true },
            { title: "Calls", value: (row) => row.calls, show: (row) => count(row.calls) },
            { title: "Time", value: (row) => row.ns, show: (row) => time(row.ns) },
          ]}
        />
      )}
    </section>
  );
}

interface LayerItem {
  name: string;
  calls: number;
  ns: number;
}

/** Device work of a layer by name, from the timeline; ops where nothing ran on a device. */
function kernelsOf(part: ViewProps["part"], path: string): LayerItem[] {
  const timeline = timelineOf(part);
  if (!timeline) return [];
  const wanted = timeline.layers.indexOf(path) + 1;
  if (wanted === 0) return [];
  const found = new Map<string, LayerItem>();
  const collect = (isWanted: (category: number) => boolean) => {
    for (let i = 0; i < timeline.start.length; i++) {
      if (timeline.layer[i] !== wanted || timeline.name[i] === 0 || !isWanted(timeline.category[i])) continue;
      const text = timeline.names[timeline.name[i] - 1];
      const item = found.get(text) ?? { name: text, calls: 0, ns: 0 };
      item.calls++;
      item.ns += timeline.duration[i];
      found.set(text, item);
    }
  };
  collect((category) => category >= 5 && category <= 7);
  if (found.size === 0) collect((category) => category === 0);
  return [...found.values()];
}

export function Layers({ part, place, move }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const [measure, setMeasure] = useState(place.measure in MEASURES ? place.measure : "time");
  const chosen = MEASURES[measure];
  const selected = trace.layers.find((layer) => layer.path === place.layer);
  const root = useMemo(
    () => layerTree(trace, (layer) => chosen.value(trace, layer), (layer) => ofShare(layer.peak_share == null ? null : layer.peak_share * 2)),
    [trace, measure],
  );
  const total = trace.layers.reduce((sum, layer) => sum + layerOwnTime(trace, layer), 0);
  const columns = useMemo<Column<LayerRow>[]>(
    () => [
      {
        title: "Layer",
        value: (layer) => layer.path,
        show: (layer) => <a href={`#view=layers&layer=${encodeURIComponent(layer.path)}`}><Breakable text={name(layer.path, 200)} /></a>,
        words: true,
      },
      { title: "Class", value: (layer) => layer.class, show: (layer) => name(layer.class, 40), words: true },
      { title: "Calls", value: (layer) => layer.calls, show: (layer) => count(layer.calls) },
      { title: "Own time", value: (layer) => layerOwnTime(trace, layer), show: (layer) => time(layerOwnTime(trace, layer)) },
      { title: "Share", value: (layer) => layerOwnTime(trace, layer) / (total || 1), show: (layer) => share(layerOwnTime(trace, layer) / (total || 1)) },
      { title: "Forward", value: (layer) => MEASURES.forward.value(trace, layer), show: (layer) => time(MEASURES.forward.value(trace, layer)) },
      { title: "Backward", value: (layer) => MEASURES.backward.value(trace, layer), show: (layer) => time(MEASURES.backward.value(trace, layer)) },
      { title: "Lost", value: (layer) => lostTime(trace, layer), show: (layer) => time(lostTime(trace, layer)) },
      { title: "Memory", value: (layer) => layer.allocated_bytes, show: (layer) => bytes(layer.allocated_bytes) },
      { title: "FLOPs", value: (layer) => layer.flops, show: (layer) => amount(layer.flops) },
      { title: "FLOP/s", value: (layer) => layer.flops_per_s, show: (layer) => amount(layer.flops_per_s) },
      { title: "Of peak", value: (layer) => layer.peak_share, show: (layer) => share(layer.peak_share) },
    ],
    [trace],
  );
  const measures = Object.entries(MEASURES).filter(([id, one]) => id === "time" || trace.layers.some((layer) => one.value(trace, layer) > 0));
  return (
    <>
      <h1>Layers</h1>
      <div class="tools" role="group" aria-label="What the width shows">
        {measures.map(([id, one]) => (
          <button type="button" aria-pressed={id === measure} onClick={() => setMeasure(id)}>
            {one.title}
          </button>
        ))}
        <span class="soft">
          {measure === "lost" ? "The device waits while ops of the layer are prepared. " : ""}
          {onDevice(trace) ? "Device times" : "Host times"} over the whole file.
        </span>
      </div>
      <Icicle root={root} label="Layers as nested boxes; the table below has the same numbers" selected={place.layer} onChoose={(node) => node.id && move({ layer: node.id })} />
      <PeakScale />
      {selected && <Details part={part} trace={trace} layer={selected} />}
      {place.layer && !selected && <p class="warning">No layer is called “{name(place.layer, 200)}”.</p>}
      <Table
        caption="Layers"
        file="layers"
        rows={trace.layers}
        columns={columns}
        sortBy={3}
        searchText={(layer) => `${layer.path} ${layer.class}`}
        selected={(layer) => layer.path === place.layer}
        onChoose={(layer) => move({ layer: layer.path })}
        total={trace.cut?.layers}
      />
    </>
  );
}
