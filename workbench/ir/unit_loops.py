"""Nests without loops and axes that run once: what is generated, and the normal form in which nests are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.ir.affine import Affine, Digit
from workbench.ir.func import Func
from workbench.ir.poly import Dim
from workbench.ir.stmt import Block, Stmt, loops, map_block, rewrite


def drop_unit_loops(func: Func) -> Func:
    """Remove loops and axes of extent 1 and write digits of fused loops in one way, so that equal programs compare
    equal.

    A loop with an intrinsic and the loops in it stay: they describe what the intrinsic does.
    """
    extents: dict[str, Dim] = {}
    gone: set[str] = set()
    for lp, path in loops(func.body):
        extents[lp.name] = lp.extent
        if lp.extent == 1 and all(x.intrin is None for x in (*path, lp)):
            gone.add(lp.name)

    def form(a: Affine) -> Affine:
        return Affine.make(
            ((_plain(d, extents[d.var]), c) for d, c in a.terms if d.var not in gone and d.extent != 1), a.const
        )

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(s, Block):
            return (_drop_unit_axes(map_block(s, form)),)
        return s.body if s.name in gone else None

    return replace(func, body=rewrite(func.body, fn))


def _drop_unit_axes(b: Block) -> Block:
    kept = [k for k, (it, x) in enumerate(zip(b.iters, b.binds, strict=True)) if it.extent != 1 or x.terms]
    names = {b.iters[k].name for k in kept}
    zero: dict[str, Affine | Callable[[Digit], Affine]] = {
        it.name: lambda _: Affine() for it in b.iters if it.name not in names
    }
    b = map_block(b, lambda a: a, lambda a: a.subst(zero))
    return replace(b, iters=tuple(b.iters[k] for k in kept), binds=tuple(b.binds[k] for k in kept))


def _plain(d: Digit, whole: Dim) -> Digit:
    if d.lower == 1 and d.extent == whole:
        return Digit(d.var)
    if isinstance(whole, int) and isinstance(d.lower, int) and d.extent is None and d.lower > 1:
        return Digit(d.var, d.lower, -(-whole // d.lower))
    return d
