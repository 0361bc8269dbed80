// How wide a text is: a name is drawn as large as its box allows, and is cut only where no size that can be read fits.

const known = new Map<string, number>();
let pen: CanvasRenderingContext2D | null = null;

/** Width of a text over the size of its letters. */
function widthOf(text: string, family: string): number {
  const key = `${family}\n${text}`;
  let width = known.get(key);
  if (width === undefined) {
    pen ??= document.createElement('canvas').getContext('2d')!;
    pen.font = `100px ${family}`;
    width = pen.measureText(text).width / 100;
    if (known.size > 20_000) known.clear();
    known.set(key, width);
  }
  return width;
}

/** A text and the size at which it takes at most `room`: the largest between the two sizes, else cut at the least. */
export function fitted(
  text: string,
  room: number,
  least: number,
  most: number,
  family: string
): readonly [text: string, size: number] {
  const size = Math.floor((10 * room) / Math.max(0.01, widthOf(text, family))) / 10;
  if (size >= least) return [text, Math.min(size, most)];
  const whole = Math.max(1, Math.floor((text.length * size) / least) - 1);
  return [`${text.slice(0, whole).trimEnd()}…`, least];
}
