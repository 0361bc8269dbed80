"""Open numbers of a schedule: what a person writes (`Hole`), and putting numbers in (`fill`).

A schedule with holes describes a whole family of programs. A member is a *row*: one number per hole. Which rows there
are says `workbench.schedule.hole_domain`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import elements, is_a, shown
from workbench.errors import ScheduleError, did_you_mean
from workbench.ir import Block, Dim, Func
from workbench.ir.func import subst_holes
from workbench.ir.poly import hole, holes_of, substitute
from workbench.ir.size_limits import EXTENT_LIMIT
from workbench.ir.stmt import walk
from workbench.memoize import remembered, remembered_by_value
from workbench.schedule.size_limits import NUMBER_LIMIT

Row: TypeAlias = Mapping[str, int] | Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Hole:
    """A number (or a choice) that is left open.

    Parameters
    ----------
    name : str, optional
        Name of the column that it becomes. Without it the primitive that takes the hole names it after the loop. The
        name of a hole that exists already refers to that hole.
    choices : sequence, optional
        The only values it may have. For a factor: ints. For a loop or a block: names; such a choice changes the
        structure of the nest, and `Schedule.variants` lists what comes of it.

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
        if self.name is not None:
            is_a("the name of a hole", cast("object", self.name), str)
        if self.choices is not None:
            is_a("choices", cast("object", self.choices), (list, tuple, range, np.ndarray))
            object.__setattr__(self, "choices", elements(self.choices) or ())
            if not self.choices:
                raise ScheduleError(
                    "hole.choices", "A hole needs at least one choice.", (self.name or "hole",), "Hole(choices=[4, 8])"
                )

    def __repr__(self) -> str:
        parts = [repr(self.name)] if self.name is not None else []
        if self.choices is not None:
            parts.append(f"choices={list(self.choices)!r}")
        return f"Hole({', '.join(parts)})"


@remembered_by_value(4096)
def divisors(n: int) -> tuple[int, ...]:
    """All divisors of `n`, ascending."""
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return tuple(small + [n // d for d in reversed(small) if d * d != n])


# ---------------------------------------------------------------------------------------------------------------- names


def resolve_hole(func: Func, name: str) -> Dim | None:
    """Dim that a hole name stands for: the hole itself, the product that replaced it, or None when there is no such
    hole.
    """
    if any(h.name == name for h in func.holes):
        return hole(name)
    return dict(func.aliases).get(name)


def known_holes(func: Func) -> list[str]:
    """Names that may be used for holes of `func`, replaced ones included."""
    return [h.name for h in func.holes] + [n for n, _ in func.aliases]


def unknown_hole(func: Func, name: str) -> ScheduleError:
    """Error for a hole name that means nothing here."""
    return ScheduleError(
        "hole.unknown", f"There is no hole {name!r}.", (name,), did_you_mean(name, known_holes(func), "holes")
    )


# ----------------------------------------------------------------------------------------------------------------- fill


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
        raise ScheduleError(
            "hole.missing", f"No number was given for {', '.join(missing)}.", missing, "see Schedule.domain"
        )
    _check_factors(func, values)
    for info in func.holes:
        if info.choices is not None and values[info.name] not in info.choices:
            raise ScheduleError(
                "hole.choice",
                f"{info.name!r} may be {_listed(info.choices)}, not {values[info.name]}.",
                (info.name,),
                "see Schedule.domain",
            )
    for name, dim in func.aliases:
        whole = int(substitute(dim, dict(values)))  # type: ignore[arg-type]
        if given.get(name, whole) != whole:
            raise ScheduleError(
                "hole.product",
                f"{name!r} was replaced by {dim}, which is {whole}, not {given[name]}.",
                (name,),
                "leave it out",
            )
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
            raise ScheduleError(
                "hole.limit", f"With {numbers} the limit {c.label!r} is not met.", names, "smaller numbers"
            )
    return replace(out, holes=(), relations=(), constraints=(), aliases=())


def _given(func: Func, row: Row) -> dict[str, int]:
    pairs: Mapping[Any, Any]
    if isinstance(row, Mapping):
        pairs = row
    else:
        # Anything may come in here from a user's hand, a string for instance.
        if isinstance(row, np.ndarray) and row.ndim != 1:
            raise ScheduleError(
                "hole.value", f"A row has one dimension, not {row.ndim}.", ("row",), "one row of a table"
            )
        numbers = list(is_a("row", cast("object", row), (list, tuple, np.ndarray), "or a mapping: hole name -> number"))
        if len(numbers) != len(func.holes):
            raise ScheduleError(
                "hole.missing",
                f"A row has {len(func.holes)} numbers here, not {len(numbers)}.",
                tuple(h.name for h in func.holes),
                f"in this order: {', '.join(h.name for h in func.holes)}",
            )
        pairs = dict(zip((h.name for h in func.holes), numbers, strict=True))
    for name, value in pairs.items():
        if resolve_hole(func, str(name)) is None:
            raise unknown_hole(func, str(name))
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value < NUMBER_LIMIT:
            raise ScheduleError(
                "hole.value",
                f"{name!r} must be a positive integer, not {shown(value)}.",
                (name,),
                "see Schedule.domain",
            )
    return {n: int(v) for n, v in pairs.items()}


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
                raise ScheduleError(
                    "hole.factor", f"{n!r} = {v} is not a factor of {rel.rhs}.", (n,), nearest(rel.rhs, v)
                )
        got = math.prod(known.values())
        if rel.rhs % got or (len(known) == len(rel.lhs) and got != rel.rhs):
            raise _product_error(rel.lhs, known, rel.rhs)


def _product_error(names: Sequence[str], values: Mapping[str, int], total: int) -> ScheduleError:
    known = [n for n in names if n in values]
    text = " * ".join(f"{n} ({values[n]})" for n in known)
    return ScheduleError(
        "hole.product",
        f"{text} is {math.prod(values[n] for n in known)}, but {'*'.join(names)} must be {total}.",
        known,
        f"leave one of {', '.join(names)} out and it takes the rest",
    )


def hole_names(func: Func, loop: str, count: int) -> list[str]:
    """Readable unused names for the holes of a split: ``i_0, i_1`` for a loop ``i``."""
    taken = _all_taken(func)
    base = loop.replace(".", "_")
    prefix, k = base, 0
    while any(f"{prefix}_{i}" in taken for i in range(count)):
        k += 1
        prefix = f"{base}_{'abcdefghijklmnopqrstuvwxyz'[k % 26] * (1 + k // 26)}"
    return [f"{prefix}_{i}" for i in range(count)]


@remembered(256, parts=lambda func: (func.body, func.buffers, func.holes, func.aliases))
def _all_taken(func: Func) -> set[str]:
    """Names that no new hole may have."""
    taken = {h.name for h in func.holes} | {n for n, _ in func.aliases} | {b.name for b in func.buffers}
    for s, _ in walk(func.body):
        taken.add(s.name)
        if isinstance(s, Block):
            taken.update(it.name for it in s.iters)
    return taken


def nearest(extent: int, value: int) -> str:
    """Hint that names the divisors of `extent` around `value`."""
    if extent >= EXTENT_LIMIT:
        return f"a factor of {shown(extent)}"
    ds = divisors(extent)
    below = max((d for d in ds if d < value), default=None)
    above = min((d for d in ds if d > value), default=None)
    near = [str(d) for d in (below, above) if d is not None]
    return (
        f"the nearest divisors of {extent} are {' and '.join(near)}"
        if len(near) > 1
        else f"the nearest divisor of {extent} is {near[0]}"
    )


def _listed(values: Sequence[object]) -> str:
    texts = [str(v) for v in values]
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " or " + texts[-1]
