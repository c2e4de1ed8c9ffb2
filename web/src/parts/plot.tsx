// A line plot by uPlot that follows the size of its box and the theme.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { line, setPrinting, soft } from "../palette";

interface PlotProps {
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  label: string;
  height: number;
  formatX: (value: number) => string;
  formatY: (value: number) => string;
  /** Allowed distances of the marks on the upright axis. */
  stepsY?: number[];
  onMove?: (index: number | null) => void;
}

export function Plot(props: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    // Functions, so that paper has other colours than a dark screen.
    const axis = { stroke: () => soft(), grid: { stroke: () => line(), width: 1 }, ticks: { stroke: () => line() }, font: "13px system-ui" };
    const plot = new uPlot(
      {
        width: Math.max(element.clientWidth, 200),
        height: props.height,
        scales: { x: { time: false } },
        series: props.series,
        axes: [
          { ...axis, values: (_plot, ticks) => ticks.map(props.formatX) },
          { ...axis, size: 84, incrs: props.stepsY, values: (_plot, ticks) => ticks.map(props.formatY) },
        ],
        hooks: { setCursor: [(plot) => props.onMove?.(plot.cursor.idx ?? null)] },
      },
      props.data,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(element.clientWidth, 200), height: props.height }));
    observer.observe(element);
    const onPrint = () => {
      setPrinting(true);
      plot.redraw(false);
    };
    const afterPrint = () => {
      setPrinting(false);
      plot.redraw(false);
    };
    window.addEventListener("beforeprint", onPrint);
    window.addEventListener("afterprint", afterPrint);
    return () => {
      window.removeEventListener("beforeprint", onPrint);
      window.removeEventListener("afterprint", afterPrint);
      observer.disconnect();
      plot.destroy();
    };
  }, [props.data]);
  return <div ref={box} role="img" aria-label={props.label} />;
}
