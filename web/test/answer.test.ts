// The sentences of the answer, for runs with and without a device.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TraceResult } from "../src/data/trace";
import { account, causeTitle, headline, placeName } from "../src/views/answer";
import { json, planted } from "./pages";

const traceOf = (name: string) => json("trace", join(planted, name), "-v") as unknown as TraceResult;

/** The same trace with other lengths of its steps. */
const withSteps = (trace: TraceResult, spans: number[]): TraceResult => ({ ...trace, steps: spans.map((span_ns) => ({ ...trace.steps[0], span_ns })) });

describe("the answer", () => {
  const onCpu = traceOf("python-time.hit.json");

  it("does not speak of a device in a run without one", () => {
    expect(headline(onCpu)).toMatch(/on the CPU\./);
    for (const { cause } of account(onCpu)) expect(`${headline(onCpu)} ${causeTitle(cause, false)}`).not.toMatch(/device|host/i);
  });

  it("names slow steps instead of shares that hold for the mean only", () => {
    expect(headline(withSteps(onCpu, [10e6, 11e6, 10e6, 10e6, 900e6]))).toMatch(/takes 10\.0 ms on the CPU\. But one of 5 takes 900 ms\.$/);
    expect(headline(withSteps(onCpu, [10e6, 10e6, 10e6, 300e6, 900e6]))).toMatch(/But 2 of 5 take up to 900 ms\.$/);
    expect(headline(withSteps(onCpu, [10e6, 11e6, 12e6, 10e6, 19e6]))).not.toContain("But");
  });

  it("names the place with most of the time, or none", () => {
    const places = onCpu.cause_places.filter((place) => place.line || place.layer || place.op);
    const small: TraceResult = { ...onCpu, cause_places: places.map((place) => ({ ...place, time_ns: 1 })) };
    expect(account(onCpu).some((part) => part.place)).toBe(true);
    expect(account(small).every((part) => part.place === "")).toBe(true);
    expect(placeName("0.1")).toBe("layer 0.1");
    expect(placeName("layer1.0")).toBe("layer1.0");
  });
});
