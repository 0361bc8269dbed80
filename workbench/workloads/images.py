"""Convolutions and poolings of images."""

from __future__ import annotations

import math

from workbench import te
from workbench.errors import ExpressionError
from workbench.ir import Func
from workbench.te.conv_transpose_phases import Phases
from workbench.workloads.stages import checked, epilogue, narrow, out_size, pad


@checked
def conv2d_nhwc(
    h: int,
    w: int,
    ci: int,
    co: int,
    kernel: int = 3,
    stride: int = 1,
    padding: int = 1,
    dilation: int = 1,
    groups: int = 1,
    batch: int = 1,
    bias: bool = False,
    relu: bool = False,
    residual: bool = False,
) -> Func:
    """Convolution of ``X[n, h, w, ci]`` with ``W[kh, kw, ci / groups, co]``.

    Stages: ``pad`` (only with padding), ``conv``, ``bias_add``, ``add`` (of a residual ``R``), ``relu``.

    Parameters
    ----------
    h, w, ci, co : int
        Height and width of the image, input and output channels.
    kernel, stride, padding, dilation, groups, batch : int
    bias, relu, residual : bool
        Whether to append these stages.

    Raises
    ------
    ExpressionError
        "te.shape" when the kernel does not fit or the groups do not divide the channels.
    """
    if ci % groups or co % groups:
        raise ExpressionError("te.shape", f"{groups} groups do not divide {ci} input and {co} output channels.")
    oh, ow = out_size(h, kernel, stride, padding, dilation), out_size(w, kernel, stride, padding, dilation)
    data = pad(te.placeholder((batch, h, w, ci), name="X"), padding)
    weight = te.placeholder((kernel, kernel, ci // groups, co), name="W", constant=True)
    rh, rw, rc = te.reduce_axis(kernel, "kh"), te.reduce_axis(kernel, "kw"), te.reduce_axis(ci // groups, "c")

    def at(n: te.Axis, h: te.Axis, w: te.Axis, o: te.Axis) -> te.Reduction:
        channel = rc if groups == 1 else o // (co // groups) * (ci // groups) + rc
        x = data[n, h * stride + rh * dilation, w * stride + rw * dilation, channel]
        return te.sum(x * weight[rh, rw, rc, o], axis=[rh, rw, rc])

    y = te.compute((batch, oh, ow, co), at, name="conv")
    return te.func(epilogue(y, co if bias else None, relu, residual), "conv2d")


@checked
def conv2d_int8_nhwc(
    h: int,
    w: int,
    ci: int,
    co: int,
    kernel: int = 3,
    stride: int = 1,
    padding: int = 1,
    batch: int = 1,
    shift: int | None = None,
) -> Func:
    """Convolution of int8 ``X[n, h, w, ci]`` with int8 ``W[kh, kw, ci, co]``, summed in int32.

    Stages: ``pad`` (only with padding), ``conv``, and with `shift` ``narrow``, which makes int8 of the sums:
    ``min(max(_, 0) / 2**shift, 127)``.

    Raises
    ------
    ExpressionError
        "te.shape" when the kernel does not fit.
    """
    oh, ow = out_size(h, kernel, stride, padding, 1), out_size(w, kernel, stride, padding, 1)
    data = pad(te.placeholder((batch, h, w, ci), "int8", "X"), padding, 0)
    weight = te.placeholder((kernel, kernel, ci, co), "int8", "W", constant=True)
    rh, rw, rc = te.reduce_axis(kernel, "kh"), te.reduce_axis(kernel, "kw"), te.reduce_axis(ci, "c")

    def at(n: te.Axis, h: te.Axis, w: te.Axis, o: te.Axis) -> te.Reduction:
        x, y = data[n, h * stride + rh, w * stride + rw, rc], weight[rh, rw, rc, o]
        return te.sum(te.cast(x, "int32") * te.cast(y, "int32"), axis=[rh, rw, rc])

    return te.func(narrow(te.compute((batch, oh, ow, co), at, name="conv"), shift), "conv2d_int8")


@checked
def depthwise_conv2d_nhwc(
    h: int,
    w: int,
    c: int,
    kernel: int = 3,
    stride: int = 1,
    padding: int = 1,
    batch: int = 1,
    bias: bool = False,
    relu: bool = False,
) -> Func:
    """Depthwise convolution with ``W[kh, kw, c]``; stages ``pad``, ``conv``, ``bias_add``, ``relu``."""
    oh, ow = out_size(h, kernel, stride, padding, 1), out_size(w, kernel, stride, padding, 1)
    data = pad(te.placeholder((batch, h, w, c), name="X"), padding)
    weight = te.placeholder((kernel, kernel, c), name="W", constant=True)
    rh, rw = te.reduce_axis(kernel, "kh"), te.reduce_axis(kernel, "kw")
    y = te.compute(
        (batch, oh, ow, c),
        lambda n, h, w, c: te.sum(data[n, h * stride + rh, w * stride + rw, c] * weight[rh, rw, c], axis=[rh, rw]),
        name="conv",
    )
    return te.func(epilogue(y, c if bias else None, relu), "depthwise_conv2d")


@checked
def conv2d_transpose_nhwc(
    h: int, w: int, ci: int, co: int, kernel: int = 4, stride: int = 2, padding: int = 1, batch: int = 1
) -> Func:
    """Transposed convolution of ``X[n, h, w, ci]`` with ``W[kh, kw, ci, co]``; stages ``pad``, ``conv``, ``crop``.

    Each output pixel gathers the taps that reach it, so nothing is multiplied with the zeros in between: the pixels
    with one remainder by the stride are a dense convolution of the image with every ``stride``-th tap. Stage ``crop``
    exists where the stride does not divide the result, or where padding shifts the remainders (strides beyond 2).

    Raises
    ------
    ExpressionError
        "te.shape" when the padding eats the whole result.
    """
    oh, ow = ((x - 1) * stride - 2 * padding + kernel for x in (h, w))
    if min(oh, ow) < 1:
        raise ExpressionError("te.shape", f"A transposed kernel of {kernel} leaves nothing of {h}x{w} - {padding}.")
    down, right = (Phases(x, kernel, stride, padding, y) for x, y in ((h, oh), (w, ow)))
    data = pad(te.placeholder((batch, h, w, ci), name="X"), down.before, behind=(down.behind, right.behind))
    weight = te.placeholder((kernel, kernel, ci, co), name="W", constant=True)
    rh, rw, rc = te.reduce_axis(down.taps, "kh"), te.reduce_axis(right.taps, "kw"), te.reduce_axis(ci, "c")

    def at(n: te.Axis, h: te.Axis, w: te.Axis, o: te.Axis) -> te.Reduction:
        term = data[n, down.row(h, rh), right.row(w, rw), rc] * weight[down.tap(h, rh), right.tap(w, rw), rc, o]
        if down.ragged:
            term = te.select((down.tap(h, rh) < kernel) & (right.tap(w, rw) < kernel), term, 0.0)
        return te.sum(term, axis=[rh, rw, rc])

    y = te.compute((batch, down.frame, right.frame, co), at, name="conv")
    if (down.frame, right.frame) != (oh, ow):
        whole, cut = y, down.crop
        y = te.compute((batch, oh, ow, co), lambda n, h, w, o: whole[n, h + cut, w + cut, o], name="crop")
    return te.func(y, "conv2d_transpose")


@checked
def pool2d(
    h: int, w: int, c: int, kind: str = "max", kernel: int = 2, stride: int = 2, padding: int = 0, batch: int = 1
) -> Func:
    """Pooling of ``X[n, h, w, c]`` (stage ``pool``) by "max", or "avg" (zeros count; stage ``mean`` divides)."""
    if kind not in ("max", "avg"):
        raise ExpressionError("te.value", f"There is no pooling {kind!r}.", (), "one of: max, avg")
    oh, ow = out_size(h, kernel, stride, padding, 1), out_size(w, kernel, stride, padding, 1)
    data = pad(te.placeholder((batch, h, w, c), name="X"), padding, -math.inf if kind == "max" else 0.0)
    rh, rw = te.reduce_axis(kernel, "kh"), te.reduce_axis(kernel, "kw")

    def at(n: te.Axis, h: te.Axis, w: te.Axis, c: te.Axis) -> te.Value:
        return data[n, h * stride + rh, w * stride + rw, c]

    if kind == "max":
        return te.func(
            te.compute((batch, oh, ow, c), lambda n, h, w, c: te.max(at(n, h, w, c), axis=[rh, rw]), name="pool"),
            "max_pool",
        )
    total = te.compute((batch, oh, ow, c), lambda n, h, w, c: te.sum(at(n, h, w, c), axis=[rh, rw]), name="pool")
    scale = 1.0 / (kernel * kernel)
    return te.func(te.compute(total.shape, lambda n, h, w, c: total[n, h, w, c] * scale, name="mean"), "avg_pool")


@checked
def global_avg_pool(h: int, w: int, c: int, batch: int = 1) -> Func:
    """Mean over the image: ``[n, h, w, c] -> [n, c]`` (stages ``total``, ``mean``)."""
    x = te.placeholder((batch, h, w, c), name="X")
    rh, rw = te.reduce_axis(h, "h"), te.reduce_axis(w, "w")
    total = te.compute((batch, c), lambda n, c: te.sum(x[n, rh, rw, c], axis=[rh, rw]), name="total")
    return te.func(te.compute((batch, c), lambda n, c: total[n, c] * (1.0 / (h * w)), name="mean"), "global_avg_pool")
