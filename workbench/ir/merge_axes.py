"""Neighbouring axes that are always walked together, as one axis.

A mean over the height and width of an image reads a row of memory as two axes. As one axis it fills vectors whatever
the width is, and rules for rows apply to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.ir.affine import Affine
from workbench.ir.expr import Index, Load, Select, map_loads, walk
from workbench.ir.func import Func
from workbench.ir.poly import Dim
from workbench.ir.stmt import Block, For, Iter, blocks

#: Two axes of a block, by name.
_Axes = tuple[str, str]
#: A buffer, and the first of two of its dimensions.
_Dims = tuple[str, int]


def merge_reduced_axes(func: Func) -> Func:
    """Make one axis of neighbouring axes over which a block reduces, where all that touches the same memory agrees.

    They have to be the last ones of an array: what is one row of memory then is a row of the nest, too.
    Dimensions of buffers, parameters included, become one as well: the same memory in another shape. Convolutions and
    products stay, unless they reduce over the same neighbours in all their operands. So does a reduction with one
    result: its axes are what cores share out.

    Parameters
    ----------
    func : Func
        As `te.func` makes it: a nest for each block, and a loop for each axis.

    Returns
    -------
    Func
    """
    while (found := _next(func)) is not None:
        func = _merged(func, *found)
    return func


@dataclass(frozen=True, slots=True)
class _Nest:
    """One block, its loops, and where its axes stand in its accesses."""

    block: Block
    loops: tuple[For, ...]

    @property
    def accesses(self) -> list[tuple[str, tuple[Affine, ...]]]:
        """Buffer and index of all that it reads and writes."""
        b = self.block
        values = [e for v in (b.value, b.init) if v is not None for e in walk(v)]
        return [(b.buffer, b.index), *((e.buffer, e.index) for e in values if isinstance(e, Load))]

    @property
    def plain(self) -> bool:
        """Whether each axis has a loop of its own, in their order."""
        names = [x.single_var() for x in self.block.binds]
        return not self.block.guard and names == [lp.name for lp in self.loops]

    def together(self, pairs: set[_Dims], shapes: dict[str, tuple[Dim, ...]]) -> set[_Axes]:
        """Neighbouring axes of one kind that stand in such pairs of dimensions, side by side, and nowhere else."""
        iters, split = self.block.iters, set(self._looked())
        found = {
            (a.name, b.name): (a.extent, b.extent)
            for a, b in itertools.pairwise(iters)
            if a.kind == b.kind and not {a.name, b.name} & split
        }
        for buffer, index in self.accesses:
            for k, form in enumerate(index):
                for axes, sizes in list(found.items()):
                    at = k if axes[0] in form.vars else k - 1
                    fits = (buffer, at) in pairs and _axes(index, at) == axes and shapes[buffer][at : at + 2] == sizes
                    if form.vars & {*axes} and not fits:
                        del found[axes]
        return set(found)

    def spoilt(self, pairs: set[_Dims], shapes: dict[str, tuple[Dim, ...]]) -> Iterator[_Dims]:
        """Pairs of dimensions that cannot become one here."""
        axes = self.together(pairs, shapes)
        for buffer, index in self.accesses:
            for k in range(len(index) - 1):
                fixed = index[k].is_const and index[k + 1].is_const
                if (buffer, k) in pairs and not fixed and _axes(index, k) not in axes:
                    yield buffer, k

    def _looked(self) -> Iterator[str]:
        """Axes that stand in anything but an index of their own."""
        for v in (self.block.value, self.block.init):
            for e in walk(v) if v is not None else ():
                if isinstance(e, Index):
                    yield from e.form.vars
                elif isinstance(e, Select):
                    yield from (v for c in e.conds for v in c.form.vars)
                elif isinstance(e, Load) and e.at:  # numbers that are read at run time stand in the index
                    yield from (v for x in e.index for v in x.vars)


def _axes(index: tuple[Affine, ...], k: int) -> tuple[str | None, str | None]:
    """Axes that alone stand in a dimension and the next one."""
    return index[k].single_var(), index[k + 1].single_var() if k + 1 < len(index) else None


def _next(func: Func) -> tuple[set[_Dims], dict[str, set[_Axes]]] | None:
    """Dimensions of buffers, and axes of blocks, that become one together."""
    nests = [_Nest(*found) for found in blocks(func.body)]
    if len(nests) != len(func.body) or not all(n.plain for n in nests):
        return None
    shapes = {b.name: b.shape for b in func.buffers}
    pairs = {(b.name, d) for b in func.buffers if not b.layout for d in range(len(b.shape) - 1)}
    while dropped := {p for n in nests for p in n.spoilt(pairs, shapes)}:
        pairs -= dropped
    axes = {n.block.name: n.together(pairs, shapes) for n in nests}
    uses = [(p, n.block.name, _axes(x, p[1])) for n in nests for b, x in n.accesses for p in pairs if p[0] == b]
    for n in nests:
        several = any(it.extent != 1 for it in n.block.iters if it.kind == "S")
        long = {it.name for it in n.block.iters if it.kind == "R" and it.extent != 1 and several}
        for first in (a for a in sorted(axes[n.block.name]) if long >= {*a}):
            dims: set[_Dims] = set()
            chosen: dict[str, set[_Axes]] = {n.block.name: {first}}
            while more := {p for p, block, a in uses if a in chosen.get(block, ())} - dims:
                dims |= more
                for p, block, a in uses:
                    if p in dims and a in axes[block]:
                        chosen.setdefault(block, set()).add(a)
            if any(k == len(shapes[buffer]) - 2 for buffer, k in dims):
                return dims, chosen
    return None


def _merged(func: Func, dims: set[_Dims], axes: dict[str, set[_Axes]]) -> Func:
    """The function with these dimensions and axes as one."""
    shapes = {b.name: b.shape for b in func.buffers}

    def index(buffer: str, x: tuple[Affine, ...]) -> tuple[Affine, ...]:
        for k in sorted((k for name, k in dims if name == buffer), reverse=True):
            # Of two axes that become one, the first keeps its name; of two numbers there is a place in the whole.
            one = x[k] if x[k].terms else x[k] * shapes[buffer][k + 1] + x[k + 1]
            x = (*x[:k], one, *x[k + 2 :])
        return x

    def load(ld: Load) -> Load:
        return replace(ld, index=index(ld.buffer, ld.index))

    body = []
    for b, path in blocks(func.body):
        first = dict(axes.get(b.name, ()))
        sizes = {it.name: it.extent for it in b.iters}
        gone = set(first.values())
        whole = {a: sizes[a] * sizes[second] for a, second in first.items()}
        iters = tuple(Iter(i.name, whole.get(i.name, i.extent), i.kind) for i in b.iters if i.name not in gone)
        kept = [k for k, it in enumerate(b.iters) if it.name not in gone]
        init = None if b.init is None else map_loads(b.init, load)
        nest: Block | For = replace(
            b,
            iters=iters,
            binds=tuple(b.binds[k] for k in kept),
            index=index(b.buffer, b.index),
            value=map_loads(b.value, load),
            init=init,
        )
        for k in reversed(kept):
            nest = replace(path[k], extent=whole.get(b.iters[k].name, path[k].extent), body=(nest,))
        body.append(nest)
    buffers = [replace(b, shape=_joined(b.shape, {k for name, k in dims if name == b.name})) for b in func.buffers]
    return func.with_buffers(buffers).with_body(tuple(body))


def _joined(shape: tuple[Dim, ...], at: set[int]) -> tuple[Dim, ...]:
    """Shape with pairs of dimensions as one."""
    for k in sorted(at, reverse=True):
        shape = (*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :])
    return shape
