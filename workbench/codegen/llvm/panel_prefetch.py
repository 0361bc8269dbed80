"""Fetching the next panel of an operand while this one is read again and again.

A loop with the note ``prefetch`` whose body passes several times over the same panel (each group of rows of a product
reads the whole panel) has all that time to fetch the next one. Where panels are contiguous, as packed operands are,
every round of the innermost loop asks for the next few bytes, so that the whole panel is in the second cache when its
turn comes. Asking for lines where they are read would ask for all of them in the first pass, which memory cannot
follow, and again in every other pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.codegen.llvm.expressions import ExprEmitter
from workbench.codegen.llvm.values import Value, index
from workbench.ir import Affine, For, Load, blocks
from workbench.ir.expr import walk
from workbench.ir.poly import concrete


@dataclass(frozen=True, slots=True)
class Stream:
    """A panel that is read several times.

    Attributes
    ----------
    load : Load
        How it is read.
    offset : int
        From this panel to the one that is wanted, in elements.
    counted : tuple of For
        The emitted loops inside of the one that looks ahead; the panel is fetched along all of their iterations.
    tile : tuple of For
        The loops that are written out.
    step : int
        Bytes that are fetched per iteration of the innermost counted loop.
    """

    load: Load
    offset: int
    counted: tuple[For, ...]
    tile: tuple[For, ...]
    step: int


class Streams:
    """The panels that are fetched for the loops that are open."""

    def __init__(self, ex: ExprEmitter) -> None:
        self._fb, self._ex = ex.fb, ex
        self._open: dict[str, list[Stream]] = {}

    def begin(self, lp: For, distance: int) -> frozenset[str]:
        """Take over what can be fetched evenly for a loop that looks ahead; returns the buffers."""
        self._open[lp.name] = list(self._find(lp, distance)) if distance > 0 else []
        return frozenset(s.load.buffer for s in self._open[lp.name])

    def end(self, lp: For) -> None:
        """Forget a loop that is over."""
        self._open.pop(lp.name, None)

    def fetch(self, inner: For, iv: Value, copies: int) -> None:
        """Ask for the share of a round of an innermost loop: `copies` iterations from `iv`."""
        for s in [s for found in self._open.values() for s in found if s.counted[-1] is inner]:
            self._fetch(s, iv, copies)

    def _find(self, lp: For, distance: int) -> Iterator[Stream]:
        written = {b.buffer for b, _ in blocks((lp,))}
        seen: set[Load] = set()
        for b, path in blocks((lp,)):
            for e in walk(b.value):
                if isinstance(e, Load) and not e.at and e.buffer not in written and e not in seen:
                    seen.add(e)
                    got = self._stream(e, lp, path[1:], distance)
                    if got is not None:
                        yield got

    def _stream(self, ld: Load, lp: For, path: tuple[For, ...], distance: int) -> Stream | None:
        form = self._ex.flat(ld.buffer, ld.index)
        counted = tuple(x for x in path if x.kind not in ("unroll", "vectorize") and x.extent != 1)
        step, length = _step(form, lp), _length(form, path)
        if not step or not length or all(x.name in form.vars for x in counted):
            return None
        tile = tuple(x for x in path if x not in counted)
        share = -(-length * self._ex.itemsize(ld.buffer) // math.prod(concrete(x.extent) for x in counted))
        return Stream(ld, step * distance, counted, tile, share)

    def _fetch(self, s: Stream, iv: Value, copies: int) -> None:
        fb, env = self._fb, self._ex.env
        before, place = dict(env), index(0)
        for x in s.counted[:-1]:
            v = env[x.name]
            assert isinstance(v, Value)
            place = fb.add(fb.mul(place, concrete(x.extent)), v)
        env.update({x.name: index(0) for x in (*s.counted, *s.tile)})
        at = self._ex.address(s.load.buffer, s.load.index).pointer
        env.clear()
        env.update(before)
        at = fb.gep(at, index(s.offset * self._ex.itemsize(s.load.buffer)), "i8")
        at = fb.gep(fb.gep(at, fb.mul(place, concrete(s.counted[-1].extent) * s.step), "i8"), fb.mul(iv, s.step), "i8")
        line = self._ex.line_bytes
        for k in range(-(-copies * s.step // line)):
            self._ex.prefetch(fb.gep(at, index(k * line), "i8"), level=2)


def _step(form: Affine, lp: For) -> int:
    """How far an iteration of the loop moves the address; 0 where that differs."""
    plain = all(d.plain for d, _ in form.terms if d.var == lp.name)
    return concrete(form.coefficient(lp.name)) if plain else 0


def _length(form: Affine, inside: tuple[For, ...]) -> int:
    """Number of elements that loops read without gaps; 0 where there are any."""
    length = 1
    for step, size in sorted((_step(form, x), concrete(x.extent)) for x in inside if x.name in form.vars):
        if step != length:
            return 0
        length *= size
    return length
