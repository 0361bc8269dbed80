"""Networks for small devices: MobileNet in three versions, SqueezeNet."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.zoo.builder import Builder, Value

#: MobileNet v2, per row: by how much a block widens, channels, blocks, step of the first one.
V2_BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
_RE, _HS = "relu", "hard_swish"
#: MobileNet v3, per block: kernel, width inside, channels, gated or not, activation, step.
V3_LARGE = (
    (3, 16, 16, False, _RE, 1), (3, 64, 24, False, _RE, 2), (3, 72, 24, False, _RE, 1), (5, 72, 40, True, _RE, 2),
    (5, 120, 40, True, _RE, 1), (5, 120, 40, True, _RE, 1), (3, 240, 80, False, _HS, 2), (3, 200, 80, False, _HS, 1),
    (3, 184, 80, False, _HS, 1), (3, 184, 80, False, _HS, 1), (3, 480, 112, True, _HS, 1), (3, 672, 112, True, _HS, 1),
    (5, 672, 160, True, _HS, 2), (5, 960, 160, True, _HS, 1), (5, 960, 160, True, _HS, 1),
)  # fmt: skip
V3_SMALL = (
    (3, 16, 16, True, _RE, 2), (3, 72, 24, False, _RE, 2), (3, 88, 24, False, _RE, 1), (5, 96, 40, True, _HS, 2),
    (5, 240, 40, True, _HS, 1), (5, 240, 40, True, _HS, 1), (5, 120, 48, True, _HS, 1), (5, 144, 48, True, _HS, 1),
    (5, 288, 96, True, _HS, 2), (5, 576, 96, True, _HS, 1), (5, 576, 96, True, _HS, 1),
)  # fmt: skip
#: SqueezeNet, per version: kernel and channels of the first layer; modules, "pool" or channels.
FIRES: dict[str, tuple[int, int, tuple[int | str, ...]]] = {
    "1.0": (7, 96, (64, 64, 128, "pool", 128, 192, 192, 256, "pool", 256)),
    "1.1": (3, 64, (64, 64, "pool", 128, 128, "pool", 192, 192, 256, 256)),
}


def _layer(b: Builder, x: Value, channels: int, kernel: int, stride: int = 1, kind: str = "relu",
           groups: int = 1, eps: float = 1e-5) -> Value:  # fmt: skip
    """Convolution, normalisation, activation; "" for none."""
    y = b.batch_norm(b.conv(x, channels, kernel, stride, groups=groups, bias=False), eps)
    return b.activation(y, kind) if kind else y


def mobilenet_v1(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Howard et al. 2017."""
    x = _layer(b, b.image(shape), 32, 3, 2)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2),
                             (1024, 1)):  # fmt: skip
        x = _layer(b, x, x.size(1), 3, stride, groups=x.size(1))
        x = _layer(b, x, channels, 1)
    b.scores(b.global_pool(x), classes)


def mobilenet_v2(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Sandler et al. 2018."""
    x = _layer(b, b.image(shape), 32, 3, 2, "relu6")
    for widen, channels, blocks, step in V2_BLOCKS:
        for k in range(blocks):
            stride, y = (1 if k else step), x
            y = _layer(b, y, widen * x.size(1), 1, 1, "relu6") if widen > 1 else y
            y = _layer(b, y, y.size(1), 3, stride, "relu6", y.size(1))
            y = _layer(b, y, channels, 1, 1, "")
            x = b.add(x, y) if k else y
    b.scores(b.global_pool(_layer(b, x, 1280, 1, 1, "relu6")), classes)


def mobilenet_v3(b: Builder, shape: Sequence[int], classes: int, large: bool) -> None:
    """Howard et al. 2019."""
    eps = 1e-3
    x = _layer(b, b.image(shape), 16, 3, 2, _HS, eps=eps)
    for kernel, inside, channels, gated, kind, stride in V3_LARGE if large else V3_SMALL:
        y = _layer(b, x, inside, 1, 1, kind, eps=eps) if inside != x.size(1) else x
        y = _layer(b, y, inside, kernel, stride, kind, inside, eps)
        y = _gate(b, y) if gated else y
        y = _layer(b, y, channels, 1, 1, "", eps=eps)
        x = b.add(x, y) if stride == 1 and channels == x.size(1) else y
    x = b.global_pool(_layer(b, x, 6 * x.size(1), 1, 1, _HS, eps=eps))
    b.scores(b.activation(b.dense(x, 1280 if large else 1024), _HS), classes)


def _gate(b: Builder, x: Value) -> Value:
    """Squeeze and excitation: every channel times a share that the whole image decides."""
    quarter = x.size(1) / 4
    inside = max(8, int(quarter + 4) // 8 * 8)
    inside += 8 * (inside < 0.9 * quarter)
    y = b.activation(b.conv(b.global_pool(x, flat=False), inside, 1))
    return b.mul(x, b.activation(b.conv(y, x.size(1), 1), "hard_sigmoid"))


def squeezenet(b: Builder, shape: Sequence[int], classes: int, version: str) -> None:
    """Iandola et al. 2016."""
    kernel, channels, modules = FIRES[version]
    x = b.pool(b.activation(b.conv(b.image(shape), channels, kernel, 2, 0)), "max", 3, 2, ceil=True)
    for module in modules:
        if isinstance(module, str):
            x = b.pool(x, "max", 3, 2, ceil=True)
        else:
            y = b.activation(b.conv(x, module // 4, 1))
            x = b.concat([b.activation(b.conv(y, module, k)) for k in (1, 3)])
    x = b.activation(b.conv(x, classes, 1))
    b.output(b.softmax(b.global_pool(x)))
