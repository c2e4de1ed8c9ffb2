// Reads the data of the page: a header in JSON and sections of bytes (src/report/page/page.h).

/** The newest version that this page can show. */
export const NEWEST_VERSION = 1;

interface SectionHead {
  name: string;
  code: "json" | "varint" | "delta" | "byte";
  count: number;
  offset: number;
  bytes: number;
}

interface PartHead {
  kind: string;
  name: string;
  /** Of a comparison: the numbers of the two parts that it compares. */
  sides?: number[];
  without_drawings?: boolean;
  without_details?: boolean;
  sections: SectionHead[];
}

interface Head {
  schema: string;
  made_by: string;
  title: string;
  parts: PartHead[];
}

/** One result: its JSON and its columns, which are decoded when they are asked for. */
export class Part {
  private readonly cache = new Map<string, Float64Array | Uint8Array>();
  private parsed = new Map<string, unknown>();
  /** Of a comparison: what it compares. */
  sides: Part[] = [];

  constructor(
    private readonly head: PartHead,
    private readonly bytes: Uint8Array,
  ) {}

  get kind(): string {
    return this.head.kind;
  }

  get name(): string {
    return this.head.name;
  }

  get withDrawings(): boolean {
    return !this.head.without_drawings;
  }

  get withDetails(): boolean {
    return !this.head.without_details;
  }

  has(name: string): boolean {
    return this.head.sections.some((section) => section.name === name);
  }

  private section(name: string): SectionHead {
    const found = this.head.sections.find((section) => section.name === name);
    if (!found) throw new Error(`the data has no section "${name}"`);
    return found;
  }

  json<T>(name: string): T {
    if (!this.parsed.has(name)) {
      const { offset, bytes } = this.section(name);
      const text = new TextDecoder().decode(this.bytes.subarray(offset, offset + bytes));
      this.parsed.set(name, JSON.parse(text));
    }
    return this.parsed.get(name) as T;
  }

  column(name: string): Float64Array | Uint8Array {
    let column = this.cache.get(name);
    if (!column) {
      const section = this.section(name);
      const bytes = this.bytes.subarray(section.offset, section.offset + section.bytes);
      column = section.code === "byte" ? bytes : decodeVarints(bytes, section);
      this.cache.set(name, column);
    }
    return column;
  }
}

/** Up to here a number and its bits fit into integer arithmetic, which is several times as fast. */
const SMALL = 2 ** 28;

function fromZigzag(number: number): number {
  if (number < SMALL) return number & 1 ? -((number + 1) >> 1) : number >> 1;
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}

/** Numbers up to 2^53 stay exact, which is 104 days in nanoseconds. */
function decodeVarints(bytes: Uint8Array, section: SectionHead): Float64Array {
  const numbers = new Float64Array(section.count);
  const isDelta = section.code === "delta";
  let at = 0;
  let before = 0;
  for (let i = 0; i < section.count; i++) {
    let byte = bytes[at++];
    let number = byte & 0x7f;
    for (let shift = 7; byte >= 0x80 && shift < 28; shift += 7) {
      byte = bytes[at++];
      number |= (byte & 0x7f) << shift;
    }
    for (let factor = SMALL; byte >= 0x80; factor *= 128) {
      byte = bytes[at++];
      number += (byte & 0x7f) * factor;
    }
    if (isDelta) number = before += fromZigzag(number);
    numbers[i] = number;
  }
  return numbers;
}

export interface PageData {
  title: string;
  madeBy: string;
  parts: Part[];
}

async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Splits inflated bytes into the header and its parts. */
export function readContainer(bytes: Uint8Array): PageData {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Head;
  const version = Number(/^pyrometer\.page\/(\d+)$/.exec(head.schema)?.[1] ?? NaN);
  if (!(version <= NEWEST_VERSION))
    throw new Error(
      `the data has the version "${head.schema}", which is newer than this page can show (pyrometer.page/${NEWEST_VERSION})`,
    );
  const rest = bytes.subarray(4 + length);
  const parts = head.parts.map((part) => new Part(part, rest));
  parts.forEach((part, i) => {
    const sides = (head.parts[i].sides ?? []).map((side) => parts[side]);
    if (sides.every(Boolean)) part.sides = sides;
  });
  return { title: head.title, madeBy: head.made_by, parts };
}

export async function readPage(text: string): Promise<PageData> {
  if (text.startsWith("@")) throw new Error("this is the page without data; pyrometer report fills it");
  return readContainer(await inflate(fromBase64(text)));
}
