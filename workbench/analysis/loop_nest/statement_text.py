"""Statements as short text for a row of a table: ``acc[x, oc] += in[y+ky, x+kx, ic] * w[ky, kx, ic, oc]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.ir import (
    Affine,
    Binary,
    Block,
    Bound,
    Buffer,
    Cast,
    Const,
    Dim,
    Expr,
    Func,
    Index,
    Load,
    Pick,
    Select,
    Unary,
    Where,
)
from workbench.ir.expr import loads
from workbench.ir.text.printer import INFIX, affine_text, bound_text
from workbench.markup import shortened

#: Characters of a statement; the printed nest has the rest. Chosen by eye.
LONGEST = 240
_ATOM = 8
_UPDATE = {"add": "+=", "mul": "*="}


def shrunk_dims(func: Func, own: Mapping[str, Buffer]) -> dict[str, tuple[int, ...]]:
    """Temporaries of which only a part exists after `compact`, with the dimensions that this part extends in."""
    return {
        b.name: tuple(d for d, n in enumerate(own[b.name].shape) if n != 1)
        for b in func.buffers
        if own[b.name].shape != b.shape
    }


def update_text(block: Block, own: Block, shrunk: Mapping[str, Sequence[int]]) -> str:
    """What `block` does at one point.

    Parameters
    ----------
    block : Block
        As scheduled: indices in the block's axes.
    own : Block
        The same block after `compact`: indices in loops.
    shrunk : mapping of str to sequence of int
        Temporaries of which only a part exists, with the dimensions that this part extends in; their elements are named
        by the loops that walk over these.
    """
    names = {
        a: Load(b.buffer, tuple(b.index[d] for d in shrunk[b.buffer]), b.at)
        for a, b in zip(loads(block.value), loads(own.value), strict=True)
        if a.buffer in shrunk
    }
    kept = shrunk.get(block.buffer)
    target = element(block.buffer, block.index if kept is None else [own.index[d] for d in kept])
    if block.is_reduction:
        op, term = block.update()
        text = _expr(term, 0, names)
        body = f"{target} {_UPDATE[op]} {text}" if op in _UPDATE else f"{target} = {op}({target}, {text})"
    else:
        body = f"{target} = {_expr(block.value, 0, names)}"
    if block.guard:
        body += " if " + _bounds(block.guard)
    return shortened(body, LONGEST)


def init_text(block: Block, own: Block, shrunk: Mapping[str, Sequence[int]], inside: Mapping[str, Dim]) -> str:
    """The first value of a reduction, for all elements that the loops `inside` walk over: ``acc[j.0*8:j.0*8+8] = 0``.

    `inside` has the loops' extents. A reduction that goes on with what another block has stored says so.
    """
    assert block.init is not None
    kept = shrunk.get(block.buffer)
    shown = block.index if kept is None else own.index
    dims = range(len(shown)) if kept is None else kept
    index = [_range(own.index[d], inside) if own.index[d].vars & set(inside) else _form(shown[d]) for d in dims]
    elements = f"{block.buffer}{_brackets(index)}"
    text = f"goes on from {elements}" if block.resumes else f"{elements} = {_expr(block.init, 0, {})}"
    return shortened(text, LONGEST)


def _range(x: Affine, inside: Mapping[str, Dim]) -> str:
    """What loops walk over of a dimension: ``:`` where they reach all of it that there is."""
    base = Affine(tuple(term for term in x.terms if term[0].var not in inside), x.const)
    if base.is_const:
        return ":"
    steps = [(digit, c, inside[digit.var]) for digit, c in x.terms if digit.var in inside]
    if not all(digit.plain and isinstance(c, int) and isinstance(n, int) for digit, c, n in steps):
        return f"{_form(base)}:…"
    return f"{_form(base)}:{_form(base + (1 + sum(c * (n - 1) for _, c, n in steps)))}"


def _form(x: Affine, at: Sequence[Pick] = ()) -> str:
    return affine_text(x, at).replace(" ", "")


def element(buffer: str, index: Sequence[Affine], at: Sequence[Pick] = ()) -> str:
    """An element of a buffer: ``in[y+ky, x+kx, ic]``."""
    return buffer + _brackets([_form(x, at) for x in index])


def _brackets(index: Sequence[str]) -> str:
    return f"[{', '.join(index)}]" if index else ""


def _bounds(conds: Sequence[Bound]) -> str:
    return " and ".join(bound_text(c) for c in conds)


def _expr(e: Expr, level: int, names: dict[Load, Load]) -> str:
    """Text of an expression, in parentheses where it binds less tightly than `level`."""

    def sub(x: Expr, inner: int = 0) -> str:
        return _expr(x, inner, names)

    match e:
        case Const(value, _):
            return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
        case Load():
            e = names.get(e, e)
            return element(e.buffer, e.index, e.at)
        case Index(form):
            return f"({_form(form)})"
        case Unary("neg", a):
            return f"-{sub(a, _ATOM)}"
        case Unary(op, a):
            return f"{op}({sub(a)})"
        case Binary(op, a, b) if op in INFIX:
            sign, own = INFIX[op]
            text = f"{sub(a, own)} {sign} {sub(b, own + 1)}"
            return f"({text})" if own < level else text
        case Binary(op, a, b):
            return f"{op}({sub(a)}, {sub(b)})"
        case Select(_, a, Const() as other):
            rest = "" if other.value == 0 else f", {sub(other)}"
            return f"pad({sub(a)}{rest})"
        case Select(conds, a, b):
            return f"({sub(a, 1)} if {_bounds(conds)} else {sub(b, 1)})"
        case Where(cond, a, b):
            return f"where({sub(cond)}, {sub(a)}, {sub(b)})"
        case Cast(dtype, a):
            return f"{dtype}({sub(a)})"
    raise AssertionError(e)
