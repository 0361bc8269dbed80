"""Primitives that reshape loops: split, fuse, reorder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from ...ir.affine import Affine, Digit, digit_extent
from ...ir.func import Func, HoleInfo, subst_holes
from ...ir.poly import Dim, Relation, divide, equal, hole, holes_of, normal, product, single_hole
from ...ir.stmt import Block, For, Stmt, accesses, blocks, loops, subst_loops
from .. import legality
from ..holes import Hole, nearest, resolve_hole, unknown_hole
from ..primitive import Applied, Factors, LoopRef, LoopRefs, Primitive, primitive
from ..refusal import refuse
from ..rewrite import NotRadix, fresh_names, replace_loop, split_loop

_FACTOR = int | str | Hole | None


@primitive(
    "split",
    category="loop",
    returns="names",
    codes={
        "split.arity": "fewer than two factors, or more than one None",
        "split.divides": "the factors do not have the extent as their product",
        "split.undecided": "with holes: it is not proved that the factors divide the extent",
        "split.product": "new holes for a loop whose extent is a product of other holes",
        "split.digit": "the loop was fused, or indexed with // and %, and a factor cuts through one of its parts",
        "split.marked": "the loop is parallel, vectorised or unrolled already",
        "split.choices": "the extent is a hole with choices, which new holes cannot replace",
    },
)
@dataclass(frozen=True, slots=True)
class Split(Primitive):
    """Split a loop into nested loops, outermost first.

    Contract: ``loop == loop.0 * (f1 * f2 * ...) + loop.1 * (f2 * ...) + ...``; the product of the factors is the
    extent, so no iteration is added or lost. One factor may be None: it takes the rest. A single number ``n`` means
    ``[None, n]``. A factor may be a `Hole`, or the name of a hole that exists; None beside new holes becomes a hole
    too. Splitting a loop whose extent is a single hole replaces that hole by the product of the new ones; its old name
    stays understood. The new loops are called ``loop.0``, ``loop.1``, ...
    """

    loop: Annotated[str, LoopRef("loop to split")]
    factors: Annotated[tuple[_FACTOR, ...], Factors("factors, outermost first; None is the rest", of="loop")]

    def apply(self, func: Func) -> Applied:
        lp, _ = func.loop(self.loop)
        if len(self.factors) < 2 or self.factors.count(None) > 1:
            refuse(
                "split.arity",
                f"Splitting {self.loop!r} takes at least two factors and at most one None, not {list(self.factors)}.",
                (self.loop,),
                "for example [None, 8]",
            )
        if lp.kind != "serial":
            refuse(
                "split.marked",
                f"Loop {self.loop!r} is marked {lp.kind}; a marked loop cannot be split.",
                (self.loop,),
                f"split {self.loop!r} before marking it",
            )
        func, factors = self._factors(func, lp.extent)
        names = fresh_names(func, [f"{self.loop}.{k}" for k in range(len(factors))])
        try:
            func = split_loop(func, self.loop, names, factors)
        except NotRadix as e:
            refuse(
                "split.digit",
                f"{self.loop!r} is used in parts ({e.digit}), and the factors "
                f"{' x '.join(map(str, factors))} cut through one of them.",
                (self.loop,),
                "split at the boundaries of the parts first: " + ", ".join(_boundaries(func, self.loop)),
            )
        return func, names

    def resolve(self, func: Func) -> Primitive:
        if not any(isinstance(f, Hole) and f.name is None for f in self.factors):
            return self
        names = _hole_names(func, self.loop, len(self.factors))
        factors = tuple(
            replace(f, name=n) if isinstance(f, Hole) and f.name is None else f
            for f, n in zip(self.factors, names, strict=True)
        )
        return Split(self.loop, factors)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if at not in (None, lp.name) or lp.extent == 1:
                continue
            sizes = [f for f in (4, 8, 16, 32) if isinstance(lp.extent, int) and f < lp.extent]
            for f in sizes:
                yield Split(lp.name, (None, f))
            yield Split(lp.name, (None, Hole()))

    def _factors(self, func: Func, extent: Dim) -> tuple[Func, list[Dim]]:
        """Dims of the factors, and the function with the new holes and relations."""
        step = self.resolve(func)
        assert isinstance(step, Split)
        names = _hole_names(func, self.loop, len(self.factors))
        fresh = any(isinstance(f, Hole) and resolve_hole(func, str(f.name)) is None for f in step.factors)
        new: list[HoleInfo] = []
        dims: list[Dim | None] = []
        for f, name in zip(step.factors, names, strict=True):
            if f is None and fresh:
                f = Hole(name)
            if f is None or isinstance(f, int):
                dims.append(f)
                continue
            known = resolve_hole(func, f if isinstance(f, str) else str(f.name))
            if known is not None:
                dims.append(known)
            elif isinstance(f, str):
                raise unknown_hole(func, f)
            else:
                if any(h.name == f.name for h in new):
                    refuse(
                        "split.arity",
                        f"The hole {f.name!r} is named twice.",
                        (self.loop,),
                        "give every factor a hole of its own",
                    )
                new.append(HoleInfo(str(f.name), f.choices))
                dims.append(hole(str(f.name)))
        if not new:
            return func, self._closed(func, extent, dims)
        return self._open(func, extent, [d for d in dims if d is not None], new)

    def _closed(self, func: Func, extent: Dim, dims: list[Dim | None]) -> list[Dim]:
        known = normal(product(d for d in dims if d is not None), func.relations)
        rest = divide(extent, known, func.relations)
        fits = rest is not None and (None in dims or equal(rest, 1, func.relations))
        if not fits:
            self._not_dividing(extent, dims, known, rest)
        assert rest is not None
        return [rest if d is None else d for d in dims]

    def _not_dividing(self, extent: Dim, dims: list[Dim | None], known: Dim, rest: Dim | None) -> None:
        text = " * ".join(str(d) for d in dims if d is not None)
        text = text if text == str(known) else f"{text} = {known}"
        if isinstance(known, int) and isinstance(extent, int):
            if extent % known:
                refuse(
                    "split.divides",
                    f"{text} does not divide the extent {extent} of loop {self.loop!r}.",
                    (self.loop,),
                    nearest(extent, known),
                )
            refuse(
                "split.divides",
                f"{text}, but loop {self.loop!r} has the extent {extent}.",
                (self.loop,),
                "write None for one factor and it takes the rest",
            )
        open_ = f"{known} divides {extent}" if rest is None else f"{known} = {extent}"
        names = sorted(holes_of(extent))
        refuse(
            "split.undecided",
            f"It is not proved that {open_}, the extent of loop {self.loop!r}, for every value of the holes.",
            (self.loop,),
            f"split it by its own holes {names}" if len(names) > 1 else "split it by new holes: [None, Hole()]",
        )

    def _open(self, func: Func, extent: Dim, dims: list[Dim], new: list[HoleInfo]) -> tuple[Func, list[Dim]]:
        names = [h.name for h in new]
        known = product(d for d in dims if single_hole(d) not in names)
        rest = divide(extent, known, func.relations)
        if rest is None:
            self._not_dividing(extent, [*(d for d in dims if single_hole(d) not in names), None], known, None)
        old = None if rest is None else single_hole(rest)
        if isinstance(rest, int):
            func = replace(
                func, relations=(*func.relations, Relation(tuple(names), rest)), holes=func.holes + tuple(new)
            )
        elif old is not None:
            func = self._lengthen(func, old, new)
        else:
            refuse(
                "split.product",
                f"The extent of {self.loop!r} is {extent}, a product of other holes, so new holes for it would "
                "depend on their values.",
                (self.loop,),
                f"split it by its own holes: {sorted(holes_of(extent))}",
            )
        return func, [normal(d, func.relations) for d in dims]

    def _lengthen(self, func: Func, old: str, new: list[HoleInfo]) -> Func:
        """Replace a hole by the product of new ones, in the nest and in the relation that it belongs to."""
        info = next(h for h in func.holes if h.name == old)
        if info.choices is not None or not any(old in r.lhs for r in func.relations):
            refuse(
                "split.choices",
                f"The extent of {self.loop!r} is the hole {old!r}, which has choices of its own and cannot be "
                "replaced by new holes.",
                (self.loop, old),
                "leave the choices out, or split by numbers",
            )
        names = tuple(h.name for h in new)
        whole = product(hole(n) for n in names)
        relations = tuple(
            Relation(tuple(x for n in r.lhs for x in (names if n == old else (n,))), r.rhs) for r in func.relations
        )
        holes = tuple(x for h in func.holes for x in (tuple(new) if h.name == old else (h,)))
        func = subst_holes(func, {old: whole})
        return replace(func, relations=relations, holes=holes, aliases=(*func.aliases, (old, whole)))


def _hole_names(func: Func, loop: str, count: int) -> list[str]:
    """Readable unused names for the holes of a split: ``i_0, i_1`` for a loop ``i``."""
    taken = {h.name for h in func.holes} | {n for n, _ in func.aliases} | {lp.name for lp, _ in loops(func.body)}
    taken |= {b.name for b in func.buffers} | {b.name for b, _ in blocks(func.body)}
    taken |= {it.name for b, _ in blocks(func.body) for it in b.iters}
    base = loop.replace(".", "_")
    prefix, k = base, 0
    while any(f"{prefix}_{i}" in taken for i in range(count)):
        k += 1
        prefix = f"{base}_{'abcdefghijklmnopqrstuvwxyz'[k % 26] * (1 + k // 26)}"
    return [f"{prefix}_{i}" for i in range(count)]


def _boundaries(func: Func, loop: str) -> list[str]:
    lp, _ = func.loop(loop)
    found = {str(d.lower) for b, _ in blocks(lp.body) for x in b.binds for d, _ in x.terms if d.var == loop}
    axes = [(b, it.name) for b, _ in blocks(lp.body) for it, x in zip(b.iters, b.binds, strict=True) if loop in x.vars]
    found |= {
        str(d.lower)
        for b, axis in axes
        for acc in accesses(replace(b, binds=tuple(Affine.var(i.name) for i in b.iters)))
        for x in acc.index
        for d, _ in x.terms
        if d.var == axis
    }
    return sorted(found - {"1"}) or [str(lp.extent)]


@primitive(
    "fuse",
    category="loop",
    returns="name",
    codes={
        "fuse.arity": "fewer than two loops, or one named twice",
        "fuse.adjacent": "the loops are not directly inside each other",
        "fuse.kinds": "one loop drives a spatial axis and the other a reduction",
        "fuse.marked": "a loop is parallel, vectorised or unrolled already",
    },
)
@dataclass(frozen=True, slots=True)
class Fuse(Primitive):
    """Fuse loops that lie directly inside each other into one.

    Contract: the new loop runs over the product of the extents in the same order; ``outer`` becomes ``new //
    inner_extent`` and ``inner`` becomes ``new % inner_extent``. A fused loop can be split again only where the old
    loops met. To run several loops in parallel do not fuse them: ``parallel`` takes several. The new loop is called
    ``outer.inner``.
    """

    loops: Annotated[tuple[str, ...], LoopRefs("loops to fuse, outermost first")]

    def apply(self, func: Func) -> Applied:
        if len(self.loops) < 2 or len(set(self.loops)) < len(self.loops):
            refuse("fuse.arity", f"Fusing takes two or more different loops, not {list(self.loops)}.", self.loops)
        for name in self.loops:
            lp, _ = func.loop(name)
            if lp.kind != "serial":
                refuse(
                    "fuse.marked",
                    f"Loop {name!r} is marked {lp.kind}; a marked loop cannot be fused.",
                    (name,),
                    "fuse before marking; parallel() takes several loops",
                )
        first = self.loops[0]
        for name in self.loops[1:]:
            self._check_pair(func, first, name)
            first = name
        self._check_kinds(func)
        whole = ".".join(self.loops)
        at = self.loops[0]
        for name in self.loops[1:]:
            func, at = _fuse_pair(func, at, name, whole)
        return func, (at,)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            child = next((s for s in lp.body if isinstance(s, For)), None)
            if child is not None and at in (None, lp.name, child.name):
                yield Fuse((lp.name, child.name))

    def _check_pair(self, func: Func, outer: str, inner: str) -> None:
        lp, _ = func.loop(outer)
        child = lp.body[0]
        if len(lp.body) != 1 or not isinstance(child, For) or child.name != inner:
            inside = ", ".join(repr(s.name) for s in lp.body)
            refuse(
                "fuse.adjacent",
                f"Loop {inner!r} is not the only statement directly inside {outer!r}, which holds {inside}.",
                (outer, inner),
                "reorder the loops next to each other first",
            )

    def _check_kinds(self, func: Func) -> None:
        """A loop of a reduction may only be fused with others of it: with no spatial one, and none that repeats it."""
        units = {n for n in self.loops if legality.is_unit(func, func.loop(n)[0].extent)}
        for block, _ in blocks(func.loop(self.loops[-1])[0].body):
            red, spa = legality.reduction_loops(block), legality.spatial_loops(block)
            inner = [n for n in self.loops if n in red]
            outer = [n for n in self.loops if n in spa or (n not in red and n not in units)]
            if inner and outer:
                refuse(
                    "fuse.kinds",
                    f"{inner[0]!r} drives the reduction of block {block.name!r} and {outer[0]!r} does not; only loops "
                    "of one kind can be fused.",
                    (inner[0], outer[0], block.name),
                )


def _fuse_pair(func: Func, outer: str, inner: str, name: str) -> tuple[Func, str]:
    a, _ = func.loop(outer)
    b, _ = func.loop(inner)
    new = func.fresh_name(name) if name not in (outer, inner) else name
    whole = normal(a.extent * b.extent, func.relations)

    def digit(lower: Dim, size: Dim) -> Affine:
        # Not simplified where a loop runs once: a number has to leave the form that a hole gives.
        return Affine(((Digit(new, normal(lower, func.relations), normal(size, func.relations)), 1),))

    def up(d: Digit) -> Affine:
        return digit(d.lower * b.extent, digit_extent(d, {outer: a.extent}))

    def down(d: Digit) -> Affine:
        return digit(d.lower, digit_extent(d, {inner: b.extent}))

    def fn(lp: For) -> tuple[Stmt, ...]:
        child = lp.body[0]
        assert isinstance(child, For)
        notes = tuple((dict(child.notes) | dict(lp.notes)).items())
        return (For(new, whole, subst_loops(child.body, {outer: up, inner: down}), notes=notes),)

    return replace(func, body=replace_loop(func.body, outer, fn)), new


@primitive(
    "reorder",
    category="loop",
    codes={
        "reorder.arity": "fewer than two loops, or one named twice",
        "reorder.perfect": "a loop between the named ones holds other statements, or they are not nested in each other",
        "reorder.reduction": "a loop that computes elements again would come inside their reduction",
    },
)
@dataclass(frozen=True, slots=True)
class Reorder(Primitive):
    """Put nested loops into the given order, outermost first.

    Contract: the named loops take each other's places in their nest; loops in between that are not named stay where
    they are. Everything from the outermost to the innermost named loop must be perfectly nested. Sums may be added up
    in another order.
    """

    loops: Annotated[tuple[str, ...], LoopRefs("loops in their new order, outermost first")]

    def apply(self, func: Func) -> Applied:
        if len(self.loops) < 2 or len(set(self.loops)) < len(self.loops):
            refuse(
                "reorder.arity", f"Reordering takes two or more different loops, not {list(self.loops)}.", self.loops
            )
        links = self._chain(func)
        names = iter(self.loops)
        by_name = {lp.name: lp for lp in links}
        order = [by_name[next(names)] if lp.name in self.loops else lp for lp in links]
        body: tuple[Stmt, ...] = links[-1].body
        for lp in reversed(order):
            body = (replace(lp, body=body),)
        func = replace(func, body=replace_loop(func.body, links[0].name, lambda _: body))
        legality.check_reductions(func, [b for b, _ in blocks(body)], "reorder")
        return func, ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            child = next((s for s in lp.body if isinstance(s, For)), None)
            if child is not None and at in (None, lp.name, child.name):
                yield Reorder((child.name, lp.name))

    def _chain(self, func: Func) -> list[For]:
        """Loops from the outermost to the innermost named one."""
        depth = {name: len(func.loop(name)[1]) for name in self.loops}
        top = min(depth, key=lambda n: depth[n])
        lp, _ = func.loop(top)
        links, missing = [lp], set(self.loops) - {top}
        while missing:
            child = lp.body[0]
            if len(lp.body) != 1 or not isinstance(child, For):
                inside = ", ".join(repr(s.name) for s in lp.body)
                missed = min(missing, key=self.loops.index)
                refuse(
                    "reorder.perfect",
                    f"{missed!r} is not perfectly nested in {top!r}: loop {lp.name!r} in between holds {inside}.",
                    (lp.name, missed),
                    "move the other statements out first, or reorder only the loops outside of them",
                )
            lp = child
            links.append(lp)
            missing.discard(lp.name)
        return links


__all__ = ["Block", "Fuse", "Reorder", "Split"]
