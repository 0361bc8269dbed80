// Files on the reader's own disk: made here, so that nothing has to be uploaded or found on the kernel's machine.

/** Browsers refuse larger canvases. */
const LARGEST = 16384;

export function save(name: string, url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export const urlOf = (text: string, type: string): string => URL.createObjectURL(new Blob([text], { type }));

/** A drawing in pixels, twice as many as it says where that is possible: an address with the picture in it. */
export async function pixels(svg: string): Promise<string> {
  const image = new Image();
  image.src = urlOf(svg, 'image/svg+xml');
  try {
    await image.decode();
    const scale = Math.min(2, LARGEST / Math.max(image.width, image.height));
    const canvas = document.createElement('canvas');
    canvas.width = image.width * scale;
    canvas.height = image.height * scale;
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    const url = canvas.toDataURL();
    if (url.length < 9) throw new Error('The drawing is too large for a picture in pixels: save it as SVG.');
    return url;
  } finally {
    URL.revokeObjectURL(image.src);
  }
}
