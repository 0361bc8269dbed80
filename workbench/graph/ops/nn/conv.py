"""Convolution in NCHW (as ONNX writes it) and NHWC (as the layout pass leaves it), any number of spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS, DATA, WEIGHT, Weights, dims
from workbench.graph.ops.lowering import (
    LEAST_HALVED,
    Widened,
    Window,
    compute,
    from_nchw,
    layout_of,
    np_windows,
    pad_stage,
    place,
    spatial_names,
    stride_words,
    to_nchw,
    unplace,
    window,
)


@dataclass(frozen=True, slots=True)
class ConvShape:
    """Geometry of a convolution. Weights are OIHW in NCHW and HWIO in NHWC."""

    layout: str
    batch: int
    ci: int
    co: int
    groups: int
    win: Window

    @property
    def depthwise(self) -> bool:
        """Whether every output channel reads one input channel."""
        return self.groups > 1 and self.ci == self.groups

    @property
    def out(self) -> tuple[int, ...]:
        """Shape of the output."""
        return place(self.layout, self.batch, self.win.out, self.co)

    @property
    def by_pixel(self) -> bool:
        """Whether a pixel of the result follows from the pixel at its place alone."""
        win = self.win
        alone = not win.padded and win.out == win.size and {*win.kernel, *win.strides} == {1}
        return alone and (self.groups == 1 or self.layout == "NCHW")  # of groups the channels are no row of vectors


def kernel_of(c: Call, weights: int = 1) -> tuple[int, ...]:
    """Kernel of a convolution by its weights (an input), which have to fit the image and what the node says."""
    x, w = c.shape(0), c.shape(weights)
    if len(x) < 3 or len(w) != len(x):
        raise c.error("shape_mismatch", f"has an input of shape {list(x)} and weights of shape {list(w)}")
    kernel = w[:-2] if layout_of(c) == "NHWC" else w[2:]
    named = c.get_ints("kernel_shape")
    if named is not None and named != kernel:
        raise c.error("shape_mismatch", f"names a kernel {list(named)}, but its weights have {list(kernel)}")
    return kernel


def check_bias(c: Call, i: int, channels: int) -> None:
    """Refuse a bias (an input) that is no vector of the output channels."""
    if c.has(i) and c.shape(i) != (channels,):
        raise c.error("shape_mismatch", f"has a bias of shape {list(c.shape(i))} for {channels} output channels")


def with_bias(c: Call, layout: str, y: te.Tensor, b: te.Tensor | None, channel: str = "o") -> te.Tensor:
    """An image with a number added to each channel, where there are such."""
    if b is None:
        return y
    names = spatial_names(layout, y.ndim - 2, channel)
    return compute(y.shape, lambda *i: y[i] + b[unplace(layout, i)[2]], c.name("bias_add"), names)


def conv_shape(c: Call, weights: int = 1) -> ConvShape:
    """Read the geometry of a convolution whose weights are input `weights`; `ModelError` "model.shape_mismatch" when
    input and weights do not fit.
    """
    layout, x, w = layout_of(c), c.shape(0), c.shape(weights)
    kernel, (batch, size, ci) = kernel_of(c, weights), unplace(layout, x)
    per, co = (w[-2], w[-1]) if layout == "NHWC" else (w[1], w[0])
    groups = c.get_int("group", 1)
    if per * groups != ci or co % groups:
        raise c.error(
            "shape_mismatch",
            f"has {ci} input channels, but its weights {list(w)} in {groups} groups expect {per * groups}",
        )
    return ConvShape(layout, batch, ci, co, groups, window(c, size, kernel))


def conv_names(s: ConvShape) -> tuple[str, ...]:
    """Axis names of the result."""
    return spatial_names(s.layout, len(s.win.size), "c" if s.depthwise else "o")


def conv_stage(
    c: Call, s: ConvShape, xp: te.Tensor, w: te.Tensor, term: Callable[[te.Value, te.Value, te.Axis], te.Value]
) -> te.Tensor:
    """Sum of `term` of an element of the padded image, its weight and the output channel over kernel and channels."""
    r, win = len(s.win.size), s.win
    ks = [te.reduce_axis(win.kernel[d], f"k{n}") for d, n in enumerate(spatial_names("NHWC", r)[1:-1])]
    per, co = s.ci // s.groups, s.co // s.groups
    rc = None if s.depthwise else te.reduce_axis(per, "c")

    def body(*idx: te.Axis) -> te.Reduction:
        n, pos, o = unplace(s.layout, idx)
        base = (o // co) * per if s.groups > 1 else 0
        ch = base if rc is None else rc + base
        src = xp[place(s.layout, n, [win.position(d, pos[d], ks[d]) for d in range(r)], ch)]
        i = 0 if rc is None else rc
        weight = w[(*ks, i, o)] if s.layout == "NHWC" else w[(o, i, *ks)]
        return te.sum(term(src, weight, o), axis=[*ks, *(() if rc is None else (rc,))])

    return compute(s.out, body, c.name("conv"), conv_names(s))


def np_conv(s: ConvShape, x: Array, w: Array, fill: float = 0.0) -> Array:
    """Convolution of an NCHW array, surrounded with `fill`, with weights in the node's layout; the result is NCHW."""
    if s.layout == "NHWC":
        w = np.moveaxis(w, (-1, -2), (0, 1))
    taps = np_windows(x, s.win, fill)  # [N, C, *out, *kernel]
    r, co, per = len(s.win.size), s.co // s.groups, s.ci // s.groups
    out = np.empty((s.batch, s.co, *s.win.out), x.dtype)
    order = (0, *range(2, 2 + r), 1, *range(2 + r, 2 + 2 * r))
    for g in range(s.groups):
        cols = taps[:, g * per : (g + 1) * per].transpose(order).reshape(s.batch * int(np.prod(s.win.out)), -1)
        flat: Array = np.matmul(cols, w[g * co : (g + 1) * co].reshape(co, -1).T)
        out[:, g * co : (g + 1) * co] = np.moveaxis(flat.reshape(s.batch, *s.win.out, co), -1, 1)
    return out


def conv_words(c: Call, s: ConvShape, kind: str = "") -> str:
    """Convolution in words: ``conv2d 3x3/2 64→128 @56x56``."""
    w = s.win
    what = "depthwise" if s.depthwise else f"conv{len(w.size)}d"
    channels = f"{s.ci}" if s.depthwise and s.co == s.ci else f"{s.ci}→{s.co}"
    groups = f" in {s.groups} groups" if s.groups > 1 and not s.depthwise else ""
    dilation = f" dilation {dims(w.dilations)}" if any(d != 1 for d in w.dilations) else ""
    batch = f" batch {s.batch}" if s.batch > 1 else ""
    layout = "" if s.layout == "NHWC" else " NCHW"
    head = f"{what}{kind} {dims(w.kernel)}{stride_words(w.strides)}{dilation} {channels}"
    return f"{head}{groups} @{dims(w.size)}{batch}{layout}"


@operator("Conv", "complex", image=True, weights=Weights(1), reads_parts=True)
class Conv(OpDef):
    """Convolution with groups, strides, dilation and padding."""

    inputs = (DATA, WEIGHT, BIAS)

    def product_axes(self, c: Call) -> tuple[int, int] | None:
        return None if layout_of(c) == "NHWC" else (1, 0)

    def halved(self, c: Call) -> bool:
        s = conv_shape(c)
        return min(s.ci, s.co) // s.groups >= LEAST_HALVED

    def by_pixel(self, c: Call) -> bool:
        return conv_shape(c).by_pixel

    def words(self, c: Call, out: TensorType) -> str:
        return conv_words(c, conv_shape(c)) + (" + bias" if c.has(2) else "")

    def shape(self, c: Call) -> tuple[int, ...]:
        s = conv_shape(c)
        check_bias(c, 2, s.co)
        return s.out

    def reference(self, c: Call, x: Array, w: Array, b: Array | None = None) -> Array:
        s = conv_shape(c)
        out, r = np_conv(s, to_nchw(x, s.layout), w), len(s.win.size)
        if b is not None:
            out = out + b.reshape(-1, *(1,) * r)
        return from_nchw(out, s.layout)

    def lower(self, c: Call, x: te.Tensor, w: te.Tensor, b: te.Tensor | None = None) -> te.Tensor:
        s = conv_shape(c)
        xp = pad_stage(c, x, s.win, s.layout, 0.0, narrow=isinstance(w, Widened))
        y = conv_stage(c, s, xp, w, lambda data, weight, o: data * weight)
        return with_bias(c, s.layout, y, b, "c" if s.depthwise else "o")
