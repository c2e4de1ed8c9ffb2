// Operators that can run as one kernel: what fusing them saves, and the groups.
import type { ViewProps } from "../app";
import { amount, bytes, count, name, share, unbroken, upperFirst } from "../format";
import { Changes } from "../parts/changes";
import { Table } from "../parts/table";

interface Totals {
  kernels: number;
  flops: number;
  bytes: number;
  arithmetic_intensity: number;
}

interface Group {
  kind: string;
  layer: string;
  times: number;
  flops: number;
  bytes_before: number;
  bytes_after: number;
  members: { name: string; op: string }[];
}

interface FuseResult {
  model: string;
  dtype: string;
  strategy: string;
  before: Totals;
  after: Totals;
  groups: Group[];
}

const saved = (group: Group) => group.bytes_before - group.bytes_after;

export function FuseView({ part }: ViewProps) {
  const { model, dtype, strategy, before, after, groups } = part.json<FuseResult>("result");
  const kinds = [...new Set(groups.filter((group) => saved(group) > 0).map((group) => group.kind))].map((kind) => {
    const same = groups.filter((group) => group.kind === kind);
    return { label: upperFirst(kind), before: same.reduce((sum, group) => sum + group.bytes_before, 0), after: same.reduce((sum, group) => sum + group.bytes_after, 0) };
  });
  kinds.sort((a, b) => b.before - b.after - (a.before - a.after));
  return (
    <>
      <h1>
        {unbroken(`Fusing brings ${name(model, 60)} from ${count(before.kernels)} to ${count(after.kernels)} kernels and saves ${share(1 - after.bytes / (before.bytes || 1))} of the bytes moved.`)}
      </h1>
      <p class="soft">
        {bytes(before.bytes)} become {bytes(after.bytes)} at {amount(after.flops, "FLOP")}: {before.arithmetic_intensity.toPrecision(3)} FLOPs per byte become {after.arithmetic_intensity.toPrecision(3)}. Strategy {strategy}, {name(dtype, 30)}.
      </p>
      {kinds.length > 0 && (
        <>
          <h2>Bytes moved by kind of group</h2>
          <p class="under">Blue: before; orange: after.</p>
          <Changes rows={kinds} show={bytes} sideBySide={true} />
        </>
      )}
      <h2>Groups</h2>
      <Table
        caption="Groups"
        file="groups"
        rows={groups}
        sortBy={6}
        searchText={(row) => `${row.kind} ${row.layer} ${row.members.map((one) => one.name).join(" ")}`}
        columns={[
          { title: "Layer", value: (row) => row.layer, words: true, show: (row) => name(row.layer, 200) || <span class="soft">(model)</span> },
          { title: "Kind", value: (row) => row.kind },
          { title: "Times", value: (row) => row.times },
          { title: "FLOPs", value: (row) => row.flops, show: (row) => amount(row.flops) },
          { title: "Bytes before", value: (row) => row.bytes_before, show: (row) => bytes(row.bytes_before) },
          { title: "Bytes after", value: (row) => row.bytes_after, show: (row) => bytes(row.bytes_after) },
          { title: "Saved", value: saved, show: (row) => bytes(saved(row)) },
          { title: "Operators", value: (row) => row.members.map((one) => one.op).join(" + "), show: (row) => name(row.members.map((one) => one.op).join(" + "), 160), words: true },
        ]}
      />
    </>
  );
}
