"""Large networks that name what an image shows: VGG, DenseNet, Inception v3; and a perceptron of three layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from workbench.zoo.builder import Builder, Sizes, Value

#: VGG, depth -> convolutions of the five stages.
VGG = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
#: DenseNet, depth -> channels that a layer adds, channels of the first layer, layers of the four blocks.
DENSENET = {
    121: (32, 64, (6, 12, 24, 16)), 161: (48, 96, (6, 12, 36, 24)),
    169: (32, 64, (6, 12, 32, 32)), 201: (32, 64, (6, 12, 48, 32)),
}  # fmt: skip


def mlp(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Layers of 128 and 64 units, as in TVM's tutorials."""
    x = b.flatten(b.image(shape))
    for units in (128, 64):
        x = b.activation(b.dense(x, units))
    b.scores(x, classes)


def vgg(b: Builder, shape: Sequence[int], classes: int, depth: int) -> None:
    """Simonyan and Zisserman 2014."""
    x = b.image(shape)
    for stage, layers in enumerate(VGG[depth]):
        for _ in range(layers):
            x = b.activation(b.conv(x, min(64 << stage, 512), 3))
        x = b.pool(x, "max", 2, 2)
    x = b.flatten(x)
    for _ in range(2):
        x = b.activation(b.dense(x, 4096))
    b.scores(x, classes)


def densenet(b: Builder, shape: Sequence[int], classes: int, depth: int) -> None:
    """Huang et al. 2016."""
    growth, first, blocks = DENSENET[depth]
    x = b.activation(b.batch_norm(b.conv(b.image(shape), first, 7, 2, bias=False)))
    x = b.pool(x, "max", 3, 2, 1)
    for k, layers in enumerate(blocks):
        if k:
            x = b.conv(b.activation(b.batch_norm(x)), x.size(1) // 2, 1, bias=False)
            x = b.pool(x, "average", 2, 2)
        for _ in range(layers):
            y = b.conv(b.activation(b.batch_norm(x)), 4 * growth, 1, bias=False)
            x = b.concat([x, b.conv(b.activation(b.batch_norm(y)), growth, 3, bias=False)])
    b.scores(b.global_pool(b.activation(b.batch_norm(x))), classes)


def inception_v3(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Szegedy et al. 2015, without the second classifier that helps training."""
    c = partial(_layer, b)
    x = c(c(c(b.image(shape), 32, 3, 2, 0), 32, 3, 1, 0), 64, 3)
    x = c(c(b.pool(x, "max", 3, 2), 80, 1), 192, 3, 1, 0)
    x = b.pool(x, "max", 3, 2)
    for pooled in (32, 64, 64):
        branches = [c(x, 64, 1), c(c(x, 48, 1), 64, 5), c(c(c(x, 64, 1), 96, 3), 96, 3), _pooled(b, x, pooled)]
        x = b.concat(branches)
    x = b.concat([c(x, 384, 3, 2, 0), c(c(c(x, 64, 1), 96, 3), 96, 3, 2, 0), b.pool(x, "max", 3, 2)])
    for width in (128, 160, 160, 192):
        x = b.concat([c(x, 192, 1), _long(b, x, (width, width, 192), (1, 7)),
                      _long(b, x, (width,) * 4 + (192,), (7, 1)), _pooled(b, x, 192)])  # fmt: skip
    x = b.concat([c(c(x, 192, 1), 320, 3, 2, 0), c(_long(b, x, (192,) * 3, (1, 7)), 192, 3, 2, 0),
                  b.pool(x, "max", 3, 2)])  # fmt: skip
    for _ in range(2):
        y, z = c(x, 384, 1), c(c(x, 448, 1), 384, 3)
        sides = [c(side, 384, kernel) for side in (y, z) for kernel in ((1, 3), (3, 1))]
        x = b.concat([c(x, 320, 1), *sides, _pooled(b, x, 192)])
    b.scores(b.global_pool(x), classes)


def _layer(b: Builder, x: Value, channels: int, kernel: Sizes, stride: int = 1, pad: int | None = None) -> Value:
    return b.activation(b.batch_norm(b.conv(x, channels, kernel, stride, pad, bias=False), 1e-3))


def _long(b: Builder, x: Value, widths: Sequence[int], kernel: tuple[int, int]) -> Value:
    """A 1x1 convolution, then long ones, alternately along rows and columns, which starts with `kernel`."""
    x = _layer(b, x, widths[0], 1)
    for k, channels in enumerate(widths[1:]):
        x = _layer(b, x, channels, kernel[:: -1 if k % 2 else 1])
    return x


def _pooled(b: Builder, x: Value, channels: int) -> Value:
    return _layer(b, b.pool(x, "average", 3, 1, 1), channels, 1)
