"""Evolutionary search: every variant keeps a pool of rows with their features.

`ask` scores the pools with the current model, breeds from the best (mutation and crossover of whole columns), and picks
programs that are good and different from each other, plus a small random share.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.tune.cost_model import Matrix, Scores
from workbench.tune.features import INDEX
from workbench.tune.sample import Keys, Picks
from workbench.tune.search.base import Candidate, Search, SearchOptions, strategy, text

if TYPE_CHECKING:
    from workbench.tune.cost_model import CostModel
    from workbench.tune.space import Space, Variant


@dataclass(slots=True)
class _Pool:
    """Rows of one variant; `parent` and `group` say how a row came about (0 and -1: drawn from the sketch)."""

    picks: Picks
    x: Matrix
    keys: Keys
    parent: Keys
    group: NDArray[np.int64]

    def take(self, index: NDArray[Any]) -> _Pool:
        return _Pool(self.picks[index], self.x[index], self.keys[index], self.parent[index], self.group[index])

    def join(self, other: _Pool) -> _Pool:
        pairs = (
            (self.picks, other.picks),
            (self.x, other.x),
            (self.keys, other.keys),
            (self.parent, other.parent),
            (self.group, other.group),
        )
        return _Pool(*(np.concatenate(p) for p in pairs))  # type: ignore[arg-type]


_CROSSED = -2


@strategy("evolutionary")
class EvolutionarySearch(Search):
    """Breeds rows by mutation and crossover and measures those that the model likes best."""

    def __init__(
        self, task: Any, space: Space, model: CostModel, seed: int = 0, options: SearchOptions | None = None
    ) -> None:
        super().__init__(task, space, model, seed, options)
        self._pools: list[_Pool] = []
        self._live: list[Variant] = []

    def _pools_changed(self) -> None:
        self._pools, self._live = [], []

    def _propose(self, n: int, rng: np.random.Generator) -> list[tuple[Candidate, NDArray[np.float32]]]:
        self._fill_pools(rng)
        for _ in range(self.options.generations):
            self._breed(rng)
        return self._choose(n, rng)

    # ---- pools ----

    def _pool(
        self, variant: Variant, picks: Picks, parent: Keys | None = None, group: NDArray[np.int64] | None = None
    ) -> _Pool:
        n = len(picks)
        return _Pool(
            picks,
            variant.features(picks),
            variant.keys(picks),
            np.zeros(n, np.uint64) if parent is None else parent,
            np.full(n, -1) if group is None else group,
        )

    def _fill_pools(self, rng: np.random.Generator) -> None:
        if self._pools:
            return
        self._live = [v for v in self._variants if v is not None]
        share = max(64, self.options.pool // max(1, len(self._live)))
        self._pools = [self._pool(v, v.sampler.draw(share, rng)) for v in self._live]

    def _breed(self, rng: np.random.Generator) -> None:
        """One generation: each variant breeds in proportion to how many of the best rows are its own."""
        scores = [self.model.predict(p.x) if len(p.keys) else np.zeros(0) for p in self._pools]
        every = np.concatenate(scores)
        owner = np.repeat(np.arange(len(scores)), [len(s) for s in scores])
        top = np.argsort(-every, kind="stable")[:128]
        counts = np.bincount(owner[top], minlength=len(scores))
        for v in np.argsort(-counts, kind="stable")[:2]:
            variant = self._live[v]
            quota = int(self.options.children * counts[v] / max(1, len(top)))
            pool = self._pools[v]
            if quota >= 16 and len(pool.keys) < variant.sampler.size:
                self._pools[v] = self._grow(variant, pool, scores[v], quota, rng)

    def _grow(self, variant: Variant, pool: _Pool, score: Scores, quota: int, rng: np.random.Generator) -> _Pool:
        elite = np.argsort(-score, kind="stable")[: max(16, quota // 4)]
        best = [variant.sampler.find(row) for _, v, row in self._best[:16] if v == variant.index]
        seeds = [p for p in best if p is not None]
        parents = np.concatenate([pool.picks[elite], np.stack(seeds)]) if seeds else pool.picks[elite]
        keys = np.concatenate([pool.keys[elite], variant.keys(np.stack(seeds))]) if seeds else pool.keys[elite]
        half = quota // 2
        chance = 0.5 ** (np.arange(len(parents)) / max(1.0, len(elite) / 4))
        chance[len(elite) :] = 1.0
        chance /= chance.sum()
        first, second = (rng.choice(len(parents), quota, p=chance) for _ in range(2))
        children, group = variant.sampler.mutate(parents[first], rng)
        crossed = variant.sampler.cross(parents[first[half:]], parents[second[half:]], rng)
        again, _ = variant.sampler.mutate(crossed, rng)
        children[half:] = np.where(rng.random((quota - half, 1)) < 0.3, again, crossed)
        group[half:] = _CROSSED
        fresh = _distinct(variant.keys(children), pool.keys, self._known)
        if not len(fresh):
            return pool
        grown = pool.join(self._pool(variant, children[fresh], keys[first[fresh]], group[fresh]))
        limit = max(64, self.options.pool // len(self._pools)) * 2
        if len(grown.keys) > limit:
            kept = np.argsort(-self.model.predict(grown.x), kind="stable")[: limit // 2]
            grown = grown.take(np.sort(kept))
        return grown

    # ---- proposals ----

    def _choose(self, n: int, rng: np.random.Generator) -> list[tuple[Candidate, NDArray[np.float32]]]:
        keys = np.concatenate([p.keys for p in self._pools])
        scores = np.concatenate([self.model.predict(p.x) if len(p.keys) else np.zeros(0) for p in self._pools])
        owner = np.repeat(np.arange(len(self._pools)), [len(p.keys) for p in self._pools])
        at = np.concatenate([np.arange(len(p.keys)) for p in self._pools])
        order = np.argsort(-scores, kind="stable")
        order = order[_distinct(keys[order], keys[:0], self._known)]
        lucky = int(rng.binomial(n, self.epsilon)) if self._best else 0
        picked = self._diverse(order[: max(256, 8 * n)], scores, owner, at, n - lucky)
        rest = np.setdiff1d(order[: max(64, len(order) // 4)], picked)  # at random among what is not hopeless
        if lucky and len(rest):
            picked += [int(i) for i in rng.choice(rest, min(lucky, len(rest)), replace=False)]
        return [
            self._candidate(int(owner[i]), int(at[i]), float(scores[i]), k >= n - lucky) for k, i in enumerate(picked)
        ]

    def _diverse(
        self, order: NDArray[np.int64], scores: Scores, owner: NDArray[np.int64], at: NDArray[np.int64], n: int
    ) -> list[int]:
        """Greedy choice by score, where what resembles an earlier choice of this round costs a few per cent."""
        if not len(order) or n <= 0:
            return []
        x = np.stack([self._pools[owner[i]].x[at[i]] for i in order])
        marks = [np.round(x[:, INDEX[c]], 2) for c in _SIGNATURE]
        value = scores[order].astype(np.float64)
        weight = 1.0 if not self._best else 0.4
        picked: list[int] = []
        for _ in range(min(n, len(order))):
            k = int(np.argmax(value))
            picked.append(int(order[k]))
            same = [m == m[k] for m in marks]
            value = value - weight * (
                0.02 * (owner[order] == owner[order[k]])
                + 0.05 * (same[0] & same[1] & same[2])
                + 0.02 * same[3]
                + 0.03 * (same[4] & same[0])
            )
            value[k] = -np.inf
        return picked

    def _candidate(self, v: int, k: int, score: float, lucky: bool) -> tuple[Candidate, NDArray[np.float32]]:
        pool, variant = self._pools[v], self._live[v]
        parent, group = int(pool.parent[k]), int(pool.group[k])
        origin = "random" if lucky else "sketch" if not parent else "crossover" if group == _CROSSED else "mutation"
        changed = ", ".join(variant.sampler.domain.groups[group].holes) if parent and group >= 0 else None
        candidate = Candidate(
            variant.index,
            variant.sampler.row(pool.picks[k]),
            origin,
            score,
            text(int(pool.keys[k])),
            text(parent) if parent else None,
            changed,
        )
        return candidate, pool.x[k]


_SIGNATURE = ("main.accumulators", "main.vector", "main.fma", "main.tasks", "main.bodies_per_visit")


def _distinct(keys: Keys, others: Keys, known: Iterable[int]) -> NDArray[np.int64]:
    """Positions of the first occurrence of every key that is in neither `others` nor `known`, in order."""
    _, first = np.unique(keys, return_index=True)
    first = np.sort(first)
    bad = np.isin(keys[first], others) | np.isin(keys[first], np.fromiter(known, np.uint64))
    result: NDArray[np.int64] = first[~bad]
    return result
