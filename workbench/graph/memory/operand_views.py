"""Transpositions and slices without a stage of their own: a kernel reads through them, or writes in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from workbench import te
from workbench.graph.opdef import Call, opdef
from workbench.graph.ops.arrays.tensor import Slice, Transpose
from workbench.ir.expr import Binary, Load
from workbench.te.value import Stage

Index: TypeAlias = "te.Axis | te.Value | int"
Through: TypeAlias = Callable[[Sequence[Index]], tuple[Index, ...]]

#: Operators that only say where an element is found.
MOVES = ("Transpose", "Slice")


@dataclass(frozen=True, slots=True, eq=False)
class Moved(te.Tensor):
    """A tensor whose elements are those of `source` at other places; nothing is computed for it.

    Attributes
    ----------
    source : Tensor
    through : callable
        Index of an element -> its index in `source`.
    """

    source: te.Tensor | None = None
    through: Through | None = None

    def __getitem__(self, index: Index | tuple[Index, ...]) -> te.Value:
        assert self.source is not None
        assert self.through is not None
        return self.source[self.through(index if isinstance(index, tuple) else (index,))]


def read_through(c: Call, x: te.Tensor) -> Moved:
    """The result of a Transpose or Slice as places in its input."""
    op = opdef(c.node)
    shape = op.infer(c)[0].shape
    if isinstance(op, Transpose):
        perm = op.perm(c)
        return Moved(
            x.name, shape, x.dtype, x.constant, (), x, lambda i: tuple(i[perm.index(d)] for d in range(x.ndim))
        )
    assert isinstance(op, Slice)
    cuts = op.ranges(c)

    def through(i: Sequence[Index]) -> tuple[Index, ...]:
        return tuple(v if (s, k) == (0, 1) else v * k + s for v, (s, _, k) in zip(i, cuts, strict=True))

    return Moved(x.name, shape, x.dtype, x.constant, (), x, through)


def written_in_order(c: Call, x: te.Tensor) -> te.Tensor:
    """Transposition of what one reducing stage computes: the same stage with its axes and its result in that order."""
    (stage,) = x.stages
    op, name = opdef(c.node), c.name("transpose")
    assert isinstance(op, Transpose)
    perm = op.perm(c)
    index = tuple(stage.index[p] for p in perm)
    value = stage.value
    assert isinstance(value, Binary)
    own = replace(value.a, buffer=name, index=index) if isinstance(value.a, Load) else value.a
    moved = Stage(
        name, tuple(stage.spatial[p] for p in perm), stage.reduce, index, replace(value, a=own), stage.init, stage.reads
    )
    return te.Tensor(name, tuple(x.shape[p] for p in perm), x.dtype, stages=(moved,))
