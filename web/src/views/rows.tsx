// Tables of ops and kernels.
import type { ViewProps } from "../app";
import { onDevice, type TraceResult } from "../data/trace";
import { amount, count, name, share, time } from "../format";
import { series } from "../palette";
import { Table } from "../parts/table";

export function Ops({ part }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const device = onDevice(trace);
  return (
    <>
      <h1>Ops</h1>
      <p class="under">Own times leave out what an op calls. FLOP/s are the op's own FLOPs over its own {device ? "device" : "host"} time.</p>
      <Table
        caption="Ops"
        file="ops"
        rows={trace.ops}
        sortBy={device ? 2 : 4}
        searchText={(row) => row.name}
        total={trace.cut?.ops}
        columns={[
          { title: "Op", value: (row) => row.name, words: true },
          { title: "Calls", value: (row) => row.calls, show: (row) => count(row.calls) },
          { title: "Device, own", value: (row) => row.device_self_ns, show: (row) => time(row.device_self_ns) },
          { title: "Device, total", value: (row) => row.device_total_ns, show: (row) => time(row.device_total_ns) },
          { title: "Host, own", value: (row) => row.host_self_ns, show: (row) => time(row.host_self_ns) },
          { title: "Host, total", value: (row) => row.host_total_ns, show: (row) => time(row.host_total_ns) },
          { title: "FLOPs", value: (row) => row.flops, show: (row) => amount(row.flops) },
          { title: "FLOP/s", value: (row) => row.flops_per_s, show: (row) => amount(row.flops_per_s) },
          { title: "Type", value: (row) => row.dtype },
          { title: "Phase", value: (row) => row.phase },
        ]}
      />
    </>
  );
}

export function Kernels({ part }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const total = trace.device_total_ns || 1;
  return (
    <>
      <h1>Kernels</h1>
      {trace.categories.length > 0 && (
        <>
          <h2>By category</h2>
          <div class="waterfall" role="list">
            {trace.categories.map((row, i) => (
              <div role="listitem" class="contents">
                <span>{name(row.category, 60)}</span>
                <span class="bar" aria-hidden="true">
                  <i style={{ left: "0", width: `${row.share * 100}%`, background: series(i) }} />
                </span>
                <span class="value">
                  {time(row.total_ns)} <span class="soft">{share(row.share)}</span>
                </span>
                <span class="note">{count(row.calls)} calls</span>
              </div>
            ))}
          </div>
        </>
      )}
      <h2>By name</h2>
      <Table
        caption="Kernels"
        file="kernels"
        rows={trace.kernels}
        sortBy={2}
        searchText={(row) => `${row.name} ${row.op} ${row.category}`}
        total={trace.cut?.kernels}
        columns={[
          { title: "Kernel", value: (row) => row.name, show: (row) => <span title={name(row.name, 800)}>{name(row.short_name, 160)}</span>, words: true },
          { title: "Calls", value: (row) => row.calls, show: (row) => count(row.calls) },
          { title: "Total", value: (row) => row.total_ns, show: (row) => time(row.total_ns) },
          { title: "Share", value: (row) => row.total_ns / total, show: (row) => share(row.total_ns / total) },
          { title: "Median", value: (row) => row.median_ns, show: (row) => time(row.median_ns) },
          { title: "Max", value: (row) => row.max_ns, show: (row) => time(row.max_ns) },
          { title: "Category", value: (row) => row.category },
          { title: "Op", value: (row) => row.op, words: true },
        ]}
      />
    </>
  );
}
