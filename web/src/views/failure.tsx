// A trace or recording that cannot be read: why, and how to get what is missing.
import type { ViewProps } from "../app";
import { bytes, name, unbroken, upperFirst } from "../format";

interface Failure {
  input: "recording" | "trace";
  message: string;
  offset?: number;
  file_bytes?: number;
}

interface Step {
  what: string;
  how?: string;
}

const RECORD_AGAIN: Step = { what: "Record the run again; what was recorded stays in the file if the program is killed later", how: "pyrometer run train.py" };

const STEPS: Record<Failure["input"], Step[]> = {
  recording: [
    { what: "Let the program run at least one forward pass before it ends: a recording of a program that was killed at once has no events" },
    RECORD_AGAIN,
    { what: "Watch the recording while it grows", how: "pyrometer top train.pyro" },
    { what: "If the file was copied, compare its size with the original, and copy it after the program has ended" },
  ],
  trace: [
    { what: "Leave the block of the profiler before the export", how: "with torch.profiler.profile() as profiler: ...; profiler.export_chrome_trace(\"trace.json\")" },
    { what: "With a schedule, call step() after each step, so that at least one step is active", how: "schedule(wait=1, warmup=1, active=3)" },
    { what: "If the file was copied or unpacked, compare its size with the original" },
    RECORD_AGAIN,
  ],
};

export function FailureView({ part }: ViewProps) {
  const failure = part.json<Failure>("result");
  const file = name(part.name.slice(part.name.lastIndexOf("/") + 1), 120);
  return (
    <>
      <p class="warning" role="note" aria-label="Warnings">
        {upperFirst(name(failure.message, 500))}
        {failure.offset != null ? ` (at byte ${failure.offset})` : ""}.
      </p>
      <h1>{unbroken(`${file} has nothing to show.`)}</h1>
      <p class="soft">
        Pyrometer could not read this {failure.input}
        {failure.file_bytes != null ? `, a file of ${failure.file_bytes === 0 ? "0 B" : bytes(failure.file_bytes)}` : ""}.
      </p>
      <h2>How to get what is missing</h2>
      <ol>
        {(STEPS[failure.input] ?? STEPS.trace).map(({ what, how }) => (
          <li>
            {what}
            {how ? ": " : "."}
            {how && <code>{how}</code>}
          </li>
        ))}
      </ol>
    </>
  );
}
