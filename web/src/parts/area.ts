// Areas of memory over time: their outlines, and marks at round numbers of bytes.

/** Marks at round numbers of bytes. */
export function byteTicks(most: number): number[] {
  const step = 2 ** Math.ceil(Math.log2(Math.max(most, 1) / 5));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_unused, i) => i * step);
}

/** An area with steps: a level holds until the next point. */
export function areaPath(x: number[], lower: number[], upper: number[]): string {
  const there = upper.map((y, i) => (i === 0 ? `M${x[0]} ${y}` : `H${x[i]}V${y}`)).join("");
  const back: string[] = [];
  for (let i = x.length - 1; i > 0; i--) back.push(`V${lower[i - 1]}H${x[i - 1]}`);
  return `${there}V${lower[x.length - 1]}${back.join("")}Z`;
}
