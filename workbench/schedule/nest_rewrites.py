"""Rewrites of nests that several primitives share. None of them asks whether it is legal; that is the caller's
question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from workbench.ir import Affine, Block, Digit, Dim, For, Func, Iter, LoopKind, Stmt, blocks, loops
from workbench.ir.affine import radix_boundaries
from workbench.ir.poly import equal, normal
from workbench.ir.stmt import cut_axes, map_block, rewrite


def replace_loop(body: tuple[Stmt, ...], name: str, fn: Callable[[For], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """Replace the loop `name` by ``fn(loop)``."""
    for lp, path in loops(body):
        if lp.name == name:
            return _replace(body, lp, path, fn(lp))
    return body


def _replace(body: tuple[Stmt, ...], old: Stmt, path: tuple[For, ...], by: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Put other statements in the place of one, which is known with the loops around it: the rest stays as it is.

    With none in its place, loops that held nothing else go too.
    """
    for up in reversed(path):
        inside = _in_place(up.body, old, by)
        old, by = up, (up.around(inside),) if inside else ()
    return _in_place(body, old, by)


def _in_place(body: tuple[Stmt, ...], old: Stmt, by: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    if len(body) == 1:
        return by
    k = next(k for k, s in enumerate(body) if s is old)
    return (*body[:k], *by, *body[k + 1 :])


def replace_block(body: tuple[Stmt, ...], name: str, fn: Callable[[Block], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """Replace the block `name` by ``fn(block)``."""
    for block, path in blocks(body):
        if block.name == name:
            return _replace(body, block, path, fn(block))
    return body


def remove_block(body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
    """Remove a block and the loops that hold nothing else."""
    return replace_block(body, name, lambda _: ())


def insert(body: tuple[Stmt, ...], loop: str, stmts: tuple[Stmt, ...], first: bool) -> tuple[Stmt, ...]:
    """Insert statements as the first or last ones in a loop."""
    return replace_loop(body, loop, lambda lp: (lp.around(stmts + lp.body if first else lp.body + stmts),))


def own_nest(func: Func, block: str) -> int:
    """Number of the statement of the function that a block is in."""
    _, path = func.block(block)
    top = path[0].name if path else block
    return next(k for k, s in enumerate(func.body) if s.name == top)


def nest(loops: Sequence[tuple[str, Dim]], body: tuple[Stmt, ...], kind: LoopKind = "serial") -> tuple[Stmt, ...]:
    """Wrap statements in loops, outermost first."""
    for name, extent in reversed(loops):
        body = (For(name, extent, body, kind),)
    return body


def fresh_names(func: Func, bases: Sequence[str]) -> tuple[str, ...]:
    """One unused name per base, different from each other."""
    out: list[str] = []
    for base in bases:
        name, k = func.fresh_name(base), 0
        while name in out:
            k += 1
            name = func.fresh_name(f"{base}_{k}")
        out.append(name)
    return tuple(out)


def axis_names(block: Block, axis: str, count: int) -> tuple[str, ...]:
    """Names for the parts of an axis that no other axis of the block has: ``i0, i1, ...`` for ``i``."""
    used = {it.name for it in block.iters}
    names = [f"{axis}{k}" for k in range(count)]
    while used & set(names):
        names = [f"{name}_" for name in names]
    return tuple(names)


class NotRadix(Exception):
    """A digit cuts through a factor."""

    def __init__(self, digit: Digit) -> None:
        Exception.__init__(self, str(digit))
        self.digit = digit


def mixed_radix(func: Func, names: Sequence[str], factors: Sequence[Dim], whole: Dim) -> Callable[[Digit], Affine]:
    """Function from a digit of a split variable to a form over its parts.

    Raises
    ------
    NotRadix
        When the digit begins or ends inside one of the factors, and does not cut it into whole parts.
    """
    bounds = radix_boundaries(factors, func.relations)
    parts = list(reversed(names))
    # The variable itself keeps all its parts, of extent 1 or not: a number leaves the form that a hole gives.
    plain = Affine.make([(Digit(n), w) for n, w in zip(parts, bounds, strict=False)])

    def boundary(digit: Digit, at: Dim) -> int:
        k = next((k for k, b in enumerate(bounds) if equal(b, at, func.relations)), None)
        if k is None:
            raise NotRadix(digit)
        return k

    def fn(digit: Digit) -> Affine:
        if digit.plain:
            return plain
        end = whole if digit.extent is None else normal(digit.lower * digit.extent, func.relations)
        inside = _inside_parts(digit, end, parts, bounds)
        if inside is not None:
            return inside
        low, high = boundary(digit, digit.lower), boundary(digit, end)
        out = Affine()
        sizes = list(reversed(factors))
        w: Dim = 1
        for k in range(low, high):
            out = out + Affine(((Digit(parts[k]), w),))
            w = normal(w * sizes[k], func.relations)
        return out

    return fn


def _inside_parts(digit: Digit, end: Dim, parts: Sequence[str], bounds: Sequence[Dim]) -> Affine | None:
    """The digit as a sum of digits of the parts, innermost first, where it cuts some of them into whole numbers of
    pieces; None where it does not, where it cuts none, or where a size is open.
    """
    low, sizes = digit.lower, [*bounds]
    if not isinstance(low, int) or not isinstance(end, int) or not all(isinstance(b, int) for b in sizes):
        return None
    if low in sizes and end in sizes:
        return None
    out = Affine()
    for part, begin, stop in zip(parts, sizes, sizes[1:], strict=False):
        assert isinstance(begin, int)
        assert isinstance(stop, int)
        first, last = max(begin, low), min(stop, end)
        if first >= last:
            continue
        if first % begin or last % first or stop % last:
            return None
        out = out + Affine(((Digit(part, first // begin, last // first), first // low),))
    return out


def split_axis(func: Func, block: Block, axis: str, parts: Sequence[tuple[str, Dim, Affine]]) -> Block:
    """Replace an axis of a block by several, given as (name, extent, binding), outermost first.

    Raises
    ------
    NotRadix
        When the block uses a digit of the axis that cuts through a part, or runs under a condition on the axis.
    """
    if any(axis in g.form.vars for g in block.guard):
        raise NotRadix(Digit(axis))
    k = next(k for k, it in enumerate(block.iters) if it.name == axis)
    old = block.iters[k]
    digit = mixed_radix(func, [n for n, _, _ in parts], [e for _, e, _ in parts], old.extent)
    env: Mapping[str, Affine | Callable[[Digit], Affine]] = {axis: digit}
    iters = (*block.iters[:k], *(Iter(n, e, old.kind) for n, e, _ in parts), *block.iters[k + 1 :])
    binds = (*block.binds[:k], *(b for _, _, b in parts), *block.binds[k + 1 :])

    def form(a: Affine) -> Affine:
        return a.subst(env)

    return replace(map_block(block, lambda a: a, form), iters=iters, binds=binds)


def split_loop(func: Func, loop: str, names: Sequence[str], factors: Sequence[Dim]) -> Func:
    """Split a loop into several; digits of it are taken apart where they meet the factors' boundaries. Notes stay with
    the outermost part.

    Raises
    ------
    NotRadix
        When a digit of the loop, or of an axis that it drives, cuts through a factor.
    """
    digit = mixed_radix(func, names, factors, func.loop(loop)[0].extent)

    def inner(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, Block) or not any(d.var == loop for x in s.binds for d, _ in x.terms):
            return None
        return (map_block(_split_digit_axes(func, s, loop, names, factors), lambda a: a.subst({loop: digit})),)

    def fn(lp: For) -> tuple[Stmt, ...]:
        (outer,) = nest(list(zip(names, factors, strict=True)), rewrite(lp.body, inner))
        assert isinstance(outer, For)
        return (For(outer.name, outer.extent, outer.body, notes=lp.notes),)

    return func.with_body(replace_loop(func.body, loop, fn))


def _split_digit_axes(func: Func, block: Block, loop: str, names: Sequence[str], factors: Sequence[Dim]) -> Block:
    """An axis of which the block uses digits (``i // 4``) is split along with the loop that drives it."""
    cut = cut_axes(block)
    for it, bind in zip(block.iters, block.binds, strict=True) if cut else ():
        if it.name in cut and bind.single_var() == loop:
            axes = axis_names(block, it.name, len(factors))
            parts = [(a, f, Affine.var(n)) for a, f, n in zip(axes, factors, names, strict=True)]
            return _split_digit_axes(func, split_axis(func, block, it.name, parts), loop, names, factors)
    return block
