// Nested boxes: the width is an amount, the row is the depth. For layers and for stacks.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fitName, useCanvas } from "./canvas";
import { ground, ink, on } from "../palette";

export interface IcicleNode {
  id: string;
  label: string;
  value: number;
  colour: string;
  children: IcicleNode[];
  /** Where it begins, in the units of the root's value; after its sibling if it is not given. */
  start?: number;
  /** Lines of the note that appears under the pointer. */
  tip: () => string[];
}

interface Box {
  node: IcicleNode;
  parent: Box | null;
  depth: number;
  x0: number;
  x1: number;
}

const ROW = 22;

/** Boxes in the units of the root's value, parents before children. */
export function layOut(root: IcicleNode): Box[] {
  const boxes: Box[] = [];
  const visit = (node: IcicleNode, parent: Box | null, depth: number, x0: number) => {
    const box = { node, parent, depth, x0, x1: x0 + node.value };
    boxes.push(box);
    let x = x0;
    for (const child of node.children) {
      x = child.start ?? x;
      visit(child, box, depth + 1, x);
      x += child.value;
    }
  };
  visit(root, null, 0, 0);
  return boxes;
}

interface IcicleProps {
  root: IcicleNode;
  label: string;
  selected?: string;
  onChoose?: (node: IcicleNode) => void;
  maxRows?: number;
  /** The root is at the bottom. */
  upwards?: boolean;
}

export function Icicle(props: IcicleProps) {
  const boxes = useMemo(() => layOut(props.root), [props.root]);
  const [zoom, setZoom] = useState<Box>(boxes[0]);
  const [tip, setTip] = useState<{ x: number; y: number; lines: string[] } | null>(null);
  const chart = useRef<HTMLDivElement>(null);
  useEffect(() => setZoom(boxes[0]), [boxes]);
  const deepest = useMemo(() => boxes.reduce((most, box) => Math.max(most, box.depth), 0), [boxes]);
  const height = (Math.min(deepest, (props.maxRows ?? 40) - 1) + 1) * ROW;

  const place = (box: Box, width: number) => {
    const factor = width / (zoom.x1 - zoom.x0 || 1);
    return { left: (box.x0 - zoom.x0) * factor, right: (box.x1 - zoom.x0) * factor, top: props.upwards ? height - (box.depth + 1) * ROW : box.depth * ROW };
  };

  const { canvas } = useCanvas(height, (context, width) => {
    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const box of boxes) {
      const { left, right, top } = place(box, width);
      if (right < 0 || left > width || right - left < 0.4 || top < 0 || top >= height) continue;
      const from = Math.max(left, 0);
      const to = Math.min(right, width);
      context.fillStyle = box.node.colour;
      context.fillRect(from, top, Math.max(to - from - 1, 0.5), ROW - 1);
      const text = fitName(context, box.node.label, to - from - 8);
      if (text) {
        context.fillStyle = on(box.node.colour);
        context.fillText(text, from + 4, top + ROW / 2);
      }
      if (box.node.id === props.selected) {
        context.strokeStyle = ink();
        context.lineWidth = 2;
        context.strokeRect(from + 1, top + 1, Math.max(to - from - 3, 1), ROW - 3);
      }
    }
    context.fillStyle = ground();
  });

  const boxAt = (event: PointerEvent | MouseEvent): Box | null => {
    const area = canvas.current!.getBoundingClientRect();
    const x = event.clientX - area.left;
    const row = Math.floor((event.clientY - area.top) / ROW);
    const depth = props.upwards ? height / ROW - 1 - row : row;
    for (let i = boxes.length - 1; i >= 0; i--) {
      const box = boxes[i];
      if (box.depth !== depth) continue;
      const { left, right } = place(box, area.width);
      if (x >= left && x < Math.max(right, left + 1)) return box;
    }
    return null;
  };

  const hover = (event: PointerEvent) => {
    const box = boxAt(event);
    const area = canvas.current!.getBoundingClientRect();
    const x = Math.min(event.clientX - area.left + 14, Math.max(area.width - 300, 0));
    setTip(box && { x, y: event.clientY - area.top + 16, lines: box.node.tip() });
  };

  const choose = (event: MouseEvent) => {
    const box = boxAt(event);
    if (!box) return;
    setZoom(box === zoom && box.parent ? box.parent : box);
    props.onChoose?.(box.node);
  };

  return (
    <div>
      <div class="chart" ref={chart}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={props.label}
          onPointerMove={hover}
          onPointerLeave={() => setTip(null)}
          onClick={choose}
        />
        {tip && (
          <div class="tip" style={{ left: `${tip.x}px`, top: `${tip.y}px` }}>
            {tip.lines.map((line) => (
              <div>{line}</div>
            ))}
          </div>
        )}
      </div>
      {zoom !== boxes[0] && (
        <div class="tools">
          <button type="button" onClick={() => setZoom(boxes[0])}>
            Show all
          </button>
          <span class="soft">{zoom.node.label}</span>
        </div>
      )}
    </div>
  );
}
