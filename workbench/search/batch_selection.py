"""Which of many scored rows make a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import Scores
from workbench.machine_model.features import COLUMNS, INDEX
from workbench.search.history import History
from workbench.search.population import Ints, Rows

if TYPE_CHECKING:
    from workbench.search.base import Search

_SIGNATURE = ("main.accumulators", "main.vector", "main.fma", "main.tasks", "main.bodies_per_visit")


class Doubt:
    """How far the model may be off for a whole variant, in log2 of speed.

    Chosen; ``bench_search.py --replay`` tells what comes of it. With less doubt a search stays in the variant that the
    model likes, with more it measures all of them.
    """

    #: Before any of the variant was measured, and at most, after long times without a gain.
    FIRST, MOST = 0.15, 0.6
    #: Trials without a gain after which the doubt is twice as large.
    STALL = 32
    #: It is a gain to be faster by so much, in log2: a third of a per cent.
    GAIN = 0.005
    #: What a failed trial counts as: so much slower than expected, in log2.
    FAILED = 2.0


def drift(search: Search, draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How much faster than the model says each variant might be, ``[draws, variants]`` in log2.

    The trials of a variant tell how far the model is off for all of it; the more there are, the less is left to doubt.
    Every second draw is a guess (Thompson's sampling), so a variant gets trials as often as it may be the best; the
    others are what is most likely.
    """
    history, count = search.history, len(search.allowed.variants)
    unsure = doubt_of(history)
    mean, doubt = np.zeros(count), np.full(count, unsure)
    parts = {v: found for v, found in history.recent.items() if v >= 0}
    if parts:
        owner = np.concatenate([np.full(len(found), v) for v, found in parts.items()])
        told = np.array([speed for found in parts.values() for _, speed in found])
        off = told - search.model.predict(np.stack([x for found in parts.values() for x, _ in found]))
        level = np.median(off[np.isfinite(off)]) if np.isfinite(off).any() else 0.0
        off = np.clip(np.where(np.isfinite(off), off - level, -Doubt.FAILED), -Doubt.FAILED, Doubt.FAILED)
        for v in parts:
            n = int((owner == v).sum())
            mean[v] = off[owner == v].sum() / (n + 2)
            doubt[v] = unsure / np.sqrt(1.0 + history.trials[v])
    guess: NDArray[np.float64] = mean + doubt * rng.standard_normal((draws, count))
    guess[::2] = mean
    return guess


def doubt_of(history: History) -> float:
    """How far the model may be off for a variant that was not tried; more, the longer there was no gain."""
    return min(Doubt.MOST, Doubt.FIRST * (1.0 + history.since_gain(Doubt.GAIN) / Doubt.STALL))


def candidates(rows: Rows, score: Scores, n: int) -> Ints:
    """Positions of the rows that have a chance to be chosen: the best of all, and the best of each variant."""
    order = np.argsort(-score, kind="stable")
    owner = rows.owner[order]
    chance = np.zeros(len(order), np.bool_)
    chance[: max(256, 8 * n)] = True
    for k in np.unique(owner):
        chance[np.flatnonzero(owner == k)[:n]] = True
    return order[chance]


def diverse(
    order: Ints, rows: Rows, score: Scores, n: int, weight: float, guess: NDArray[np.float64] | None = None
) -> list[int]:
    """Greedy choice by score, where what resembles an earlier choice of this round costs a few per cent.

    `guess` is what `drift` gave: one line for each choice.
    """
    if not len(order) or n <= 0:
        return []
    x, owner = rows.x[order], rows.owner[order]
    programs = x.shape[1] == len(COLUMNS)  # parameters of other tuners' logs have no such columns
    marks = [np.round(x[:, INDEX[c]], 2) if programs else np.arange(len(x)) for c in _SIGNATURE]
    value = score[order].astype(np.float64)
    picked: list[int] = []
    for slot in range(min(n, len(order))):
        k = int(np.argmax(value if guess is None else value + guess[slot, owner]))
        picked.append(int(order[k]))
        same = [m == m[k] for m in marks]
        value = value - weight * (
            0.02 * (owner == owner[k])
            + 0.05 * (same[0] & same[1] & same[2])
            + 0.02 * same[3]
            + 0.03 * (same[4] & same[0])
        )
        value[k] = -np.inf
    return picked
