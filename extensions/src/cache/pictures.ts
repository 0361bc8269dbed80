// What the kernel sends of a nest on simulated caches: a table of numbers and the cells of arrays, picture by picture.

export interface ArrayInfo {
  readonly name: string;
  readonly shape: string;
  readonly rows: number;
  readonly columns: number;
  /** Rows of the array, and lines, of one cell. */
  readonly tall: number;
  readonly wide: number;
}
export interface FilmInfo {
  readonly name: string;
  readonly levels: readonly { readonly name: string; readonly text: string }[];
  readonly line: number;
  readonly arrays: readonly ArrayInfo[];
  readonly loops: readonly { readonly name: string; readonly extent: number }[];
  /** `loops` are those around the access, by their place in `loops`. */
  readonly accesses: readonly { readonly text: string; readonly kind: string; readonly loops: readonly number[] }[];
  readonly total: number;
  /** Share of the nest that is run. */
  readonly part: number;
  readonly steps: number;
  readonly count: number;
}

/** Columns of the table ahead of the misses. */
const FOUND = 4;

/** One picture: the access that is about to happen, and what the caches hold ahead of it. */
export interface Picture {
  readonly time: number;
  /** -1 behind the last access. */
  readonly access: number;
  readonly array: number;
  readonly cell: number;
  /** The level that has the line; the number of levels for none. */
  readonly found: number;
  readonly misses: readonly number[];
  readonly byArray: readonly number[];
  readonly loops: readonly number[];
  /** Share of the lines of each cell that each level, or one before it, holds, in 255ths: cell by cell. */
  readonly cells: Uint8Array;
}

export class Pictures {
  readonly #width: number;
  readonly #size: number;
  readonly #levels: number;

  constructor(
    readonly info: FilmInfo,
    readonly count: number,
    private readonly table: Int32Array,
    private readonly all: Uint8Array
  ) {
    this.#levels = info.levels.length;
    this.#width = width(info);
    this.#size = cells(info) * this.#levels;
  }

  at(k: number): Picture {
    const row = this.table.subarray(k * this.#width, (k + 1) * this.#width);
    const arrays = FOUND + 1 + this.#levels;
    const loops = arrays + this.info.arrays.length;
    return {
      time: row[0]!,
      access: row[1]!,
      array: row[2]!,
      cell: row[3]!,
      found: row[FOUND]!,
      misses: [...row.subarray(FOUND + 1, arrays)],
      byArray: [...row.subarray(arrays, loops)],
      loops: [...row.subarray(loops)],
      cells: this.all.subarray(k * this.#size, (k + 1) * this.#size)
    };
  }

  /** Number of the access ahead of which a picture was taken. */
  time = (k: number): number => this.table[k * this.#width]!;
  /** Misses of the first level before it. */
  misses = (k: number): number => this.table[k * this.#width + FOUND + 1]!;
}

const width = (info: FilmInfo): number => FOUND + 1 + info.levels.length + info.arrays.length + info.loops.length;
const cells = (info: FilmInfo): number => info.arrays.reduce((sum, a) => sum + a.rows * a.columns, 0);

/** Unpack the pictures of films that lie one behind the other. */
export async function unpack(
  bytes: Uint8Array<ArrayBuffer>,
  infos: readonly FilmInfo[],
  counts: readonly number[]
): Promise<Pictures[]> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const all = await new Response(stream).arrayBuffer();
  let at = 0;
  return infos.map((info, k) => {
    const count = counts[k]!;
    const table = new Int32Array(all, at, count * width(info));
    at += table.byteLength;
    const held = new Uint8Array(all, at, count * cells(info) * info.levels.length);
    at += held.byteLength + (-held.byteLength & 3);
    return new Pictures(info, count, table, held);
  });
}
