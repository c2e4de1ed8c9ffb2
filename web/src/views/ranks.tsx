// Ranks of a distributed run: who is late, and where the time goes on each.
import type { ViewProps } from "../app";
import { bytes, count, name, rate, share, time } from "../format";
import { ofShare, series } from "../palette";
import { Table } from "../parts/table";

interface RankRow {
  rank: number;
  file: string;
  steps: number;
  step_ns: number;
  compute_ns: number;
  communication_exposed_ns: number;
  idle_ns: number;
  late_ns: number;
  wait_ns: number;
  memory_peak_bytes: number | null;
  flops_per_s: number | null;
}

interface RanksResult {
  world_size: number;
  missing: number;
  step_ns: number;
  step_skew_ns: number;
  notes: string[];
  ranks: RankRow[];
  steps: { number: number; min_ns: number; median_ns: number; max_ns: number; slowest_rank: number; skew_ns: number }[];
  groups: Record<string, unknown>[];
  stragglers: { rank: number; [key: string]: unknown }[];
}

export function RanksView({ part }: ViewProps) {
  const result = part.json<RanksResult>("result");
  const latest = [...result.ranks].sort((a, b) => b.late_ns - a.late_ns)[0];
  const straggler = result.stragglers[0];
  const most = Math.max(...result.ranks.map((rank) => rank.late_ns), 1);
  return (
    <>
      {result.notes.map((note) => (
        <p class="warning">{name(note, 400)}</p>
      ))}
      <h1>
        {straggler
          ? `Rank ${straggler.rank} is the straggler of ${result.world_size} ranks.`
          : `No rank of ${result.ranks.length} is late by a noticeable part of the step of ${time(result.step_ns)}.`}
      </h1>
      {latest && latest.late_ns > 0 && (
        <p class="soft">
          Rank {latest.rank} arrives last by {time(latest.late_ns)} per step at collectives.
        </p>
      )}
      <h2>Late per step, by rank</h2>
      <div class="tools" role="list" aria-label="Ranks by how late they are">
        {result.ranks.map((rank) => {
          const part = rank.late_ns / most;
          return (
            <span role="listitem" title={`rank ${rank.rank}: late by ${time(rank.late_ns)}`} style={{ background: ofShare(1 - part), padding: "4px 8px", borderRadius: "4px", color: "#14161a" }}>
              {rank.rank}
            </span>
          );
        })}
      </div>
      <h2>Where a step goes</h2>
      <div class="waterfall" role="list">
        {result.ranks.slice(0, 64).map((rank) => {
          const other = Math.max(rank.step_ns - rank.compute_ns - rank.communication_exposed_ns, 0);
          const total = rank.compute_ns + rank.communication_exposed_ns + other || 1;
          return (
            <div role="listitem" class="contents">
              <span>rank {rank.rank}</span>
              <span class="bar" aria-hidden="true">
                <i style={{ left: "0", width: `${(rank.compute_ns / total) * 100}%`, background: series(2) }} />
                <i style={{ left: `${(rank.compute_ns / total) * 100}%`, width: `${(rank.communication_exposed_ns / total) * 100}%`, background: series(3) }} />
              </span>
              <span class="value">{time(rank.step_ns)}</span>
              <span class="note">
                compute {share(rank.compute_ns / total)}, communication {share(rank.communication_exposed_ns / total)}
              </span>
            </div>
          );
        })}
      </div>
      <h2>Ranks</h2>
      <Table
        caption="Ranks"
        file="ranks"
        rows={result.ranks}
        columns={[
          { title: "Rank", value: (row) => row.rank },
          { title: "Steps", value: (row) => row.steps, show: (row) => count(row.steps) },
          { title: "Step", value: (row) => row.step_ns, show: (row) => time(row.step_ns) },
          { title: "Compute", value: (row) => row.compute_ns, show: (row) => time(row.compute_ns) },
          { title: "Exposed communication", value: (row) => row.communication_exposed_ns, show: (row) => time(row.communication_exposed_ns) },
          { title: "Idle", value: (row) => row.idle_ns, show: (row) => time(row.idle_ns) },
          { title: "Late", value: (row) => row.late_ns, show: (row) => time(row.late_ns) },
          { title: "Waits", value: (row) => row.wait_ns, show: (row) => time(row.wait_ns) },
          { title: "Memory peak", value: (row) => row.memory_peak_bytes, show: (row) => bytes(row.memory_peak_bytes) },
          { title: "FLOP/s", value: (row) => row.flops_per_s, show: (row) => rate(row.flops_per_s) },
        ]}
      />
    </>
  );
}
