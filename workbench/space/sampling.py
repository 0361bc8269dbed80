"""Populations: integer matrices of table indices, one column per group of holes, with vectorised sampling and
variation.

A row of a variant is one index per group of holes into the table of that group's values (all factorisations of an
extent, or all choices). Limits are masks over rows. Nothing here looks at one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.ir import Func
from workbench.ir.poly import evaluate, holes_of
from workbench.schedule.hole_domain import Domain, Group

Picks: TypeAlias = NDArray[np.int64]
#: Rows up to which a space is enumerated; a larger one is sampled. Chosen, not measured: so many rows take a megabyte.
ENUMERATE = 16_384


@dataclass(frozen=True, slots=True)
class Sampler:
    """Draws and varies rows of one variant; every result satisfies the limits."""

    domain: Domain

    @staticmethod
    def of(func: Func) -> Sampler:
        """Sampler of a function with holes; limits on one group alone are applied to its table once."""
        domain = Domain.of(func)
        groups = tuple(_restrict(g, domain) for g in domain.groups)
        return Sampler(replace(domain, groups=groups))

    @property
    def size(self) -> int:
        """Number of rows, limits across groups not applied."""
        return self.domain.size

    def columns(self, picks: Picks) -> dict[str, NDArray[np.int64]]:
        """Hole name -> values ``[N]`` of the picked rows."""
        out: dict[str, NDArray[np.int64]] = {}
        for g, group in enumerate(self.domain.groups):
            values = group.table[picks[:, g]]
            for k, name in enumerate(group.holes):
                out[name] = np.ascontiguousarray(values[:, k])
        return out

    def row(self, picks: Picks) -> dict[str, int]:
        """One row ``[groups]`` as hole name -> number."""
        return {h: int(c[0]) for h, c in self.columns(picks[None]).items()}

    def find(self, row: Mapping[str, int]) -> Picks | None:
        """Table indices of a row, or None when it is not one of the space's."""
        out = np.zeros(len(self.domain.groups), np.int64)
        for g, group in enumerate(self.domain.groups):
            if any(h not in row for h in group.holes):
                return None
            hit = np.flatnonzero((group.table == np.array([row[h] for h in group.holes])).all(axis=1))
            if not len(hit):
                return None
            out[g] = hit[0]
        return out

    def mask(self, picks: Picks) -> NDArray[np.bool_]:
        """Which rows satisfy every limit."""
        columns, memo = self.columns(picks), dict[object, Any]()
        ok = np.ones(len(picks), np.bool_)
        for c in self.domain.constraints:
            ok &= np.asarray(evaluate(c.expr, columns, memo) >= 0)
        return ok

    def draw(self, n: int, rng: np.random.Generator) -> Picks:
        """Draw up to `n` valid rows ``[n, groups]``; all of them, in order, when the space is small."""
        if not self.domain.groups:
            only = np.zeros((1, 0), np.int64)
            return only[self.mask(only)]
        if self.size <= ENUMERATE:
            rows = self._every()
            good: Picks = np.ascontiguousarray(rows[self.mask(rows)])
            return good if len(good) <= n else good[np.sort(rng.choice(len(good), n, replace=False))]
        kept: list[Picks] = []
        have, batch = 0, max(n, 256)
        for _ in range(24):
            rows = self._random(batch, rng)
            kept.append(rows[self.mask(rows)][: n - have])
            have += len(kept[-1])
            if have >= n:
                break
            batch = min(16_384, batch * 2)
        return np.concatenate(kept)

    def _every(self) -> Picks:
        sizes = [len(g) for g in self.domain.groups]
        rows: Picks = np.indices(sizes).reshape(len(sizes), -1).T
        return rows

    def _random(self, n: int, rng: np.random.Generator) -> Picks:
        return np.stack([rng.integers(0, len(g), n) for g in self.domain.groups], axis=1)

    def legal_share(self, probes: int, rng: np.random.Generator) -> float:
        """Part of the rows that satisfies the limits; from `probes` random rows where there are too many to list."""
        if not self.domain.groups:
            return 1.0
        rows = self._every() if self.size <= ENUMERATE else self._random(probes, rng)
        return float(self.mask(rows).mean()) if len(rows) else 0.0

    def mutate(self, picks: Picks, rng: np.random.Generator) -> tuple[Picks, NDArray[np.int64]]:
        """Change one group of each row: mostly by moving one prime factor, sometimes to anything.

        Returns
        -------
        tuple of array [N, groups], array [N]
            The new rows (unchanged where the limits refused the change), and which group was changed (-1: none).
        """
        n, groups = len(picks), picks.shape[1]
        open_groups = np.array([g for g in range(groups) if len(self.domain.groups[g]) > 1], np.int64)
        if not len(open_groups):
            return picks, np.full(n, -1)
        which = open_groups[rng.integers(0, len(open_groups), n)]
        near = rng.random(n) < 0.75
        chance = rng.random(n)
        out = picks.copy()
        for g in open_groups:
            at = np.flatnonzero(which == g)
            group = self.domain.groups[g]
            out[at, g] = np.minimum((chance[at] * len(group)).astype(np.int64), len(group) - 1)
            close = at[near[at]]
            degree, table = neighbours(group)
            old = picks[close, g]
            step = (chance[close] * degree[old]).astype(np.int64)
            out[close, g] = np.where(degree[old] > 0, table[old, np.minimum(step, table.shape[1] - 1)], out[close, g])
        ok = self.mask(out)
        return np.where(ok[:, None], out, picks), np.where(ok, which, -1)

    def cross(self, a: Picks, b: Picks, rng: np.random.Generator) -> Picks:
        """Take each group from one of two parents; a child that the limits refuse is its first parent."""
        mixed = np.where(rng.random(a.shape) < 0.5, a, b)
        children: Picks = np.where(self.mask(mixed)[:, None], mixed, a)
        return children


def _restrict(group: Group, domain: Domain) -> Group:
    columns = {h: group.table[:, k] for k, h in enumerate(group.holes)}
    ok = np.ones(len(group.table), np.bool_)
    for c in domain.constraints:
        if holes_of(c.expr) and holes_of(c.expr) <= set(group.holes):
            ok &= np.asarray(evaluate(c.expr, columns, {}) >= 0)
    return replace(group, table=group.table[ok]) if not ok.all() else group


def neighbours(group: Group) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of a table that differ by one prime factor at another place (or, for choices, the next value).

    Returns
    -------
    tuple of array [rows], array [rows, most]
        Number of neighbours of each row, and their indices.
    """
    return _neighbours(group.table.shape, group.table.tobytes())


@lru_cache(maxsize=256)
def _neighbours(shape: tuple[int, int], data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = [tuple(int(x) for x in r) for r in np.frombuffer(data, np.int64).reshape(shape)]
    index = {r: k for k, r in enumerate(rows)}
    lists: list[list[int]] = []
    for k, r in enumerate(rows):
        if shape[1] == 1:
            lists.append([j for j in (k - 1, k + 1) if 0 <= j < len(rows)])
            continue
        found = []
        for p, x in enumerate(r):
            for prime in _primes(x):
                for q in range(len(r)):
                    if q != p:
                        other = list(r)
                        other[p] //= prime
                        other[q] *= prime
                        if (j := index.get(tuple(other))) is not None:
                            found.append(j)
        lists.append(found)
    most = max([1, *map(len, lists)])
    table = np.zeros((len(rows), most), np.int64)
    for k, found in enumerate(lists):
        table[k, : len(found)] = found
    return np.array([len(f) for f in lists], np.int64), table


@lru_cache(maxsize=4096)
def _primes(n: int) -> tuple[int, ...]:
    out, p = [], 2
    while p * p <= n:
        if n % p == 0:
            out.append(p)
            while n % p == 0:
                n //= p
        p += 1
    return (*out, n) if n > 1 else tuple(out)
