// The first view: one sentence, four numbers, where the step goes, and what to do first.
import type { ViewProps } from "../app";
import { layerTime, onDevice, type FindingRow, type TraceResult } from "../data/trace";
import { lowerFirst, median, name, rate, share, time, upperFirst } from "../format";
import { linkTo } from "../location";
import { ofShare, series } from "../palette";
import { Icicle } from "../parts/icicle";
import { layerTree } from "./layers";

/** Causes in the order of the account, with their words and colours (include/pyrometer/analysis.h). */
const CAUSES: Record<string, { title: string; colour: number; note: string }> = {
  ideal: { title: "At the chip's peak", colour: 0, note: "what the FLOPs take at the peak rate" },
  below_peak: { title: "Kernels below it", colour: 2, note: "the rest of the kernels' time" },
  compute: { title: "Device computes", colour: 2, note: "kernels run" },
  copy: { title: "Device copies", colour: 4, note: "copies that nothing hides" },
  communication: { title: "Communication", colour: 3, note: "collectives that nothing hides" },
  python: { title: "Host in Python", colour: 5, note: "the device waits for Python code" },
  ops: { title: "Host in ops", colour: 1, note: "the device waits while ops prepare launches" },
  launch_latency: { title: "Launch latency", colour: 7, note: "from the launch until the kernel starts" },
  queued: { title: "Queued", colour: 6, note: "launched, but not started" },
  data_loading: { title: "Data loading", colour: 3, note: "the loop waits for data" },
  unrecorded: { title: "Work not in the file", colour: 6, note: "the host waits for device work that was not recorded" },
  before_first: { title: "Before the first kernel", colour: 6, note: "" },
  after_last: { title: "After the last kernel", colour: 6, note: "" },
  peer_wait: { title: "Waiting for another rank", colour: 3, note: "collectives that wait for the slowest rank" },
  unknown: { title: "Unknown", colour: 6, note: "the launch of the next work is not in the file" },
  forward: { title: "Forward", colour: 0, note: "" },
  backward: { title: "Backward", colour: 1, note: "" },
  optimizer: { title: "Optimizer", colour: 2, note: "" },
};

export function causeTitle(cause: string): string {
  return CAUSES[cause]?.title ?? cause.replace(/_/g, " ");
}

interface Stretch {
  cause: string;
  ns: number;
  place: string;
}

/** Sums of causes over the steps, largest group order kept as in the account. */
export function account(trace: TraceResult): Stretch[] {
  const sums = new Map<string, number>();
  for (const row of trace.causes) sums.set(row.cause, (sums.get(row.cause) ?? 0) + row.time_ns);
  const places = new Map<string, string>();
  for (const place of trace.cause_places) {
    const text = place.line || place.layer || place.op;
    if (text && !places.has(place.cause)) places.set(place.cause, text);
  }
  return [...sums].map(([cause, ns]) => ({ cause, ns, place: places.get(cause) ?? "" }));
}

/** The account from the ideal to what was measured: kernels are split at the chip's peak rate. */
export function fromIdeal(trace: TraceResult): Stretch[] {
  const parts = account(trace);
  const compute = parts.find((part) => part.cause === "compute");
  const ideal = trace.training.reduce((sum, row) => sum + (row.flops && row.peak_flops_per_s ? (row.flops / row.peak_flops_per_s) * 1e9 : 0), 0);
  if (!compute || !(ideal > 0) || ideal >= compute.ns) return parts;
  const split: Stretch[] = [
    { cause: "ideal", ns: ideal, place: "" },
    { cause: "below_peak", ns: compute.ns - ideal, place: "" },
  ];
  return [...split, ...parts.filter((part) => part !== compute)];
}

function stepSpan(trace: TraceResult): { ns: number; unit: string; steps: number } {
  if (trace.steps.length === 0) return { ns: trace.span_ns, unit: "in all", steps: 1 };
  return { ns: median(trace.steps.map((step) => step.span_ns)), unit: "per step", steps: trace.steps.length };
}

/** One sentence that can be repeated to somebody else. */
export function headline(trace: TraceResult): string {
  const span = stepSpan(trace);
  const what = trace.steps.length > 0 ? "step" : "run";
  const parts = account(trace);
  const total = parts.reduce((sum, part) => sum + part.ns, 0);
  if (onDevice(trace) && total > 0) {
    const busy = parts.find((part) => part.cause === "compute")?.ns ?? 0;
    const largest = parts.filter((part) => part.cause !== "compute").sort((a, b) => b.ns - a.ns)[0];
    const working = `The device works ${time((span.ns * busy) / total)} of a ${what} of ${time(span.ns)}.`;
    if (busy / total > 0.9) return `${working} It is busy: only less or faster work helps.`;
    if (!largest) return working;
    return `${working} Most of the rest: ${lowerFirst(causeTitle(largest.cause))}.`;
  }
  const largest = [...parts].sort((a, b) => b.ns - a.ns)[0];
  if (largest && total > 0)
    return `A ${what} takes ${time(span.ns)} on the CPU, ${share(largest.ns / total)} of it in: ${lowerFirst(causeTitle(largest.cause))}.`;
  return `The ${what} takes ${time(span.ns)}.`;
}

function Waterfall({ trace }: { trace: TraceResult }) {
  const span = stepSpan(trace);
  const parts = fromIdeal(trace);
  const total = parts.reduce((sum, part) => sum + part.ns, 0);
  let from = 0;
  return (
    <div class="waterfall" role="list">
      {parts.map((part) => {
        const left = from / total;
        from += part.ns;
        const known = CAUSES[part.cause];
        return (
          <div role="listitem" class="contents">
            <span>{causeTitle(part.cause)}</span>
            <span class="bar" aria-hidden="true">
              <i
                style={{
                  left: `${left * 100}%`,
                  width: `${(part.ns / total) * 100}%`,
                  background: series(known?.colour ?? 6),
                }}
              />
            </span>
            <span class="value">
              {time(part.ns / span.steps)} <span class="soft">{share(part.ns / total)}</span>
            </span>
            <span class="note">{name(part.place, 120) || known?.note}</span>
          </div>
        );
      })}
    </div>
  );
}

function Finding({ trace, finding, rank, steps }: { trace: TraceResult; finding: FindingRow; rank: number; steps: number }) {
  const parts = trace.finding_parts.filter((part) => part.finding === finding.id).slice(0, 4);
  return (
    <article class="finding">
      <span class="rank" aria-hidden="true">
        {rank}
      </span>
      <div>
        <h3>{finding.title}</h3>
        <p class="soft">{upperFirst(name(finding.evidence, 600))}</p>
        {parts.length > 0 && (
          <ul>
            {parts.map((part) => (
              <li>
                {upperFirst(part.title)}
                {part.place && <code> {name(part.place, 160)}</code>}
                {part.gain_ns ? `: ${time(part.gain_ns / steps)}` : ""}
              </li>
            ))}
          </ul>
        )}
        <p>
          <span class="advice code">{name(finding.advice, 600)}</span> {finding.place && <code>{name(finding.place, 200)}</code>}
        </p>
      </div>
      <span class="gain">{finding.gain_ns ? `up to ${time(finding.gain_ns / steps)}${steps > 1 ? " per step" : ""}` : ""}</span>
    </article>
  );
}

export function Answer({ part, place, move }: ViewProps) {
  const trace = part.json<TraceResult>("result");
  const span = stepSpan(trace);
  const busy = trace.span_ns > 0 ? trace.device_busy_ns / trace.span_ns : null;
  const flops = trace.training.map((row) => row.flops_per_s).filter((value): value is number => value != null);
  const peak = trace.training[0]?.peak_flops_per_s;
  const first = trace.findings.slice(0, 3);
  const recording = trace.profiler_cost;
  const without = trace.steps.length > 0 && recording?.step_without_ns && recording.step_without_ns < span.ns * 0.98 ? recording.step_without_ns : null;
  const gain = first[0]?.gain_ns ? first[0].gain_ns / span.steps : 0;
  return (
    <>
      {[...trace.warnings, ...trace.notes].slice(0, 5).map((warning) => (
        <p class="warning">{name(warning, 500)}</p>
      ))}
      <h1>{headline(trace)}</h1>
      {(gain > 0 || without != null) && (
        <p class="soft">
          {without != null &&
            `Without the profiler it would take about ${time(without)}${recording?.step_without_low_ns ? ` (${time(recording.step_without_low_ns)} to ${time(recording.step_without_high_ns)})` : ""}. `}
          {gain > 0 && `Fixing the first finding brings it to about ${time(Math.max((without ?? span.ns) - gain, 0))} at best.`}
        </p>
      )}
      <div class="numbers">
        <div>
          <b>{time(span.ns)}</b>
          <span>
            {span.unit}
            {trace.steps.length > 1 ? `, median of ${trace.steps.length}` : ""}
          </span>
        </div>
        {onDevice(trace) && (
          <div>
            <b>{share(busy)}</b>
            <span>device busy over the whole span of {time(trace.span_ns)}</span>
          </div>
        )}
        {flops.length > 0 && (
          <div>
            <b>{rate(median(flops))}</b>
            <span>
              over the step{peak ? `: ${share(median(flops) / peak)} of this chip's peak (${trace.training[0].dtype})` : ""}
            </span>
          </div>
        )}
        <div>
          <b>{onDevice(trace) ? time(trace.device_total_ns / span.steps) : String(trace.ops.length)}</b>
          <span>{onDevice(trace) ? `device time ${span.unit}, ${trace.kernel_count} kernels in all` : "kinds of ops"}</span>
        </div>
      </div>
      {trace.causes.length > 0 && (
        <>
          <h2>Where the {trace.steps.length > 0 ? "step" : "time"} goes</h2>
          <p class="under">
            From what this chip needs at least to what was measured; the parts add up to{" "}
            {time(trace.causes.reduce((sum, row) => sum + row.time_ns, 0) / span.steps)}
            {span.steps > 1 ? " per step (mean)" : ""}.
          </p>
          <Waterfall trace={trace} />
        </>
      )}
      <h2>What to do first</h2>
      {first.length === 0 && <p class="soft">Nothing found that would gain a noticeable part of the time.</p>}
      {first.map((finding, i) => (
        <Finding trace={trace} finding={finding} rank={i + 1} steps={span.steps} />
      ))}
      {trace.findings.length > 3 && (
        <p>
          <a href={linkTo({ ...place, view: "all", table: "findings" })}>All {trace.findings.length} findings</a>
        </p>
      )}
      {trace.layers.length > 0 && (
        <>
          <h2>Layers by {onDevice(trace) ? "device" : "host"} time</h2>
          <p class="under">
            The width is forward and backward time; the colour is the share of the chip's peak. Click a layer for its
            numbers.
          </p>
          <Icicle
            root={layerTree(trace, (layer) => layerTime(trace, layer), (layer) => ofShare(layer.peak_share == null ? null : layer.peak_share * 2))}
            label={`Layers by time; the view Layers has the same numbers as a table`}
            maxRows={7}
            onChoose={(node) => node.id && move({ view: "layers", layer: node.id })}
          />
        </>
      )}
    </>
  );
}
