"""Open numbers of a schedule: what a person writes (`Hole`), which values they may take (`Domain`), and putting numbers in (`fill`).

A schedule with holes describes a whole family of programs. A member is a *row*: one number per hole. Rows are columns of
integers to the search, so sampling and limits work on thousands of rows at once and nothing is replayed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ScheduleError, did_you_mean
from ..ir.affine import Affine, Digit
from ..ir.func import Constraint, Func, HoleInfo, subst_holes
from ..ir.poly import Dim, Relation, evaluate, hole, holes_of, substitute
from ..ir.stmt import Block, For, Stmt, map_block, rewrite

Row: TypeAlias = Mapping[str, int] | Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Hole:
    """A number (or a choice) that is left open.

    Parameters
    ----------
    name : str, optional
        Name of the column that it becomes. Without it the primitive that takes the hole names it after the loop. The name of
        a hole that exists already refers to that hole.
    choices : sequence, optional
        The only values it may have. For a factor: ints. For a loop or a block: names; such a choice changes the structure of
        the nest, and `Schedule.variants` lists what comes of it.

    Examples
    --------
    >>> Hole()                          # any factor of the extent
    Hole()
    >>> Hole("tile", choices=[4, 8])
    Hole('tile', choices=[4, 8])
    """

    name: str | None = None
    choices: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if self.choices is not None:
            object.__setattr__(self, "choices", tuple(self.choices))
            if not self.choices:
                raise ScheduleError("hole.choices", "A hole needs at least one choice.", (self.name or "hole",))

    def __repr__(self) -> str:
        parts = [repr(self.name)] if self.name is not None else []
        if self.choices is not None:
            parts.append(f"choices={list(self.choices)!r}")
        return f"Hole({', '.join(parts)})"


# ------------------------------------------------------------------------------------------------------------------ domains


@functools.lru_cache(maxsize=4096)
def divisors(n: int) -> tuple[int, ...]:
    """All divisors of `n`, ascending."""
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return tuple(small + [n // d for d in reversed(small) if d * d != n])


@functools.lru_cache(maxsize=512)
def factor_table(extent: int, parts: int) -> NDArray[np.int64]:
    """All ordered ways to write `extent` as a product of `parts` factors.

    Returns
    -------
    ndarray of int64, shape (ways, parts)
        Rows in lexicographic order; read-only, because it is shared.
    """
    rows = list(_factorings(extent, parts))
    table = np.array(rows, dtype=np.int64).reshape(len(rows), parts)
    table.setflags(write=False)
    return table


def _factorings(extent: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (extent,)
        return
    for d in divisors(extent):
        for rest in _factorings(extent // d, parts - 1):
            yield (d, *rest)


@dataclass(frozen=True, slots=True)
class Group:
    """Holes whose values depend on each other, with all their combinations."""

    holes: tuple[str, ...]
    table: NDArray[np.int64]
    extent: int | None

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, slots=True)
class Domain:
    """All rows of a function with holes: one independent table per relation, and the numeric limits as a mask.

    Attributes
    ----------
    columns : tuple of str
        Hole names, in the order of ``Func.holes``; column ``k`` of a row matrix belongs to ``columns[k]``.
    groups : tuple of Group
    constraints : tuple of Constraint
    """

    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    constraints: tuple[Constraint, ...]

    @staticmethod
    def of(func: Func) -> Domain:
        """Domain of `func`.

        Raises
        ------
        ScheduleError
            "hole.empty" when the choices of a hole leave no way to factor its extent.
        """
        choices = {h.name: h.choices for h in func.holes}
        groups = []
        bound: set[str] = set()
        for rel in func.relations:
            table = factor_table(rel.rhs, len(rel.lhs))
            for k, name in enumerate(rel.lhs):
                if (allowed := choices.get(name)) is not None:
                    table = table[np.isin(table[:, k], np.array(allowed, dtype=np.int64))]
            if not len(table):
                raise ScheduleError("hole.empty", f"No choice of {', '.join(rel.lhs)} has the product {rel.rhs}.", rel.lhs)
            groups.append(Group(rel.lhs, table, rel.rhs))
            bound |= set(rel.lhs)
        for info in func.holes:
            if info.name not in bound:
                values = np.array(info.choices or (1,), dtype=np.int64).reshape(-1, 1)
                groups.append(Group((info.name,), values, None))
        return Domain(tuple(h.name for h in func.holes), tuple(groups), func.constraints)

    @property
    def size(self) -> int:
        """Number of rows before limits."""
        return math.prod(len(g) for g in self.groups)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `n` rows uniformly, limits not applied.

        Returns
        -------
        ndarray of int64, shape (n, len(columns))
        """
        picks = np.stack([rng.integers(0, len(g), n) for g in self.groups], axis=1) if self.groups else np.zeros((n, 0), np.int64)
        return self.rows(picks)

    def rows(self, picks: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Row matrix ``[N, columns]`` from one table index per group, ``[N, groups]``."""
        out = np.ones((len(picks), len(self.columns)), dtype=np.int64)
        at = {name: k for k, name in enumerate(self.columns)}
        for g, group in enumerate(self.groups):
            out[:, [at[h] for h in group.holes]] = group.table[picks[:, g]]
        return out

    def mask(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Which rows ``[N, columns]`` satisfy every numeric limit."""
        columns = {name: rows[:, k] for k, name in enumerate(self.columns)}
        memo: dict[object, Any] = {}
        ok = np.ones(len(rows), dtype=np.bool_)
        for c in self.constraints:
            ok &= np.asarray(evaluate(c.expr, columns, memo) >= 0)
        return ok

    def sample(self, n: int, rng: np.random.Generator, attempts: int = 20) -> NDArray[np.int64]:
        """Draw up to `n` rows that satisfy the limits (fewer when the limits leave too few)."""
        kept: list[NDArray[np.int64]] = []
        have = 0
        for _ in range(attempts):
            rows = self.draw(max(n, 16), rng)
            good = rows[self.mask(rows)]
            kept.append(good[: n - have])
            have += len(kept[-1])
            if have >= n:
                break
        return np.concatenate(kept) if kept else np.zeros((0, len(self.columns)), np.int64)

    def all_rows(self, limit: int = 100_000) -> NDArray[np.int64]:
        """Every row that satisfies the limits; at most `limit` combinations are looked at, in table order."""
        n = min(self.size, limit)
        picks = np.zeros((n, len(self.groups)), dtype=np.int64)
        rest = np.arange(n)
        for g in reversed(range(len(self.groups))):
            picks[:, g] = rest % len(self.groups[g])
            rest = rest // len(self.groups[g])
        rows = self.rows(picks)
        return rows[self.mask(rows)]


def domain(func: Func) -> Domain:
    """Domain of the holes of `func` (see `Domain`)."""
    return Domain.of(func)


# -------------------------------------------------------------------------------------------------------------------- names


def resolve_hole(func: Func, name: str) -> Dim | None:
    """Dim that a hole name stands for: the hole itself, the product that replaced it, or None when there is no such hole."""
    if any(h.name == name for h in func.holes):
        return hole(name)
    return dict(func.aliases).get(name)


def known_holes(func: Func) -> list[str]:
    """Names that may be used for holes of `func`, replaced ones included."""
    return [h.name for h in func.holes] + [n for n, _ in func.aliases]


def unknown_hole(func: Func, name: str) -> ScheduleError:
    """Error for a hole name that means nothing here."""
    return ScheduleError("hole.unknown", f"There is no hole {name!r}.", (name,), did_you_mean(name, known_holes(func), "holes"))


# ------------------------------------------------------------------------------------------------------------------- fill


def complete_row(func: Func, row: Row) -> dict[str, int]:
    """Give every hole of `func` its number, and check them.

    Parameters
    ----------
    func : Func
    row : mapping or sequence
        Hole name -> number, or numbers in the order of ``func.holes``. Names of holes that a later split replaced are
        understood. A hole that the others determine may be left out.

    Returns
    -------
    dict
        Numbers of all holes and of all replaced holes.

    Raises
    ------
    ScheduleError
        "hole.unknown", "hole.value", "hole.factor", "hole.product", "hole.choice", "hole.missing" or "hole.limit".
    """
    given = _given(func, row)
    values = {n: v for n, v in given.items() if any(h.name == n for h in func.holes)}
    _check_factors(func, values)
    _infer(func, given, values)
    missing = [h.name for h in func.holes if h.name not in values]
    if missing:
        raise ScheduleError("hole.missing", f"No number was given for {', '.join(missing)}.", missing)
    _check_factors(func, values)
    for info in func.holes:
        if info.choices is not None and values[info.name] not in info.choices:
            raise ScheduleError("hole.choice", f"{info.name!r} may be {_listed(info.choices)}, not {values[info.name]}.", (info.name,))
    for name, dim in func.aliases:
        whole = int(substitute(dim, dict(values)))  # type: ignore[arg-type]
        if given.get(name, whole) != whole:
            raise ScheduleError("hole.product", f"{name!r} was replaced by {dim}, which is {whole}, not {given[name]}.", (name,))
        values[name] = whole
    return values


def fill(func: Func, row: Row) -> Func:
    """Put numbers into every hole: one substitution, no replay.

    Parameters
    ----------
    func : Func
    row : mapping or sequence
        See `complete_row`.

    Returns
    -------
    Func
        A concrete function; loops of extent 1 are kept, so that the names of the schedule stay valid
        (`drop_unit_loops` removes them).

    Raises
    ------
    ScheduleError
        The codes of `complete_row`; "hole.limit" when a numeric limit is not met.
    """
    values = complete_row(func, row)
    out = subst_holes(func, dict(values))
    for c in out.constraints:
        if not (isinstance(c.expr, int) and c.expr >= 0):
            names = sorted(holes_of(next(o.expr for o in func.constraints if o.label == c.label)))
            numbers = ", ".join(f"{n} = {values[n]}" for n in names)
            raise ScheduleError("hole.limit", f"With {numbers} the limit {c.label!r} is not met.", names)
    return replace(out, holes=(), relations=(), constraints=(), aliases=())


def _given(func: Func, row: Row) -> dict[str, int]:
    if not isinstance(row, Mapping):
        numbers = [int(v) for v in row]
        if len(numbers) != len(func.holes):
            raise ScheduleError("hole.missing", f"A row has {len(func.holes)} numbers here, not {len(numbers)}.",
                                tuple(h.name for h in func.holes))
        row = dict(zip((h.name for h in func.holes), numbers, strict=True))
    for name, value in row.items():
        if resolve_hole(func, name) is None:
            raise unknown_hole(func, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ScheduleError("hole.value", f"{name!r} must be a positive integer, not {value!r}.", (name,))
    return {n: int(v) for n, v in row.items()}


def _infer(func: Func, given: Mapping[str, int], values: dict[str, int]) -> None:
    """Solve every product that has one unknown left: relations, and holes that a later split replaced."""
    aliases = dict(func.aliases)
    products = [(rel.lhs, rel.rhs) for rel in func.relations]
    products += [(tuple(sorted(holes_of(aliases[n]))), v) for n, v in given.items() if n in aliases]
    progress = True
    while progress:
        progress = False
        for names, total in products:
            unknown = [n for n in names if n not in values]
            if len(unknown) == 1:
                rest = math.prod(values[n] for n in names if n in values)
                if total % rest:
                    raise _product_error(names, values, total)
                values[unknown[0]] = total // rest
                progress = True


def _check_factors(func: Func, values: Mapping[str, int]) -> None:
    for rel in func.relations:
        known = {n: values[n] for n in rel.lhs if n in values}
        for n, v in known.items():
            if rel.rhs % v:
                raise ScheduleError("hole.factor", f"{n!r} = {v} is not a factor of {rel.rhs}.", (n,), nearest(rel.rhs, v))
        got = math.prod(known.values())
        if rel.rhs % got or (len(known) == len(rel.lhs) and got != rel.rhs):
            raise _product_error(rel.lhs, known, rel.rhs)


def _product_error(names: Sequence[str], values: Mapping[str, int], total: int) -> ScheduleError:
    known = [n for n in names if n in values]
    text = " * ".join(f"{n} ({values[n]})" for n in known)
    return ScheduleError("hole.product", f"{text} is {math.prod(values[n] for n in known)}, but {'*'.join(names)} must be {total}.",
                         known, f"leave one of {', '.join(names)} out and it takes the rest")


def nearest(extent: int, value: int) -> str:
    """Hint that names the divisors of `extent` around `value`."""
    ds = divisors(extent)
    below = max((d for d in ds if d < value), default=None)
    above = min((d for d in ds if d > value), default=None)
    near = [str(d) for d in (below, above) if d is not None]
    return f"the nearest divisors of {extent} are {' and '.join(near)}" if len(near) > 1 else f"the nearest divisor of {extent} is {near[0]}"


def _listed(values: Sequence[object]) -> str:
    texts = [str(v) for v in values]
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " or " + texts[-1]


# -------------------------------------------------------------------------------------------------------------- unit loops


def drop_unit_loops(func: Func) -> Func:
    """Remove loops and axes of extent 1 and write digits of fused loops in one way, so that equal programs compare equal."""
    extents: dict[str, Dim] = {}

    def note(s: Stmt) -> None:
        if isinstance(s, For):
            extents[s.name] = s.extent
            for c in s.body:
                note(c)

    for s in func.body:
        note(s)

    def form(a: Affine) -> Affine:
        return Affine.make(
            ((_plain(d, extents[d.var]), c) for d, c in a.terms if extents[d.var] != 1 and d.extent != 1), a.const
        )

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(s, Block):
            return (_drop_unit_axes(map_block(s, form)),)
        return s.body if s.extent == 1 else None

    return replace(func, body=rewrite(func.body, fn))


def _drop_unit_axes(b: Block) -> Block:
    kept = [k for k, it in enumerate(b.iters) if it.extent != 1]
    zero: dict[str, Affine | Callable[[Digit], Affine]] = {it.name: lambda _: Affine() for it in b.iters if it.extent == 1}
    b = map_block(b, lambda a: a, lambda a: a.subst(zero))
    return replace(b, iters=tuple(b.iters[k] for k in kept), binds=tuple(b.binds[k] for k in kept))


def _plain(d: Digit, whole: Dim) -> Digit:
    if d.lower == 1 and d.extent == whole:
        return Digit(d.var)
    if isinstance(whole, int) and isinstance(d.lower, int) and d.extent is None and d.lower > 1:
        return Digit(d.var, d.lower, -(-whole // d.lower))
    return d


__all__ = ["Domain", "Group", "Hole", "HoleInfo", "Relation", "Row", "complete_row", "divisors", "domain", "drop_unit_loops",
           "factor_table", "fill", "known_holes", "nearest", "resolve_hole", "unknown_hole"]
