"""Quantised operators."""

from __future__ import annotations

import numpy as np

from random_models.draft import Unfit
from random_models.recipes.base import recipe
from random_models.recipes.linear import right
from random_models.recipes.windows import image, window
from random_models.values import array

BYTES = ("uint8", "int8")


def scale(d, kind, shape=()):
    return d.fresh(np.asarray(d.rng.choice([0.01, 0.05, 0.25, 0.5, 1.0], shape)).astype(kind), static=True)


def zero(d, kind, shape=()):
    if kind not in BYTES or d.flip(0.3):
        return d.fresh(np.zeros(shape, kind), static=True)
    return d.fresh(array(d.rng, kind, shape), static=True)


def _along(d, x):
    """Shape of scale and zero point, and the attribute that says along which axis they lie."""
    if d.opset >= 13 and len(d.shape(x)) > 0 and d.flip(0.4):
        axis = d.axis(len(d.shape(x)))
        return (d.shape(x)[axis],), {"axis": axis}
    return (), {}


@recipe("QuantizeLinear")
def quantize(d, op):
    x = d.tensor(d.dtype(op, 0, ("float32", "float16", "int32")), kind="mild")
    shape, attrs = _along(d, x)
    kind = d.choice(*BYTES, *(("int16", "uint16") if d.opset >= 21 else ()))
    like = d.dtype_of(x) if d.opset >= 19 else "float32"
    d.add(op, [x, scale(d, like, shape), *([zero(d, kind, shape)] if d.flip(0.8) else [])], **attrs)


@recipe("DequantizeLinear")
def dequantize(d, op):
    x = d.tensor(d.dtype(op, 0))
    shape, attrs = _along(d, x)
    kind = d.dtype_of(x)
    zeros = [d.fresh(np.zeros(shape, kind), True) if kind == "int32" else zero(d, kind, shape)] if d.flip(0.7) else []
    d.add(op, [x, scale(d, "float16" if d.opset >= 19 and d.flip(0.15) else "float32", shape), *zeros], **attrs)


@recipe("DynamicQuantizeLinear")
def dynamic(d, op):
    x = d.tensor("float32", kind="mild", fits=lambda a: a.size > 0 and bool(np.abs(a).max() > 0))
    d.add(op, [x], outputs=3)


@recipe("QLinearMatMul")
def product(d, op):
    # Without anything to add onnxruntime gives what was in memory.
    x = d.tensor(d.dtype(op, 0, BYTES), rank=(2, 3), fits=lambda a: a.shape[-1] > 0)
    kind = d.dtype(op, 3, BYTES)
    y = d.tensor(kind, shape=right(d, d.shape(x)))
    per = (d.shape(y)[-1],) if len(d.shape(y)) == 2 and d.flip(0.3) else ()
    out = d.dtype_of(x)
    d.add(op, [x, scale(d, "float32"), zero(d, out), y, scale(d, "float32", per), zero(d, kind, per),
               scale(d, "float32"), zero(d, out)])  # fmt: skip


@recipe("QLinearConv")
def conv(d, op):
    x = image(d, op, (3, 4, 4))
    _, c, *spatial = d.shape(x)
    attrs = window(d, spatial)
    kind, outs = d.dtype(op, 3, BYTES), d.whole(1, 4)
    w = d.tensor(kind, shape=(outs, c, *attrs["kernel_shape"]))
    per = (outs,) if d.flip(0.3) else ()
    parts = [x, scale(d, "float32"), zero(d, d.dtype_of(x)), w, scale(d, "float32", per)]
    parts += [d.fresh(np.zeros(per, kind), True) if per else zero(d, kind), scale(d, "float32"), zero(d, d.dtype_of(x))]
    if d.flip(0.4):
        parts.append(d.fresh(d.rng.integers(-500, 500, outs).astype("i4"), True))
    d.add(op, parts, **attrs)


@recipe("workbench.qdq")
def between(d, op):
    """An operator between dequantised operands and a quantised result."""
    if d.opset < 10:
        raise Unfit("too old")
    kind = d.choice(*BYTES)
    x = d.tensor(kind, rank=(2, 4), fits=lambda a: a.size > 0)
    (a,) = d.add("DequantizeLinear", [x, scale(d, "float32"), zero(d, kind)])
    draw = d.whole(0, 2)
    if draw == 0:
        (y,) = d.add(d.choice("Relu", "Sigmoid", "Neg", "Tanh"), [a])
    else:
        other = d.fresh(array(d.rng, kind, (d.shape(a)[-1], 3) if draw == 1 else d.shape(a)), static=True)
        (b,) = d.add("DequantizeLinear", [other, scale(d, "float32"), zero(d, kind)])
        (y,) = d.add("MatMul" if draw == 1 else d.choice("Add", "Mul"), [a, b])
    d.add("QuantizeLinear", [y, scale(d, "float32"), zero(d, kind)])
