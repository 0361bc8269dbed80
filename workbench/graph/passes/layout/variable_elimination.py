"""The cheapest choice for many variables whose costs depend on few of them at a time.

Variables are eliminated one by one: the costs that name a variable are added up, and the cheapest value of it for every
choice of its neighbours takes their place. On chains, trees and series-parallel graphs, where one or two neighbours are
left whenever the next variable is well chosen, this is dynamic programming; in general it is exact as long as the
tables stay small. Where a table would be larger than `LIMIT`, its costs are split and minimised apart: what results is
a bound from below and a choice that is made better one variable at a time, so the distance to the best is known.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.cooperative_yield import pause

#: Most entries of a table.
LIMIT = 1 << 16

Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """Cost of every choice of some variables, one axis of the table for each."""

    variables: tuple[int, ...]
    table: Table


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A value for every variable, what it costs, and what nothing can be below."""

    values: tuple[int, ...]
    cost: float
    bound: float

    @property
    def exact(self) -> bool:
        """Whether nothing is cheaper."""
        return self.cost <= self.bound + 1e-6 * (1 + abs(self.bound))


def solve(
    sizes: Sequence[int], factors: Sequence[Factor], start: Sequence[int] | None = None, limit: int = LIMIT
) -> Solution:
    """Cheapest values of variables with `sizes` values each; an impossible choice costs infinity.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each variable.
    factors : sequence of Factor
        Costs, which are added up.
    start : sequence of int, optional
        A possible choice; where the search is not exact, the answer is at least as good.
    limit : int
        Most entries of a table; smaller ones make the answer quicker and perhaps worse.
    """
    values, bound, cut = _eliminate(sizes, factors, limit)
    cost = _cost(values, factors)
    if not cut:
        return Solution(tuple(values), cost, bound)
    for guess in [values, *([list(start)] if start is not None else [])]:
        for _ in range(2):
            guess = _improved(_around(cut, guess, sizes, factors, limit), sizes, factors)
        if (found := _cost(guess, factors)) < cost:
            values, cost = guess, found
    return Solution(tuple(values), cost, min(bound, cost))


def _around(
    cut: Sequence[int], guess: list[int], sizes: Sequence[int], factors: Sequence[Factor], limit: int
) -> list[int]:
    """Best choice with some variables as guessed, never worse than the guess."""
    fixed = {v: guess[v] for v in cut}
    left = [v for v in range(len(sizes)) if v not in fixed]
    place = {v: k for k, v in enumerate(left)}
    rest = []
    for f in factors:
        keep = tuple(place[v] for v in f.variables if v in place)
        rest.append(Factor(keep, np.asarray(f.table[tuple(fixed.get(v, slice(None)) for v in f.variables)])))
    found = solve([sizes[v] for v in left], rest, [guess[v] for v in left], limit)
    new = list(guess)
    for v, k in place.items():
        new[v] = found.values[k]
    return new if _cost(new, factors) < _cost(guess, factors) else guess


def _eliminate(sizes: Sequence[int], factors: Sequence[Factor], limit: int) -> tuple[list[int], float, list[int]]:
    """Values, a bound from below, and the variables whose costs had to be split."""
    every = list(factors)
    alive: dict[int, dict[int, None]] = {v: {} for v in range(len(sizes))}  # variable -> costs that name it
    near: dict[int, set[int]] = {v: set() for v in range(len(sizes))}
    bound = sum(float(f.table) for f in every if not f.variables)
    for k, f in enumerate(every):
        for v in f.variables:
            alive[v][k] = None
            near[v] |= set(f.variables) - {v}
    queue = [(_entries(sizes, near[v]) * sizes[v], v) for v in near]
    heapq.heapify(queue)
    steps, cut = list[tuple[int, list[Factor]]](), list[int]()
    while near:
        pause()
        size, v = heapq.heappop(queue)
        if v not in near or size != _entries(sizes, near[v]) * sizes[v]:
            continue  # its neighbours have changed, so it stands in the queue once more
        touched = near.pop(v)
        bucket = [every[k] for k in alive[v]]
        for k in alive.pop(v):
            for u in every[k].variables:
                if u != v:
                    del alive[u][k]
        for u in touched:
            near[u].discard(v)
        steps.append((v, bucket))
        parts = _split(v, bucket, sizes, limit)
        cut += [v] if len(parts) > 1 else []
        for part in parts:
            rest = tuple(sorted({u for f in part for u in f.variables} - {v}))
            table = np.asarray(_joined(part, (v, *rest), sizes).min(axis=0))
            bound += 0.0 if rest else float(table)
            for u in rest:
                alive[u][len(every)] = None
                near[u] |= set(rest) - {u}
            every.append(Factor(rest, table))
        for u in touched:
            heapq.heappush(queue, (_entries(sizes, near[u]) * sizes[u], u))
    return _decode(steps, len(sizes)), bound, cut


def _entries(sizes: Sequence[int], variables: set[int]) -> int:
    return prod(sizes[v] for v in variables)


def _split(v: int, bucket: list[Factor], sizes: Sequence[int], limit: int) -> list[list[Factor]]:
    """Costs that name `v` in parts whose tables are small enough; one part where the answer stays exact."""
    parts: list[tuple[set[int], list[Factor]]] = []
    for f in sorted(bucket, key=lambda f: -f.table.size):
        for scope, part in parts:
            if _entries(sizes, scope | set(f.variables)) <= limit:
                scope |= set(f.variables)
                part.append(f)
                break
        else:
            parts.append((set(f.variables) | {v}, [f]))
    return [part for _, part in parts]


def _joined(factors: Sequence[Factor], variables: tuple[int, ...], sizes: Sequence[int]) -> Table:
    """Sum of costs over the given variables."""
    total: Table = np.zeros([sizes[v] for v in variables])
    for f in factors:
        axes = [variables.index(v) for v in f.variables]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        shape = [1] * len(variables)
        for a in axes:
            shape[a] = sizes[variables[a]]
        total = total + np.transpose(f.table, order).reshape(shape)
    return total


def _at(f: Factor, values: Mapping[int, int] | Sequence[int]) -> Any:
    return f.table[tuple(values[v] for v in f.variables)]


def _decode(steps: list[tuple[int, list[Factor]]], count: int) -> list[int]:
    """Values in the reverse order of elimination: all neighbours that are left then have theirs."""
    values: dict[int, int] = {}
    for v, bucket in reversed(steps):
        total: Any = 0.0
        for f in bucket:
            total = total + f.table[tuple(slice(None) if u == v else values[u] for u in f.variables)]
        values[v] = int(np.argmin(total)) if bucket else 0
    return [values[v] for v in range(count)]


def _cost(values: Sequence[int], factors: Sequence[Factor]) -> float:
    return float(sum(_at(f, values) for f in factors))


def _improved(values: list[int], sizes: Sequence[int], factors: Sequence[Factor]) -> list[int]:
    """One variable at a time, until none is better alone."""
    by: dict[int, list[Factor]] = {v: [] for v in range(len(sizes))}
    for f in factors:
        for v in f.variables:
            by[v].append(f)
    better = True
    while better:
        better = False
        for v, mine in by.items():
            total: Any = np.zeros(sizes[v])
            for f in mine:
                total = total + f.table[tuple(slice(None) if u == v else values[u] for u in f.variables)]
            best = int(np.argmin(total))
            if total[best] < total[values[v]]:
                values[v], better = best, True
    return values
