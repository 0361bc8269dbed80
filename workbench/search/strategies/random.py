"""Random search: the baseline that every other strategy has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.search.base import Proposal, Search
from workbench.search.population import Ints, Rows, distinct
from workbench.search.registry import strategy
from workbench.space.sampling import Picks


@strategy("random")
class RandomSearch(Search):
    """Draws rows uniformly from all legal rows of all variants; the same checks, no model."""

    learns = False
    #: Rows of a variant that are drawn to estimate which share of them is legal. Computed: within 2 %.
    PROBES = 4096

    def _propose(self, n: int, rng: np.random.Generator) -> list[Proposal]:
        known, share = self.known_keys(), self._shares()
        rows: list[Rows] = []
        missing, attempts = n, 0
        while missing > 0 and attempts < 8 and share.sum() > 0:
            owner, picks = self._draw(2 * missing + 8, share, rng)
            keys = self.allowed.keys(owner, picks)
            fresh = distinct(keys, known)[:missing]
            rows.append(Rows.bare(owner[fresh], picks[fresh], keys[fresh]))
            known = np.concatenate([known, keys[fresh]])
            missing -= len(fresh)
            attempts += 1
        found = [self.candidate(r, i, "random", None) for r in rows for i in range(len(r))]
        return found + (self.leftovers(missing, found, rng) if missing else [])

    def _draw(self, n: int, share: NDArray[np.float64], rng: np.random.Generator) -> tuple[Ints, Picks]:
        """Draw rows of variants in proportion to how many legal rows they have."""
        counts = rng.multinomial(n, share)
        drawn = [(v.index, v.sampler.draw(int(c), rng)) for v, c in zip(self.allowed.live, counts, strict=True) if c]
        owner = np.concatenate([np.full(len(p), k) for k, p in drawn])
        picks = np.concatenate([self.allowed.wide(p) for _, p in drawn])
        mixed = rng.permutation(len(owner))
        return owner[mixed], picks[mixed]

    def _shares(self) -> NDArray[np.float64]:
        """Part of the space's legal rows that each variant has; estimated for those that cannot be listed."""

        def work() -> NDArray[np.float64]:
            rng = np.random.default_rng(0)
            legal = np.array([v.sampler.size * v.sampler.legal_share(self.PROBES, rng) for v in self.allowed.live])
            return legal / legal.sum() if legal.sum() else legal

        return self.remembered("shares", 0, work)
