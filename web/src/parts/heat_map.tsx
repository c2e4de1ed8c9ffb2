// Ranks by steps as coloured cells on a canvas; a table has the same numbers.
import { useMemo, useState } from "preact/hooks";
import { heatMapOf, type RankCell } from "../data/ranks";
import { count, time } from "../format";
import { ink, line, ofCost, on, soft } from "../palette";
import { fitText, useCanvas } from "./canvas";

const GUTTER = 64;
const TOP = 24;
const TALLEST = 26;
const MOST_HEIGHT = 640;

export interface HeatMeasure {
  title: string;
  value: (cell: RankCell) => number;
}

interface HeatMapProps {
  cells: RankCell[];
  measure: HeatMeasure;
  /** Ranks that are marked in the gutter. */
  marked: Set<number | null>;
}

/** From the least value (0) to the most (1), in the colours of costs. */
export function heat(value: number, least: number, most: number): number {
  return most > least ? (value - least) / (most - least) : 0;
}

/** At most this many labels of rows fit. */
function labelEvery(rows: number, height: number): number {
  return Math.max(1, Math.ceil(14 / Math.max(height, 0.1)), rows > 400 ? Math.ceil(rows / 40) : 1);
}

export function HeatMap({ cells, measure, marked }: HeatMapProps) {
  const map = useMemo(() => heatMapOf(cells), [cells]);
  const [tip, setTip] = useState<{ x: number; y: number; lines: string[] } | null>(null);
  const values = useMemo(() => cells.map(measure.value), [cells, measure]);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  const least = values.reduce((a, b) => Math.min(a, b), most);
  const rowHeight = Math.min(TALLEST, MOST_HEIGHT / map.ranks.length);
  const height = Math.ceil(TOP + rowHeight * map.ranks.length);
  const cellWidth = (width: number) => Math.min((width - GUTTER) / Math.max(map.steps.length, 1), 160);

  const { canvas } = useCanvas(height, (context, width) => {
    const wide = cellWidth(width);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    map.cells.forEach((row, r) =>
      row.forEach((cell, s) => {
        const x = GUTTER + s * wide;
        const y = TOP + r * rowHeight;
        const gap = wide > 4 && rowHeight > 4 ? 1 : 0;
        const colour = cell ? ofCost(heat(measure.value(cell), least, most) / 2) : line();
        context.fillStyle = colour;
        context.fillRect(x, y, Math.max(wide - gap, 0.5), Math.max(rowHeight - gap, 0.5));
        if (!cell || rowHeight < 16) return;
        const text = time(measure.value(cell));
        if (context.measureText(text).width > wide - 8) return;
        context.fillStyle = on(colour);
        context.fillText(text, x + 5, y + rowHeight / 2);
      }),
    );
    const everyRow = labelEvery(map.ranks.length, rowHeight);
    map.ranks.forEach((rank, r) => {
      if (r % everyRow !== 0 && !marked.has(rank)) return;
      context.fillStyle = marked.has(rank) ? ink() : soft();
      context.fillText(fitText(context, `${marked.has(rank) ? "▸ " : ""}rank ${rank ?? "?"}`, GUTTER - 4), 2, TOP + (r + 0.5) * rowHeight);
    });
    const everyStep = Math.max(1, Math.ceil(72 / wide));
    context.fillStyle = soft();
    map.steps.forEach((step, s) => {
      if (s % everyStep === 0) context.fillText(step == null || step < 0 ? "whole run" : `step ${count(step)}`, GUTTER + s * wide + 2, TOP / 2);
    });
  });

  const hover = (event: PointerEvent) => {
    const area = canvas.current!.getBoundingClientRect();
    const wide = cellWidth(area.width);
    const cell = map.cells[Math.floor((event.clientY - area.top - TOP) / rowHeight)]?.[Math.floor((event.clientX - area.left - GUTTER) / wide)];
    const x = Math.min(event.clientX - area.left + 14, Math.max(area.width - 300, 0));
    setTip(
      cell
        ? { x, y: event.clientY - area.top + 16, lines: [`rank ${cell.rank ?? "?"}, step ${cell.number ?? "?"}: ${time(cell.step_ns)}`, `compute ${time(cell.compute_ns)}, exposed communication ${time(cell.communication_exposed_ns)}, idle ${time(cell.idle_ns)}`, `late by ${time(cell.late_ns)}, waits ${time(cell.wait_ns)}`] }
        : null,
    );
  };
  return (
    <>
      <div class="tools">
        <span class="scale" aria-hidden="true">
          {time(least)}
          {[0, 0.2, 0.4, 0.6, 0.8, 1].map((part) => (
            <i style={{ background: ofCost(part / 2) }} />
          ))}
          {time(most)}
        </span>
      </div>
      <div class="chart heat">
        <canvas ref={canvas} role="img" aria-label={`${measure.title} by rank and step; the table of ranks by steps has the same numbers`} onPointerMove={hover} onPointerLeave={() => setTip(null)} />
        {tip && (
          <div class="tip" style={{ left: `${tip.x}px`, top: `${tip.y}px` }}>
            {tip.lines.map((text) => (
              <div>{text}</div>
            ))}
          </div>
        )}
      </div>
    </>
  );
}
