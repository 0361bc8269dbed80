"""Who was the best of a task after each of its trials, when comparisons correct what trials claim by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.tune.ranking import Ladder, compared_ms

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
    shown = {**dict(trials), **compared_ms(comparisons)}
    won = {c.winner for c in comparisons if c.new_best}
    lost = {trial for c in comparisons for trial in c.trials[1:] if trial != c.winner} - won
    out: list[float] = []
    best, least = math.inf, math.inf
    for trial, ms in trials:
        if trial in won or (ms < least and trial not in lost):
            best, least = shown[trial], ms
        out.append(best if best < math.inf else min([ms, *out[-1:]]))
    if out and comparisons:
        first = Ladder.of({trial: (ms,) for trial, ms in reversed(trials)}, comparisons).best
        assert first is not None
        out[-1] = shown[first]
    return out
