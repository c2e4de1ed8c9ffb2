// Several models side by side.
import { useState } from "preact/hooks";
import type { ViewProps } from "../app";
import type { CostTotals } from "../data/cost";
import { amount, bytes, name, share } from "../format";
import { series } from "../palette";
import { Table } from "../parts/table";

const AMOUNTS: Record<string, { title: string; value: (model: CostTotals) => number; show: (value: number) => string }> = {
  flops: { title: "FLOPs", value: (model) => model.total_flops, show: (value) => amount(value) },
  memory: { title: "Bytes moved", value: (model) => model.total_memory, show: bytes },
  params: { title: "Parameters", value: (model) => model.params, show: (value) => amount(value) },
  footprint: { title: "Footprint", value: (model) => model.footprint.total_bytes, show: bytes },
};

function title(model: CostTotals): string {
  return name(model.display_name ?? model.model, 60);
}

export function ModelsView({ part }: ViewProps) {
  const { models } = part.json<{ models: CostTotals[] }>("result");
  const [chosen, setChosen] = useState("flops");
  const { value, show } = AMOUNTS[chosen];
  const ordered = [...models].sort((a, b) => a.total_flops - b.total_flops);
  const [least, most] = [ordered[0], ordered[ordered.length - 1]];
  const largest = Math.max(...models.map(value), 1);
  return (
    <>
      <h1>
        {title(least)} needs the fewest FLOPs, {amount(least.total_flops)}; {title(most)} needs {(most.total_flops / (least.total_flops || 1)).toPrecision(3)} times as many.
      </h1>
      <div class="tools group" role="group" aria-label="What is compared">
        {Object.entries(AMOUNTS).map(([id, one]) => (
          <button type="button" aria-pressed={id === chosen} onClick={() => setChosen(id)}>
            {one.title}
          </button>
        ))}
      </div>
      <div class="waterfall" role="list">
        {models.map((model, i) => (
          <div role="listitem" class="contents">
            <span>{title(model)}</span>
            <span class="bar" aria-hidden="true">
              <i style={{ left: "0", width: `${(value(model) / largest) * 100}%`, background: series(i) }} />
            </span>
            <span class="value">{show(value(model))}</span>
            <span class="note">
              {model.arithmetic_intensity?.toPrecision(3) ?? "0"} FLOPs per byte, {model.bottleneck}
            </span>
          </div>
        ))}
      </div>
      <h2>Models</h2>
      <Table
        caption="Models"
        file="models"
        rows={models}
        searchText={(row) => `${row.model} ${row.display_name ?? ""}`}
        columns={[
          { title: "Model", value: (row) => row.model, words: true },
          { title: "FLOPs", value: (row) => row.total_flops, show: (row) => amount(row.total_flops) },
          { title: "MACs", value: (row) => row.total_macs, show: (row) => amount(row.total_macs) },
          { title: "Parameters", value: (row) => row.params, show: (row) => amount(row.params) },
          { title: "Bytes moved", value: (row) => row.total_memory, show: (row) => bytes(row.total_memory) },
          { title: "FLOPs per byte", value: (row) => row.arithmetic_intensity, show: (row) => row.arithmetic_intensity?.toPrecision(3) ?? "–" },
          { title: "Bound", value: (row) => row.bottleneck },
          { title: "Footprint", value: (row) => row.footprint.total_bytes, show: (row) => bytes(row.footprint.total_bytes) },
          { title: "Counted", value: (row) => row.coverage.share, show: (row) => share(row.coverage.share) },
        ]}
      />
    </>
  );
}
