// Colours that colour-blind readers can tell apart (Okabe and Ito), for light and dark grounds.

const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f99", "#b8a000"];
const DARK = ["#56b4e9", "#e69f00", "#2fc79b", "#cc79a7", "#3c91c9", "#ff8a5c", "#9aa3b0", "#f0e442"];

export function isDark(): boolean {
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

/** Black or white, whichever is readable on an "rgb(r g b)" or "#rrggbb" ground. */
export function on(colour: string): string {
  const numbers = colour.startsWith("#")
    ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16))
    : (colour.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  if (colour.startsWith("hsl")) return numbers[2] > 55 ? "#14161a" : "#ffffff";
  const [r, g, b] = numbers.map((value) => {
    const x = value / 255;
    return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? "#14161a" : "#ffffff";
}
