"""Primitives that cut loops: split, and tile, which splits two and orders the parts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Annotated

from workbench.ir import Affine, Dim, For, Func, HoleInfo, Relation, accesses, blocks, loops
from workbench.ir.func import subst_holes
from workbench.ir.poly import divide, equal, hole, holes_of, normal, product, single_hole
from workbench.ir.stmt import as_marked
from workbench.schedule.holes import Hole, hole_names, nearest, resolve_hole, unknown_hole
from workbench.schedule.legality_classes import cut_off, just_cut, one_kind
from workbench.schedule.nest_rewrites import NotRadix, fresh_names, split_loop
from workbench.schedule.primitive import Applied, Choice, Factors, LoopRef, Primitive, primitive
from workbench.schedule.primitives.fuse_reorder import Reorder
from workbench.schedule.refusal import Deferred, Refusal, refuse
from workbench.schedule.split_tails import even_so, split_guarded, split_peeled

_FACTOR = int | str | Hole | None


@primitive(
    "split",
    category="loop",
    returns="names",
    codes={
        "split.arity": "fewer than two factors, more than one None, or one new hole named twice",
        "split.divides": "the factors do not have the extent as their product",
        "split.undecided": "with holes: it is not proved that the factors divide the extent",
        "split.product": "new holes for a loop whose extent is a product of other holes",
        "split.digit": "the loop was fused, or indexed with // and %, and a factor cuts through one of its parts",
        "split.marked": "the loop is parallel, vectorised or unrolled already",
        "split.choices": "the extent is a hole with choices, which new holes cannot replace",
        "split.open": "a tail beside a hole: the size of the rest would depend on it",
        "split.tail": "with a tail: the loop is not the outermost part of one axis of every block in it",
        "split.peel": "with a peeled rest: what the loop writes for others is read inside of it too",
    },
)
class Split(Primitive):
    """Split a loop into nested loops, outermost first.

    Contract: ``loop == loop.0 * (f1 * f2 * ...) + loop.1 * (f2 * ...) + ...``; the product of the factors is the
    extent, so no iteration is added or lost. One factor may be None: it takes the rest. A single number ``n`` means
    ``[None, n]``. A factor may be a `Hole`, or the name of a hole that exists; None beside new holes becomes a hole
    too. Splitting a loop whose extent is a single hole replaces that hole by the product of the new ones; its old name
    stays understood. The new loops are called ``loop.0``, ``loop.1``, ...

    Numbers that do not divide the extent need a `tail`. With "guard" the last iterations are left out by a condition
    of the blocks inside. With "peel" the loops run over what divides evenly, and the rest gets a nest of its own right
    after, with a loop ``loop.rest`` and blocks ``X.rest``; a reduction goes on there. Peel a loop while it is the
    outermost one: then both nests can be ordered as a whole. Holes do not go with a tail: ``pad`` makes an axis long
    enough for any factor.
    """

    loop: Annotated[str, LoopRef("loop to split")]
    factors: Annotated[tuple[_FACTOR, ...], Factors("factors, outermost first; None is the rest", of="loop")]
    tail: Annotated[str, Choice("where the factors do not divide", values=("exact", "guard", "peel"))] = "exact"

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
                f"Loop {self.loop!r} is marked {as_marked(lp.kind)}; a marked loop cannot be split.",
                (self.loop,),
                f"split {self.loop!r} before marking it",
            )
        names = fresh_names(func, [f"{self.loop}.{k}" for k in range(len(self.factors))])
        factors: list[Dim] = []
        try:
            sizes = self._uneven(lp.extent)
            if sizes is not None:
                factors = [*sizes]
                return self._tailed(func, names, sizes, int(lp.extent))  # type: ignore[arg-type]
            func, factors = self._factors(func, lp.extent)
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

    def alike(self, func: Func) -> Hashable | None:
        if self.tail == "exact":
            return just_cut(func, self.loop, self.factors)
        return self.tail if cut_off(func, self.loop, self.factors) else None

    def resolve(self, func: Func) -> Primitive:
        if "loop" in self.open_choices() or not any(isinstance(f, Hole) and f.name is None for f in self.factors):
            return self  # a loop that is open is not known by a name yet: variants are resolved one by one
        names = hole_names(func, self.loop, len(self.factors))
        factors = tuple(
            replace(f, name=n) if isinstance(f, Hole) and f.name is None else f
            for f, n in zip(self.factors, names, strict=True)
        )
        return replace(self, factors=factors)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if at not in (None, lp.name) or lp.extent == 1:
                continue
            sizes = [f for f in (4, 8, 16, 32) if isinstance(lp.extent, int) and f < lp.extent]
            for f in sizes:
                yield Split(lp.name, (None, f))
            yield Split(lp.name, (None, Hole()))
            for f in [f for f in sizes if isinstance(lp.extent, int) and lp.extent % f][-1:]:
                yield Split(lp.name, (None, f), "guard")
                yield Split(lp.name, (None, f), "peel")

    def _uneven(self, extent: Dim) -> list[int] | None:
        """Factors with a tail: their product is more than the extent (guard) or less (peel); None when it is exact."""
        if self.tail == "exact":
            return None
        numbers = [f for f in self.factors if isinstance(f, int)]
        if not isinstance(extent, int) or len(numbers) < len(self.factors) - self.factors.count(None):
            refuse(
                "split.open",
                f"Loop {self.loop!r} with a tail takes numbers only: the size of the rest would depend on the holes.",
                (self.loop,),
                f"pad the axis to a number that splits evenly, pad(block, axis, n), and split {self.loop!r} exactly",
            )
        known = math.prod(numbers)
        rest = -(-extent // known) if self.tail == "guard" else extent // known
        sizes = [f if isinstance(f, int) else rest for f in self.factors]
        total = math.prod(sizes)
        short = total < extent if self.tail == "guard" else not 0 < total <= extent
        if short:
            refuse(
                "split.divides",
                f"{' * '.join(map(str, sizes))} = {total}, "
                + (
                    f"fewer iterations than the {extent} of loop {self.loop!r}."
                    if self.tail == "guard"
                    else f"so not one whole part of loop {self.loop!r}, which has the extent {extent}, would be left."
                ),
                (self.loop,),
                "write None for one factor and it takes what is needed",
            )
        return None if total == extent else sizes

    def _tailed(self, func: Func, names: tuple[str, ...], sizes: list[int], extent: int) -> Applied:
        total = math.prod(sizes)
        if self.tail == "guard":
            return split_guarded(func, self.loop, names, sizes, total), names
        func, rest = split_peeled(func, self.loop, names, sizes, total, extent - total)
        return func, (*names, rest)

    def _factors(self, func: Func, extent: Dim) -> tuple[Func, list[Dim]]:
        """Dims of the factors, and the function with the new holes and relations."""
        if not any(isinstance(f, str | Hole) for f in self.factors):
            return func, self._closed(func, extent, [*self.factors])  # type: ignore[list-item]
        step = self.resolve(func)
        assert isinstance(step, Split)
        names = hole_names(func, self.loop, len(self.factors))
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
            self._not_dividing(func, extent, dims, known, rest)
        assert rest is not None
        return [rest if d is None else d for d in dims]

    def _not_dividing(self, func: Func, extent: Dim, dims: list[Dim | None], known: Dim, rest: Dim | None) -> None:
        text = " * ".join(str(d) for d in dims if d is not None)
        meant = "" if text == str(known) else "each number is the extent of one loop, and their product has to divide; "
        text = text if text == str(known) else f"{text} = {known}"
        if isinstance(known, int) and isinstance(extent, int):
            if extent % known:
                refuse(
                    "split.divides",
                    f"{text} does not divide the extent {extent} of loop {self.loop!r}.",
                    (self.loop,),
                    Deferred(lambda: meant + nearest(extent, known) + even_so(func, self)),
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
            self._not_dividing(func, extent, [*(d for d in dims if single_hole(d) not in names), None], known, None)
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


def _boundaries(func: Func, loop: str) -> list[str]:
    lp, _ = func.loop(loop)
    lowers = {str(d.lower) for b, _ in blocks(lp.body) for x in b.binds for d, _ in x.terms if d.var == loop}
    axes = [(b, it.name) for b, _ in blocks(lp.body) for it, x in zip(b.iters, b.binds, strict=True) if loop in x.vars]
    lowers |= {
        str(d.lower)
        for b, axis in axes
        for acc in accesses(replace(b, binds=tuple(Affine.var(i.name) for i in b.iters)))
        for x in acc.index
        for d, _ in x.terms
        if d.var == axis
    }
    return sorted(lowers - {"1"}) or [str(lp.extent)]


@primitive(
    "tile",
    category="loop",
    returns="names",
    codes={
        "tile.split": "one of the loops cannot be split so",
        "tile.order": "the parts cannot be put in order: the loops are not perfectly nested",
    },
)
class Tile(Primitive):
    """Split two loops and put their parts in order: all outer parts first, then all inner ones.

    Contract: ``tile(i, j, 4, 8)`` is ``split(i, [None, 4])``, ``split(j, [None, 8])`` and ``reorder(i.0, j.0, i.1,
    j.1)``; with more factors the levels alternate all the way in. Gives back the names in their new order.
    """

    first: Annotated[str, LoopRef("loop whose parts stay outside")]
    second: Annotated[str, LoopRef("loop whose parts go inside")]
    factors: Annotated[tuple[_FACTOR, ...], Factors("factors of the first loop", of="first")]
    others: Annotated[tuple[_FACTOR, ...], Factors("factors of the second loop", of="second")]

    def apply(self, func: Func) -> Applied:
        one, two = self._splits()
        try:
            func, a = one.apply(func)
            func, b = two.apply(func)
        except Refusal as e:
            raise Refusal("tile.split", e.message, e.where, e.advice, e.evidence) from None
        names = tuple(n for pair in zip_longest(a, b) for n in pair if n is not None)
        try:
            func, _ = Reorder(names).apply(func)
        except Refusal as e:
            raise Refusal("tile.order", e.message, e.where, e.advice, e.evidence) from None
        return func, names

    def alike(self, func: Func) -> Hashable | None:
        cuts = just_cut(func, self.first, self.factors), just_cut(func, self.second, self.others)
        if None in cuts:
            return None
        both = one_kind(func, self.first, self.second) if cuts == ((), ()) else None
        return (self.first, self.second) if both is None else both

    def resolve(self, func: Func) -> Primitive:
        first, second = self._splits()
        one = first.resolve(func)
        # The second split finds other names taken than the first: those of the holes that the first one makes.
        made = tuple(HoleInfo(str(f.name)) for f in one.args["factors"] if isinstance(f, Hole))
        two = second.resolve(replace(func, holes=(*func.holes, *made)))
        return replace(self, factors=one.args["factors"], others=two.args["factors"])

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            child = lp.body[0]
            if len(lp.body) > 1 or not isinstance(child, For) or 1 in (lp.extent, child.extent):
                continue
            if at in (None, lp.name, child.name):
                yield Tile(lp.name, child.name, (None, 4), (None, 4))
                yield Tile(lp.name, child.name, (None, Hole()), (None, Hole()))

    def _splits(self) -> tuple[Split, Split]:
        return Split(self.first, self.factors), Split(self.second, self.others)
