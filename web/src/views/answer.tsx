// The first view: one sentence, four numbers, where the step goes, and what to do first.
import type { ViewProps } from "../app";
import { layerTime, onDevice, type FindingRow, type TraceResult } from "../data/trace";
import { count, lowerFirst, median, name, rate, share, time, unbroken, upperFirst } from "../format";
import { linkTo } from "../location";
import { ofShare, series } from "../palette";
import { Icicle } from "../parts/icicle";
import { Breakable, Warnings } from "../parts/warnings";
import { layerTree, PeakScale } from "./layers";

/** Causes in the order of the account, with their words and colours (include/pyrometer/analysis.h). */
const CAUSES: Record<string, { title: string; colour: number; note: string }> = {
  ideal: { title: "Ideal on this chip", colour: 0, note: "roofline of all ops: their FLOPs and bytes at the peak rates" },
  below_peak: { title: "Kernels above the ideal", colour: 2, note: "the rest of the time in kernels" },
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
  profiler: { title: "The profiler itself", colour: 6, note: "estimate; gone without it" },
};

/** The same causes in a run without a device. */
const ON_CPU: Record<string, { title: string; note: string }> = {
  python: { title: "Python outside of ops", note: "" },
  ops: { title: "Ops", note: "" },
  communication: { title: "Communication", note: "collectives" },
};

/** What the host does while the device has nothing to do. */
const HOST = ["python", "ops", "launch_latency", "before_first"];

/** The second sentence of the headline, by the largest group of causes. */
const GROUPS: { causes: string[]; text: string }[] = [
  { causes: HOST, text: "The host does not launch work fast enough." },
  { causes: ["profiler"], text: "Most of the rest is the profiler itself." },
  { causes: ["communication", "peer_wait"], text: "It waits for communication between the ranks." },
  { causes: ["data_loading"], text: "It waits for data." },
  { causes: ["copy"], text: "It waits for copies between host and device." },
  { causes: ["queued"], text: "Work waits in the queues of its streams." },
];

export function causeTitle(cause: string, isOnDevice = true): string {
  return (!isOnDevice && ON_CPU[cause]?.title) || (CAUSES[cause]?.title ?? cause.replace(/_/g, " "));
}

function causeNote(cause: string, isOnDevice: boolean): string {
  return (isOnDevice ? CAUSES[cause]?.note : ON_CPU[cause]?.note ?? CAUSES[cause]?.note) ?? "";
}

/** Layers of a list have numbers as names: "0.1" alone would not read as a place. */
export function placeName(place: string): string {
  return /^[\d.]+$/.test(place) ? `layer ${place}` : place;
}

/** Of its cause's time; a smaller place would mislead. */
const LEAST_PART_OF_PLACE = 0.05;

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
    const isWorthNaming = place.time_ns >= LEAST_PART_OF_PLACE * (sums.get(place.cause) ?? 0);
    if (text && isWorthNaming && !places.has(place.cause)) places.set(place.cause, placeName(text));
  }
  return [...sums].map(([cause, ns]) => ({ cause, ns, place: places.get(cause) ?? "" }));
}

/** The account from the ideal to what was measured: kernels are split at the chip's peak rate. */
export function fromIdeal(trace: TraceResult): Stretch[] {
  const parts = withoutProfiler(trace);
  const compute = parts.find((part) => part.cause === "compute");
  const ideal = idealTime(trace, compute?.ns ?? 0);
  if (!compute || !(ideal > 0)) return parts;
  const split: Stretch[] = [
    { cause: "ideal", ns: ideal, place: "" },
    { cause: "below_peak", ns: compute.ns - ideal, place: "" },
  ];
  return [...split, ...parts.filter((part) => part !== compute)];
}

/** What the chip needs at least for the kernels of the steps; 0 when it is not known. */
function idealTime(trace: TraceResult, computed: number): number {
  const { least_ns: least, known_ns: known } = trace.least_time ?? {};
  // The file may have work outside of its steps, and ops without a price: only their ratio counts.
  return least && known && least < known ? computed * (least / known) : 0;
}

/** The account with the profiler's own time apart, as the last row. */
export function withoutProfiler(trace: TraceResult): Stretch[] {
  const cost = new Map<string, number>();
  for (const row of trace.causes) cost.set(row.cause, (cost.get(row.cause) ?? 0) + (row.profiler_ns ?? 0));
  const parts = account(trace).map((part) => ({ ...part, ns: part.ns - (cost.get(part.cause) ?? 0) }));
  const profiler = [...cost.values()].reduce((sum, ns) => sum + ns, 0);
  if (profiler > 0) parts.push({ cause: "profiler", ns: profiler, place: "" });
  return parts.filter((part) => part.ns > 0);
}

interface StepSpan {
  ns: number;
  unit: string;
  steps: number;
  /** Steps that take more than twice the median; what holds for the mean does not hold for most steps. */
  slow: number[];
}

function stepSpan(trace: TraceResult): StepSpan {
  if (trace.steps.length === 0) return { ns: trace.span_ns, unit: "in all", steps: 1, slow: [] };
  const spans = trace.steps.map((step) => step.span_ns);
  const ns = median(spans);
  const mean = spans.reduce((sum, span) => sum + span, 0) / spans.length;
  const slow = mean > 1.5 * ns ? spans.filter((span) => span > 2 * ns).sort((a, b) => b - a) : [];
  return { ns, unit: "per step", steps: trace.steps.length, slow };
}

/** What the file lacks, and how to record it. */
export function missing(trace: TraceResult): { what: string; how: string }[] {
  const lacks: [boolean, string, string][] = [
    [!trace.has_layers, "layers", "profile(with_stack=True), or pyrometer run"],
    [!trace.has_shapes, "shapes of the ops, and so FLOPs and the roofline", "profile(record_shapes=True), or pyrometer run"],
    [!trace.has_stacks, "lines of Python", "profile(with_stack=True), or pyrometer run"],
    [!trace.has_memory, "memory", "profile(profile_memory=True), or pyrometer run"],
    [trace.steps.length === 0, "steps", "profiler.step() after each step, or --steps-from REGEX"],
  ];
  return lacks.filter(([lacking]) => lacking).map(([, what, how]) => ({ what, how }));
}

/** The largest group of what is not computing, in a sentence. */
function whyIdle(parts: Stretch[]): string {
  const sum = (causes: string[]) => parts.filter((part) => causes.includes(part.cause)).reduce((all, part) => all + part.ns, 0);
  const group = GROUPS.map((one) => ({ ...one, ns: sum(one.causes) })).sort((a, b) => b.ns - a.ns)[0];
  const single = parts.filter((part) => part.cause !== "compute").sort((a, b) => b.ns - a.ns)[0];
  if (group.ns > 0 && group.ns >= (single?.ns ?? 0)) return group.text;
  return single ? `Most of the rest: ${lowerFirst(causeTitle(single.cause))}.` : "";
}

/** "But one of 49 takes 51.1 ms."; then shares of the mean do not describe a step. */
function slowSteps(span: StepSpan): string {
  const few = span.slow.length === 1 ? "one" : String(span.slow.length);
  return `But ${few} of ${span.steps} ${span.slow.length === 1 ? "takes" : "take up to"} ${time(span.slow[0])}.`;
}

/** One or two sentences that can be repeated to somebody else. */
export function headline(trace: TraceResult): string {
  const span = stepSpan(trace);
  const what = trace.steps.length > 0 ? "step" : "run";
  const parts = withoutProfiler(trace);
  const total = parts.reduce((sum, part) => sum + part.ns, 0);
  if (onDevice(trace) && total > 0) {
    const busy = parts.find((part) => part.cause === "compute")?.ns ?? 0;
    const working = `The device computes for ${time((span.ns * busy) / total)} of a ${what} of ${time(span.ns)}.`;
    if (span.slow.length > 0) return `${working} ${slowSteps(span)}`;
    if (busy / total > 0.9) return `${working} It is busy: only less or faster work helps.`;
    return `${working} ${whyIdle(parts)}`;
  }
  const largest = [...parts].sort((a, b) => b.ns - a.ns)[0];
  if (span.slow.length > 0) return `A ${what} takes ${time(span.ns)} on the CPU. ${slowSteps(span)}`;
  if (largest && total > 0) {
    const title = causeTitle(largest.cause, false);
    return `A ${what} takes ${time(span.ns)} on the CPU. ${share(largest.ns / total)} of it is ${title.startsWith("Python") ? title : lowerFirst(title)}.`;
  }
  return `The ${what} takes ${time(span.ns)}.`;
}

/** The last two parts of a long dotted path; the view Layers has all of it. */
function shortPlace(place: string): string {
  const parts = place.includes("(") || place.includes("/") ? [] : place.split(".");
  return parts.length > 3 ? `…${parts.slice(-2).join(".")}` : place;
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
        const note = causeNote(part.cause, onDevice(trace));
        return (
          <div role="listitem" class="contents">
            <span>{causeTitle(part.cause, onDevice(trace))}</span>
            <span class="bar" aria-hidden="true">
              <i
                style={{
                  left: `${left * 100}%`,
                  width: `${(part.ns / total) * 100}%`,
                  background: series(CAUSES[part.cause]?.colour ?? 6),
                }}
              />
            </span>
            <span class="value">
              {time(part.ns / span.steps)} <span class="soft">{share(part.ns / total)}</span>
            </span>
            <span class="note">
              {note}
              {note && part.place ? " · " : ""}
              {part.place && <Breakable text={name(shortPlace(part.place), 120)} />}
            </span>
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
                {part.place && <code> {name(placeName(part.place), 160)}</code>}
                {part.gain_ns ? `: ${time(part.gain_ns / steps)}` : ""}
              </li>
            ))}
          </ul>
        )}
        <p>
          <span class="advice code">{name(finding.advice, 600)}</span> {finding.place && <code>{name(placeName(finding.place), 200)}</code>}
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
  const gain = first[0]?.gain_ns && span.slow.length === 0 ? first[0].gain_ns / span.steps : 0;
  return (
    <>
      <Warnings texts={[...trace.warnings, ...trace.notes]} />
      <h1>{unbroken(headline(trace))}</h1>
      {(gain > 0 || without != null) && (
        <p class="soft">
          {without != null &&
            `Without the profiler the step would take about ${time(without)}. `}
          {gain > 0 && `Fixing the first finding brings it to about ${time(Math.max((without ?? span.ns) - gain, 0))} at best.`}
        </p>
      )}
      <div class="numbers">
        <div>
          <b>{time(span.ns)}</b>
          <span>
            {span.unit}
            {trace.steps.length > 1 ? `, median of ${trace.steps.length}` : ""}
            {span.slow.length > 0 ? `; ${span.slow.length === 1 ? "one takes" : `${span.slow.length} take up to`} ${time(span.slow[0])}` : ""}
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
        {without != null ? (
          <div>
            <b>≈ {time(without)}</b>
            <span>
              {span.unit} without the profiler
              {recording?.step_without_low_ns ? ` (${time(recording.step_without_low_ns)} to ${time(recording.step_without_high_ns)})` : ""}
            </span>
          </div>
        ) : (
          <div>
            <b>{onDevice(trace) ? time(trace.device_total_ns / span.steps) : count(trace.ops.length)}</b>
            <span>{onDevice(trace) ? `of kernels and copies ${span.unit}, ${count(trace.kernel_count)} kernels in all` : "kinds of ops"}</span>
          </div>
        )}
      </div>
      {trace.causes.length > 0 && (
        <>
          <h2>Where the {trace.steps.length > 0 ? "step" : "time"} goes</h2>
          <p class="under">
            {fromIdeal(trace).some((one) => one.cause === "ideal") ? "From what this chip needs at least to what was measured; the" : "The"} parts add up to{" "}
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
      {missing(trace).length > 0 && (
        <>
          <h2>Not in this file</h2>
          <ul class="missing">
            {missing(trace).map(({ what, how }) => (
              <li>
                {upperFirst(what)}: <code>{how}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {trace.layers.length > 0 && (
        <>
          <h2>Layers by {onDevice(trace) ? "device" : "host"} time</h2>
          <p class="under">
            The width is forward and backward time. Click a layer for its numbers.
          </p>
          <Icicle
            root={layerTree(trace, (layer) => layerTime(trace, layer), (layer) => ofShare(layer.peak_share == null ? null : layer.peak_share * 2))}
            label={`Layers by time; the view Layers has the same numbers as a table`}
            maxRows={7}
            onChoose={(node) => node.id && move({ view: "layers", layer: node.id })}
          />
          <PeakScale />
        </>
      )}
    </>
  );
}
