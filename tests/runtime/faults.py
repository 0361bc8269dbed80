"""Kernels with one deliberate fault each: what they should compute, and what they compute instead.

Both are functions of the same inputs; the wrong one is compiled and is a candidate for the right one.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench import te
from workbench.ir import Func

#: Names -> (right, wrong).
FAULTS: dict[str, tuple[Func, Func]] = {}


def fault(*names: str) -> Callable[[Callable[[str], Func]], Callable[[str], Func]]:
    """Register the faults that a maker of functions knows; with "" it makes the right one."""

    def register(make: Callable[[str], Func]) -> Callable[[str], Func]:
        for name in names:
            FAULTS[f"{make.__name__}: {name}"] = make(""), make(name)
        return make

    return register


def _matrices(m: int, n: int, k: int, dtype: str = "float32") -> tuple[te.Tensor, te.Tensor]:
    return te.placeholder((m, k), dtype, "A"), te.placeholder((k, n), dtype, "B", constant=True)


@fault(
    "one k is missing", "a lane is dropped", "a row is missing", "an element is 0", "starts from 1e-3", "a sign",
    "operands rounded to bfloat16", "a column twice", "relative error 1e-5",
)  # fmt: skip
def product(wrong: str, m: int = 64, n: int = 64, k: int = 1024) -> Func:
    a, b = _matrices(m, n, k)
    r = te.reduce_axis(k, "k")

    def short(v: te.Value) -> te.Value:
        return te.cast(te.cast(v, "bfloat16"), "float32") if wrong == "operands rounded to bfloat16" else v

    def column(j: te.Axis) -> te.Value | te.Axis:
        return j

    def term(i: te.Axis, j: te.Axis) -> te.Value:
        left, right = short(a[i, r]), short(b[r, column(j)])
        if wrong == "one k is missing":
            return te.select(r < k - 1, left * right, 0.0)
        if wrong == "a lane is dropped":
            return te.select((r >= 1016), 0.0, left * right)
        if wrong == "a sign":
            return te.select((r < 1) & (i < 1), left * right * -1.0, left * right)
        return left * right

    c = te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=r), name="sum")

    def last(i: te.Axis, j: te.Axis) -> te.Value:
        match wrong:
            case "a row is missing":
                return te.select(i < m - 1, c[i, j], 0.0)
            case "an element is 0":
                return te.select((i >= 5) & (i < 6) & (j >= 7) & (j < 8), 0.0, c[i, j])
            case "starts from 1e-3":
                return c[i, j] + 1e-3
            case "relative error 1e-5":
                return c[i, j] * 1.00001
            case "a column twice":
                return te.select(j < n - 1, c[i, j], c[i, j - 1])
        return c[i, j] + 0.0

    return te.func(te.compute((m, n), last, name="C"), "product")


@fault("one k is missing", "summed in float16", "stored through float16")
def long_product(wrong: str, m: int = 8, n: int = 32, k: int = 8192) -> Func:
    a, b = _matrices(m, n, k)
    r = te.reduce_axis(k, "k")
    kind = "float16" if wrong == "summed in float16" else "float32"

    def term(i: te.Axis, j: te.Axis) -> te.Value:
        v = a[i, r] * b[r, j]
        return te.cast(te.select(r < k - 1, v, 0.0) if wrong == "one k is missing" else v, kind)

    c = te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=r), name="sum")
    end = "float16" if wrong == "stored through float16" else "float32"
    return te.func(te.compute((m, n), lambda i, j: te.cast(te.cast(c[i, j], end), "float32"), name="C"), "long_product")


@fault("summed in float16", "one k is missing")
def half_product(wrong: str, m: int = 16, n: int = 16, k: int = 512) -> Func:
    """Of float16 operands, summed in float32."""
    a, b = _matrices(m, n, k, "float16")
    r = te.reduce_axis(k, "k")
    kind = "float16" if wrong == "summed in float16" else "float32"

    def term(i: te.Axis, j: te.Axis) -> te.Value:
        v = te.cast(a[i, r], kind) * te.cast(b[r, j], kind)
        return te.select(r < k - 1, v, te.cast(te.const(0.0), kind)) if wrong == "one k is missing" else v

    c = te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=r), name="sum")
    return te.func(te.compute((m, n), lambda i, j: te.cast(c[i, j], "float32"), name="C"), "half_product")


@fault("99.5 % are 0", "one element of 1e-6 is 0", "relative error 1e-5", "argument cut at 3.5")
def exponential(wrong: str, n: int = 1 << 14) -> Func:
    x = te.placeholder((n,), name="X")

    def value(i: te.Axis) -> te.Value:
        v = te.exp(x[i] * 4.0)
        match wrong:
            case "99.5 % are 0":
                return te.select(i < n // 200, v, 0.0)
            case "one element of 1e-6 is 0":
                return te.select(te.logical_and(v < 1.1e-6, v > 0.9e-6), 0.0, v)
            case "relative error 1e-5":
                return v * 1.00001
            case "argument cut at 3.5":
                return te.exp(te.minimum(x[i], 3.5) * 4.0)
        return v

    return te.func(te.compute((n,), value, name="Y"), "exponential")


@fault("off by one", "no border", "one tap is missing", "border of ones")
def stencil(wrong: str, h: int = 14, w: int = 14, c: int = 16, o: int = 16) -> Func:
    """A convolution with a border of zeros."""
    x, k = te.placeholder((h, w, c), name="X"), te.placeholder((3, 3, c, o), name="W", constant=True)
    first = 2 if wrong == "off by one" else 1
    fill = 1.0 if wrong == "border of ones" else 0.0

    def padded(i: te.Axis, j: te.Axis, q: te.Axis) -> te.Value:
        inside = (i >= first) & (i < h + first) & (j >= 1) & (j < w + 1)
        if wrong == "no border":  # the nearest pixel instead
            return te.select(inside, x[i - 1, j - 1, q], x[0, 0, q])
        return te.select(inside, x[i - first, j - 1, q], fill)

    p = te.compute((h + 2, w + 2, c), padded, name="pad")
    a, b, q = te.reduce_axis(3, "a"), te.reduce_axis(3, "b"), te.reduce_axis(c, "c")

    def term(i: te.Axis, j: te.Axis, m: te.Axis) -> te.Value:
        v = p[i + a, j + b, q] * k[a, b, q, m]
        return te.select((a >= 2) & (b >= 2) & (q >= c - 1), 0.0, v) if wrong == "one tap is missing" else v

    return te.func(te.compute((h, w, o), lambda i, j, m: te.sum(term(i, j, m), axis=[a, b, q]), name="Y"), "stencil")


@fault(
    "wraps", "cut, not rounded", "half away from zero", "factor of the channel before", "unsigned", "one k is missing"
)
def bytes_product(wrong: str, m: int = 64, n: int = 256, k: int = 96) -> Func:
    """Bytes times bytes, scaled back to bytes with a factor for each channel."""
    a, b = te.placeholder((m, k), "uint8", "A"), te.placeholder((k, n), "int8", "B", constant=True)
    factor, r = te.placeholder((n,), name="factor", constant=True), te.reduce_axis(k, "k")

    def term(i: te.Axis, j: te.Axis) -> te.Value:
        left = te.cast(te.cast(a[i, r], "int8") if wrong == "unsigned" else a[i, r], "int32")
        v = left * te.cast(b[r, j], "int32")
        return te.select(r < k - 1, v, te.const(0, "int32")) if wrong == "one k is missing" else v

    c = te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=r), name="sum")

    def value(i: te.Axis, j: te.Axis) -> te.Value:
        scale = te.select(j >= 1, factor[j - 1], factor[0]) if wrong == "factor of the channel before" else factor[j]
        v = te.cast(c[i, j], "float32") * scale
        match wrong:
            case "wraps":
                return te.cast(te.cast(te.round(v), "int32"), "int8")
            case "cut, not rounded":
                return te.cast(v, "int8")
            case "half away from zero":
                return te.cast(te.floor(v + 0.5), "int8")
        return te.cast(te.round(v), "int8")

    return te.func(te.compute((m, n), value, name="Y"), "bytes_product")


@fault("wraps", "saturates at 127 from below", "saturates in the sum")
def byte_sum(wrong: str, n: int = 4096) -> Func:
    """Saturating addition of bytes; the sum of two has 9 bits."""
    x, y = te.placeholder((n,), "int8", "X"), te.placeholder((n,), "int8", "Y")

    def value(i: te.Axis) -> te.Value:
        total = te.cast(x[i], "int32") + te.cast(y[i], "int32")
        if wrong == "wraps":
            return te.cast(total, "int8")
        low = -127 if wrong == "saturates at 127 from below" else -128
        if wrong == "saturates in the sum":
            total = te.cast(te.minimum(te.cast(x[i], "int32"), 100), "int32") + te.cast(y[i], "int32")
        return te.cast(te.minimum(te.maximum(total, low), 127), "int8")

    return te.func(te.compute((n,), value, name="Z"), "byte_sum")


@fault("starts from 0", "the last is not looked at")
def largest(wrong: str, m: int = 256, n: int = 5) -> Func:
    x, r = te.placeholder((m, n), name="X"), te.reduce_axis(n, "k")

    def term(i: te.Axis) -> te.Value:
        match wrong:
            case "starts from 0":
                return te.maximum(x[i, r], 0.0)
            case "the last is not looked at":
                return te.select(r < n - 1, x[i, r], -1000.0)
        return x[i, r]

    return te.func(te.compute((m,), lambda i: te.max(term(i), axis=r), name="Y"), "largest")


@fault("no epsilon", "mean of n - 1", "another row's mean")
def norm(wrong: str, m: int = 32, n: int = 48) -> Func:
    """Rows over the root of their variance."""
    x, r, q = te.placeholder((m, n), name="X"), te.reduce_axis(n, "k"), te.reduce_axis(n, "k")
    total = te.compute((m,), lambda i: te.sum(x[i, r], axis=r), name="total")
    mean = te.compute((m,), lambda i: total[i] * (1.0 / n), name="mean")
    square = te.compute((m,), lambda i: te.sum((x[i, q] - mean[i]) * (x[i, q] - mean[i]), axis=q), name="square")
    count = n - 1 if wrong == "mean of n - 1" else n
    epsilon = 0.0 if wrong == "no epsilon" else 1e-5

    def value(i: te.Axis, j: te.Axis) -> te.Value:
        middle = te.select(i < 1, mean[i + 1], mean[i]) if wrong == "another row's mean" else mean[i]
        return (x[i, j] - middle) * te.rsqrt(square[i] * (1.0 / count) + epsilon)

    return te.func(te.compute((m, n), value, name="Y"), "norm")


@fault("tanh for erf", "no upper end", "the sign of negative ones", "two of equal size swapped")
def activation(wrong: str, n: int = 1 << 12) -> Func:
    x = te.placeholder((n,), name="X")

    def value(i: te.Axis) -> te.Value:
        v = te.gelu(x[i], "tanh" if wrong == "tanh for erf" else "none")
        v = v if wrong == "no upper end" else te.minimum(v, 6.0)
        if wrong == "the sign of negative ones":
            return te.select((i >= 9) & (i < 10), v * -1.0, v)
        other = te.abs(x[i]) if wrong == "two of equal size swapped" else x[i]
        return v + other

    return te.func(te.compute((n,), value, name="Y"), "activation")


@fault("numbers wrap", "no negative ones", "the row before", "half of the table")
def lookup(wrong: str, rows: int = 1000, n: int = 512, width: int = 8) -> Func:
    """Rows by number, those below 0 counted from the end."""
    x, ids = te.placeholder((rows, width), name="X"), te.placeholder((n,), "int64", "ids")
    match wrong:
        case "numbers wrap":
            row = te.compute((n,), lambda i: (ids[i] + 2 * rows) % rows, name="row")
        case "no negative ones":
            row = te.compute((n,), lambda i: ids[i] + 0, name="row")
        case "the row before":
            row = te.compute((n,), lambda i: te.select(ids[i] < 0, ids[i] + rows, ids[i]) - 1, name="row")
        case "half of the table":
            row = te.compute((n,), lambda i: te.minimum(te.select(ids[i] < 0, ids[i] + rows, ids[i]), 499), name="row")
        case _:
            row = te.compute((n,), lambda i: te.select(ids[i] < 0, ids[i] + rows, ids[i]), name="row")
    return te.func(te.compute((n, width), lambda i, j: x[row[i], j], name="Y"), "lookup")


@fault("wraps to 16 bits", "divides by a shift")
def whole_numbers(wrong: str, n: int = 4096) -> Func:
    x = te.placeholder((n,), "int32", "X")

    def value(i: te.Axis) -> te.Value:
        v = te.cast(te.cast(x[i], "int16"), "int32") if wrong == "wraps to 16 bits" else x[i]
        return (v - v % 4) / 4 if wrong == "divides by a shift" else v / 4

    return te.func(te.compute((n,), value, name="Y"), "whole_numbers")


@fault("and for or")
def truths(wrong: str, n: int = 64) -> Func:
    x, y = te.placeholder((n,), "bool", "X"), te.placeholder((n,), "bool", "Y")
    both = te.logical_and if wrong else te.logical_or
    return te.func(te.compute((n,), lambda i: both(x[i], y[i]), name="Z"), "truths")


@fault("the largest is not taken off", "divided by the sum of a neighbour")
def softmax(wrong: str, m: int = 64, n: int = 32) -> Func:
    x, r, q = te.placeholder((m, n), name="X"), te.reduce_axis(n, "k"), te.reduce_axis(n, "k")
    top = te.compute((m,), lambda i: te.max(x[i, r], axis=r), name="top")
    off = 0.0 if wrong == "the largest is not taken off" else 1.0
    e = te.compute((m, n), lambda i, j: te.exp(x[i, j] - top[i] * off), name="exps")
    total = te.compute((m,), lambda i: te.sum(e[i, q], axis=q), name="total")
    shift = 1 if wrong == "divided by the sum of a neighbour" else 0

    def value(i: te.Axis, j: te.Axis) -> te.Value:
        return e[i, j] / te.select(i < m - shift, total[i + shift], total[i])

    return te.func(te.compute((m, n), value, name="Y"), "softmax")
