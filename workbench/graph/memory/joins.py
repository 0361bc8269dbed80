"""Joining and cutting tensors without copies: a part lies in the memory of the larger tensor.

A concatenation needs no kernel when the kernels that make its parts can write them where they belong. All that
happens then is that a parameter's rows lie further apart (`workbench.ir.parameter_strides.widen`): the tuned task stays
the same. What reads a part reads it where it lies; so a chain of concatenations, each of everything before and
something new, is one tensor that grows in place. A slice of a tensor is read where the tensor lies in the same way.

What stays a copy:

- a part that is an input, a constant or an output of the network, or that lies in another tensor already;
- a part with gaps between its rows that a step reads or makes which is not compiled, or that is given another shape
  in which its elements do not lie at even distances;
- a part that would be *read* in pieces of less than a cache line: each line would be fetched by the readers of its
  neighbours, too;
- what would raise the most memory that lives at once by more than an eighth, as a small slice that keeps a large
  tensor alive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.graph.graph import Graph
from workbench.graph.group import Group, Spot, gapless, restrided, row_major
from workbench.graph.memory.lifetimes import ALIGNMENT, most_alive
from workbench.graph.opdef import opdef
from workbench.ir import Load, blocks
from workbench.ir.poly import concrete

#: Share of the most bytes alive at once by which views may raise them. Chosen, not measured: views save time and may
#: cost memory.
MORE = 0.125


def join_in_place(graph: Graph, groups: Sequence[Group]) -> list[Group]:
    """Turn concatenations and slices into views where nothing has to be copied; kernels get the `spots` of parts."""
    found = _Spots(graph, groups)
    for k in reversed(range(len(groups))):
        if _is_concat(groups[k]):
            found.join(k)
    for k, g in enumerate(groups):
        window = _window(g)
        if window is not None and k not in found.views:  # a concatenation of one may be both
            found.cut(k, *window)
    return found.result()


@dataclass(slots=True)
class _Spots:
    """Decisions so far: where parts lie, and which groups became views."""

    graph: Graph
    groups: Sequence[Group]
    spots: dict[str, Spot] = field(default_factory=dict)
    views: set[int] = field(default_factory=set)
    readers: dict[str, list[Group]] = field(init=False)
    writers: dict[str, Group] = field(init=False)
    room: float = field(init=False)

    def __post_init__(self) -> None:
        self.room = most_alive(self.graph, self.groups, {}, set()) * (1 + MORE)
        self.readers, self.writers = defaultdict(list), {}
        for g in self.groups:
            for t in set(g.inputs):
                self.readers[t].append(g)
            self.writers.update(dict.fromkeys(g.outputs, g))

    def join(self, k: int) -> None:
        """Let the parts of a concatenation lie side by side, if all of them can."""
        (node,), (whole,) = self.groups[k].nodes, self.groups[k].outputs
        types = self.graph.types
        if any(types[t].dtype != types[whole].dtype for t in node.inputs) or self._lies_already(k):
            return
        axis = node.attrs.get("axis", 1)
        assert isinstance(axis, int)
        home, at = self.spot(whole), 0
        new: dict[str, Spot] = {}
        for t in node.inputs:
            step = home.strides[axis]
            spot = Spot(home.whole, home.offset + at * step, self.graph.types[t].shape, home.strides)
            if t in new or not self._place(t, spot, new, made=True):
                return
            at += self.graph.types[t].shape[axis]
        self._keep(k, new)

    def _lies_already(self, k: int) -> bool:
        """Whether the parts lie side by side because a later concatenation joins them, too."""
        (node,), (whole,) = self.groups[k].nodes, self.groups[k].outputs
        axis = node.attrs.get("axis", 1)
        assert isinstance(axis, int)
        known = [self.spots.get(t) for t in node.inputs]
        first = known[0]
        if first is None or whole in self.spots:
            return False
        at = first.offset
        for t, spot in zip(node.inputs, known, strict=True):
            if spot is None or (spot.whole, spot.offset, spot.strides) != (first.whole, at, first.strides):
                return False
            at += self.graph.types[t].shape[axis] * first.strides[axis]
        new: dict[str, Spot] = {}
        spot = replace(first, shape=self.graph.types[whole].shape)
        return self._place(whole, spot, new, made=False) and self._keep(k, new)

    def cut(self, k: int, start: Sequence[int], step: Sequence[int]) -> None:
        """Let a slice lie where it is cut out."""
        (source,), (part,) = self.groups[k].inputs, self.groups[k].outputs
        if part in self.spots or source in self.graph.constants:
            return
        home = self.spot(source)
        offset = home.offset + sum(a * s for a, s in zip(start, home.strides, strict=True))
        strides = tuple(a * s for a, s in zip(step, home.strides, strict=True))
        spot = Spot(home.whole, offset, self.graph.types[part].shape, strides)
        new: dict[str, Spot] = {}
        if self._place(part, spot, new, made=False):
            self._keep(k, new)

    def spot(self, t: str) -> Spot:
        """Where a tensor lies: in itself, unless decided otherwise."""
        shape = self.graph.types[t].shape
        return self.spots.get(t) or Spot(t, 0, shape, row_major(shape))

    def _place(self, t: str, spot: Spot, new: dict[str, Spot], *, made: bool) -> bool:
        """Try to let a tensor lie somewhere; `made`: whoever makes it has to write it there.

        What is given another shape takes its views with it; these need memory without gaps.
        """
        shape = self.graph.types[t].shape
        known = self.spots.get(t, new.get(t))
        if known is not None or t in self.graph.outputs or t in self.graph.inputs or t in self.graph.constants:
            return False
        dense = gapless(shape, spot.strides)
        try:
            spot.widened(shape)
        except ValueError:
            return False
        new[t] = spot
        writer = self.writers.get(t)
        if writer is None or (made and not self._writes(writer, t, spot, dense, new)):
            return False
        return all(self._reads(g, t, spot, dense, new) for g in self.readers[t])

    def _writes(self, g: Group, t: str, spot: Spot, dense: bool, new: dict[str, Spot]) -> bool:
        if not g.view:
            return dense or _takes(g, t, spot)
        return self._reshaped(t, g.inputs[0], spot, new, made=True)

    def _reads(self, g: Group, t: str, spot: Spot, dense: bool, new: dict[str, Spot]) -> bool:
        if g.view:
            return all(o in new or self._reshaped(t, o, spot, new, made=False) for o in g.outputs)
        if g.func is None or dense:
            return dense
        return _is_concat(g) or (self._run(t, spot) >= ALIGNMENT and _takes(g, t, spot))

    def _reshaped(self, t: str, other: str, spot: Spot, new: dict[str, Spot], *, made: bool) -> bool:
        """Let a tensor of another shape lie where `t` is placed."""
        shape = self.graph.types[other].shape
        own = restrided(spot.shape, spot.strides, shape)
        return own is not None and self._place(other, Spot(spot.whole, spot.offset, shape, own), new, made=made)

    def _run(self, t: str, spot: Spot) -> int:
        """Bytes that lie without gaps, at least."""
        kind, run = self.graph.types[t], 1
        for n, stride in zip(reversed(kind.shape), reversed(spot.strides), strict=True):
            if n > 1 and stride != run:
                break
            run *= n
        return run * np.dtype(kind.dtype).itemsize

    def _keep(self, k: int, new: Mapping[str, Spot]) -> bool:
        """Take a decision, unless much more memory would live at once than with copies alone."""
        spots, views = {**self.spots, **new}, {*self.views, k}
        if most_alive(self.graph, self.groups, spots, views) > self.room:
            return False
        self.spots, self.views = spots, views
        return True

    def result(self) -> list[Group]:
        out = []
        for k, g in enumerate(self.groups):
            spots = {t: self.spots[t] for t in (*g.inputs, *g.outputs) if t in self.spots}
            if k in self.views:
                text = f"{'parts' if _is_concat(g) else 'part'} in place: {g.description}"
                g = replace(g, func=None, key="", flops=0, description=text)
            out.append(replace(g, spots=spots) if spots else g)
        return out


def _takes(g: Group, t: str, spot: Spot) -> bool:
    """Whether a kernel can read or write a tensor where it has gaps, in the dimensions that the kernel sees."""
    if g.func is None:
        return False
    try:
        for param, tensor in g.args:
            if tensor == t:
                spot.widened(tuple(map(concrete, g.func.buffer(param).shape)))
    except ValueError:
        return False
    return True


def _is_concat(g: Group) -> bool:
    return g.func is not None and len(g.nodes) == 1 and opdef(g.nodes[0]).joins


def _window(g: Group) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Start and step in each dimension where all that a kernel does is to copy a part of its only operand."""
    if g.func is None or len(g.func.params) != 2:
        return None
    ((block, _), *others) = blocks(g.func.body)
    if others or not isinstance(block.value, Load) or block.guard or block.value.at:
        return None
    source = g.func.buffer(block.value.buffer)
    if source.role != "input" or source.dtype != g.func.outputs[0].dtype or len(source.shape) != len(block.index):
        return None
    start, step = list[int](), list[int]()
    for own, read in zip(block.index, block.value.index, strict=True):
        axis = own.single_var()
        k = 0 if axis is None else read.coefficient(axis)
        if own.is_const and read.is_const and isinstance(read.const, int):  # a dimension of one element
            axis, k = "", 1
        elif axis is None or not isinstance(k, int) or k < 1 or read.vars != {axis} or not isinstance(read.const, int):
            return None
        assert isinstance(read.const, int)
        start.append(read.const)
        step.append(k)
    return tuple(start), tuple(step)
