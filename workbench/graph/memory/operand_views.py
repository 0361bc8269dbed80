"""Transpositions and slices without a stage of their own: a kernel reads through them, or writes in their order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench import te
from workbench.graph.opdef import Index, Places, opdef
from workbench.graph.operator_call import Call
from workbench.ir import Binary, Load
from workbench.te.value import Stage


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
    through: Places | None = None

    def __getitem__(self, index: Index | tuple[Index, ...]) -> te.Value:
        assert self.source is not None
        assert self.through is not None
        return self.source[self.through(index if isinstance(index, tuple) else (index,))]


def read_through(c: Call, x: te.Tensor) -> Moved:
    """The result of an operator that moves as places in its input."""
    op = opdef(c.node)
    return Moved(x.name, op.infer(c)[0].shape, x.dtype, x.constant, (), x, op.places(c))


def written_in_order(c: Call, x: te.Tensor) -> te.Tensor:
    """Transposition of what one reducing stage computes: the same stage with its axes and its result in that order."""
    (stage,) = x.stages
    name, perm = c.name("transpose"), opdef(c.node).perm(c)
    index = tuple(stage.index[p] for p in perm)
    value = stage.value
    assert isinstance(value, Binary)
    own = replace(value.a, buffer=name, index=index) if isinstance(value.a, Load) else value.a
    moved = Stage(
        name, tuple(stage.spatial[p] for p in perm), stage.reduce, index, replace(value, a=own), stage.init, stage.reads
    )
    return te.Tensor(name, tuple(x.shape[p] for p in perm), x.dtype, stages=(moved,))
