import { describe, expect, it } from "vitest";
import { readContainer } from "../src/data/container";

function varint(number: number): number[] {
  const bytes: number[] = [];
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push(128 + (number % 128));
  return [...bytes, number];
}

function container(head: object, sections: number[]): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(head));
  const length = new Uint8Array(new Uint32Array([text.length]).buffer);
  return new Uint8Array([...length, ...text, ...sections]);
}

function part(code: string, count: number, bytes: number[]) {
  return { kind: "trace", name: "a", sections: [{ name: "x", code, count, offset: 0, bytes: bytes.length }] };
}

function column(code: string, numbers: number[], bytes: number[]) {
  const data = container({ schema: "pyrometer.page/1", made_by: "", title: "t", parts: [part(code, numbers.length, bytes)] }, bytes);
  return [...readContainer(data).parts[0].column("x")];
}

describe("the container", () => {
  it("reads varints up to 2^53", () => {
    const numbers = [0, 1, 127, 128, 300, 2 ** 32, 2 ** 53 - 1];
    expect(column("varint", numbers, numbers.flatMap(varint))).toEqual(numbers);
  });

  it("reads differences of both signs", () => {
    const numbers = [5, 3, 3, -7, 2 ** 40, 1];
    let before = 0;
    const bytes = numbers.flatMap((number) => {
      const difference = number - before;
      before = number;
      return varint(difference >= 0 ? difference * 2 : -difference * 2 - 1);
    });
    expect(column("delta", numbers, bytes)).toEqual(numbers);
  });

  it("reads bytes", () => expect(column("byte", [1, 255], [1, 255])).toEqual([1, 255]));

  it("rejects a newer version with a sentence", () => {
    const data = container({ schema: "pyrometer.page/2", made_by: "", title: "", parts: [] }, []);
    expect(() => readContainer(data)).toThrow(/newer than this page can show/);
  });
});
