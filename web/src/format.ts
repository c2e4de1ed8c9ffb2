// Numbers as people read them: three significant digits, with units.

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

function scaled(value: number, steps: [number, string][]): string {
  const size = Math.abs(value);
  for (const [factor, unit] of steps) if (size >= factor * 0.9995) return `${digits(value / factor)} ${unit}`;
  const [factor, unit] = steps[steps.length - 1];
  return `${digits(value / factor)} ${unit}`;
}

export function time(ns: number | null | undefined): string {
  if (ns == null || !isFinite(ns)) return "–";
  if (ns === 0) return "0";
  return scaled(ns, [
    [60e9, "min"],
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ]);
}

export function bytes(value: number | null | undefined): string {
  if (value == null || !isFinite(value)) return "–";
  if (value === 0) return "0";
  return scaled(value, [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "B"],
  ]);
}

export function amount(value: number | null | undefined, unit = ""): string {
  if (value == null || !isFinite(value)) return "–";
  if (value === 0) return "0";
  const text = scaled(value, [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
    [1, ""],
  ]);
  return unit ? `${text}${unit}` : text.trim();
}

export function rate(value: number | null | undefined): string {
  return value == null ? "–" : amount(value, "FLOP/s");
}

export function share(value: number | null | undefined): string {
  if (value == null || !isFinite(value)) return "–";
  const percent = value * 100;
  if (percent === 0) return "0 %";
  if (Math.abs(percent) < 0.1) return "<0.1 %";
  return `${percent.toFixed(Math.abs(percent) >= 10 ? 0 : 1)} %`;
}

export function count(value: number | null | undefined): string {
  if (value == null) return "–";
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A name without invisible and bidirectional characters, and not longer than `most`. */
export function name(text: string, most = 4000): string {
  const clean = text.replace(
    // eslint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    "\ufffd",
  );
  return clean.length > most ? `${clean.slice(0, most - 1)}…` : clean;
}

/** What is most telling of a long name: the function of a Python frame, a kernel without its types. */
export function shortName(text: string): string {
  const frame = /^[^\s]*\(\d+\): (.+)$/.exec(text);
  if (frame) return frame[1];
  if (text.startsWith("nn.Module: ")) return text.slice(11);
  const kernel = /^(?:void |bool |int )?((?:[\w~]+::|\(anonymous namespace\)::)*)([\w~]+)(?:<|\(|$)/.exec(text);
  return kernel && (kernel[1] || text.startsWith("void ")) && !text.startsWith("aten::") ? kernel[2] : text;
}

/** The last part of a dotted path. */
export function lastPart(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

export function median(values: number[]): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A measured number: four digits, and never fewer than its integer part has. */
export function measured(value: number | null | undefined): string {
  if (value == null || !isFinite(value)) return "–";
  return Math.abs(value) >= 1000 ? count(value) : String(Number(value.toPrecision(4)));
}

/** A measured number with its unit. */
export function withUnit(value: number | null | undefined, unit: string): string {
  if (value == null) return "–";
  return unit === "bytes" ? bytes(value) : `${measured(value)} ${unit}`;
}

/** A sentence whose numbers stay on one line with their units. */
export function unbroken(sentence: string): string {
  return sentence.replace(/(\d) (?=[a-zA-Zµ%])/g, "$1\u00a0");
}

export function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
