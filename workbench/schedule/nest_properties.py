"""What every step asks about a whole nest, found in one walk: its size, its marked loops and its units."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.ir import Block, For, Stmt
from workbench.ir.pipelines import PIPELINE
from workbench.ir.stmt import BOUND_KINDS, cut_axes
from workbench.memoize import remembered


@dataclass(slots=True)
class NestProperties:
    """What there is in a body.

    Attributes
    ----------
    iterations, depth : (int, str)
        The most times that a block runs and the most loops inside each other, with the block and the loop. Open
        extents count as 1: their relations limit them by an extent that was there before.
    units : list of For
        Outermost units.
    bound : list of For
        Loops bound to a part of a device.
    marked : list of (For, tuple of For)
        Parallel and vectorised loops, with the loops around them.
    pipelines : list of For
        Loops that copy to shared memory an iteration ahead.
    cut : list of Block
        Blocks that use digits of an axis.
    plain : bool
        Every loop is serial, and none is a unit: nothing was promised of any.
    """

    iterations: tuple[int, str] = (0, "")
    depth: tuple[int, str] = (0, "")
    units: list[For] = field(default_factory=list)
    bound: list[For] = field(default_factory=list)
    marked: list[tuple[For, tuple[For, ...]]] = field(default_factory=list)
    pipelines: list[For] = field(default_factory=list)
    cut: list[Block] = field(default_factory=list)
    plain: bool = True

    @staticmethod
    def of(body: tuple[Stmt, ...]) -> NestProperties:
        """Properties of a function's statements."""
        return _together(body)

    @staticmethod
    def of_nest(nest: Stmt) -> NestProperties:
        """Properties of one of them."""
        return _properties(nest)


@remembered(512)
def _together(body: tuple[Stmt, ...]) -> NestProperties:
    """Most steps change one of the nests of a body; the others are the same objects as before."""
    out = NestProperties()
    for nest in body:
        part = NestProperties.of_nest(nest)
        out.iterations, out.depth = max(out.iterations, part.iterations), max(out.depth, part.depth)
        if part.cut:
            out.cut += part.cut
        if not part.plain:
            out.plain = False
            out.units += part.units
            out.bound += part.bound
            out.marked += part.marked
            out.pipelines += part.pipelines
    return out


@remembered(512)
def _properties(nest: Stmt) -> NestProperties:
    out = NestProperties()
    _look(nest, out, 1, (), False)
    return out


def _look(s: Stmt, out: NestProperties, times: int, path: tuple[For, ...], in_unit: bool) -> None:
    while isinstance(s, For):
        if s.kind != "serial" or s.notes or s.intrin is not None:
            in_unit = _note(s, out, path, in_unit)
        if isinstance(s.extent, int):
            times *= s.extent
        if not s.body:
            return
        path = (*path, s)
        *others, last = s.body
        for inner in others:
            _look(inner, out, times, path, in_unit)
        s = last
    out.iterations = max(out.iterations, (times, s.name))
    if path:
        out.depth = max(out.depth, (len(path), path[-1].name))
    if cut_axes(s):
        out.cut.append(s)


def _note(lp: For, out: NestProperties, path: tuple[For, ...], in_unit: bool) -> bool:
    """Take down what a loop is marked as; returns whether what is in it lies in a unit."""
    if lp.kind in ("parallel", "vectorize"):
        out.marked.append((lp, path))
    elif lp.kind in BOUND_KINDS:
        out.bound.append(lp)
    ahead = lp.note(PIPELINE) is not None
    if ahead:
        out.pipelines.append(lp)
    if not in_unit and lp.is_unit:
        out.units.append(lp)
        in_unit = True
    out.plain = out.plain and not in_unit and not ahead and lp.kind == "serial"
    return in_unit
