"""Evolutionary search, led by a cost model.

Each `ask` starts from the same two things: a sample of every variant, drawn once and scored by the model as it is now,
and the programs that were measured to be the fastest. It breeds from both by mutation and crossover of whole columns,
and picks what is good and different from each other. Nothing bred is carried from one `ask` to the next, so a search
that is restored from a log stands exactly where the first one stood.

Part of each batch goes to the neighbours of the fastest programs, whatever the model thinks of those programs
(`descent.polish`), and more of it while the best does not improve. The first batch is not bred: before anything was
measured, the model's favourites among thousands of children are where the model is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import Scores
from workbench.search.base import Proposal, Search, number
from workbench.search.batch_selection import Doubt, candidates, diverse, drift
from workbench.search.population import CROSSED, DRAWN, Ints, Rows, distinct
from workbench.search.registry import strategy
from workbench.search.strategies.descent import polish
from workbench.space.program_keys import Keys
from workbench.space.sampling import Picks


@dataclass(slots=True)
class _Parents:
    """What children come from, and how likely."""

    owner: Ints
    picks: Picks
    keys: Keys
    weight: NDArray[np.float64]


@strategy("evolutionary")
class EvolutionarySearch(Search):
    """Breeds rows by mutation and crossover and measures those that the model likes best.

    Replays of measured spaces (``bench_search.py --replay``) showed that the first batch is better not bred, and that a
    good part of each goes to neighbours of the fastest. The numbers themselves were chosen.
    """

    #: Trials after which another sample of the space is drawn: sooner forgets what was scored, later sees less.
    EPOCH = 512
    #: Measured programs, and rows of the sample, that children come from.
    MEASURED, ELITE = 24, 64
    #: Measured programs whose neighbours are measured.
    CENTRES = 24
    #: Share of a batch that these neighbours get, and their share once `Doubt.STALL` trials made no gain.
    POLISHED, STALLED = 0.4, 0.6
    #: Where one program is proposed at a time, that share is a chance, and smaller: the model learns from each.
    SINGLE = 0.4
    #: How much resemblance counts in the first batch, where the model is all there is.
    FIRST = 0.5
    #: Variants that one generation breeds at most: each costs as much time as a hundred rows.
    BRED_VARIANTS = 3

    def _propose(self, n: int, rng: np.random.Generator) -> list[Proposal]:
        known = self.known_keys()
        sample = self.sample(self.EPOCH)
        rows = sample.take(distinct(sample.keys, known))
        score = self.score(rows)
        for _ in range(self.options.generations if self.history.best else 0):
            children = self._breed(rows, score, known, rng)
            if children is not None:
                rows = Rows.join([rows, children])
                score = np.concatenate([score, self.score(children)])
        lucky = int(rng.binomial(n, self.epsilon)) if self.history.count else 0
        polished = polish(self, self._polished(n - lucky, rng), self.CENTRES)
        chosen = self._choose(n - len(polished), lucky, rows, score, polished, rng)
        if len(chosen) + len(polished) < n:
            chosen += self.leftovers(n - len(chosen) - len(polished), [*chosen, *polished], rng)
        return [*chosen, *polished]

    # ---- breeding ----

    def _breed(self, rows: Rows, score: Scores, known: Keys, rng: np.random.Generator) -> Rows | None:
        parents = self._parents(rows, score)
        count = self.options.children
        if not len(parents.keys):
            return None
        first = rng.choice(len(parents.keys), count, p=parents.weight)
        mass = np.bincount(parents.owner[first], minlength=len(self.allowed.variants))
        kept = np.argsort(-mass, kind="stable")[: self.BRED_VARIANTS]
        first = first[np.isin(parents.owner[first], kept)]
        second = self._mates(parents, first, rng)
        owner = parents.owner[first]
        children, how = self.allowed.mutate(owner, parents.picks[first], rng)
        mixed = self.allowed.cross(owner, parents.picks[first], parents.picks[second], rng)
        crossed = rng.random(len(first)) < 0.4
        children[crossed], how[crossed] = mixed[crossed], CROSSED
        again, group = self.allowed.mutate(owner, children, rng)
        twice = (rng.random(len(first)) < 0.3) & (group >= 0)
        children[twice] = again[twice]
        how[twice] = CROSSED
        return self.allowed.rows(owner, children, np.union1d(known, rows.keys), parents.keys[first], how)

    def _parents(self, rows: Rows, score: Scores) -> _Parents:
        """Half of the children come from what was measured to be fast, half from what the model believes to be."""
        elite = np.argsort(-score, kind="stable")[: self.ELITE]
        measured = self.placed(self.MEASURED)
        owner = np.concatenate([rows.owner[elite], np.array([b.variant for b, _ in measured], np.int64)])
        picks = np.concatenate([rows.picks[elite], *[p[None] for _, p in measured]])
        keys = np.concatenate([rows.keys[elite], np.array([b.number for b, _ in measured], np.uint64)])
        weight = np.concatenate([_ranked(len(elite)), _ranked(len(measured))])
        return _Parents(owner, picks, keys, weight / max(weight.sum(), 1e-9))

    def _mates(self, parents: _Parents, first: Ints, rng: np.random.Generator) -> Ints:
        """A second parent of the same variant for each first one."""
        second = first.copy()
        for k in np.unique(parents.owner[first]):
            at, of = np.flatnonzero(parents.owner[first] == k), np.flatnonzero(parents.owner == k)
            chance = parents.weight[of]
            second[at] = rng.choice(of, len(at), p=chance / chance.sum())
        return second

    # ---- proposals ----

    def _polished(self, n: int, rng: np.random.Generator) -> int:
        """How many of `n` proposals that are not drawn at random are neighbours of the fastest programs."""
        stalled = self.history.since_gain(Doubt.GAIN) >= Doubt.STALL
        share = (self.STALLED if stalled else self.POLISHED) if self.history.best else 0.0
        return round(n * share) if n != 1 else int(rng.random() < self.SINGLE * share)

    def _choose(
        self, n: int, lucky: int, rows: Rows, score: Scores, polished: list[Proposal], rng: np.random.Generator
    ) -> list[Proposal]:
        """The model's favourites, and `lucky` ones at random among what is not hopeless."""
        free = ~np.isin(rows.keys, np.array([number(c.key) for c, _ in polished], np.uint64))
        order = np.argsort(-score, kind="stable")
        order = order[free[order]]
        chance = candidates(rows, score, n)
        chance = chance[free[chance]]
        if self.history.best:
            picked = diverse(chance, rows, score, n - lucky, 0.4, drift(self, max(1, n - lucky), rng))
        else:
            picked = diverse(chance, rows, score, n - lucky, self.FIRST)
        out = [self.candidate(rows, i, _origin(rows, i), float(score[i])) for i in picked]
        rest = np.setdiff1d(order[: max(64, len(order) // 4)], picked)
        if lucky and len(rest):
            drawn = rng.choice(rest, min(lucky, len(rest)), replace=False)
            out += [self.candidate(rows, int(i), "random", float(score[i])) for i in drawn]
        return out


def _ranked(n: int) -> NDArray[np.float64]:
    """Chances that halve with every quarter of the ranks; they add up to 1."""
    weight: NDArray[np.float64] = 0.5 ** (np.arange(n) / max(1.0, n / 4))
    return weight / weight.sum() if n else weight


def _origin(rows: Rows, i: int) -> str:
    how: Any = rows.how[i]
    return "sketch" if not rows.parent[i] or how == DRAWN else "crossover" if how == CROSSED else "mutation"
