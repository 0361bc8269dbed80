"""Primitives that put loops together and in order: fuse, reorder."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Annotated

from workbench.ir import Affine, Digit, Dim, For, Func, Stmt, blocks, loops
from workbench.ir.affine import digit_extent
from workbench.ir.poly import normal
from workbench.ir.stmt import as_marked, subst_loops
from workbench.schedule import legality
from workbench.schedule.legality_classes import one_kind, properties_around, used_whole
from workbench.schedule.nest_rewrites import replace_loop
from workbench.schedule.primitive import Applied, LoopRefs, Primitive, primitive
from workbench.schedule.refusal import refuse


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
class Fuse(Primitive):
    """Fuse loops that lie directly inside each other into one.

    Contract: the new loop runs over the product of the extents in the same order; ``outer`` becomes ``new //
    inner_extent`` and ``inner`` becomes ``new % inner_extent``. A fused loop can be split again where the old
    loops met, or into parts that hold whole shares of them. To run several loops in parallel do not fuse them:
    ``parallel`` takes several. The new loop is called ``outer.inner``.
    """

    loops: Annotated[tuple[str, ...], LoopRefs("loops to fuse, outermost first")]

    def apply(self, func: Func) -> Applied:
        if len(self.loops) < 2 or len(set(self.loops)) < len(self.loops):
            text = f"Fusing takes two or more different loops, not {list(self.loops)}."
            refuse("fuse.arity", text, self.loops, "name them outermost first: fuse('i', 'j')")
        for name in self.loops:
            lp, _ = func.loop(name)
            if lp.kind != "serial":
                refuse(
                    "fuse.marked",
                    f"Loop {name!r} is marked {as_marked(lp.kind)}; a marked loop cannot be fused.",
                    (name,),
                    "fuse before marking; parallel takes several loops, which need not be fused",
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

    def alike(self, func: Func) -> Hashable | None:
        if len(self.loops) != 2 or one_kind(func, *self.loops) is None:
            return None
        plain = properties_around(func, self.loops[0]).plain
        return () if plain and all(used_whole(func, name) for name in self.loops) else None

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
            within = any(found.name == inner for found, _ in loops(lp.body))
            refuse(
                "fuse.adjacent",
                f"Loop {inner!r} is not the only statement directly inside {outer!r}, which holds {inside}.",
                (outer, inner),
                "reorder the loops next to each other first"
                if within
                else "fuse joins loops of one nest; compute_inline and compute_at put a stage into its reader",
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
                    f"reorder {outer[0]!r} out of the loops to fuse",
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

    return func.with_body(replace_loop(func.body, outer, fn)), new


@primitive(
    "reorder",
    category="loop",
    codes={
        "reorder.arity": "fewer than two loops, or one named twice",
        "reorder.perfect": "a loop between the named ones holds other statements, or they are not nested in each other",
        "reorder.reduction": "a loop that computes elements again would come inside their reduction",
    },
)
class Reorder(Primitive):
    """Put nested loops into the given order, outermost first.

    Contract: the named loops take each other's places in their nest; loops in between that are not named stay where
    they are. Everything from the outermost to the innermost named loop must be perfectly nested. Sums may be added up
    in another order.
    """

    loops: Annotated[tuple[str, ...], LoopRefs("loops in their new order, outermost first")]

    def apply(self, func: Func) -> Applied:
        if len(self.loops) < 2 or len(set(self.loops)) < len(self.loops):
            text = f"Reordering takes two or more different loops, not {list(self.loops)}."
            refuse("reorder.arity", text, self.loops, "name each once, in their new order: reorder('j', 'i')")
        links = self._chain(func)
        names = iter(self.loops)
        by_name = {lp.name: lp for lp in links}
        order = [by_name[next(names)] if lp.name in self.loops else lp for lp in links]
        body: tuple[Stmt, ...] = links[-1].body
        for lp in reversed(order):
            body = (lp.around(body),)
        func = func.with_body(replace_loop(func.body, links[0].name, lambda _: body))
        legality.check_reductions(func, [b for b, _ in blocks(body)], "reorder")
        return func, ()

    def alike(self, func: Func) -> Hashable | None:
        return one_kind(func, *reversed(self.loops)) if len(self.loops) == 2 else None

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
