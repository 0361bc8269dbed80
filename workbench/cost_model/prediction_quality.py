"""How good predictions were: rank correlations with measurements that came later."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Origins of candidates that no search has chosen: programs of other runs, of a person, and the default schedule.
PROPOSED_ELSEWHERE = frozenset({"seed", "manual", "default"})


@dataclass(frozen=True, slots=True)
class Quality:
    """Agreement of predictions with the measurements that followed.

    Attributes
    ----------
    tau : float or None
        Kendall's: of all pairs that differ, the share in the right order minus the share in the wrong one.
    spearman : float or None
        Correlation of the ranks, the rounds weighted by their pairs.
    pairs : int
        Pairs that were compared; without any, both are None.
    """

    tau: float | None
    spearman: float | None
    pairs: int


@dataclass(frozen=True, slots=True)
class Judged:
    """One round of one task: pairs in the right and in the wrong order, and Spearman's correlation."""

    task: str
    good: int
    bad: int
    spearman: float | None


class Prediction(Protocol):
    """What `HeldOut.of_records` reads of a record."""

    @property
    def task_key(self) -> str: ...
    @property
    def round(self) -> int: ...
    @property
    def predicted(self) -> float | None: ...
    @property
    def latency_ms(self) -> float | None: ...
    @property
    def ok(self) -> bool: ...


@dataclass(slots=True)
class HeldOut:
    """Compares predictions with measurements that came later; only pairs of one task and one round count, because the
    model learns between rounds.
    """

    rounds: list[Judged] = field(default_factory=list)

    def observe(self, predicted: Sequence[float], speed: Sequence[float], task: str = "") -> Quality:
        """Take one round of a task.

        Parameters
        ----------
        predicted : sequence of float
            Scores from before the measurement; NaN where there was none.
        speed : sequence of float
            log2 speeds, or anything that grows with the speed; NaN for failures.
        task : str
            Key of the task.

        Returns
        -------
        Quality
            Of this round alone.
        """
        a, b = np.asarray(predicted, np.float64), np.asarray(speed, np.float64)
        ok = np.isfinite(a) & np.isfinite(b)
        good, bad = pairs_in_order(a[ok], b[ok])
        judged = Judged(task, good, bad, spearman(a[ok], b[ok]))
        self.rounds.append(judged)
        return _quality([judged])

    def quality(self, task: str | None = None, last: int | None = 8) -> Quality:
        """Agreement over the last rounds (all for None) of a task, or of every task together."""
        rounds = [r for r in self.rounds if task is None or r.task == task]
        return _quality(rounds if last is None else rounds[-last:])

    @classmethod
    def of_records(cls, records: Iterable[Prediction]) -> HeldOut:
        """Judge the predictions that a log holds beside its measurements.

        Candidates of `PROPOSED_ELSEWHERE` do not count: the model may have been taught by their earlier measurement.
        Others that another run has measured do, because a log does not say which these are; a session leaves them out.
        """
        groups: dict[tuple[int, str], list[Prediction]] = {}
        for r in records:
            if getattr(r, "origin", "") in PROPOSED_ELSEWHERE:
                continue
            groups.setdefault((r.round, r.task_key), []).append(r)
        out = cls()
        for (_, task), group in sorted(groups.items(), key=lambda g: g[0][0]):
            predicted = [math.nan if r.predicted is None else r.predicted for r in group]
            speed = [-math.log2(r.latency_ms) if r.ok and r.latency_ms else math.nan for r in group]
            if any(math.isfinite(p) for p in predicted):
                out.observe(predicted, speed, task)
        return out


def pairs_in_order(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[int, int]:
    """Number of pairs that two orders agree and disagree on; pairs that are equal in one of them do not count."""
    good = bad = 0
    for i in range(1, len(a)):  # row by row: all pairs of a round of thousands at once would take gigabytes
        signs = np.sign(a[:i] - a[i]) * np.sign(b[:i] - b[i])
        good += int((signs > 0).sum())
        bad += int((signs < 0).sum())
    return good, bad


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    result: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    return result


def spearman(a: ArrayLike, b: ArrayLike) -> float | None:
    """Correlation of the ranks of two sequences; None where one of them is constant."""
    ra, rb = ranks(a), ranks(b)
    if len(ra) < 2 or ra.std() == 0 or rb.std() == 0:
        return None
    return float(np.clip(np.corrcoef(ra, rb)[0, 1], -1.0, 1.0))


def _quality(rounds: Sequence[Judged]) -> Quality:
    good, bad = sum(r.good for r in rounds), sum(r.bad for r in rounds)
    weighed = [(r.spearman, r.good + r.bad) for r in rounds if r.spearman is not None]
    weight = sum(w for _, w in weighed)
    return Quality(
        (good - bad) / (good + bad) if good + bad else None,
        sum(s * w for s, w in weighed) / weight if weight else None,
        good + bad,
    )
