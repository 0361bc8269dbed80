"""Rows that are compared with each other: Softmax and its kin, and rows of one length."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted
from workbench.graph.ops.arrays.movement import CODES
from workbench.graph.ops.lowering import compute


class AlongAxis(OpDef):
    """Base of operators along one axis since opset 13, over all axes from `axis` on as one before."""

    def shape(self, c: Call) -> tuple[int, ...]:
        self.axes(c)
        return c.shape(0)

    def axes(self, c: Call) -> tuple[int, ...]:
        """Axes that belong together."""
        rank = len(c.shape(0))
        if c.version >= 13:
            return (c.axis(c.get_int("axis", -1), rank),)
        return tuple(range(c.axis(c.get_int("axis", 1), rank), rank))

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        if c.version < 13:  # all axes from one on
            return None
        return Permuted({**c.node.attrs, "axis": c.moved_axis(perm, -1)}, perm)


class Rows:
    """Index arithmetic of a tensor some axes of which are rows: what is left, and reductions along a row."""

    def __init__(self, x: te.Tensor, axes: tuple[int, ...]) -> None:
        self.x, self.axes = x, axes
        self.rest = [d for d in range(x.ndim) if d not in axes] or [-1]
        self.shape = [1 if d == -1 else x.shape[d] for d in self.rest]
        self.names = tuple("ijlmnopq"[: len(self.shape)])  # k is what is reduced over

    def reduce(self, kind: str, v: te.Tensor, name: str, of: Callable[[te.Value], te.Value] | None = None) -> te.Tensor:
        """Sum or maximum of each row of `v`, or of a function of its elements."""
        ks = [te.reduce_axis(self.x.shape[d], f"k{n}" if n else "k") for n, d in enumerate(self.axes)]
        fold = te.max if kind == "max" else te.sum

        def body(*i: te.Axis) -> te.Value | te.Reduction:
            rows, cols = iter(i), iter(ks)
            e = v[tuple(next(cols) if d in self.axes else next(rows) for d in range(self.x.ndim))]
            return fold(e if of is None else of(e), axis=ks)

        return self.each(body, name)

    def each(self, body: Callable[..., te.Value | te.Reduction], name: str) -> te.Tensor:
        """A number for each row."""
        return compute(self.shape, body, name, self.names)

    def exponentials(self, c: Call, name: str) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
        """Largest element of each row, exp(x - largest), and the sums of these along the rows."""
        top = self.reduce("max", self.x, c.name(f"{name}_max"))
        e = compute(self.x.shape, lambda *i: te.exp(self.x[i] - top[self.row(i)]), c.name(f"{name}_exp"))
        return top, e, self.reduce("sum", e, c.name(f"{name}_sum"))

    def row(self, i: tuple[te.Axis, ...]) -> tuple[te.Axis | int, ...]:
        """Row of an element."""
        return tuple(0 if d == -1 else i[d] for d in self.rest)


@operator("Softmax", "complex", sensitive=True, rowwise=True, not_negative=True)
class Softmax(AlongAxis):
    """exp(x) / sum(exp(x)) along a row."""

    def reference(self, c: Call, x: Array) -> Array:
        axes = self.axes(c)
        e = np.exp(x - x.max(axis=axes, keepdims=True))
        return np.asarray(e / e.sum(axis=axes, keepdims=True))

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        rows = Rows(x, self.axes(c))
        _, e, total = rows.exponentials(c, "softmax")
        inverse = rows.each(lambda *i: 1.0 / total[i], c.name("softmax_inverse"))
        return compute(x.shape, lambda *i: e[i] * inverse[rows.row(i)], c.name("softmax"))


@operator("LogSoftmax", "complex", sensitive=True)
class LogSoftmax(AlongAxis):
    """x - log(sum(exp(x))) along a row, without overflow."""

    def reference(self, c: Call, x: Array) -> Array:
        axes = self.axes(c)
        y = x - x.max(axis=axes, keepdims=True)
        return np.asarray(y - np.log(np.exp(y).sum(axis=axes, keepdims=True)))

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        rows = Rows(x, self.axes(c))
        top, _, total = rows.exponentials(c, "log_softmax")
        log = rows.each(lambda *i: te.log(total[i]), c.name("log_softmax_log"))
        return compute(x.shape, lambda *i: x[i] - top[rows.row(i)] - log[rows.row(i)], c.name("log_softmax"))


@operator("Hardmax", "opaque", sensitive=True)
class Hardmax(AlongAxis):
    """1 at the first largest element of a row, 0 elsewhere."""

    def reference(self, c: Call, x: Array) -> Array:
        axes = self.axes(c)
        moved = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
        flat = moved.reshape(-1, int(np.prod([x.shape[d] for d in axes], dtype=np.int64)))
        hot = np.zeros_like(flat)
        hot[np.arange(len(flat)), flat.argmax(axis=1)] = 1
        return np.ascontiguousarray(np.moveaxis(hot.reshape(moved.shape), range(x.ndim - len(axes), x.ndim), axes))

    def decompose(self, c: Call, steps: Steps) -> bool:
        """The number of the first largest element, compared with those of all."""
        x, axes = c.shape(0), self.axes(c)
        rows = (*x[: axes[0]], int(np.prod(x[axes[0] :], dtype=np.int64))) if len(axes) > 1 else x
        named = steps.name(0) if rows == x else steps.reshape(steps.name(0), rows)
        top = steps.add("ArgMax", (named,), "top", {"axis": axes[0], "keepdims": 1})
        every = np.arange(rows[axes[0]]).reshape(-1, *(1,) * (len(rows) - 1 - axes[0]))
        hot = steps.add("Equal", (top, steps.constant("numbers", every)), "hot")
        y = steps.add("Cast", (hot,), "typed", {"to": CODES[c.type(0).dtype]})
        if rows != x:
            steps.reshape(y, x)
        return steps.finish()


@operator("LpNormalization", "complex", sensitive=True)
class LpNormalization(OpDef):
    """x divided by the norm of its row: the sum of magnitudes, or the root of the sum of squares; 0 of a row of 0."""

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.get_int("p", 2) not in (1, 2):
            raise c.error("invalid_graph", f"asks for the norm with exponent {c.get_int('p', 2)}, which is 1 or 2")
        c.named_axis(-1)
        return c.shape(0)

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted:
        return Permuted({**c.node.attrs, "axis": c.moved_axis(perm, -1)}, perm)

    def reference(self, c: Call, x: Array) -> Array:
        axis = c.named_axis(-1)
        norm = np.linalg.norm(x, c.get_int("p", 2), axis, keepdims=True)
        return np.asarray(x / np.where(norm == 0, 1, norm))

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        root, rows = c.get_int("p", 2) == 2, Rows(x, (c.named_axis(-1),))
        parts = compute(x.shape, lambda *i: x[i] * x[i] if root else te.abs(x[i]), c.name("norm_parts"))
        total = rows.reduce("sum", parts, c.name("norm_sum"))

        def inverse(*i: te.Axis) -> te.Value:
            v = total[i]
            return te.select(v > 0.0, te.rsqrt(v) if root else 1.0 / v, v + 1.0)

        factor = rows.each(inverse, c.name("norm_inverse"))
        return compute(x.shape, lambda *i: x[i] * factor[rows.row(i)], c.name("lp_norm"))
