"""Who was the best of a task after each of its trials, when comparisons correct what trials claim by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.tune.ranking import preferences

if TYPE_CHECKING:
    from workbench.tune.lines import Comparison


def claimed(trials: Sequence[tuple[int, float]], comparisons: Sequence[Comparison]) -> list[float]:
    """Return the latency of the best after each valid trial of one task, in milliseconds.

    A challenger that lost was never the best. Whoever took part in comparisons has the latency of the latest one. The
    last value is that of the best by the rule of `workbench.tune.ranking`.

    Parameters
    ----------
    trials : sequence of (int, float)
        Number and latency, in order.
    comparisons : sequence of Comparison
        Those of the same task.
    """
    shown = _shown(trials, comparisons)
    won = {c.winner for c in comparisons if c.new_best}
    lost = {trial for c in comparisons for trial in c.trials[1:] if trial != c.winner} - won
    out: list[float] = []
    best, least = math.inf, math.inf
    for trial, ms in trials:
        if trial in won or (ms < least and trial not in lost):
            best, least = shown[trial], ms
        out.append(best if best < math.inf else min(ms, *out[-1:]))
    behind = preferences(comparisons, shown)
    if out and comparisons:
        _, trial = min((ms, trial) for trial, ms in trials if trial not in behind)
        out[-1] = shown[trial]
    return out


def _shown(trials: Sequence[tuple[int, float]], comparisons: Sequence[Comparison]) -> dict[int, float]:
    shown = dict(trials)
    for item in sorted(comparisons, key=lambda c: (c.timestamp, c.elapsed_s)):
        for trial in item.trials:
            if trial in shown and (ms := item.latency_of(trial)) is not None:
                shown[trial] = ms
    return shown
