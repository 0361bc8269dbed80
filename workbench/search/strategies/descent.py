"""Coordinate descent: from the fastest programs to their neighbours, one group of holes at a time."""

from __future__ import annotations

import numpy as np

from workbench.search.base import Proposal, Search, number
from workbench.search.batch_selection import diverse
from workbench.search.population import distinct
from workbench.search.registry import strategy


@strategy("descent")
class DescentSearch(Search):
    """Measures the neighbours of the fastest program, one group of holes changed; at an optimum, those of the next."""

    #: Trials after which other starting points are drawn. Chosen, not measured.
    EPOCH = 512
    #: Programs of a first sample that are measured to find where to start. Chosen, not measured.
    START = 16
    #: Measured programs from which it descends before other starting points are tried. Chosen, not measured.
    CENTRES = 16

    def _propose(self, n: int, rng: np.random.Generator) -> list[Proposal]:
        lucky = int(rng.binomial(n, self.epsilon)) if self.history.count else 0
        out = polish(self, n - lucky, self.CENTRES) if self.history.count >= self.START else []
        taken = np.array([number(c.key) for c, _ in out], np.uint64)
        rows = self.sample(self.EPOCH)
        rows = rows.take(distinct(rows.keys, np.concatenate([self.known_keys(), taken])))
        score = self.score(rows)
        order = np.argsort(-score, kind="stable")
        start = diverse(order[: max(256, 8 * n)], rows, score, n - lucky - len(out), 1.0)
        out += [self.candidate(rows, i, "sketch", float(score[i])) for i in start]
        rest = np.setdiff1d(order, start)
        for i in rng.choice(rest, min(lucky, len(rest)), replace=False):
            out.append(self.candidate(rows, int(i), "random", float(score[i])))
        return out + (self.leftovers(n - len(out), out, rng) if len(out) < n else [])


def polish(search: Search, n: int, centres: int) -> list[Proposal]:
    """Up to `n` unknown neighbours of the fastest programs, the model's favourites first.

    A program whose neighbours are all known is a local optimum; then it is the next one's turn.
    """
    out: list[Proposal] = []
    taken = search.known_keys()
    for best, picks in search.placed(centres):
        if len(out) >= n:
            break
        near = search.neighbourhood(best, picks)
        near = near.take(distinct(near.keys, taken))
        score = search.score(near)
        order = np.argsort(-score, kind="stable")[: n - len(out)]
        out += [search.candidate(near, int(i), "polish", float(score[i])) for i in order]
        taken = np.concatenate([taken, near.keys[order]])
    return out
