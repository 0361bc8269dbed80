"""Sums, greatest elements, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.torch_backend.aten.writer import Unsupported, Value, Writer, aten, integers

Dims = Sequence[int] | int | None


def _reduced(w: Writer, op: str, x: str, axes: Sequence[int], keepdim: bool) -> str:
    """A reduction over axes; nothing is left to do for tensors without any."""
    return str(w(op, x, integers(axes), keepdims=int(keepdim))) if axes else x


@aten("sum", "mean", "prod")
def _sum(w: Writer, x: Value, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> str:
    op = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd"}[w.call]
    return _reduced(w, op, w.cast(x), x.axes(dim), keepdim)


@aten("amax", "amin")
def _extreme(w: Writer, x: Value, dim: Dims = None, keepdim: bool = False) -> str:
    return _reduced(w, {"amax": "ReduceMax", "amin": "ReduceMin"}[w.call], w.cast(x), x.axes(dim), keepdim)


@aten("max", "min")
def _extreme_and_place(w: Writer, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    word = w.call.capitalize()
    found = _reduced(w, f"Reduce{word}", x.name, x.axes(dim), keepdim)
    if dim is None:
        return found
    at = w(f"Arg{word}", x, axis=x.axis(dim), keepdims=int(keepdim)) if 1 in w.used else ""
    return found, at


@aten("argmax", "argmin")
def _place(w: Writer, x: Value, dim: int | None = None, keepdim: bool = False) -> str:
    op = "ArgMax" if w.call == "argmax" else "ArgMin"
    if dim is not None:
        return str(w(op, x, axis=x.axis(dim), keepdims=int(keepdim)))
    flat = w("Reshape", x, integers([-1]))
    return str(w("Reshape", w(op, flat, axis=0, keepdims=0), integers(w.shape)))


@aten("any", "all")
def _any(w: Writer, x: Value, dim: Dims = None, keepdim: bool = False) -> str:
    truth = Value(w.cast(x, "bool"), x.shape, "bool")
    op = "ReduceMax" if w.call == "any" else "ReduceMin"
    found = _reduced(w, op, w.cast(truth, "int32"), x.axes(dim), keepdim)
    return w.cast(Value(found, w.shape, "int32"), "bool")


@aten("var", "var_mean")
def _var(w: Writer, x: Value, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    axes = x.axes(dim)
    many = math.prod(x.shape[a] for a in axes)
    kept = _reduced(w, "ReduceMean", x.name, axes, keepdim=True)
    apart = w("Sub", x, kept)
    squares = _reduced(w, "ReduceSum", w("Mul", apart, apart), axes, keepdim)
    left = many - (1 if correction is None else correction)
    found = w("Div", squares, w.cast(max(left, 0)))
    return found if w.call == "var" else (found, _reduced(w, "ReduceMean", x.name, axes, keepdim))


@aten("linalg_vector_norm")
def _norm(
    w: Writer, x: Value, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None
) -> str:  # fmt: skip
    if ord not in _NORMS:
        raise Unsupported(f"the norm {ord}")
    absolute = w("Abs", w.cast(x))
    squares = w("Mul", absolute, absolute) if ord == 2 else absolute
    found = _reduced(w, _NORMS[ord], squares, x.axes(dim), keepdim)
    return str(w("Sqrt", found)) if ord == 2 else found


_NORMS = {1: "ReduceSum", 2: "ReduceSum", math.inf: "ReduceMax", -math.inf: "ReduceMin"}


@aten("cumsum")
def _cumsum(w: Writer, x: Value, dim: int, *, dtype: Any = None) -> str:
    return str(w("CumSum", w.cast(x), np.asarray(x.axis(dim), np.int64))) if x.rank else w.cast(x)


@aten("topk")
def _topk(w: Writer, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not x.rank:
        raise Unsupported("it has no dimensions")
    return w("TopK", x, integers([k]), outputs=2, axis=x.axis(dim), largest=int(largest), sorted=1, version=11)


@aten("_softmax", "_log_softmax")
def _softmax(w: Writer, x: Value, dim: int, half_to_float: bool = False) -> str:
    op = "Softmax" if w.call == "_softmax" else "LogSoftmax"
    return str(w(op, w.cast(x), axis=x.axis(dim)))


@aten("_safe_softmax")
def _safe_softmax(w: Writer, x: Value, dim: int, dtype: Any = None) -> str:
    return safe_softmax(w, w.cast(x), x.axis(dim))


def safe_softmax(w: Writer, x: str, axis: int) -> str:
    """Softmax that is 0 where all elements are minus infinity."""
    most = w("ReduceMax", x, integers([axis]), keepdims=1)
    return str(w("Where", w("Equal", most, w.cast(-math.inf)), w.cast(0), w("Softmax", x, axis=axis)))
