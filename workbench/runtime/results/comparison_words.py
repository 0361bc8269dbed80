"""What came of a comparison, in the words that every panel, table and printed line uses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from workbench.markup import milliseconds, plural

if TYPE_CHECKING:
    from workbench.runtime.results.contest import Contest

#: Confidence from which on one counts as faster than another.
#: Chosen, not measured: one unjust winner in a hundred.
SURE = 0.99

#: So many times as long may something take while other programs have a part of its cores.
#: Chosen, not measured: two threads on one core take twice as long, and the clock may sink.
DISTURBED = 3.0

#: Stands where the spread would: a kernel so slow that there is only one time.
ONCE = "timed once"


def as_fast(ratio: float, width: float | None = None) -> str:
    """Say how fast something is.

    Parameters
    ----------
    ratio : float
        Its time over that of what it is compared with.
    width : float, optional
        Half the width of the interval in which the logarithm of the true ratio lies.

    Examples
    --------
    >>> as_fast(0.5), as_fast(1 / 1.32, 0.03), as_fast(2.0)
    ('2.00× as fast', '1.32× as fast (between 1.28 and 1.36)', '2.00× slower')
    """
    slower = ratio * 0.9995 > 1.0  # what would print as 1.000 is as fast
    times = ratio if slower else math.inf if ratio <= 0.0 else 1.0 / ratio
    told = f"{factor(times)}× {'slower' if slower else 'as fast'}"
    if width is None or not math.isfinite(width):
        return told
    return f"{told} (between {factor(times * math.exp(-width))} and {factor(times * math.exp(width))})"


UNKNOWN = 0.1
"""Counts as the spread of what was timed once."""


SHAKY = 0.3
"""Of a time with this spread nobody knows how much of it was other programs'."""


def told_apart(before: float, after: float, spreads: tuple[float | None, float | None]) -> bool:
    """Whether two times are further apart than the half spreads that stand beside them as ±.

    Where one of them is large, the machine was busy, and perhaps only while one of the two was timed: then less than a
    factor of `DISTURBED` says nothing.
    """
    low, high = (UNKNOWN if spread is None else spread for spread in spreads)
    if max(low, high) >= SHAKY and max(before, after) < DISTURBED * min(before, after):
        return False
    return abs(after - before) > (before * low + after * high) / 2.0


CANNOT = "cannot tell"
"""Begins what is said of two times that nobody can tell apart."""


def against(
    whose: str, ratio: float, told: bool, sure: float | None = None, why_not: str = "", width: float | None = None
) -> str:
    """Say how fast something is beside `whose`, or that nobody can tell.

    Parameters
    ----------
    ratio : float
        Its time over that of the other one.
    told : bool
        Whether a comparison, or the spreads of both times, can tell the two apart.
    sure : float, optional
        How sure the comparison is of the faster one.
    why_not : str
        What disturbed the times, if anything did.
    width : float, optional
        Half the width of the interval of the ratio's logarithm, where that is to be told.

    Examples
    --------
    >>> against("v2", 0.5, True), against("v2", 2.0, True, 0.985), against("v2", 1.01, False)
    ('2.00× as fast as v2', '2.00× slower than v2, 98.5 % sure', 'cannot tell from v2')
    >>> against("v2", 0.25, True, 1.0, "cc1 had 90 % of a core")
    'about 4.00× as fast as v2, not sure: cc1 had 90 % of a core'
    """
    if not told:
        return f"{CANNOT} from {whose}{why_not and f': {why_not}'}"
    said = f"{as_fast(ratio, width)} {'than' if ratio * 0.9995 > 1.0 else 'as'} {whose}"
    if why_not:
        return f"about {said}, not sure: {why_not}"
    return said if sure is None else f"{said}, {how_sure(sure)}"


BUSY = 0.1
"""Differences that do not show between two equal times on a machine that is good for a comparison at all."""

AGAIN = "measure again when the machine is quiet"
"""What is to be done about a comparison that was disturbed."""

MOST_TOLD = 5.0
"""Half widths (of logarithms) above which nothing would show, so that none is named."""


Known: TypeAlias = Literal["apart", "same", ""]
"""What a contest knows of two: one is faster, they take the same time, or nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """All that a row says of two participants of a contest: numbers and words of the same turns, by the same rule.

    Attributes
    ----------
    ratio : float
        Time of the first one over that of the second one, as the turns had it, whether it is `known` or not.
    known : str
        ``apart``, ``same``, or "" where nobody can tell.
    confidence : float or None
        How sure the difference is; None where none is known, and where something disturbed the turns.
    text : str
        That in words.
    """

    ratio: float
    known: Known
    confidence: float | None
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return it as a front end takes it."""
        return {"ratio": self.ratio, "known": self.known, "confidence": self.confidence, "text": self.text}


def finding(contest: Contest, i: int, j: int) -> Finding:
    """Return what a contest says of its participant `i` beside `j`."""
    known: Known = "apart" if contest.differ(i, j) else "same" if contest.tied(i, j) else ""
    sure = contest.certainty(i, j) if known == "apart" and contest.clean else None
    return Finding(contest.ratio(i, j), known, sure, outcome(contest, i, j))


def outcome(contest: Contest, i: int, j: int) -> str:
    """Say which of two participants is faster and how sure that is, or why nobody can tell."""
    if not contest.differ(i, j):
        return _alike(contest.name(j), contest.name(i), contest.resolution(i, j), contest.why_not)
    fast, slow = (i, j) if contest.ratio(i, j) < 1.0 else (j, i)
    if not contest.clean:
        about = f"{contest.name(fast)} is about {as_fast(contest.ratio(fast, slow))} as {contest.name(slow)}"
        return f"{about}, not sure: {contest.why_not}; {AGAIN}"
    ratio, width = contest.ratio(fast, slow), contest.resolution(fast, slow)
    certainty = contest.certainty(fast, slow)
    # Of few rounds, the interval would say more than they tell.
    known = certainty >= SURE and width < -math.log(max(ratio, 1e-300))
    times = as_fast(ratio, width if known else None)
    return f"{contest.name(fast)} is {times} as {contest.name(slow)}, {how_sure(certainty)}"


def _alike(a: str, b: str, width: float, why_not: str) -> str:
    """Say why there is no saying which one is faster."""
    least = "" if width > MOST_TOLD else f"only a difference of more than {factor(math.exp(width))}× would show"
    if why_not:
        least = f"only what takes {DISTURBED:g} times as long in every turn would show"
    if width <= BUSY and not why_not:
        return f"{a} and {b} take the same time: {least}"
    reason = f"{why_not or 'the machine is too busy'}{least and f' ({least})'}"
    return f"cannot tell {a} from {b}: {reason}; {AGAIN}"


def outcomes(contest: Contest) -> list[str]:
    """Say what came of a contest: each challenger against the incumbent, then who failed."""
    timed = [i for i, costs in enumerate(contest.costs_ms) if costs]
    failed = [f"{contest.name(i)} failed: {m}" for i, m in enumerate(contest.measurements) if i not in timed]
    return [*(outcome(contest, i, timed[0]) for i in timed[1:]), *failed]


def contest_text(contest: Contest) -> str:
    """Say in one line what came of a contest, and how long everybody took."""
    everyone = enumerate(contest.costs_ms)
    times = ", ".join(f"{contest.name(i)} {milliseconds(contest.latency_ms(i))}" for i, costs in everyone if costs)
    rounds = "; ".join(filter(None, (f"in {plural(contest.rounds, 'round')}", contest.caches)))
    return "; ".join([*outcomes(contest), f"{times or contest.status} ({rounds})"])


def factor(times: float) -> str:
    """Write how many times: near one and below it with three digits behind the point, so that 0.4 % show."""
    if not math.isfinite(times):
        return "∞"
    return (
        f"{times:.3f}" if times < 1.1 else f"{times:.2f}" if times < 9.995 else f"{times:.{1 if times < 99.95 else 0}f}"
    )


def how_sure(confidence: float) -> str:
    """Say how sure a comparison is: ``sure`` from the confidence on at which the tuner believes it."""
    return "sure" if confidence >= SURE else f"{math.floor(1000.0 * confidence) / 10.0:.1f} % sure"
