"""ResNets: with normalisation behind (v1) and in front of the convolutions (v2, as TVM's), in 2D and 3D."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.zoo.builder import Builder, Value

#: Depth -> residual units of the four stages; from 50 on each unit is a bottleneck of three convolutions.
UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
#: Added to a variance before its root is taken, in TVM's v2.
V2_EPS = 2e-5


def resnet_v1(b: Builder, shape: Sequence[int], classes: int, depth: int) -> None:
    """He et al. 2015; a unit that halves the image does so in its first convolution."""
    x = b.activation(b.batch_norm(b.conv(b.image(shape), 64, 7, 2, bias=False)))
    x = b.pool(x, "max", 3, 2, 1)
    for stage, units in enumerate(UNITS[depth]):
        for unit in range(units):
            x = _unit_v1(b, x, 64 << stage, 2 if stage and not unit else 1, depth >= 50)
    b.scores(b.global_pool(x), classes)


def _unit_v1(b: Builder, x: Value, width: int, stride: int, bottleneck: bool) -> Value:
    sizes = [(width, 1), (width, 3), (4 * width, 1)] if bottleneck else [(width, 3), (width, 3)]
    y, out = x, sizes[-1][0]
    for k, (channels, kernel) in enumerate(sizes):
        y = b.activation(y) if k else y
        y = b.batch_norm(b.conv(y, channels, kernel, 1 if k else stride, bias=False))
    if stride > 1 or x.size(1) != out:
        x = b.batch_norm(b.conv(x, out, 1, stride, bias=False))
    return b.activation(b.add(y, x))


def resnet_v2(b: Builder, shape: Sequence[int], classes: int, depth: int) -> None:
    """He et al. 2016, as in TVM's tutorials: the input is normalised too, small images keep their size at first."""
    x = b.batch_norm(b.image(shape), V2_EPS, scale=False)
    deep = len(shape) - 3  # a third axis of the image
    if shape[-1] <= 32:
        x = b.conv(x, 64, 3, bias=False)
    else:
        x = b.conv(x, 64, (3,) * deep + (7, 7), (1,) * deep + (2, 2), bias=False)
        x = b.pool(b.activation(b.batch_norm(x, V2_EPS)), "max", 3, 2, 1)
    for stage, units in enumerate(UNITS[depth]):
        for unit in range(units):
            x = _unit_v2(b, x, 64 << stage, 2 if stage and not unit else 1, not unit, depth >= 50)
    b.scores(b.global_pool(b.activation(b.batch_norm(x, V2_EPS))), classes)


def _unit_v2(b: Builder, x: Value, width: int, stride: int, first: bool, bottleneck: bool) -> Value:
    sizes = [(width, 1), (width, 3), (4 * width, 1)] if bottleneck else [(width, 3), (width, 3)]
    y = start = b.activation(b.batch_norm(x, V2_EPS))
    for k, (channels, kernel) in enumerate(sizes):
        y = b.activation(b.batch_norm(y, V2_EPS)) if k else y
        y = b.conv(y, channels, kernel, 1 if k else stride, bias=False)
    return b.add(y, b.conv(start, sizes[-1][0], 1, stride, bias=False) if first else x)
