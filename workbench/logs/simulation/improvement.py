"""The search for parameters by expected improvement: one configuration at a time, the most promising one of all.

It is one of a simulation, not of `workbench.search`: it asks a model that knows how unsure it is, and that model
has a length for each coordinate. A table has ten of them; a program's features are over a hundred, whose rows a
schedule's search measures by the dozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.search import Search
from workbench.search.base import Proposal
from workbench.search.population import Rows

if TYPE_CHECKING:
    from workbench.cost_model import Scores


class ImprovementSearch(Search):
    """Measures what the model hopes most of; of a batch, each is unlike the others.

    Rows that it looks at: all of a space of up to ``options.pool``, else a sample and the neighbours of the fastest.
    """

    #: Measurements after which another sample is drawn. Chosen.
    EPOCH = 64
    #: Fastest configurations whose neighbours are looked at where the space is too large to look at all of it.
    CENTRES = 8

    def _propose(self, n: int, rng: np.random.Generator) -> list[Proposal]:
        rows = self._rows()
        score = np.array(self.score(rows), np.float64)
        score[np.isin(rows.keys, self.known_keys())] = -np.inf
        out: list[Proposal] = []
        while len(out) < n and np.isfinite(score).any():
            top = np.flatnonzero(score == score.max())
            best = int(rng.choice(top))
            out.append(self.candidate(rows, best, "model", None))
            if len(out) < n:
                score = self._without(rows, score, best)
        return out

    def _rows(self) -> Rows:
        """What may be proposed; the same object while it is the same, which saves the model most of its work."""
        sample = self.sample(self.EPOCH)
        if len(sample) == sum(v.sampler.size for v in self.allowed.live):
            return sample
        near = [self.neighbourhood(best, picks) for best, picks in self.placed(self.CENTRES)]
        return Rows.join([sample, *near])

    def _without(self, rows: Rows, score: Scores, chosen: int) -> Scores:
        """Scores, less what a chosen row will tell: the model's expected gain shrinks with the likeness."""
        left = score.copy()
        left[rows.keys == rows.keys[chosen]] = -np.inf
        likeness = getattr(self.model, "likeness", None)
        if likeness is not None:
            left += np.log(np.maximum(1.0 - likeness(rows.x, rows.x[chosen]), 1e-9))
        return left
