"""Ready-made computations with good axis names: what a beginner schedules and what the tests run.

Each function returns a `Func` that is not scheduled yet. Sizes are in elements, images are NHWC, kernels HWIO. The
stage that does the work keeps the short loop names (``i j k``; ``n h w o kh kw c``).

>>> from workbench import workloads
>>> print(workloads.matmul(64, 64, 64))  # doctest: +SKIP
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec

from .arguments import whole
from .errors import ExpressionError
from .ir import te
from .ir.func import Func
from .ir.te import Tensor
from .ir.te_phases import Phases

P = ParamSpec("P")


def _checked(make: Callable[P, Func]) -> Callable[P, Func]:
    """Refuse sizes that are no positive whole numbers (padding may be 0) before anything is computed with them."""
    signature = inspect.signature(make)
    sizes = {n: n != "padding" for n, p in signature.parameters.items() if p.annotation == "int" and n != "axis"}

    @functools.wraps(make)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Func:
        given = signature.bind(*args, **kwargs).arguments
        for name in sizes.keys() & given.keys():
            whole(name, given[name], int(sizes[name]), "te.shape")
        return make(*args, **kwargs)

    return checked


@_checked
def matmul(
    m: int, n: int, k: int, bias: bool = False, relu: bool = False, dtype: str = "float32", constant_b: bool = False
) -> Func:
    """``C[i, j] = sum(A[i, k] * B[k, j])``, then ``+ bias[j]`` (stage ``bias_add``) and ``max(_, 0)`` (stage ``relu``).

    Parameters
    ----------
    m, n, k : int
        ``A`` is ``[m, k]``, ``B`` is ``[k, n]``, the result ``[m, n]``.
    bias, relu : bool
        Whether to append these stages.
    dtype : str
        Of the operands. Products of bfloat16 are summed in float32, which is also the type of the result.
    constant_b : bool
        Whether ``B`` holds weights, which may be packed ahead of time.
    """
    a = te.placeholder((m, k), dtype, "A")
    b = te.placeholder((k, n), dtype, "B", constant=constant_b)
    c = _product(a, b, "float32") if dtype == "bfloat16" else _product(a, b)
    return te.func(_epilogue(c, n if bias else None, relu), "matmul")


@_checked
def matmul_int8(m: int, n: int, k: int, signed: bool = False, constant_b: bool = False) -> Func:
    """``C[i, j] = sum(A[i, k] * B[k, j])`` in int32, of uint8 (int8 if `signed`) ``A[m, k]`` and int8 ``B[k, n]``."""
    a = te.placeholder((m, k), "int8" if signed else "uint8", "A")
    b = te.placeholder((k, n), "int8", "B", constant=constant_b)
    return te.func(_product(a, b, "int32"), "matmul_int8")


def _product(a: Tensor, b: Tensor, accumulate: str | None = None) -> Tensor:
    """Matrix product (stage ``C``), its factors cast to the type to accumulate in."""
    r = te.reduce_axis(a.shape[1], "k")

    def wide(x: te.Value) -> te.Value:
        return x if accumulate is None else te.cast(x, accumulate)

    return te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(wide(a[i, r]) * wide(b[r, j]), axis=r), name="C")


@_checked
def dense(m: int, n: int, k: int, bias: bool = True, relu: bool = False) -> Func:
    """Fully connected layer on constant weights ``W[k, n]``: ``Y[i, j] = sum(X[i, k] * W[k, j])`` (stage ``dense``)."""
    x, w = te.placeholder((m, k), name="X"), te.placeholder((k, n), name="W", constant=True)
    r = te.reduce_axis(k, "k")
    y = te.compute((m, n), lambda i, j: te.sum(x[i, r] * w[r, j], axis=r), name="dense")
    return te.func(_epilogue(y, n if bias else None, relu), "dense")


@_checked
def batch_matmul(batch: int, m: int, n: int, k: int) -> Func:
    """``C[b, i, j] = sum(A[b, i, k] * B[b, k, j])``."""
    x, y = te.placeholder((batch, m, k), name="A"), te.placeholder((batch, k, n), name="B")
    r = te.reduce_axis(k, "k")
    return te.func(
        te.compute((batch, m, n), lambda b, i, j: te.sum(x[b, i, r] * y[b, r, j], axis=r), name="C"), "batch_matmul"
    )


@_checked
def matvec(n: int, k: int, transposed: bool = False, constant_b: bool = False) -> Func:
    """``Y[j] = sum(B[k, j] * V[k])``; with `transposed`, ``B`` is ``[n, k]`` and its rows are reduced."""
    b = te.placeholder((n, k) if transposed else (k, n), name="B", constant=constant_b)
    v, r = te.placeholder((k,), name="V"), te.reduce_axis(k, "k")
    y = te.compute((n,), lambda j: te.sum((b[j, r] if transposed else b[r, j]) * v[r], axis=r), name="Y")
    return te.func(y, "matvec")


@_checked
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
    oh, ow = _out(h, kernel, stride, padding, dilation), _out(w, kernel, stride, padding, dilation)
    data = _pad(te.placeholder((batch, h, w, ci), name="X"), padding)
    weight = te.placeholder((kernel, kernel, ci // groups, co), name="W", constant=True)
    rh, rw, rc = te.reduce_axis(kernel, "kh"), te.reduce_axis(kernel, "kw"), te.reduce_axis(ci // groups, "c")

    def at(n: te.Axis, h: te.Axis, w: te.Axis, o: te.Axis) -> te.Reduction:
        channel = rc if groups == 1 else o // (co // groups) * (ci // groups) + rc
        x = data[n, h * stride + rh * dilation, w * stride + rw * dilation, channel]
        return te.sum(x * weight[rh, rw, rc, o], axis=[rh, rw, rc])

    y = te.compute((batch, oh, ow, co), at, name="conv")
    return te.func(_epilogue(y, co if bias else None, relu, residual), "conv2d")


@_checked
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
    oh, ow = _out(h, kernel, stride, padding, 1), _out(w, kernel, stride, padding, 1)
    data = _pad(te.placeholder((batch, h, w, c), name="X"), padding)
    weight = te.placeholder((kernel, kernel, c), name="W", constant=True)
    rh, rw = te.reduce_axis(kernel, "kh"), te.reduce_axis(kernel, "kw")
    y = te.compute(
        (batch, oh, ow, c),
        lambda n, h, w, c: te.sum(data[n, h * stride + rh, w * stride + rw, c] * weight[rh, rw, c], axis=[rh, rw]),
        name="conv",
    )
    return te.func(_epilogue(y, c if bias else None, relu), "depthwise_conv2d")


@_checked
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
    data = _pad(te.placeholder((batch, h, w, ci), name="X"), down.before, behind=(down.behind, right.behind))
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


@_checked
def pool2d(
    h: int, w: int, c: int, kind: str = "max", kernel: int = 2, stride: int = 2, padding: int = 0, batch: int = 1
) -> Func:
    """Pooling of ``X[n, h, w, c]`` (stage ``pool``) by "max", or "avg" (zeros count; stage ``mean`` divides)."""
    if kind not in ("max", "avg"):
        raise ExpressionError("te.value", f"There is no pooling {kind!r}.", (), "one of: max, avg")
    oh, ow = _out(h, kernel, stride, padding, 1), _out(w, kernel, stride, padding, 1)
    data = _pad(te.placeholder((batch, h, w, c), name="X"), padding, -math.inf if kind == "max" else 0.0)
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


@_checked
def global_avg_pool(h: int, w: int, c: int, batch: int = 1) -> Func:
    """Mean over the image: ``[n, h, w, c] -> [n, c]`` (stages ``total``, ``mean``)."""
    x = te.placeholder((batch, h, w, c), name="X")
    rh, rw = te.reduce_axis(h, "h"), te.reduce_axis(w, "w")
    total = te.compute((batch, c), lambda n, c: te.sum(x[n, rh, rw, c], axis=[rh, rw]), name="total")
    return te.func(te.compute((batch, c), lambda n, c: total[n, c] * (1.0 / (h * w)), name="mean"), "global_avg_pool")


@_checked
def softmax(m: int, n: int) -> Func:
    """Softmax of each row of ``X[m, n]`` (stages ``largest``, ``exps``, ``total``, ``inverse``, ``softmax``)."""
    x = te.placeholder((m, n), name="X")
    r, q = te.reduce_axis(n, "k"), te.reduce_axis(n, "k")
    largest = te.compute((m,), lambda i: te.max(x[i, r], axis=r), name="largest")
    exps = te.compute((m, n), lambda i, j: te.exp(x[i, j] - largest[i]), name="exps")
    total = te.compute((m,), lambda i: te.sum(exps[i, q], axis=q), name="total")
    inverse = te.compute((m,), lambda i: 1.0 / total[i], name="inverse")
    return te.func(te.compute((m, n), lambda i, j: exps[i, j] * inverse[i], name="softmax"), "softmax")


@_checked
def layer_norm(m: int, n: int, epsilon: float = 1e-5) -> Func:
    """Normalise each row of ``X[m, n]``, scale by ``G``, shift by ``B``.

    Stages: ``total``, ``mean``, ``square`` (of the deviations, summed up), ``scale`` (one over their root), ``norm``.
    """
    x = te.placeholder((m, n), name="X")
    g, b = te.placeholder((n,), name="G", constant=True), te.placeholder((n,), name="B", constant=True)
    r, q = te.reduce_axis(n, "k"), te.reduce_axis(n, "k")
    total = te.compute((m,), lambda i: te.sum(x[i, r], axis=r), name="total")
    mean = te.compute((m,), lambda i: total[i] * (1.0 / n), name="mean")
    square = te.compute((m,), lambda i: te.sum((x[i, q] - mean[i]) * (x[i, q] - mean[i]), axis=q), name="square")
    scale = te.compute((m,), lambda i: te.rsqrt(square[i] * (1.0 / n) + epsilon), name="scale")
    norm = te.compute((m, n), lambda i, j: (x[i, j] - mean[i]) * scale[i] * g[j] + b[j], name="norm")
    return te.func(norm, "layer_norm")


@_checked
def reduce(m: int, n: int, op: str = "sum", axis: int = 1) -> Func:
    """Reduce ``X[m, n]`` along `axis` by "sum", "max", "min" or "prod" (stage ``Y``)."""
    ops: dict[str, Callable[..., Any]] = {"sum": te.sum, "prod": te.prod, "max": te.max, "min": te.min}
    if op not in ops:
        raise ExpressionError("te.value", f"There is no reduction {op!r}.", (), f"one of: {', '.join(ops)}")
    if axis not in (0, 1):
        raise ExpressionError("te.value", f"A matrix has no axis {axis!r}.", (), "one of: 0, 1")
    x, r = te.placeholder((m, n), name="X"), te.reduce_axis((m, n)[axis], "k")
    return te.func(
        te.compute(((m, n)[1 - axis],), lambda i: ops[op](x[i, r] if axis == 1 else x[r, i], axis=r), name="Y"),
        f"reduce_{op}",
    )


@_checked
def transpose(m: int, n: int) -> Func:
    """``Y[j, i] = X[i, j]``."""
    x = te.placeholder((m, n), name="X")
    return te.func(te.compute((n, m), lambda j, i: x[i, j], name="Y"), "transpose")


@_checked
def elementwise(m: int, n: int) -> Func:
    """A chain over ``X[m, n]`` and ``Z[m, n]`` (stages ``scale``, ``tanh``, ``add``, ``relu``)."""
    x, z = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="Z")
    scaled = te.compute((m, n), lambda i, j: x[i, j] * 0.5 + 1.0, name="scale")
    curved = te.compute((m, n), lambda i, j: te.tanh(scaled[i, j]), name="tanh")
    added = te.compute((m, n), lambda i, j: curved[i, j] + z[i, j], name="add")
    return te.func(te.compute((m, n), lambda i, j: te.maximum(added[i, j], 0.0), name="relu"), "elementwise")


@_checked
def gelu(m: int, n: int) -> Func:
    """``X * (1 + erf(X / sqrt(2))) / 2`` of ``X[m, n]`` (stage ``gelu``)."""
    x = te.placeholder((m, n), name="X")
    y = te.compute((m, n), lambda i, j: te.gelu(x[i, j]), name="gelu")
    return te.func(y, "gelu")


@_checked
def concat(m: int, n: int, parts: int = 2) -> Func:
    """Relu of ``X0, X1, … [m, n]``, joined along the columns (stages ``Y0, …`` and ``joined_0, …``)."""
    xs = [te.placeholder((m, n), name=f"X{p}") for p in range(parts)]
    ys = [_relu(x, f"Y{p}") for p, x in enumerate(xs)]
    return te.func(te.concat(ys, axis=1, name="joined"), "concat")


def _out(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    span = dilation * (kernel - 1) + 1
    if size + 2 * padding < span:
        raise ExpressionError(
            "te.shape", f"A kernel that spans {span} does not fit an image of {size} padded by {padding}."
        )
    return (size + 2 * padding - span) // stride + 1


def _pad(x: Tensor, padding: int, value: float = 0.0, behind: Sequence[int] | None = None) -> Tensor:
    """Frame of `value` around an NHWC image, by default as wide behind the rows and columns as before them; the image
    itself without padding.
    """
    below, right = behind or (padding, padding)
    if padding == below == right == 0:
        return x
    batch, height, width, channels = x.shape

    def at(n: te.Axis, h: te.Axis, w: te.Axis, c: te.Axis) -> te.Value:
        inside = (h >= padding) & (h < height + padding) & (w >= padding) & (w < width + padding)
        return te.select(inside, x[n, h - padding, w - padding, c], value)

    return te.compute((batch, height + padding + below, width + padding + right, channels), at, name="pad")


def _relu(x: Tensor, name: str = "relu") -> Tensor:
    if x.ndim == 2:
        return te.compute(x.shape, lambda i, j: te.maximum(x[i, j], 0.0), name=name)
    return te.compute(x.shape, lambda n, h, w, o: te.maximum(x[n, h, w, o], 0.0), name=name)


def _epilogue(y: Tensor, bias: int | None, relu: bool, residual: bool = False) -> Tensor:
    """Append bias (of that many channels, innermost), residual and relu to a matrix or an NHWC image."""
    x = y
    if bias is not None:
        b, before = te.placeholder((bias,), y.dtype, "bias", constant=True), x
        if x.ndim == 2:
            x = te.compute(x.shape, lambda i, j: before[i, j] + b[j], name="bias_add")
        else:
            x = te.compute(x.shape, lambda n, h, w, o: before[n, h, w, o] + b[o], name="bias_add")
    if residual:
        r, sum_of = te.placeholder(x.shape, y.dtype, "R"), x
        x = te.compute(x.shape, lambda n, h, w, o: sum_of[n, h, w, o] + r[n, h, w, o], name="add")
    return _relu(x) if relu else x


#: Small instances of every workload, by name: for tests and first steps.
ALL: Mapping[str, Callable[[], Func]] = MappingProxyType(
    {
        "matmul": lambda: matmul(16, 12, 8),
        "matmul_bfloat16": lambda: matmul(8, 12, 10, dtype="bfloat16"),
        "matmul_int8": lambda: matmul_int8(8, 12, 10),
        "matmul_bias_relu": lambda: matmul(12, 16, 8, bias=True, relu=True, constant_b=True),
        "dense": lambda: dense(1, 24, 16, relu=True),
        "batch_matmul": lambda: batch_matmul(3, 8, 6, 4),
        "matvec": lambda: matvec(24, 10),
        "matvec_rows": lambda: matvec(10, 24, transposed=True),
        "conv": lambda: conv2d_nhwc(6, 6, 4, 8),
        "conv_bias_relu": lambda: conv2d_nhwc(6, 6, 4, 8, bias=True, relu=True),
        "conv_stride_bias_relu": lambda: conv2d_nhwc(8, 8, 4, 8, stride=2, bias=True, relu=True),
        "conv_residual": lambda: conv2d_nhwc(4, 4, 4, 8, kernel=1, padding=0, bias=True, relu=True, residual=True),
        "conv_dilated": lambda: conv2d_nhwc(8, 8, 2, 4, dilation=2, padding=2),
        "conv_grouped": lambda: conv2d_nhwc(6, 6, 4, 8, groups=2),
        "conv_transposed": lambda: conv2d_transpose_nhwc(4, 4, 3, 8),
        "conv_transposed_odd": lambda: conv2d_transpose_nhwc(3, 4, 2, 5, kernel=3),
        "depthwise": lambda: depthwise_conv2d_nhwc(6, 6, 8, bias=True, relu=True),
        "max_pool": lambda: pool2d(9, 9, 8, "max", kernel=3, stride=2),
        "max_pool_padded": lambda: pool2d(8, 8, 4, "max", kernel=3, stride=2, padding=1),
        "avg_pool": lambda: pool2d(8, 8, 4, "avg"),
        "global_avg_pool": lambda: global_avg_pool(4, 6, 8),
        "softmax": lambda: softmax(6, 16),
        "layer_norm": lambda: layer_norm(6, 16),
        "reduce_sum": lambda: reduce(12, 16),
        "reduce_max": lambda: reduce(12, 16, "max", axis=0),
        "transpose": lambda: transpose(12, 16),
        "elementwise": lambda: elementwise(12, 16),
        "gelu": lambda: gelu(12, 16),
        "concat": lambda: concat(6, 8),
    }
)
