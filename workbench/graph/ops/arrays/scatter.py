"""Operators that store at places that are known at run time: ScatterElements, ScatterND.

A loop nest stores every element once, where it is. So here each element of the result looks through the numbers for one
that names it. That is worth it where few are stored: a step in NumPy does the rest. Numbers that lie outside of the
tensor, which ONNX leaves undefined, store nothing; where several name one element, the last one wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.arrays.gather import counted
from workbench.graph.ops.lowering import compute, lowest

#: Most numbers that an element of the result looks at (on average), and most comparisons of a nest that looks at more.
#: Chosen, not measured: beyond, a step in NumPy does it.
MOST_LOOKS, MOST_COMPARISONS = 16, 1 << 18
_NUMPY: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
_JOIN: dict[str, Callable[[te.Value, te.Value], te.Value]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "max": te.maximum,
    "min": te.minimum,
}
_REDUCE: dict[str, Any] = {"add": te.sum, "mul": te.prod, "max": te.max, "min": te.min}


def _highest(dtype: str) -> float | int:
    return math.inf if np.dtype(dtype).kind == "f" else int(np.iinfo(dtype).max)


class _Scatter(OpDef):
    """What both share: the result is the tensor with some elements replaced, or joined by an operation."""

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.type(1).dtype not in ("int32", "int64"):
            raise c.error("unsupported_dtype", f"takes {c.type(1).dtype} for an index", "cast it to int64")
        self.check(c)
        return c.shape(0)

    def check(self, c: Call) -> None:
        """Refuse shapes that do not belong together."""
        raise NotImplementedError

    def looks(self, c: Call) -> tuple[int, int]:
        """(elements that look for their number, numbers that each looks at)."""
        raise NotImplementedError

    def how(self, c: Call) -> str:
        """What joins the old and the new element; "none" where the new one takes its place."""
        how = c.get_str("reduction", "none")
        if how not in ("none", *_JOIN):
            raise c.error("unsupported_attr", f"joins elements by {how!r}, which is not known")
        return how

    def obstacle(self, c: Call) -> str:
        places, each = self.looks(c)
        if c.type(0).dtype in ("bool", "str"):
            return f"storing {c.type(0).dtype} at run-time places"
        if each > MOST_LOOKS and places * each > MOST_COMPARISONS:
            return f"storing at {each:,} run-time places"
        return ""

    def start(self, how: str, dtype: str) -> te.Value:
        """What joining with changes nothing."""
        number = int(how == "mul") if how in ("add", "mul") else (lowest if how == "max" else _highest)(dtype)
        return te.const(number, dtype)

    def stored(self, c: Call, x: Array, where: tuple[Array, ...], values: Array) -> Array:
        """The tensor after storing values at index arrays; numbers outside store nothing."""
        inside = np.ones(where[0].shape, bool)
        places = []
        for at, size in zip(where, x.shape, strict=False):
            at = np.where(at < 0, at + size, at)
            inside &= (at >= 0) & (at < size)
            places.append(at)
        out, how = x.copy(), self.how(c)
        index = tuple(p[inside] for p in places)
        if how == "none":
            out[index] = values[inside]
        else:
            _NUMPY[how].at(out, index, values[inside])
        return out


@operator("ScatterElements", "opaque")
class ScatterElements(_Scatter):
    """The tensor with elements stored along one axis, each at a number of its own."""

    def check(self, c: Call) -> None:
        x, index, axis = c.shape(0), c.shape(1), c.named_axis(0)
        smaller = len(x) == len(index) and all(
            b <= a for d, (a, b) in enumerate(zip(x, index, strict=True)) if d != axis
        )
        if not smaller or c.shape(2) != index:
            raise c.error("shape_mismatch", f"stores {list(c.shape(2))} at {list(index)} places of {list(x)}")

    def looks(self, c: Call) -> tuple[int, int]:
        return c.type(0).size, c.shape(1)[c.named_axis(0)]

    def reference(self, c: Call, x: Array, index: Array, values: Array) -> Array:
        grid: list[Array] = list(np.indices(index.shape))
        grid[c.named_axis(0)] = index.astype(np.int64)
        return self.stored(c, x, tuple(grid), values)

    def lower(self, c: Call, x: te.Tensor, index: te.Tensor, values: te.Tensor) -> te.Tensor:
        axis, how = c.named_axis(0), self.how(c)
        count = index.shape[axis]
        cut = [d for d in range(x.ndim) if d != axis and index.shape[d] < x.shape[d]]

        def where(i: Sequence[te.Axis], there: te.Value, other: te.Value) -> te.Value:
            """`there` in the part of the tensor that numbers belong to."""
            for d in cut:
                there = te.select(i[d] < index.shape[d], there, other)
            return there

        def hit(i: Sequence[te.Axis], k: te.Axis) -> te.Value:
            number = counted(c, 1, index[(*i[:axis], k, *i[axis + 1 :])], x.shape[axis])
            return te.equal(te.cast(number, "int64"), i[axis])

        def last(*i: te.Axis) -> Any:
            k = te.reduce_axis(count, "k")
            none = te.const(-1, "int64")
            return te.max(where(i, te.select(hit(i, k), k, none), none), axis=k)

        def joined(*i: te.Axis) -> Any:
            k, none = te.reduce_axis(count, "k"), self.start(how, x.dtype)
            new = te.select(hit(i, k), values[(*i[:axis], k, *i[axis + 1 :])], none)
            return _REDUCE[how](where(i, new, none), axis=k)

        if how == "none":
            which = compute(x.shape, last, c.name("which"))

            def body(*i: te.Axis) -> te.Value:
                new = where(i, values[(*i[:axis], which[i], *i[axis + 1 :])], x[i])
                return te.select(which[i] >= 0, new, x[i])

            return compute(x.shape, body, c.name("scatter"))
        new = compute(x.shape, joined, c.name("new"))
        return compute(x.shape, lambda *i: _JOIN[how](x[i], new[i]), c.name("scatter"))


@operator("ScatterND", "opaque")
class ScatterND(_Scatter):
    """The tensor with slices stored at tuples of numbers, the last dimension of the index tensor."""

    def check(self, c: Call) -> None:
        x, index = c.shape(0), c.shape(1)
        if not index or not 1 <= index[-1] <= len(x) or c.shape(2) != (*index[:-1], *x[index[-1] :]):
            raise c.error("shape_mismatch", f"stores {list(c.shape(2))} at {list(index)} of {list(x)}")

    def looks(self, c: Call) -> tuple[int, int]:
        x, index = c.shape(0), c.shape(1)
        own = x[: index[-1]] if self.how(c) == "none" else x
        return math.prod(own), math.prod(index[:-1])

    def reference(self, c: Call, x: Array, index: Array, values: Array) -> Array:
        return self.stored(c, x, tuple(np.moveaxis(index.astype(np.int64), -1, 0)), values)

    def lower(self, c: Call, x: te.Tensor, index: te.Tensor, values: te.Tensor) -> te.Tensor:
        width, how, many = index.shape[-1], self.how(c), index.shape[:-1]

        def axes() -> list[te.Axis]:
            return [te.reduce_axis(n, f"k{d}" if d else "k") for d, n in enumerate(many)]

        def hit(i: Sequence[te.Axis], ks: Sequence[te.Axis]) -> te.Value:
            out: te.Value | None = None
            for d in range(width):
                number = te.cast(counted(c, 1, index[(*ks, d)], x.shape[d]), "int64")
                one = te.equal(number, i[d])
                out = one if out is None else te.logical_and(out, one)
            assert out is not None
            return out

        def last(*i: te.Axis) -> Any:
            ks = axes()
            number: te.Axis | int = 0
            for k, n in zip(ks, many, strict=True):
                number = k + number * n
            return te.max(te.select(hit(i, ks), number, te.const(-1, "int64")), axis=ks)

        def joined(*i: te.Axis) -> Any:
            ks = axes()
            return _REDUCE[how](te.select(hit(i, ks), values[(*ks, *i[width:])], self.start(how, x.dtype)), axis=ks)

        if how != "none":
            new = compute(x.shape, joined, c.name("new"))
            return compute(x.shape, lambda *i: _JOIN[how](x[i], new[i]), c.name("scatter"))
        which = compute(x.shape[:width], last, c.name("which"))

        def body(*i: te.Axis) -> te.Value:
            found, at, step = which[i[:width]], list[te.Value](), math.prod(many)
            for n in many:
                step //= n
                at.append(found / step % n if len(many) > 1 else found)
            return te.select(found >= 0, values[(*at, *i[width:])], x[i])

        return compute(x.shape, body, c.name("scatter"))
