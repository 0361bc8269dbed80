"""Several contests of the same two as one: their turns together, and whether they contradict each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from workbench.markup import plural
from workbench.runtime.results.comparison_words import as_fast, factor
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.contest_statistics import below_one, between, distance

#: Logarithm of how many times apart the ratios of two contests may be beyond what each of them can tell: between the
#: two, memory lies elsewhere and the clock is another one.
#: Chosen, not measured.
DRIFT = math.log(1.1)

MOST = 8
"""Contests of a pair that count, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Contest):
    """Several contests of the same two as one. Where they differ by more than they can tell, what they differ by is
    part of how well the ratio is known: turns of one contest say nothing about the next one.

    Parameters
    ----------
    parts : tuple of Contest
        Those that count.
    """

    parts: tuple[Contest, ...] = ()

    def _between(self, i: int, j: int) -> tuple[float, float] | None:
        ratios = [part.ratio(i, j) for part in self.parts]
        logs = [math.log(one) if 0.0 < one < math.inf else math.inf for one in ratios]
        return between(logs, [part.resolution(i, j) for part in self.parts])

    def latency_ms(self, i: int) -> float:
        """What it took in one of the contests: the middle one. Between the times of two, it took nothing."""
        times = sorted(part.latency_ms(i) for part in self.parts)
        return times[(len(times) - 1) // 2]

    def ratio(self, i: int, j: int = 0) -> float:
        """Median over all rounds; the middle of what the contests say where they differ."""
        apart = self._between(i, j)
        return Contest.ratio(self, i, j) if apart is None else math.exp(apart[0])

    def resolution(self, i: int, j: int = 0) -> float:
        """As of one contest, or as the contests differ, whichever is more."""
        apart = self._between(i, j)
        return max(Contest.resolution(self, i, j), 0.0 if apart is None else apart[1])

    def confidence(self, i: int, j: int = 0) -> float:
        """As of one contest, or as the contests differ, whichever is less."""
        apart = self._between(i, j)
        return min(Contest.confidence(self, i, j), 1.0 if apart is None else below_one(*apart, len(self.parts)))

    def plain(self, i: int, j: int = 0) -> bool:
        """As of one contest, where what they differ by leaves no doubt either."""
        beyond = self._between(i, j) is None or distance(self.ratio(i, j)) > self.resolution(i, j)
        return Contest.plain(self, i, j) and beyond

    @property
    def range(self) -> tuple[float, float] | None:
        """The least and the largest ratio of the second one to the first, where the contests differ; else None."""
        ratios = sorted(part.ratio(1) for part in self.parts)
        return None if self._between(1, 0) is None else (ratios[0], ratios[-1])


@lru_cache(maxsize=256)
def together(contests: tuple[Contest, ...]) -> Contest:
    """Return what several contests of the same two, the newest last, say as one.

    Turns that nobody disturbed count; all of them where there are no such. Contests that are far from most of the
    others are left out. Where as many say the one as the other, all count; where they contradict each other and cannot
    even tell together which of the two is the faster one, the outcome is not to be trusted.
    """
    contests = contests[-MOST:]
    if len(contests) == 1:
        return contests[0]
    counted, far = _near(contests)
    if len(far) >= len(counted):
        counted = [one for one in contests if one in counted or one in far]
    newest = counted[-1]
    seen = _joined(counted, newest.why_not)
    against = [one for one in counted if contradict(one, newest)]
    if not against or seen.differ(1):
        return seen
    disagree = f"two comparisons disagree: {as_fast(against[-1].ratio(1))}, and {as_fast(newest.ratio(1))}"
    return _joined(counted, disagree)


def _near(contests: Sequence[Contest]) -> tuple[list[Contest], list[Contest]]:
    """Return the contests that count and are near the newest of them, and those that are far from it."""
    counted = [one for one in contests if one.clean] or list(contests)
    others = [one for one in counted if _far(one, counted[-1])]
    return [one for one in counted if one not in others], others


def how_many(contests: Sequence[Contest]) -> str:
    """Say of how many contests `together` speaks, and what they say where they do not say the same; "" for one."""
    contests = tuple(contests[-MOST:])
    if len(contests) < 2:
        return ""
    said, seen = plural(len(contests), "comparison"), together(contests)
    near, others = _near(contests)
    if others and len(others) < len(near):
        found = ", ".join(as_fast(one.ratio(1)) for one in others)
        return f" (in {said}, {len(others)} of which left out: {found})"
    if isinstance(seen, Together) and seen.clean and (apart := seen.range) is not None:
        low, high = (as_fast(one) for one in apart)
        if low != high and factor(1.0 / apart[0]) != factor(1.0 / apart[1]):
            return f" (in {said} that differ: {high} to {low})"
    return f" (in {said})"


def _joined(contests: Sequence[Contest], why_not: str) -> Together:
    newest = contests[-1]
    measurements = (
        replace(
            one,
            costs_ms=tuple(ms for contest in contests for ms in contest.costs_ms[i]),
            disturbed=sum(contest.measurements[i].disturbed for contest in contests),
            at_least_ms=min(contest.measurements[i].at_least_ms for contest in contests),
            why_not=why_not,
        )
        for i, one in enumerate(newest.measurements)
    )
    elapsed = math.fsum(one.elapsed_s for one in contests)
    return Together(measurements=tuple(measurements), elapsed_s=elapsed, names=newest.names, parts=tuple(contests))


def contradict(one: Contest, other: Contest) -> bool:
    """Whether two undisturbed contests cannot both be right: each is sure, of another one, or their ratios are further
    apart than what both can tell.
    """
    if not (one.clean and other.clean):
        return False
    sure = one.differ(1) and other.differ(1)
    return (sure and (one.ratio(1) < 1.0) != (other.ratio(1) < 1.0)) or _far(one, other)


def _far(one: Contest, other: Contest) -> bool:
    if not (one.clean and other.clean):
        return False
    first, second = one.ratio(1), other.ratio(1)
    apart = abs(math.log(first / second)) if first > 0.0 and second > 0.0 else 0.0
    return apart > one.resolution(1) + other.resolution(1) + DRIFT
