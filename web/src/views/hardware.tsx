// Chips from their data sheets: one peak at a time as bars, all of them as a table.
import { useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { amount, bytes, count, name } from "../format";
import { Bars } from "../parts/bars";
import { Table } from "../parts/table";

type Chip = { name: string; source: string } & Record<string, number | null | string>;

/** Members of a chip: title, and how a number is shown. */
const PEAKS: Record<string, { title: string; show: (value: number) => string }> = {
  bf16_tflops: { title: "bfloat16", show: (value) => amount(value * 1e12, "FLOP/s") },
  fp16_tflops: { title: "float16", show: (value) => amount(value * 1e12, "FLOP/s") },
  tf32_tflops: { title: "TF32", show: (value) => amount(value * 1e12, "FLOP/s") },
  fp32_tflops: { title: "float32", show: (value) => amount(value * 1e12, "FLOP/s") },
  fp64_tflops: { title: "float64", show: (value) => amount(value * 1e12, "FLOP/s") },
  fp8_tflops: { title: "float8", show: (value) => amount(value * 1e12, "FLOP/s") },
  fp4_tflops: { title: "float4", show: (value) => amount(value * 1e12, "FLOP/s") },
  int8_tops: { title: "int8", show: (value) => amount(value * 1e12, "op/s") },
  bandwidth_gb_per_s: { title: "Memory rate", show: (value) => amount(value * 1e9, "B/s") },
  memory_bytes: { title: "Memory", show: bytes },
  cache_bytes: { title: "Cache", show: bytes },
  link_bytes_per_s: { title: "Link", show: (value) => amount(value, "B/s") },
  power_watts: { title: "Power", show: (value) => `${count(value)} W` },
  bf16_ridge: { title: "FLOPs per byte at the ridge", show: (value) => value.toPrecision(3) },
};

/** Bars; the table has all chips. */
const MOST_BARS = 24;

const number = (chip: Chip, key: string) => (typeof chip[key] === "number" ? (chip[key] as number) : null);

export function HardwareView({ part }: ViewProps) {
  const { chips } = part.json<{ chips: Chip[] }>("result");
  const [chosen, setChosen] = useState("bf16_tflops");
  const { title, show } = PEAKS[chosen];
  const rows = chips.filter((chip) => number(chip, chosen) != null).sort((a, b) => number(b, chosen)! - number(a, chosen)!);
  const most = rows.length > 0 ? number(rows[0], chosen)! : 0;
  return (
    <>
      <h1>{chips.length === 1 ? name(chips[0].name, 60) : `${count(chips.length)} chips`}</h1>
      <p class="soft">Peaks of data sheets, without sparsity. Shares are of the largest chip in the list.</p>
      <div class="tools group" role="group" aria-label="What the bars show">
        {Object.entries(PEAKS).map(([key, one]) => (
          <button type="button" aria-pressed={key === chosen} onClick={() => setChosen(key)}>
            {one.title}
          </button>
        ))}
      </div>
      {rows.length === 0 && <p class="soft">No chip in the list has a number for {title}.</p>}
      <Bars rows={rows.slice(0, MOST_BARS).map((chip) => ({ title: chip.name, value: number(chip, chosen)!, text: show(number(chip, chosen)!), note: "", colour: 0 }))} total={most} />
      {rows.length > MOST_BARS && <p class="under">The first {MOST_BARS} of {count(rows.length)}; the table has all.</p>}
      <h2>All numbers of the chips</h2>
      <Table
        caption="Chips"
        file="hardware"
        rows={chips}
        searchText={(row) => row.name}
        columns={[
          { title: "Chip", value: (row) => row.name, words: true },
          ...Object.entries(PEAKS).map(([key, one]) => ({
            title: one.title,
            value: (row: Chip) => number(row, key),
            show: (row: Chip) => (number(row, key) == null ? "–" : one.show(number(row, key)!)),
          })),
          { title: "Source", value: (row) => row.source, words: true },
        ]}
      />
    </>
  );
}
