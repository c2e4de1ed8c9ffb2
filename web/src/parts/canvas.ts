// A canvas that follows the size of its box and the theme, and draws once per frame.
import { useEffect, useRef } from "preact/hooks";
import { shortName } from "../format";
import { setPrinting } from "../palette";

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void;

export interface CanvasHandle {
  canvas: { current: HTMLCanvasElement | null };
  redraw: () => void;
}

export function useCanvas(height: number, draw: Draw): CanvasHandle {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  const pending = useRef(0);
  latest.current = draw;

  const drawNow = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const ratio = window.devicePixelRatio || 1;
    const width = element.clientWidth;
    const wanted = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    if (element.width !== wanted.width || element.height !== wanted.height) Object.assign(element, wanted);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    latest.current(context, width, height);
  };
  const redraw = () => {
    if (pending.current) return;
    pending.current = requestAnimationFrame(() => {
      pending.current = 0;
      drawNow();
    });
  };

  useEffect(() => {
    const element = canvas.current!;
    element.style.height = `${height}px`;
    const observer = new ResizeObserver(redraw);
    observer.observe(element);
    const theme = window.matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", redraw);
    window.addEventListener("pyrometer-theme", redraw);
    // The browser waits for no frame before it prints.
    const onPrint = () => {
      setPrinting(true);
      drawNow();
    };
    const afterPrint = () => {
      setPrinting(false);
      redraw();
    };
    window.addEventListener("beforeprint", onPrint);
    window.addEventListener("afterprint", afterPrint);
    return () => {
      window.removeEventListener("beforeprint", onPrint);
      window.removeEventListener("afterprint", afterPrint);
      observer.disconnect();
      theme.removeEventListener("change", redraw);
      window.removeEventListener("pyrometer-theme", redraw);
      cancelAnimationFrame(pending.current);
      pending.current = 0;
    };
  }, [height]);
  useEffect(redraw);
  return { canvas, redraw };
}

/** A name in a box: in full, else its telling part. */
export function fitName(context: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = fitText(context, text, width);
  return whole === text || whole === "" ? whole : fitText(context, shortName(text), width);
}

/** Widths of texts by font: measuring takes most of the time of a frame with many labels. */
const widths = new Map<string, Map<string, number>>();
const MOST_WIDTHS = 20000;

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  let known = widths.get(context.font);
  if (!known || known.size > MOST_WIDTHS) widths.set(context.font, (known = new Map()));
  let width = known.get(text);
  if (width === undefined) known.set(text, (width = context.measureText(text).width));
  return width;
}

/** Text that fits into `width`, cut with an ellipsis; "" where not even two letters fit. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  const perLetter = 6.6;
  if (width < 3 * perLetter) return "";
  const whole = widthOf(context, text);
  if (whole <= width) return text;
  // Letters differ in width: the first guess is corrected by a few steps.
  const room = width - widthOf(context, "…");
  let length = Math.min(Math.floor((room / whole) * text.length) + 2, text.length - 1);
  while (length > 1 && widthOf(context, text.slice(0, length)) > room) length--;
  return length > 1 ? `${text.slice(0, length)}…` : "";
}
