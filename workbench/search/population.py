"""Rows of several variants at once: drawing, varying and evaluating them.

`AllowedVariants` are the variants that may be proposed; `Rows` are rows of any of them, as columns. Everything here is
a function of its arguments: what it remembers it could work out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import Matrix
from workbench.space.program_keys import Keys
from workbench.space.sampling import ENUMERATE, Picks, neighbours

if TYPE_CHECKING:
    from workbench.space.variant import Variant

Ints = NDArray[np.int64]
#: What `Rows.how` says where no single group was changed.
DRAWN, CROSSED = -1, -2


@dataclass(slots=True)
class Rows:
    """Rows of several variants.

    Attributes
    ----------
    owner : array [N]
        Index of the variant.
    picks : array [N, G]
        Table index of every group, padded with 0.
    keys : array [N]
        Structural keys.
    parent : array [N]
        Key of the row that it was derived from, 0 for none.
    how : array [N]
        Which group was changed in the parent, `CROSSED` or `DRAWN`.
    x : array [N, F]
        Features.
    """

    owner: Ints
    picks: Picks
    keys: Keys
    parent: Keys
    how: Ints
    x: Matrix

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, index: NDArray[Any]) -> Rows:
        """Return the rows at `index`, or where the mask `index` is set."""
        return Rows(*(getattr(self, f.name)[index] for f in fields(self)))

    @staticmethod
    def bare(owner: Ints, picks: Picks, keys: Keys) -> Rows:
        """Return rows without features, for those who have no use for them."""
        n = len(owner)
        return Rows(owner, picks, keys, np.zeros(n, np.uint64), np.full(n, DRAWN), np.zeros((n, 0), np.float32))

    @staticmethod
    def join(parts: Sequence[Rows]) -> Rows:
        """Return all rows one after the other."""
        return Rows(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Rows)))


class AllowedVariants:
    """The variants that may be proposed.

    Parameters
    ----------
    variants : sequence of Variant or None
        By index in the space; None where a variant is ruled out.
    """

    def __init__(self, variants: Sequence[Variant | None]) -> None:
        self.variants = tuple(variants)
        self.live = [v for v in variants if v is not None]
        self.feature_count = max((v.feature_count for v in self.live), default=0)
        self.width = max((len(v.sampler.domain.groups) for v in self.live), default=0)

    def variant(self, k: int) -> Variant:
        """Return a variant that may be proposed, by its index in the space."""
        found = self.variants[k]
        assert found is not None
        return found

    def narrow(self, k: int, picks: Picks) -> Picks:
        """Return padded picks of variant `k` without the padding."""
        return picks[:, : len(self.variant(k).sampler.domain.groups)]

    def wide(self, picks: Picks) -> Picks:
        """Return picks of one variant with padding."""
        out = np.zeros((len(picks), self.width), np.int64)
        out[:, : picks.shape[1]] = picks
        return out

    # ---- drawing ----

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Ints, Picks]:
        """Draw rows of every variant, about `n` in all: as many of each, but all rows of those that have few."""
        share = max(64, n // max(1, len(self.live)))
        drawn = [(v.index, v.sampler.draw(share, rng)) for v in self.live]
        return self._together(drawn)

    def every(self, n: int, rng: np.random.Generator) -> tuple[Ints, Picks]:
        """Return all rows of the variants that can be listed, and `n` of each of the others."""
        small = [v.sampler.size <= ENUMERATE for v in self.live]
        drawn = [(v.index, v.sampler.draw(ENUMERATE if s else n, rng)) for v, s in zip(self.live, small, strict=True)]
        return self._together(drawn)

    def _together(self, drawn: Sequence[tuple[int, Picks]]) -> tuple[Ints, Picks]:
        if not drawn:
            return np.zeros(0, np.int64), np.zeros((0, self.width), np.int64)
        owner = np.concatenate([np.full(len(p), k) for k, p in drawn])
        return owner, np.concatenate([self.wide(p) for _, p in drawn])

    # ---- evaluating ----

    def rows(self, owner: Ints, picks: Picks, known: Keys, parent: Keys | None = None, how: Ints | None = None) -> Rows:
        """Evaluate the rows whose keys are neither in `known` nor those of earlier rows."""
        keys = self.keys(owner, picks)
        fresh = distinct(keys, known)
        owner, picks, keys = owner[fresh], picks[fresh], keys[fresh]
        x = np.empty((len(keys), self.feature_count), np.float32)
        for k in np.unique(owner):
            at = owner == k
            x[at] = self.variant(k).features(self.narrow(k, picks[at]))
        parents = np.zeros(len(keys), np.uint64) if parent is None else parent[fresh]
        return Rows(owner, picks, keys, parents, np.full(len(keys), DRAWN) if how is None else how[fresh], x)

    def keys(self, owner: Ints, picks: Picks) -> Keys:
        """Structural keys of rows."""
        out = np.zeros(len(owner), np.uint64)
        for k in np.unique(owner):
            at = owner == k
            out[at] = self.variant(k).keys(self.narrow(k, picks[at]))
        return out

    # ---- varying ----

    def mutate(self, owner: Ints, picks: Picks, rng: np.random.Generator) -> tuple[Picks, Ints]:
        """Change one group of each row; also returns which one (-1: the limits refused it)."""
        out, how = picks.copy(), np.full(len(owner), DRAWN)
        for k in np.unique(owner):
            at = np.flatnonzero(owner == k)
            changed, group = self.variant(k).sampler.mutate(self.narrow(k, picks[at]), rng)
            out[at], how[at] = self.wide(changed), group
        return out, how

    def cross(self, owner: Ints, a: Picks, b: Picks, rng: np.random.Generator) -> Picks:
        """Take each group from one of two parents of the same variant."""
        out = a.copy()
        for k in np.unique(owner):
            at = np.flatnonzero(owner == k)
            out[at] = self.wide(self.variant(k).sampler.cross(self.narrow(k, a[at]), self.narrow(k, b[at]), rng))
        return out

    def around(self, k: int, pick: Picks) -> tuple[Picks, Ints]:
        """Return all legal rows that differ from `pick` ``[G]`` by one step in one group, and which group that is."""
        sampler = self.variant(k).sampler
        found: list[Picks] = []
        groups: list[int] = []
        for g, group in enumerate(sampler.domain.groups):
            degree, table = neighbours(group)
            for to in dict.fromkeys(table[pick[g], : degree[pick[g]]].tolist()):
                other = pick.copy()
                other[g] = to
                found.append(other)
                groups.append(g)
        if not found:
            return np.zeros((0, self.width), np.int64), np.zeros(0, np.int64)
        picks = np.stack(found)
        ok = sampler.mask(self.narrow(k, picks))
        return picks[ok], np.array(groups, np.int64)[ok]


def distinct(keys: Keys, known: Keys) -> Ints:
    """Positions of the first occurrence of every key that is not in `known`, in order."""
    _, first = np.unique(keys, return_index=True)
    first = np.sort(first)
    result: Ints = first[~np.isin(keys[first], known)]
    return result
