"""Where the trials that are left are expected to go, if they go on to pay as they do now."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.tune.constants import Budgets
from workbench.tune.state.events import FINAL, Progress, Snapshot
from workbench.tune.state.task_scheduler import Terms

OUT = ("skipped", "exhausted", "given up")
"""States in which a task gets no more trials."""


def left(progress: Progress) -> int | None:
    """Return how many trials are left of the budget; None where it sets no end to them."""
    if progress.total is not None:
        return max(0, progress.total - progress.trials)
    return None if progress.eta_s is None else round(progress.rate * progress.eta_s)


def forecast(snapshot: Snapshot, terms: Sequence[Terms]) -> tuple[int, ...] | None:
    """Return for every task how many of the trials that are left it is expected to get.

    The scheduler takes the task with the largest gain, and what it expects of a task falls with the trials that the
    task had: after ``x`` more than its ``n``, to ``gain · n / (n + x)``. So trials are handed out until all gains are
    equal. None where the budget sets no end.
    """
    rest = 0 if snapshot.state in FINAL else left(snapshot.progress)
    if rest is None:
        return None
    known = [t.gain for t in terms if math.isfinite(t.gain)]
    first = 2.0 * max(known, default=0.0) or 1.0  # nothing is known yet, so it goes before the others
    tasks = [
        (row.id, t.gain if math.isfinite(t.gain) else first, max(row.trials, 1) if row.trials else Budgets.FIRST)
        for row, t in zip(snapshot.rows, terms, strict=True)
        if row.state not in OUT
    ]
    out = [0] * len(snapshot.rows)
    for (index, _, _), more in zip(tasks, _whole(_level([t[1:] for t in tasks], rest), rest), strict=True):
        out[index] = more
    return tuple(out)


def _level(tasks: Sequence[tuple[float, int]], rest: int) -> list[float]:
    """Hand out `rest` trials to tasks of (gain, trials) until those that get any are worth the same."""
    if not any(gain > 0.0 for gain, _ in tasks):  # nothing is expected of any: all have their turn
        return [rest / max(1, len(tasks))] * len(tasks)
    order = sorted((i for i, (gain, _) in enumerate(tasks) if gain > 0.0), key=lambda i: -tasks[i][0])
    claims, had, level = 0.0, 0, 0.0
    for i in order:
        gain, trials = tasks[i]
        if had and gain <= claims / (rest + had):
            break
        claims, had = claims + gain * trials, had + trials
        level = claims / (rest + had)
    return [max(0.0, trials * (gain / level - 1.0)) for gain, trials in tasks]


def _whole(shares: Sequence[float], total: int) -> list[int]:
    """Round so that the sum is `total`: what is missing goes to the largest remainders."""
    out = [math.floor(x) for x in shares]
    for i in sorted(range(len(out)), key=lambda i: out[i] - shares[i])[: max(0, total - sum(out))]:
        out[i] += 1
    return out
