// Memory over time, the peak, and who held it there.
import { useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import type { ViewProps } from "../app";
import type { MemoryDevice, TraceResult } from "../data/trace";
import { bytes, name, share, time } from "../format";
import { series } from "../palette";
import { Plot } from "../parts/plot";
import { Table } from "../parts/table";

/** Distances of marks on an axis of bytes. */
const POWERS_OF_TWO = Array.from({ length: 50 }, (_unused, i) => 2 ** i);

function Device({ trace, device }: { trace: TraceResult; device: MemoryDevice }) {
  const [at, setAt] = useState<number | null>(null);
  const start = trace.start_ns;
  const data = useMemo<uPlot.AlignedData>(
    () => [
      device.curve.map((point) => point.time_ns - start),
      device.curve.map((point) => point.allocated_bytes),
      device.curve.map((point) => point.reserved_bytes),
    ],
    [device],
  );
  const point = at != null ? device.curve[at] : null;
  const hasReserved = device.curve.some((one) => one.reserved_bytes != null);
  const held = device.holders.reduce((sum, holder) => sum + holder.bytes, 0);
  return (
    <>
      <h2>{name(device.device, 80)}</h2>
      <p class="under">
        Peak {bytes(device.peak_bytes)}
        {device.peak_reserved_bytes ? `, reserved ${bytes(device.peak_reserved_bytes)}` : ""}.{" "}
        {point ? `At ${time(point.time_ns - start)}: ${bytes(point.allocated_bytes)} allocated${point.reserved_bytes != null ? `, ${bytes(point.reserved_bytes)} reserved` : ""}.` : ""}
      </p>
      {device.curve.length > 1 && (
        <div class="chart">
          <Plot
            data={hasReserved ? data : ([data[0], data[1]] as uPlot.AlignedData)}
            label={`Memory of ${name(device.device, 40)} over time`}
            height={280}
            formatX={time}
            formatY={bytes}
            stepsY={POWERS_OF_TWO}
            onMove={setAt}
            series={[
              { label: "time", value: (_plot, value) => time(value) },
              { label: "allocated", stroke: series(0), fill: `${series(0)}33`, value: (_plot, value) => bytes(value), paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } },
              ...(hasReserved ? [{ label: "reserved", stroke: series(5), paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false }, value: (_plot: uPlot, value: number) => bytes(value) }] : []),
            ]}
          />
        </div>
      )}
      {device.holders.length > 0 && (
        <>
          <h2>Who holds memory at the peak</h2>
          <Table
            caption="Holders at the peak"
            file="memory"
            rows={device.holders}
            sortBy={2}
            searchText={(row) => `${row.layer} ${row.op}`}
            columns={[
              { title: "Layer", value: (row) => row.layer, words: true, show: (row) => name(row.layer, 200) || <span class="soft">outside any layer</span> },
              { title: "Op", value: (row) => row.op, words: true },
              { title: "Bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
              { title: "Share", value: (row) => row.bytes / (held || 1), show: (row) => share(row.bytes / (held || 1)) },
              { title: "Blocks", value: (row) => row.blocks },
            ]}
          />
        </>
      )}
    </>
  );
}

export function Memory({ part }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const devices = trace.memory.devices;
  return (
    <>
      <h1>Memory</h1>
      {devices.length === 0 && (
        <p>
          The file has no memory events. Record them: <code>torch.profiler.profile(profile_memory=True)</code>, or{" "}
          <code>pyrometer run</code>, which does so by default.
        </p>
      )}
      {devices.map((device) => (
        <Device trace={trace} device={device} />
      ))}
    </>
  );
}
