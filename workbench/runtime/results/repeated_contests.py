"""Several contests of the same two as one: their turns together, and whether they contradict each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from workbench.runtime.results.comparison_words import as_fast
from workbench.runtime.results.contest import Contest

#: Logarithm of how many times apart the ratios of two contests may be beyond what each of them can tell: between the
#: two, memory lies elsewhere and the clock is another one.
#: Chosen, not measured.
DRIFT = math.log(1.1)

MOST = 8
"""Contests of a pair that count, the newest."""


@lru_cache(maxsize=256)
def together(contests: tuple[Contest, ...]) -> Contest:
    """Return what several contests of the same two, the newest last, say as one.

    Turns that nobody disturbed count; all of them where there are no such. Contests that contradict most of the others
    are left out; where as many say the one as the other, all count, and the outcome is not to be trusted.
    """
    contests = contests[-MOST:]
    counted = [one for one in contests if one.clean] or contests
    why_not = counted[-1].why_not
    others = [one for one in counted if contradict(one, counted[-1])]
    agreed = [one for one in counted if one not in others]
    if len(others) < len(agreed):
        counted = agreed
    else:
        why_not = f"two comparisons disagree: {as_fast(others[-1].ratio(1))}, and {as_fast(counted[-1].ratio(1))}"
    return contests[0] if len(contests) == 1 else _joined(counted, why_not)


def _joined(contests: Sequence[Contest], why_not: str) -> Contest:
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
    return replace(newest, measurements=tuple(measurements), elapsed_s=sum(one.elapsed_s for one in contests))


def contradict(one: Contest, other: Contest) -> bool:
    """Whether two undisturbed contests cannot both be right: each is sure, of another one, or their ratios are further
    apart than what both can tell.
    """
    if not (one.clean and other.clean):
        return False
    first, second = one.ratio(1), other.ratio(1)
    if one.differ(1) and other.differ(1) and (first < 1.0) != (second < 1.0):
        return True
    apart = abs(math.log(first / second)) if first > 0.0 and second > 0.0 else 0.0
    return apart > one.resolution(1) + other.resolution(1) + DRIFT
