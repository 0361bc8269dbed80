"""The readable text of a function, for people and for `workbench.ir.text.parser`, which is its exact inverse.

::

    matmul(A: input float32[512, 512], B: input float32[512, 512], C: output float32[512, 512]):
      for i.0 in 64:
        parallel j in 512:
          for k in 512:
            vectorize i.1 in 8:
              block C(i: 512 = i.0 * 8 + i.1, j: 512, reduce k: 512):
                init C[i, j] = 0.0
                C[i, j] = C[i, j] + A[i, k] * B[k, j]

A loop may be bound (``blockIdx.x i in 8:``) and carry an intrinsic and notes (``for i in 16 intrin dot @prefetch=4:``);
a block carries notes behind its axes. A temporary says where it lives and how its strides are padded
(``float32[8, 8] scope(local) align(0: 16 + 4)``).

An axis of a block is written ``name: extent = form over the loops``; the form is left out where it is the loop of
that name. ``T[at(ids[i], 512), j]`` reads the row of which the number stands in ``ids``: of 512, the nearest one that
exists. Holes carry a question mark (``?i0``). A literal names its dtype unless it is float32 (``1.0``) or int64
(``1``). Names that are no plain words stand in backquotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from workbench.ir.affine import Affine, Digit
from workbench.ir.dtypes import is_float
from workbench.ir.expr import (
    UNARY_OPS,
    Binary,
    Bound,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Pick,
    Select,
    Unary,
    Where,
    free_number,
)
from workbench.ir.func import Buffer, Func, LayoutStep, PadStep, Role, func_text
from workbench.ir.poly import Dim, Poly, mono_text, sum_text
from workbench.ir.size_limits import EXTENT_LIMIT
from workbench.ir.stmt import Block, For, Note, Stmt
from workbench.ir.winograd_weights import WinogradStep
from workbench.safe_text import escaped

#: Columns of a line; the head of a function or block that is longer has a line for each parameter or axis.
WIDTH = 120
NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
_WORDS = """for parallel vectorize unroll vthread intrin in block reduce when init hole relation require alias packed
scope align select where cast index max min pow and or nan inf true false"""
#: Names that are printed in backquotes, because they mean something else.
KEYWORDS = frozenset([*_WORDS.split(), *get_args(Role), *UNARY_OPS])
_SIZES = {"float": ("f", 64, 16), "bfloat": ("bf", 16), "int": ("i", 32, 16, 8), "uint": ("u", 8, 16, 32, 64)}
#: dtype suffixes of literals, ``f64`` for float64; float32 and int64 need none.
SUFFIXES = {f"{kind}{n}": f"{letter}{n}" for kind, (letter, *sizes) in _SIZES.items() for n in sizes}
INFIX = {
    "or": ("or", 1),
    "and": ("and", 2),
    "lt": ("<", 4),
    "le": ("<=", 4),
    "gt": (">", 4),
    "ge": (">=", 4),
    "eq": ("==", 4),
    "ne": ("!=", 4),
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "mod": ("%", 6),
}
_UNARY_LEVEL, _ATOM_LEVEL, _NOT_LEVEL = 7, 8, 3


def to_text(func: Func) -> str:
    """Return the whole function as text, ending in a newline."""
    return "\n".join(line for line, _ in listing_of(func)) + "\n"


func_text.provide(to_text)


def listing_of(func: Func) -> list[tuple[str, str]]:
    """Return the lines of the whole function, each with what it is about.

    That is a loop's name, ``stmt:BLOCK``, or ``init:BLOCK`` for the first value of a reduction, as the rows of the nest
    are called; "" for lines about the function.
    """
    return [(line, "") for line in _header(func)] + [part for s in func.body for part in _stmt(s, 1)]


def name_text(name: str) -> str:
    """Return a name, in backquotes where it is no plain word."""
    plain = re.fullmatch(NAME, name) and name not in KEYWORDS
    return name if plain else "`" + escaped(name, "\\`") + "`"


def affine_text(form: Affine, at: Sequence[Pick] = ()) -> str:
    """Return an index form as text; `at` is what its free digits stand for."""
    parts = [_term(d, c, at) for d, c in sorted(form.terms, key=_stride, reverse=True)]
    if form.const != 0 or not parts:
        parts += dim_parts(form.const)
    return sum_text(parts)


def dim_text(dim: Dim) -> str:
    """Return an extent or coefficient as text, with holes marked by ``?``."""
    return sum_text(dim_parts(dim))


def dim_parts(dim: Dim) -> list[tuple[bool, str]]:
    """Return the summands of a dim as (is negative, text without sign)."""
    if isinstance(dim, int):
        return [(dim < 0, str(abs(dim)))]
    return [(c < 0, mono_text(m, abs(c), _hole)) for m, c in dim.terms]


def bound_text(b: Bound) -> str:
    """Return an index condition as text."""
    form = affine_text(b.form)
    lo, hi = b.lo, b.hi
    if lo == -EXTENT_LIMIT and hi != EXTENT_LIMIT:
        return f"{form} < {dim_text(hi)}"
    if hi == EXTENT_LIMIT and lo != -EXTENT_LIMIT:
        return f"{form} >= {dim_text(lo)}"
    if hi == lo + 1:
        return f"{form} == {dim_text(lo)}"
    return f"{dim_text(lo)} <= {form} < {dim_text(hi)}"


def _hole(name: str) -> str:
    return f"?{name_text(name)}"


def _factor(dim: Dim) -> str:
    return f"({dim_text(dim)})" if isinstance(dim, Poly) and len(dim.terms) > 1 else dim_text(dim)


def _term(d: Digit, c: Dim, at: Sequence[Pick]) -> tuple[bool, str]:
    text = _digit(d, at)
    if isinstance(c, int):
        return c < 0, text if abs(c) == 1 else f"{text} * {abs(c)}"
    return False, f"{text} * ({dim_text(c)})" if len(c.terms) > 1 or c.terms[0][1] < 0 else f"{text} * {dim_text(c)}"


def _stride(term: tuple[Digit, Dim]) -> tuple[int, int]:
    """Sort key that puts the outermost term first: most holes, then the largest step."""
    c = term[1]
    if isinstance(c, int):
        return 0, abs(c)
    return max(sum(e for _, e in m) for m, _ in c.terms), max(abs(k) for _, k in c.terms)


def _digit(d: Digit, at: Sequence[Pick] = ()) -> str:
    text = name_text(d.var)
    if d.free and free_number(d) < len(at):
        pick = at[free_number(d)]
        text = f"at({_expr(pick.value, 0)}, {dim_text(pick.extent)})"
        if d.lower == 1 and d.extent == pick.extent:
            return text
    if d.plain:
        return text
    if d.lower != 1:
        text += f" // {_factor(d.lower)}"
    return f"({text})" if d.extent is None else f"({text} % {_factor(d.extent)})"


def _header(func: Func) -> list[str]:
    params = [f"{name_text(b.name)}: {b.role} {_buffer_type(b)}" for b in func.params]
    head = f"{name_text(func.name)}({', '.join(params)}):"
    lines = [head]
    if len(head) > WIDTH:
        lines = [f"{name_text(func.name)}(", *(f"    {p}," for p in params), "):"]
    lines += [f"  temp {name_text(b.name)}: {_buffer_type(b)}" for b in func.buffers if b.role == "temp"]
    for h in func.holes:
        choices = "" if h.choices is None else " in {" + ", ".join(str(c) for c in h.choices) + "}"
        lines.append(f"  hole ?{name_text(h.name)}{choices}")
    lines += [f"  relation {'*'.join('?' + name_text(h) for h in r.lhs)} = {r.rhs}" for r in func.relations]
    lines += [f"  require {_quoted(c.label)}: {dim_text(c.expr)} >= 0" for c in func.constraints]
    lines += [f"  alias ?{name_text(n)} = {dim_text(d)}" for n, d in func.aliases]
    return lines


def _buffer_type(b: Buffer) -> str:
    packed = f" packed({', '.join(map(_layout_step, b.layout))})" if b.layout else ""
    scope = "" if b.scope == "auto" else f" scope({b.scope})"
    pads = ", ".join(f"{a.dim}: {a.factor}" + (f" + {a.offset}" if a.offset else "") for a in b.align)
    return f"{b.dtype}[{', '.join(dim_text(d) for d in b.shape)}]{packed}{scope}" + (f" align({pads})" if pads else "")


def _layout_step(s: LayoutStep | PadStep | WinogradStep) -> str:
    if isinstance(s, PadStep):
        return f"{s.dim}: {s.size} zeros {s.extent}"
    if isinstance(s, WinogradStep):
        return f"winograd: {s.tile}"
    return f"{s.dim}: {dim_text(s.block)}{' here' if s.here else ''}"


def notes_text(notes: Iterable[Note]) -> str:
    """Return notes as they stand behind a loop or block: `` @key=value`` each."""
    # A key cannot be mistaken for a keyword behind its sign.
    keys = ((k if re.fullmatch(NAME, k) else name_text(k), v) for k, v in notes)
    return "".join(f" @{k}={v if isinstance(v, int) else _quoted(v)}" for k, v in keys)


def _quoted(text: str) -> str:
    return '"' + escaped(text, '\\"') + '"'


def _stmt(s: Stmt, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the lines of a statement with the loop or block that each is about."""
    pad = "  " * depth
    if isinstance(s, For):
        word = "for" if s.kind == "serial" else s.kind
        intrin = "" if s.intrin is None else f" intrin {name_text(s.intrin)}"
        yield f"{pad}{word} {name_text(s.name)} in {dim_text(s.extent)}{intrin}{notes_text(s.notes)}:", s.name
        for c in s.body:
            yield from _stmt(c, depth + 1)
        return
    row = f"stmt:{s.name}"
    axes, notes = _axes(s), notes_text(s.notes)
    head = f"{pad}block {name_text(s.name)}({', '.join(axes)}){notes}:"
    if len(head) > WIDTH:
        yield f"{pad}block {name_text(s.name)}(", row
        yield from ((f"{pad}    {a},", row) for a in axes)
        yield f"{pad}){notes}:", row
    else:
        yield head, row
    target = _access(s.buffer, s.index)
    if s.guard:
        yield f"{pad}  when {' & '.join(bound_text(g) for g in s.guard)}", row
    if s.init is not None:
        yield f"{pad}  init {target} = {_expr(s.init, 0)}", f"init:{s.name}"
    yield f"{pad}  {target} = {_expr(s.value, 0)}", row


def _axes(b: Block) -> list[str]:
    out = []
    for it, bind in zip(b.iters, b.binds, strict=True):
        form = "" if bind.single_var() == it.name else f" = {affine_text(bind)}"
        out.append(f"{'reduce ' if it.kind == 'R' else ''}{name_text(it.name)}: {dim_text(it.extent)}{form}")
    return out


def _access(buffer: str, index: Sequence[Affine], at: Sequence[Pick] = ()) -> str:
    return f"{name_text(buffer)}[{', '.join(affine_text(x, at) for x in index)}]"


def expr_text(e: Expr) -> str:
    """Return an expression as text."""
    return _expr(e, 0)


def _expr(e: Expr, level: int) -> str:
    """Text of an expression, in parentheses where it binds less tightly than `level`."""
    text, own = _expr_level(e)
    return f"({text})" if own < level else text


def _expr_level(e: Expr) -> tuple[str, int]:
    match e:
        case Const(value, dtype):
            return _literal(value, dtype), _ATOM_LEVEL
        case Load(buffer, index, at):
            return _access(buffer, index, at), _ATOM_LEVEL
        case Index(form):
            return f"index({affine_text(form)})", _ATOM_LEVEL
        case Unary("neg", a) if not isinstance(a, Const):
            return f"-{_expr(a, _UNARY_LEVEL)}", _UNARY_LEVEL
        case Unary("not", a):
            return f"not {_expr(a, _NOT_LEVEL)}", _NOT_LEVEL
        case Unary(op, a):
            return f"{op}({_expr(a, 0)})", _ATOM_LEVEL
        case Binary(op, a, b) if op in INFIX:
            sign, own = INFIX[op]
            # Comparisons do not chain, and everything else groups to the left.
            left = own + 1 if own == INFIX["lt"][1] else own
            return f"{_expr(a, left)} {sign} {_expr(b, own + 1)}", own
        case Binary(op, a, b):
            return f"{op}({_expr(a, 0)}, {_expr(b, 0)})", _ATOM_LEVEL
        case Select(conds, a, b):
            return f"select({' & '.join(bound_text(c) for c in conds)}, {_expr(a, 0)}, {_expr(b, 0)})", _ATOM_LEVEL
        case Where(cond, a, b):
            return f"where({_expr(cond, 0)}, {_expr(a, 0)}, {_expr(b, 0)})", _ATOM_LEVEL
        case Cast(dtype, a):
            return f"cast({dtype}, {_expr(a, 0)})", _ATOM_LEVEL
    raise AssertionError(e)


def _literal(value: float | int | bool, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        return f"{int(value)}{SUFFIXES.get(dtype, '')}"
    x = float(value)
    text = ("-inf" if x < 0 else "inf") if math.isinf(x) else "nan" if math.isnan(x) else repr(x)
    if dtype == "float32":
        return text
    return f"{text}{SUFFIXES[dtype]}" if math.isfinite(x) else f"{text}:{SUFFIXES[dtype]}"
