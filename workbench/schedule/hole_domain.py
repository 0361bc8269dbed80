"""The values that open numbers may take, as integer columns: tables of factors, limits as a mask, sampling."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import whole
from workbench.errors import ScheduleError
from workbench.ir import Constraint, Func
from workbench.ir.poly import evaluate
from workbench.ir.size_limits import EXTENT_LIMIT
from workbench.memoize import remembered_by_value
from workbench.schedule.holes import divisors
from workbench.schedule.size_limits import MOST_WAYS


@remembered_by_value(512)
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


def ways(extent: int, parts: int) -> int:
    """Number of ordered ways to write `extent` as a product of `parts` factors, without listing them."""
    out, prime = 1, 2
    while extent > 1:
        prime = prime if prime * prime <= extent else extent
        power = 0
        while extent % prime == 0:
            extent, power = extent // prime, power + 1
        out *= math.comb(power + parts - 1, parts - 1)
        prime += 1
    return out


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
            "hole.empty" when the choices of a hole leave no way to factor its extent, "hole.many" when there are more
            ways than a table can hold.
        """
        choices = {h.name: h.choices for h in func.holes}
        groups = []
        bound: set[str] = set()
        for rel in func.relations:
            if rel.rhs >= EXTENT_LIMIT or (count := ways(rel.rhs, len(rel.lhs))) > MOST_WAYS:
                many = "too many" if rel.rhs >= EXTENT_LIMIT else f"{count:.2g}"
                raise ScheduleError(
                    "hole.many",
                    f"There are {many} ways to write {rel.rhs} as a product of {', '.join(rel.lhs)}; the limit is "
                    f"{MOST_WAYS}.",
                    rel.lhs,
                    "fewer holes, or numbers in the place of some",
                )
            table = factor_table(rel.rhs, len(rel.lhs))
            for k, name in enumerate(rel.lhs):
                if (allowed := choices.get(name)) is not None:
                    table = table[np.isin(table[:, k], np.array(allowed, dtype=np.int64))]
            if not len(table):
                raise ScheduleError(
                    "hole.empty",
                    f"No choice of {', '.join(rel.lhs)} has the product {rel.rhs}.",
                    rel.lhs,
                    "offer other choices",
                )
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
        picks = (
            np.stack([rng.integers(0, len(g), n) for g in self.groups], axis=1)
            if self.groups
            else np.zeros((n, 0), np.int64)
        )
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
        n = whole("n", n, 0)
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
