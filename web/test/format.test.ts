import { describe, expect, it } from "vitest";
import { amount, bytes, count, measured, median, name, share, time } from "../src/format";
import { random, standsFor } from "./pages";

describe("numbers as people read them", () => {
  it("has three digits and a unit", () => {
    expect(time(0)).toBe("0");
    expect(time(999)).toBe("999 ns");
    expect(time(32_400_000)).toBe("32.4 ms");
    expect(time(999_999)).toBe("1.00 ms");
    expect(time(null)).toBe("–");
    expect(bytes(1536)).toBe("1.50 KiB");
    expect(amount(31.57e12, "FLOP/s")).toBe("31.6 TFLOP/s");
    expect(share(0.0938)).toBe("9.4 %");
    expect(share(0.0000001)).toBe("<0.1 %");
    expect(count(1234567)).toBe("1,234,567");
    expect(median([3, 1, 2, 10])).toBe(2.5);
  });

  it("stands for the number, whatever its size", () => {
    const next = random(11);
    for (let i = 0; i < 20_000; i++) {
      const value = (next() - 0.3) * 10 ** (next() * 18 - 4);
      for (const show of [time, bytes, amount, measured])
        if (show === measured || Math.abs(value) >= 1) expect(standsFor(show(value), value), `${show.name}(${value}) is ${show(value)}`).toBe(true);
    }
  });

  it("shows no invisible characters, and cuts a megabyte", () => {
    expect(name("a\u202eb\u200bc")).toBe("a\ufffdb\ufffdc");
    expect(name("x".repeat(1_000_000), 100)).toHaveLength(100);
  });
});
