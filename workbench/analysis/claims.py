"""Who was the best of a task after each of its trials, when comparisons correct what trials claim by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.tune.ranking import Key, Ladder, compared_ms

if TYPE_CHECKING:
    from workbench.tune.lines import Comparison


@dataclass(frozen=True, slots=True)
class Told:
    """What is known about the trials of one task from beside them.

    Attributes
    ----------
    shown : mapping of int to float
        Trial -> its latency in the latest comparison, in milliseconds.
    won, lost : set of int
        Trials that became the best by a comparison, and challengers that lost one and never did.
    best : int or None
        The best by the rule of `workbench.tune.ranking`; None when the least latency says so.
    """

    shown: Mapping[int, float] = field(default_factory=dict)
    won: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    best: int | None = None

    @classmethod
    def of(cls, base: Mapping[int, Key], comparisons: Iterable[Comparison]) -> Told:
        """Return what the comparisons of a task say; `base` orders the trials that were never compared."""
        comparisons = tuple(comparisons)
        won = frozenset(c.winner for c in comparisons if c.new_best)
        lost = frozenset(trial for c in comparisons for trial in c.trials[1:] if trial != c.winner) - won
        return cls(compared_ms(comparisons), won, lost, Ladder.of(base, comparisons).best)


def claimed(trials: Sequence[tuple[int, float]], told: Told) -> list[float]:
    """Return the latency of the best after each valid trial of one task, in milliseconds.

    A challenger that lost was never the best. Whoever took part in comparisons has the latency of the latest one. The
    last value is that of the best.

    Parameters
    ----------
    trials : sequence of (int, float)
        Number and latency, in order.
    told : Told
        What else is known about them.
    """
    shown = {**dict(trials), **told.shown}
    out: list[float] = []
    best, least = math.inf, math.inf
    for trial, ms in trials:
        if trial in told.won or (ms < least and trial not in told.lost):
            best, least = shown[trial], ms
        out.append(best if best < math.inf else min([ms, *out[-1:]]))
    if out and told.best is not None:
        out[-1] = shown[told.best]
    return out
