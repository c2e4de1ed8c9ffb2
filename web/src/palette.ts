// Colours that colour-blind readers can tell apart (Okabe and Ito), for light and dark grounds.

const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f99", "#b8a000"];
const DARK = ["#56b4e9", "#e69f00", "#2fc79b", "#cc79a7", "#3c91c9", "#ff8a5c", "#9aa3b0", "#f0e442"];

/** Paper is white. */
let printing = false;

export function setPrinting(now: boolean): void {
  printing = now;
}

export function isDark(): boolean {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

export function series(index: number): string {
  const colours = isDark() ? DARK : LIGHT;
  return colours[((index % colours.length) + colours.length) % colours.length];
}

export function ink(): string {
  return isDark() ? "#e8eaee" : "#1b1d22";
}

export function soft(): string {
  return isDark() ? "#a3abb8" : "#5a616e";
}

export function line(): string {
  return isDark() ? "#333942" : "#dfe3e8";
}

export function ground(): string {
  return isDark() ? "#14161a" : "#ffffff";
}

/** A stable colour for a name: the same op has the same colour everywhere. */
export function ofName(text: string): string {
  let hash = 0;
  for (let i = 0; i < text.length && i < 64; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  const hue = ((hash >>> 0) % 360) | 0;
  return isDark() ? `hsl(${hue} 32% 38%)` : `hsl(${hue} 48% 82%)`;
}

/** From orange (0, little of the peak) over grey to blue (1, at the peak). */
export function ofShare(share: number | null): string {
  if (share == null) return isDark() ? "#3a404a" : "#d9dde3";
  const x = Math.max(0, Math.min(1, share));
  const ends = isDark() ? [[214, 106, 54], [122, 128, 138], [72, 150, 205]] : [[213, 94, 0], [198, 200, 204], [0, 114, 178]];
  const half = x < 0.5 ? 0 : 1;
  const part = (x - half * 0.5) * 2;
  const mixed = ends[half].map((from, i) => Math.round(from + (ends[half + 1][i] - from) * part));
  return `rgb(${mixed.join(" ")})`;
}

/** From the ground (0) to a dark orange (half of the cost and more): one hue, so that order shows. */
export function ofCost(share: number): string {
  const x = Math.sqrt(Math.max(0, Math.min(1, share * 2)));
  const ends = isDark() ? [[32, 37, 44], [150, 82, 38], [255, 158, 92]] : [[248, 249, 250], [250, 190, 110], [176, 62, 8]];
  const half = x < 0.5 ? 0 : 1;
  const part = (x - half * 0.5) * 2;
  return `rgb(${ends[half].map((from, i) => Math.round(from + (ends[half + 1][i] - from) * part)).join(" ")})`;
}

/** Red, green and blue of "#rrggbb", "rgb(r g b)" or "hsl(h s% l%)". */
export function rgbOf(colour: string): [number, number, number] {
  if (colour.startsWith("#")) return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)) as [number, number, number];
  const [a, b, c] = (colour.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  if (!colour.startsWith("hsl")) return [a, b, c];
  const [s, l] = [b / 100, c / 100];
  const channel = (n: number) => {
    const k = (n + a / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** Black or white, whichever is readable on an "rgb(r g b)" or "#rrggbb" ground. */
export function on(colour: string): string {
  const [r, g, b] = rgbOf(colour).map((value) => {
    const x = value / 255;
    return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  // The luminance at which black and white have the same contrast.
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#14161a" : "#ffffff";
}
