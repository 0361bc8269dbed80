// Files on the reader's own disk: made here, so that nothing has to be uploaded or found on the kernel's machine.

/** Browsers refuse larger canvases. */
const LARGEST = 16384;

export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A drawing in pixels, twice as many as it says where that is possible. */
export async function pixels(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    await image.decode();
    const scale = Math.min(2, LARGEST / Math.max(image.width, image.height));
    const canvas = document.createElement('canvas');
    canvas.width = image.width * scale;
    canvas.height = image.height * scale;
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>(done => canvas.toBlob(done, 'image/png'));
    if (!blob) throw new Error('The drawing is too large for a picture in pixels: save it as SVG.');
    return blob;
  } finally {
    URL.revokeObjectURL(image.src);
  }
}
