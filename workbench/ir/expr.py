"""Scalar expressions: what a block computes at one point of its domain."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from workbench.ir.affine import FREE, Affine, Digit
from workbench.ir.poly import Dim

UNARY_OPS = ("neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "floor", "ceil", "round", "not")
COMPARE_OPS = ("lt", "le", "gt", "ge", "eq", "ne")
BINARY_OPS = ("add", "sub", "mul", "div", "max", "min", "pow", "mod", "and", "or", *COMPARE_OPS)
#: Reduction operators and their neutral element as a function of the dtype's range.
REDUCE_OPS = ("add", "mul", "max", "min")


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: float | int | bool
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Pick:
    """A number that is read at run time and then is part of an index: `value`, at least 0 and at most ``extent - 1``.

    Whatever the data say, the index lies in its buffer. Who wants negative numbers to count from the end adds the
    extent to them in `value`.
    """

    value: Expr
    extent: Dim


@dataclass(frozen=True, slots=True)
class Load:
    """One element of a buffer. The free digit of number k in `index` stands for ``at[k]`` (see `free_digit`)."""

    buffer: str
    index: tuple[Affine, ...]
    at: tuple[Pick, ...] = ()


@dataclass(frozen=True, slots=True)
class Index:
    """The value of an index form, as int64."""

    form: Affine


@dataclass(frozen=True, slots=True)
class Unary:
    """``op(a)`` with op in `UNARY_OPS`."""

    op: str
    a: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """``a op b`` with op in `BINARY_OPS`; comparisons and and/or give a bool."""

    op: str
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Bound:
    """``lo <= form < hi``."""

    form: Affine
    lo: Dim
    hi: Dim


@dataclass(frozen=True, slots=True)
class Select:
    """`a` where every bound holds, else `b`. Loads in the branch that is not taken are not performed."""

    conds: tuple[Bound, ...]
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Where:
    """`a` where the data-dependent `cond` holds, else `b`; both sides may be evaluated."""

    cond: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Cast:
    """Value conversion to `dtype`."""

    dtype: str
    a: Expr


Expr: TypeAlias = Const | Load | Index | Unary | Binary | Select | Where | Cast


def free_digit(k: int, extent: Dim) -> Digit:
    """The digit that stands for ``at[k]`` in the index of a load."""
    return Digit(f"{FREE}{k}", 1, extent)


def free_number(digit: Digit) -> int:
    """Which of the numbers of its load a free digit stands for."""
    return int(digit.var[len(FREE) :])


def tidy(ld: Load) -> Load:
    """The load with every number that it picks by once, in order of use, and none that it does not use."""
    if not ld.at:
        return ld
    order: dict[Pick, int] = {}
    for form in ld.index:
        used = [(str(c), str(d.lower), str(d.extent), ld.at[free_number(d)]) for d, c in form.terms if d.free]
        for *_, pick in sorted(used, key=str) if len(used) > 1 else used:
            order.setdefault(pick, len(order))
    if tuple(order) == ld.at:
        return ld

    def renumbered(d: Digit) -> Affine:
        return Affine(((Digit(f"{FREE}{order[ld.at[free_number(d)]]}", d.lower, d.extent), 1),))

    env = {f"{FREE}{k}": renumbered for k in range(len(ld.at))}
    return Load(ld.buffer, tuple(x.subst(env) for x in ld.index), tuple(order))


def map_picks(at: tuple[Pick, ...], fn: Callable[[Expr], Expr]) -> tuple[Pick, ...]:
    """Apply `fn` to what is picked; returns the same object when nothing changed."""
    new = tuple(Pick(fn(p.value), p.extent) for p in at)
    return at if all(a.value is b.value for a, b in zip(at, new, strict=True)) else new


def map_children(e: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """Apply `fn` to the direct children; returns the same object when nothing changed."""
    match e:
        case Const() | Index():
            return e
        case Load(buffer, index, at):
            picks = map_picks(at, fn) if at else at
            return e if picks is at else tidy(Load(buffer, index, picks))
        case Unary(op, a):
            new = fn(a)
            return e if new is a else Unary(op, new)
        case Cast(dtype, a):
            new = fn(a)
            return e if new is a else Cast(dtype, new)
        case Binary(op, a, b):
            na, nb = fn(a), fn(b)
            return e if na is a and nb is b else Binary(op, na, nb)
        case Select(conds, a, b):
            na, nb = fn(a), fn(b)
            return e if na is a and nb is b else Select(conds, na, nb)
        case Where(cond, a, b):
            nc, na, nb = fn(cond), fn(a), fn(b)
            return e if nc is cond and na is a and nb is b else Where(nc, na, nb)
    assert_never(e)


def map_affine(e: Expr, fn: Callable[[Affine], Affine], dims: Callable[[Dim], Dim] | None = None) -> Expr:
    """Apply `fn` to every index form (and `dims` to the limits of bounds) in the tree."""
    match e:
        case Load(buffer, index, at):
            forms = tuple([fn(x) for x in index])
            if not at and all(map(operator.is_, forms, index)):
                return e
            picks = tuple(Pick(map_affine(p.value, fn, dims), dims(p.extent) if dims else p.extent) for p in at)
            return tidy(Load(buffer, forms, picks))
        case Index(form):
            return Index(fn(form))
        case Select(conds, a, b):
            return Select(map_bounds(conds, fn, dims), map_affine(a, fn, dims), map_affine(b, fn, dims))
        case _:
            return map_children(e, lambda c: map_affine(c, fn, dims))


def map_bounds(
    bounds: tuple[Bound, ...], fn: Callable[[Affine], Affine], dims: Callable[[Dim], Dim] | None = None
) -> tuple[Bound, ...]:
    """Apply `fn` to the forms and `dims` to the limits of `bounds`."""
    g = dims or (lambda d: d)
    return tuple(Bound(fn(c.form), g(c.lo), g(c.hi)) for c in bounds)


def map_loads(e: Expr, fn: Callable[[Load], Expr]) -> Expr:
    """Replace every load by ``fn(load)``; what its index is made of first."""
    if isinstance(e, Load) and not e.at:
        return fn(e)
    new = map_children(e, lambda c: map_loads(c, fn))
    return fn(new) if isinstance(new, Load) else new


def walk(e: Expr) -> Iterator[Expr]:
    """Yield `e` and all expressions below it, parents first."""
    todo = [e]
    while todo:
        top = todo.pop()
        yield top
        if parts := children(top):
            todo += parts[::-1]


def children(e: Expr) -> tuple[Expr, ...]:
    """Direct parts of an expression, in evaluation order."""
    # Asked so often that patterns, which look every attribute up by name, are too slow.
    if isinstance(e, Load):
        return tuple(p.value for p in e.at) if e.at else ()
    if isinstance(e, Binary):
        return (e.a, e.b)
    if isinstance(e, Unary):
        return (e.a,)
    if isinstance(e, Select):
        return (e.a, e.b)
    if isinstance(e, Cast):
        return (e.a,)
    return (e.cond, e.a, e.b) if isinstance(e, Where) else ()


def measure(e: Expr) -> tuple[int, int]:
    """Number of nodes of an expression and its depth; quick and without recursion, however often parts are shared."""
    known: dict[int, tuple[int, int]] = {}
    todo = [e]
    while todo:
        top = todo[-1]
        parts = children(top)
        new = [p for p in parts if id(p) not in known]
        if new:
            todo += new
            continue
        todo.pop()
        sizes = [known[id(p)] for p in parts]
        known[id(top)] = (1 + sum(n for n, _ in sizes), 1 + max((d for _, d in sizes), default=0))
    return known[id(e)]


def index_forms(e: Expr) -> Iterator[Affine]:
    """Yield the index forms of an expression itself, not of its parts."""
    match e:
        case Load(_, index):
            yield from index
        case Index(form):
            yield form
        case Select(conds):
            yield from (c.form for c in conds)


def all_index_forms(e: Expr) -> Iterator[Affine]:
    """Yield every index form in an expression."""
    return (form for part in walk(e) for form in index_forms(part))


def loads(e: Expr) -> Iterator[Load]:
    """Yield the loads of the tree in evaluation order."""
    return (x for x in walk(e) if isinstance(x, Load))
