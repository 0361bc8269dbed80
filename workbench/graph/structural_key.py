"""Structural key of a function: equal for equal computations whatever their tensors, blocks and loops are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import assert_never

from workbench.ir import (
    Affine,
    Binary,
    Block,
    Bound,
    Cast,
    Const,
    Expr,
    For,
    Func,
    Index,
    Load,
    Select,
    Stmt,
    Unary,
    Where,
)
from workbench.ir.text.printer import notes_text


def structural_key(func: Func) -> str:
    """First 16 hexadecimal digits of the SHA-256 of `canonical_text`."""
    return hashlib.sha256(canonical_text(func).encode()).hexdigest()[:16]


def canonical_text(func: Func) -> str:
    """Text of a function with buffers, loops and axes numbered in order of appearance.

    Shapes, dtypes, roles, extents, kinds of loops, indices and values count; names do not.
    """
    names = {b.name: f"b{i}" for i, b in enumerate(func.buffers)}
    lines = []
    for b in func.buffers:
        layout = "".join(f"/{s}" for s in b.layout)
        memory = "" if b.scope == "auto" and not b.align else f" {b.scope} {b.align}"
        lines.append(f"{names[b.name]} {b.role} {b.dtype} {'x'.join(map(str, b.shape))}{layout}{memory}")
    lines += _stmts(func.body, names, {}, 0)
    return "\n".join(lines)


def _stmts(body: tuple[Stmt, ...], names: dict[str, str], loops: dict[str, str], depth: int) -> Iterator[str]:
    for s in body:
        match s:
            case For(name, extent, inner, kind, notes, intrin):
                inside = {**loops, name: f"l{depth:02}"}
                intrin_text = "" if intrin is None else f" intrin {intrin}"
                yield f"{' ' * depth}for l{depth:02} {extent} {kind}{intrin_text}{notes_text(notes)}"
                yield from _stmts(inner, names, inside, depth + 1)
            case Block():
                yield " " * depth + _block(s, names, loops)
            case _:
                assert_never(s)


def _block(b: Block, names: dict[str, str], loops: dict[str, str]) -> str:
    axes = {it.name: f"a{i:02}" for i, it in enumerate(b.iters)}
    head = " ".join(f"{it.kind}{it.extent}={_form(bind, loops)}" for it, bind in zip(b.iters, b.binds, strict=True))
    target = f"{names[b.buffer]}[{', '.join(_form(x, axes) for x in b.index)}]"
    init = "" if b.init is None else f" init {_expr(b.init, names, axes)}"
    guard = "".join(f" if {_bound(g, axes)}" for g in b.guard)
    return f"{head} | {target} = {_expr(b.value, names, axes)}{init}{guard}{notes_text(b.notes)}"


def _form(form: Affine, names: dict[str, str]) -> str:
    """Text of a form after renaming; the canonical order of its terms is restored under the new names."""
    return str(form.subst({old: Affine.var(new) for old, new in names.items()}))


def _bound(c: Bound, axes: dict[str, str]) -> str:
    return f"{c.lo}<={_form(c.form, axes)}<{c.hi}"


def _expr(e: Expr, names: dict[str, str], axes: dict[str, str]) -> str:
    def sub(x: Expr) -> str:
        return _expr(x, names, axes)

    match e:
        case Const(value, dtype):
            return f"{value!r}:{dtype}"
        case Load(buffer, index, at):
            picked = "".join(f"; {sub(p.value)} of {p.extent}" for p in at)
            return f"{names[buffer]}[{', '.join(_form(x, axes) for x in index)}{picked}]"
        case Index(form):
            return f"index({_form(form, axes)})"
        case Unary(op, a):
            return f"{op}({sub(a)})"
        case Binary(op, a, b):
            return f"{op}({sub(a)}, {sub(b)})"
        case Select(conds, a, b):
            return f"select({' & '.join(sorted(_bound(c, axes) for c in conds))}, {sub(a)}, {sub(b)})"
        case Where(cond, a, b):
            return f"where({sub(cond)}, {sub(a)}, {sub(b)})"
        case Cast(dtype, a):
            return f"{dtype}({sub(a)})"
    assert_never(e)
