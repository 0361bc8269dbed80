"""Reductions over chosen axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, AttrValue
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted, left_axes
from workbench.graph.ops.lowering import compute
from workbench.ir.dtypes import is_float


class Reduce(OpDef):
    """What all reductions share; `axes` says over which axes a node reduces."""

    parameters = (1,)

    numpy: Callable[..., Any]
    kind = "sum"
    mean = False
    since = 18  # opset from which the axes are an input
    before: Callable[[te.Value], te.Value] | None = None  # of every element
    after: Callable[[te.Value], te.Value] | None = None  # of the result

    @property
    def plain(self) -> bool:
        """Whether the reduction of one element is that element."""
        return type(self).before is None and type(self).after is None

    def axes(self, c: Call) -> tuple[int, ...]:
        """Axes to reduce; all of them when none is named, unless noop_with_empty_axes is set."""
        rank = len(c.shape(0))
        named = c.ints_or_input("axes", 1, self.since)
        if not named:
            return () if c.get_int("noop_with_empty_axes", 0) else tuple(range(rank))
        return tuple(sorted({c.axis(a, rank) for a in named}))

    def shape(self, c: Call) -> tuple[int, ...]:
        axes, keep = self.axes(c), c.get_int("keepdims", 1)
        shape = [1 if d in axes else e for d, e in enumerate(c.shape(0)) if keep or d not in axes]
        return tuple(shape)

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        axes, keep = self.axes(c), c.get_int("keepdims", 1)
        if not axes:
            return None
        attrs: dict[str, AttrValue] = {"axes": tuple(sorted(perm.index(a) for a in axes)), "keepdims": keep}
        return Permuted(attrs, perm if keep else left_axes(perm, axes), count=1, version=11)

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        more = {} if x.size or self.kind not in ("max", "min") else {"initial": _neutral(self.kind, x.dtype)}
        y = type(self).numpy(x, axis=self.axes(c), keepdims=bool(c.get_int("keepdims", 1)), **more)
        return np.asarray(y, dtype=x.dtype)

    def obstacle(self, c: Call) -> str:
        fraction = self.mean or type(self).after is not None
        return "" if is_float(c.type(0).dtype) or not fraction else "a mean, root or logarithm of integers"

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        axes, keep = self.axes(c), c.get_int("keepdims", 1)
        shape = self.shape(c)
        ks = _reduced(x, axes)
        if not axes:
            return compute(shape, lambda *i: self._alone(x[i]), c.name("copy"))

        before, after = type(self).before, type(self).after

        def body(*i: te.Axis) -> te.Reduction:
            value = x[_place(x, ks, i, keep)]
            value = value if before is None else before(value)
            build: Any = {"sum": te.sum, "max": te.max, "min": te.min, "prod": te.prod}[self.kind]
            out = build(value, axis=list(ks.values()))
            assert isinstance(out, te.Reduction)
            return out

        y = compute(shape, body, c.name(f"reduce_{self.kind}"))
        if after is not None:
            return compute(shape, lambda *i: after(y[i]), c.name("finish"))
        if not self.mean:
            return y
        scale = 1.0 / float(np.prod([x.shape[d] for d in axes]))
        return compute(shape, lambda *i: y[i] * scale, c.name("mean"))

    def _alone(self, value: te.Value) -> te.Value:
        """Reduction of one element."""
        for step in (type(self).before, type(self).after):
            value = value if step is None else step(value)
        return value


def _reduced(x: te.Tensor, axes: tuple[int, ...]) -> dict[int, te.Axis]:
    """Reduction axes by the dimension that they walk along."""
    return {d: te.reduce_axis(x.shape[d], f"r{n}" if len(axes) > 1 else "k") for n, d in enumerate(axes)}


def _place(x: te.Tensor, ks: Mapping[int, te.Axis], i: Sequence[te.Axis], keep: int) -> tuple[te.Axis, ...]:
    """What is read for an element of the result."""
    left = iter(i)
    own = [next(left) if keep or d not in ks else ks[d] for d in range(x.ndim)]
    return tuple(ks.get(d, o) for d, o in enumerate(own))


def _neutral(kind: str, dtype: np.dtype[Any]) -> Any:
    """What a maximum or minimum of nothing is."""
    low = kind == "max"
    if dtype.kind == "f":
        return -np.inf if low else np.inf
    return not low if dtype.kind == "b" else np.iinfo(dtype).min if low else np.iinfo(dtype).max


def _reduce(name: str, numpy: Callable[..., Any], kind: str, doc: str, **more: Any) -> None:
    steps = {k: staticmethod(v) if callable(v) else v for k, v in more.items()}
    members = {"numpy": staticmethod(numpy), "kind": kind, "__doc__": doc, **steps}
    operator(name, "reduction")(type(name, (Reduce,), members))


def _square(v: te.Value) -> te.Value:
    return v * v


def _np_norm(x: Any, **how: Any) -> Any:
    return np.sqrt(np.sum(np.square(x), **how))


_reduce("ReduceMean", np.mean, "sum", "Mean over axes.", mean=True)
_reduce("ReduceSum", np.sum, "sum", "Sum over axes.", since=13)
_reduce("ReduceMax", np.max, "max", "Maximum over axes.")
_reduce("ReduceMin", np.min, "min", "Minimum over axes.")
_reduce("ReduceProd", np.prod, "prod", "Product over axes.")
_reduce(
    "ReduceL1", lambda x, **how: np.sum(np.abs(x), **how), "sum", "Sum of absolute values over axes.", before=te.abs
)
_reduce("ReduceL2", _np_norm, "sum", "Euclidean norm over axes.", before=_square, after=te.sqrt)
_reduce(
    "ReduceSumSquare", lambda x, **how: np.sum(np.square(x), **how), "sum", "Sum of squares over axes.", before=_square
)
_reduce("ReduceLogSum", lambda x, **how: np.log(np.sum(x, **how)), "sum", "Logarithm of the sum.", after=te.log)


@operator("ReduceLogSumExp", "reduction")
class ReduceLogSumExp(Reduce):
    """Logarithm of the sum of exponentials over axes, without overflow."""

    after = staticmethod(te.log)

    @staticmethod
    def numpy(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
        """Relative to the largest element, where that is a number."""
        x = x if x.dtype.kind == "f" else x.astype(np.float64)
        top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0)
        total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
        return np.asarray(total if keepdims else np.squeeze(total, axis))

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        axes, keep = self.axes(c), c.get_int("keepdims", 1)
        shape = self.shape(c)
        if not axes:
            return compute(shape, lambda *i: x[i], c.name("copy"))

        def fold(of: Callable[..., Any], value: Callable[..., te.Value], name: str) -> te.Tensor:
            ks = _reduced(x, axes)
            return compute(
                shape, lambda *i: of(value(i, x[_place(x, ks, i, keep)]), axis=list(ks.values())), c.name(name)
            )

        largest = fold(te.max, lambda i, v: v, "reduce_max")
        finite = compute(shape, lambda *i: te.equal(largest[i] - largest[i], 0.0), c.name("finite"))
        top = compute(shape, lambda *i: te.select(finite[i], largest[i], 0.0), c.name("top"))
        total = fold(te.sum, lambda i, v: te.exp(v - top[i]), "reduce_sum")
        return compute(shape, lambda *i: te.log(total[i]) + top[i], c.name("finish"))
