"""How much memory a loop touches while it runs once: distinct elements and whole cache lines, per buffer.

The same counting rule as `workbench.machine_model.footprint`, for one nest instead of a population: per dimension, the
smaller of the span of an index and the number of its values. What several accesses touch of one buffer is joined. Dims
may depend on holes; a number that an open hole decides is None.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from workbench.ir import Access, Block, Buffer, Digit, Dim, For, Relation, accesses
from workbench.ir.affine import digit_extent
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import divide, negative, normal, product

Terms: TypeAlias = tuple[tuple[Digit, Dim], ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """What one access touches while some of its loops run: per dimension start, span and number of values.

    The start is a form over the loops that stand still: its terms and its constant. Dimensions in `anywhere` are read
    at numbers that are known at run time: another one in every iteration of the loops `picked`, as if side by side.
    """

    start: tuple[Terms, ...]
    offset: tuple[Dim, ...]
    width: tuple[Dim, ...]
    count: tuple[Dim, ...]
    anywhere: tuple[int, ...] = ()
    picked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Touched:
    """Distinct elements in bytes, and the cache lines that they lie in, in bytes."""

    elements: int
    lines: int


def patches(block: Block, path: Sequence[For], relations: Sequence[Relation]) -> Iterator[tuple[int, str, Patch]]:
    """Yield (level, buffer, patch) for every access and every loop around `block`; level k is the loop ``path[k]``.

    The indices of `block` must be forms over loops (after `compact`).
    """
    extents: dict[str, Dim] = {lp.name: lp.extent for lp in path}
    for acc in accesses(block):
        patch = _point(acc)
        for k in range(len(path) - 1, -1, -1):
            patch = _grow(patch, path[k].name, extents, relations)
            yield k, acc.buffer, patch


def patch_of(acc: Access, inside: Sequence[For], relations: Sequence[Relation]) -> Patch:
    """Return what one access touches while the loops `inside`, outermost first, run."""
    extents: dict[str, Dim] = {lp.name: lp.extent for lp in inside}
    patch = _point(acc)
    for lp in reversed(inside):
        patch = _grow(patch, lp.name, extents, relations)
    return patch


def _point(acc: Access) -> Patch:
    ones: tuple[Dim, ...] = (1,) * len(acc.index)
    start = tuple(tuple(t for t in x.terms if not t[0].free) for x in acc.index)
    anywhere = tuple(d for d, x in enumerate(acc.index) if x.free)
    return Patch(start, tuple(x.const for x in acc.index), ones, ones, anywhere, acc.picked)


def _grow(patch: Patch, loop: str, extents: Mapping[str, Dim], relations: Sequence[Relation]) -> Patch:
    """Let one more loop run."""
    if loop not in patch.picked and all(d.var != loop for terms in patch.start for d, _ in terms):
        return patch
    start, offset, width, count = list(patch.start), list(patch.offset), list(patch.width), list(patch.count)
    for k, terms in enumerate(patch.start):
        mine = [(d, c) for d, c in terms if d.var == loop]
        if not mine:
            continue
        start[k] = tuple(t for t in terms if t[0].var != loop)
        for digit, c in mine:
            values = digit_extent(digit, extents)
            down = negative(c)
            width[k] = normal(width[k] + (values - 1) * (c * -1 if down else c), relations)
            count[k] = normal(count[k] * values, relations)
            if down:
                offset[k] = offset[k] + c * (values - 1)
    for k in patch.anywhere if loop in patch.picked else ():
        width[k] = normal(width[k] * extents[loop], relations)
        count[k] = normal(count[k] * extents[loop], relations)
    return Patch(tuple(start), tuple(offset), tuple(width), tuple(count), patch.anywhere, patch.picked)


def touched(buffers: Mapping[str, Buffer], by_buffer: Mapping[str, Collection[Patch]], line: int) -> Touched | None:
    """Sum over buffers of what their patches cover together; None where a hole decides it."""
    elements = lines = 0
    for name, found in by_buffer.items():
        buffer = buffers[name]
        one = _union(tuple(found), buffer.shape, itemsize(buffer.dtype), line)
        if one is None:
            return None
        elements, lines = elements + one.elements, lines + one.lines
    return Touched(elements, lines)


def _union(found: Sequence[Patch], shape: tuple[Dim, ...], item: int, line: int) -> Touched | None:
    """Join patches of one buffer: exact where one covers the others or they are shifted along one dimension, else at
    most too large (never more than the patches one by one, nor than their hull).
    """
    sizes = [_size(p.width, p.count, shape, item, line) for p in found]
    known = [s for s in sizes if s is not None]
    if len(known) < len(sizes):
        return None
    if len(known) == 1:
        return known[0]
    whole = _hull(found, shape, item, line)
    bound = whole or _size(shape, shape, shape, item, line)
    if bound is None:
        return None
    elements = max(max(s.elements for s in known), min(sum(s.elements for s in known), bound.elements))
    lines = max(max(s.lines for s in known), min(sum(s.lines for s in known), bound.lines))
    return Touched(elements, lines)


def _hull(found: Sequence[Patch], shape: tuple[Dim, ...], item: int, line: int) -> Touched | None:
    """Smallest box around patches whose starts differ by known distances."""
    first = found[0]
    if any(p.start != first.start for p in found):
        return None
    width: list[Dim] = []
    count: list[Dim] = []
    for k in range(len(shape)):
        ends = [(_distance(p.offset[k], first.offset[k]), p.width[k], p.count[k]) for p in found]
        known = [(o, w, c) for o, w, c in ends if o is not None and isinstance(w, int)]
        if len(known) < len(ends):
            return None
        width.append(max(o + w for o, w, _ in known) - min(o for o, _, _ in known))
        count.append(sum((c for _, c in {(o, c) for o, _, c in known}), start=0))
    return _size(width, count, shape, item, line)


def _distance(a: Dim, b: Dim) -> int | None:
    d = a - b
    return d if isinstance(d, int) else None


def _size(width: Sequence[Dim], count: Sequence[Dim], shape: Sequence[Dim], item: int, line: int) -> Touched | None:
    """Elements and lines of a box; a row that is covered completely runs on into the next one."""
    w, c, s = _ints(width), _ints(count), _ints(shape)
    if w is None or c is None or s is None:
        return None
    span = [min(x) for x in zip(w, c, s, strict=True)]
    wide = [min(x) for x in zip(w, s, strict=True)]
    elements = math.prod(span)
    run, rest, full = 1, 1, True
    for d in range(len(span) - 1, -1, -1):
        run, rest = (run * wide[d], rest) if full else (run, rest * span[d])
        full = full and wide[d] == s[d]
    flat, step = 1, 1
    for x, n in zip(reversed(wide), reversed(s), strict=True):
        flat, step = flat + (x - 1) * step, step * n
    lines = min(rest * -(-run * item // line), elements, -(-flat * item // line))
    return Touched(elements * item, lines * line)


def _ints(dims: Sequence[Dim]) -> list[int] | None:
    out = [d for d in dims if isinstance(d, int)]
    return out if len(out) == len(dims) else None


def times(path: Sequence[For], relations: Sequence[Relation]) -> Dim:
    """How often a body inside of `path` runs."""
    return normal(product(lp.extent for lp in path), relations)


def starts(block: Block, path: Sequence[For], relations: Sequence[Relation]) -> int | None:
    """How often all reduction axes of a block are 0: once for every value of the loop digits that drive none."""
    extents: dict[str, Dim] = {lp.name: lp.extent for lp in path}
    reducing: dict[str, set[Digit]] = {}
    for form, axis in zip(block.binds, block.iters, strict=True):
        for d, _ in form.terms if axis.kind == "R" else ():
            reducing.setdefault(d.var, set()).add(d)
    free: Dim = 1
    for lp in path:
        rest = divide(lp.extent, product(digit_extent(d, extents) for d in reducing.get(lp.name, ())), relations)
        if rest is None:
            return None
        free = free * rest
    free = normal(free, relations)
    return free if isinstance(free, int) else None
