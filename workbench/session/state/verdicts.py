"""What is known of two states of a schedule beside each other: the one place that says which is faster."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from workbench.log import Comparison, Record
from workbench.log.ledger import of_one_mode
from workbench.log.similar_tasks import NamedTask
from workbench.runtime.results.comparison_words import SHAKY, against, as_fast, finding, how_sure, told_apart
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.repeated_contests import MOST, Together, how_many, together
from workbench.session.state.results import Key, Result
from workbench.session.state.statistics import rounded
from workbench.tune.state.log_recorder import Stamp, comparison_line

State = Literal["", "running", "failed"]

BY_HAND = "by hand"
"""Why two were compared, in the log."""

IN_TURNS, APART = "timed in turns", "each timed by itself"
"""How it is known which of two is faster."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How fast one state is beside another one.

    Attributes
    ----------
    ratio : float
        Its time over that of the other one; where only bounds are known, the one nearest to 1.
    told : bool
        Whether the two can be told apart.
    text : str
        That in words: "1.32× as fast as v2", or "cannot tell from v2" and why.
    how : str
        How that is known, `IN_TURNS` or `APART`.
    confidence : float or None
        How sure a comparison is of the faster one; None where nothing says that.
    caches : str
        What both found in the caches, in words; "" where nobody knows.
    """

    ratio: float
    told: bool
    text: str
    how: str
    confidence: float | None = None
    caches: str = ""

    @property
    def full(self) -> str:
        """The words, and how sure that is."""
        return self.text if self.confidence is None else f"{self.text}, {how_sure(self.confidence)}"


@dataclass(frozen=True, slots=True)
class PairResult:
    """What came of timing two states against each other, once or several times.

    Attributes
    ----------
    keys : tuple
        Both; the first one is what the second is compared with.
    state : str
        Of the newest comparison.
    contests : tuple of Contest
        Those in which both were timed, the newest last: their turns count together.
    error : str
        Why the newest one failed.
    at : float
        Seconds since the epoch when the newest one ended.
    """

    keys: tuple[Key, Key]
    state: State = "running"
    contests: tuple[Contest, ...] = ()
    error: str = ""
    at: float = 0.0

    def also(self, keys: tuple[Key, Key], found: Contest) -> PairResult:
        """Return this with another contest, of the two in this order."""
        if found.status != "ok":
            return replace(self, state="failed", error=found.error or found.status)
        found = replace(found, names=())
        kept = (*self.contests, found if keys == self.keys else _turned(found))[-MOST:]
        return replace(self, state="", contests=kept, error="", at=round(time.time(), 4))

    def seen_from(self, first: Key) -> Contest:
        """Return the outcome of all with this state as the one that the other is compared with."""
        return together(self._from(first))

    def how_many(self, first: Key) -> str:
        """Say of how many comparisons `seen_from` speaks, and whether they differ; "" for one."""
        return how_many(self._from(first))

    def _from(self, first: Key) -> tuple[Contest, ...]:
        return self.contests if self.keys[0] == first else tuple(map(_turned, self.contests))

    @property
    def winner(self) -> Key | None:
        """The faster one of the two, where the comparisons are sure of it."""
        if not self.contests:
            return None
        slow, fast = self.keys
        if self.seen_from(slow).winner() == 1:
            return fast
        return slow if self.seen_from(fast).winner() == 1 else None

    def line(self, about: NamedTask, trials: Mapping[Key, Record], stamp: Stamp) -> Comparison | None:
        """Return what the log says of it; None where nobody is the faster one, or one of the two is no trial."""
        fast = self.winner
        if fast is None or not all(key in trials for key in self.keys):
            return None
        slow = self.keys[self.keys[0] == fast]
        numbers, seen = (trials[slow].trial, trials[fast].trial), self.seen_from(slow)
        found = comparison_line(about, numbers, seen, BY_HAND, stamp)
        return None if found is None or not found.clean else replace(found, timestamp=self.at)

    def verdict(self, whose: str, other: Key) -> Verdict | None:
        """Say how fast one of the two is beside `other`, which is called `whose`; None until that is known."""
        if not self.contests:
            return None
        seen = self.seen_from(other)
        told, ratio = seen.differ(1), seen.ratio(1)
        sure = seen.certainty(1) if told and seen.clean else None
        width = seen.resolution(1) if isinstance(seen, Together) and seen.range is not None else None
        text = against(whose, ratio, told, why_not=seen.why_not, width=width)
        return Verdict(ratio, told, text, IN_TURNS, sure, seen.caches)

    def info(self, a: int, b: int, first: Key) -> dict[str, Any]:
        """Return what a front end shows of it: the time of `b` over that of `a`, and how sure the faster one is.

        Parameters
        ----------
        first : tuple
            State of the variant `a`.
        """
        ratio = confidence = resolution = ms = None
        if self.contests and not self.state:
            seen = replace(self.seen_from(first), names=(f"v{a}", f"v{b}"))
            found, resolution = finding(seen, 1, 0), seen.resolution(1)
            ratio, confidence, text = found.ratio, found.confidence, found.text + self.how_many(first)
            ms = [rounded(seen.latency_ms(0)), rounded(seen.beside_ms(1))]
        else:
            text = "they are being timed" if self.state == "running" else f"not timed: {self.error.splitlines()[0]}"
        return {
            "id": f"{a} {b}", "a": a, "b": b, "ratio": rounded(ratio, 4), "confidence": rounded(confidence, 6),
            "resolution": rounded(resolution, 2), "state": self.state, "error": self.error,
            "text": text, "ms": ms,
        }  # fmt: skip


def _turned(found: Contest) -> Contest:
    return replace(found, measurements=found.measurements[::-1])


def verdict(whose: str, other: Key, then: Result, now: Result, match: PairResult | None) -> Verdict:
    """Say how fast what took `now` is beside `other`, which is called `whose` and took `then`: by their contests, else
    by the times that each took by itself.
    """
    assert then.ms
    assert now.ms
    met = None if match is None else match.verdict(whose, other)
    why_not = now.why_not or then.why_not
    if why_not and (met is None or not met.told) and (least := _settled(then, now)):
        said = f"at least {as_fast(least)} {'as' if least < 1.0 else 'than'} {whose}"
        return Verdict(least, True, said, APART)
    if met is not None:
        return met if why_not else _beside_apart(met, then, now)
    if then.caches and now.caches and then.caches != now.caches:
        why_not = f"timed under other conditions ({then.caches}; {now.caches})"
    told, ratio = not why_not and told_apart(then.ms, now.ms, (then.spread, now.spread)), now.ms / then.ms
    said = against(whose, ratio, told, why_not=why_not)
    return Verdict(ratio, told, said, APART, caches=now.caches if then.caches == now.caches else "")


def _beside_apart(met: Verdict, then: Result, now: Result) -> Verdict:
    """Return what contests say, with what each takes by itself where that is of another mode: nobody knows which of
    both a program will see.
    """
    assert then.ms
    assert now.ms
    alone, firm = now.ms / then.ms, max(then.spread or 0.0, now.spread or 0.0) < SHAKY
    if not (met.told and met.ratio and firm) or of_one_mode(alone, met.ratio):
        return met
    return replace(met, text=f"{met.text} ({as_fast(alone)} where each is timed by itself)")


def _settled(then: Result, now: Result) -> float | None:
    """Return the ratio of two times that is nearest to 1 within their bounds; None where the bounds overlap."""
    (shortest, longest), (least, most) = then.bounds, now.bounds
    if most < shortest:
        return most / shortest
    return least / longest if least > longest else None
