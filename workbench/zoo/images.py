"""Networks whose results are images or maps: a generator, a segmenter, a detector."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.zoo.builder import BATCH, Builder, Value


def dcgan(b: Builder, shape: Sequence[int], channels: int) -> None:
    """Generator of Radford et al. 2015: from a code to an image of 64x64."""
    x = b.input("data", (BATCH, *shape))
    x = b.reshape(b.dense(x, 512 * 4 * 4, bias=False), (512, 4, 4))
    for width in (256, 128, 64, channels):
        x = b.conv_transpose(b.activation(b.batch_norm(x)), width, 4, 2, 1, bias=False)
    b.output(b.activation(x, "tanh"))


def unet(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Ronneberger et al. 2015, padded and normalised: scores of classes for every pixel."""
    x = _twice(b, b.image(shape), 64)
    kept = []
    for width in (128, 256, 512, 1024):
        kept.append(x)
        x = _twice(b, b.pool(x, "max", 2, 2), width)
    for other in reversed(kept):
        x = _twice(b, b.concat([other, b.conv_transpose(x, x.size(1) // 2, 2, 2)]), other.size(1))
    b.output(b.conv(x, classes, 1))


def _twice(b: Builder, x: Value, channels: int) -> Value:
    for _ in range(2):
        x = b.activation(b.batch_norm(b.conv(x, channels, 3, bias=False)))
    return x


def yolo_tiny(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Redmon and Farhadi 2018, the small one: three boxes for every cell of two grids, before they are decoded."""
    x, kept = b.image(shape), []
    for k, channels in enumerate((16, 32, 64, 128, 256, 512)):
        x = _seen(b, x, channels, 3)
        kept.append(x)
        x = b.pool(x, "max", 2, 2) if k < 5 else b.pool(x, "max", 2, 1, (0, 0, 1, 1))
    x = _seen(b, _seen(b, x, 1024, 3), 256, 1)
    boxes = 3 * (classes + 5)
    b.output(b.conv(_seen(b, x, 512, 3), boxes, 1), "coarse")
    x = b.concat([b.upsample(_seen(b, x, 128, 1), 2), kept[4]])
    b.output(b.conv(_seen(b, x, 256, 3), boxes, 1), "fine")


def _seen(b: Builder, x: Value, channels: int, kernel: int) -> Value:
    return b.activation(b.batch_norm(b.conv(x, channels, kernel, bias=False)), "leaky_relu")
