"""A benchmark that lasts: groups of runs over seconds, with a reference loop between them, and networks in turns.

On a shared machine a run takes 3.5 ms in one second and 5.7 in another, and every thread has a core of its own in both.
What repetitions within 0.3 s differ by says nothing of that. What groups differ by, seconds apart, does.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from workbench.runtime.machine.reference_speed import SLOW, Reference, Speed, usual
from workbench.runtime.networks.benchmark import BenchmarkResult
from workbench.runtime.results.comparison_words import as_fast
from workbench.runtime.results.contest_statistics import ratio, resolution

#: Groups last for so many seconds together, and are so many at least; where repetitions are asked for, as many groups
#: share them. Chosen, not measured.
SPAN_S, LEAST = 3.0, 4
#: Seconds of a group, about, where networks take turns, and the most of all turns. Chosen, not measured.
_TURN_S, _MOST_S = 0.15, 12.0
#: Part of the median that groups may differ by and still be of one machine. Chosen, not measured.
DIFFER = 0.1


class Network(Protocol):
    """What can be timed."""

    def benchmark(
        self, inputs: Mapping[str, Any] | None = None, *, repeat: int | None = None, warmup: int = 2
    ) -> BenchmarkResult:
        """Time whole runs."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Times of a network in groups, seconds apart.

    Attributes
    ----------
    result : BenchmarkResult
        All repetitions of the groups that count.
    groups_ms : tuple of float
        Median milliseconds of each group that counts.
    seconds : float
        From the first group to the last.
    slow : tuple of (float, str)
        Of the groups that were timed while the machine was slow: its speed over the usual one, and of what.
    """

    result: BenchmarkResult
    groups_ms: tuple[float, ...]
    seconds: float
    slow: tuple[tuple[float, str], ...] = ()

    @property
    def half_range_ms(self) -> float:
        """Half the distance between the fastest and the slowest group."""
        return _half(self.groups_ms)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as the command line prints them."""
        return {**self.result.to_json(), "groups_ms": list(self.groups_ms), "slow": [share for share, _ in self.slow]}

    def __str__(self) -> str:
        lines = [str(self.result)]
        if len(self.groups_ms) > 1:
            about = f"{self.result.median_ms:.4g} ± {self.half_range_ms:.2g} ms"
            lines.append(f"{about} between {len(self.groups_ms)} groups of runs within {self.seconds:.1f} s")
        if self.slow and self.result.clean:
            lines.append(f"{len(self.slow)} more groups do not count: {slowness(self.slow)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Turns:
    """Two networks in turns: the one with default schedules, and the one with those of a log.

    Attributes
    ----------
    before_ms, after_ms : tuple of float
        Median milliseconds of each, turn by turn: what slows the machine reaches both of a turn.
    """

    before_ms: tuple[float, ...]
    after_ms: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median, over the turns, of the time of the second network over that of the first."""
        return ratio(self.after_ms, self.before_ms)

    @property
    def width(self) -> float:
        """Half the width of the interval (99 %) in which the logarithm of the ratio lies."""
        return resolution(self.after_ms, self.before_ms)

    @property
    def told(self) -> bool:
        """Whether one of them is the faster one."""
        return abs(math.log(self.ratio)) > self.width

    @property
    def speedup(self) -> tuple[float, float]:
        """How many times as fast the second one is, at least and at most."""
        return math.exp(-self.width) / self.ratio, math.exp(self.width) / self.ratio

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as the command line prints them."""
        times = {"default_ms": list(self.before_ms), "log_ms": list(self.after_ms)}
        return {**times, "speedup": 1.0 / self.ratio, "speedup_between": list(self.speedup), "told": self.told}

    def __str__(self) -> str:
        said = as_fast(self.ratio, self.width)
        if not self.told:
            said = "no difference shows (between {:.3f} and {:.3f} times as fast)".format(*self.speedup)
        before, after = (
            f"{statistics.median(one):.4g} ± {_half(one):.2g} ms" for one in (self.before_ms, self.after_ms)
        )
        return f"Default schedules {before}, those of the log {after}, in {len(self.after_ms)} turns: {said}"


def _half(times_ms: Sequence[float]) -> float:
    """Half the distance between the least and the longest time."""
    return (max(times_ms) - min(times_ms)) / 2


def slowness(slow: Sequence[tuple[float, str]]) -> str:
    """Say how slow the machine was."""
    share, what = min(slow)
    return f"the machine was at {share:.2f} of its usual speed ({what})"


def in_groups(network: Network, inputs: Mapping[str, Any], repeat: int | None, cores: int) -> Groups:
    """Time a network in groups; see the module.

    Parameters
    ----------
    repeat : int, optional
        Repetitions of all groups together; as many as fit into `SPAN_S` when left out.
    cores : int
        Cores on which the reference loop runs.
    """
    look = Reference(cores).look
    looks, found, begin = [look()], list[BenchmarkResult](), time.perf_counter()
    shares = [] if repeat is None else [repeat // LEAST + (k < repeat % LEAST) for k in range(min(repeat, LEAST))]
    while len(found) < len(shares) if repeat is not None else _more(len(found), time.perf_counter() - begin, LEAST):
        asked = shares[len(found)] if repeat is not None else None
        found.append(network.benchmark(inputs, repeat=asked))
        looks.append(look())
    return combined(found, _beside(looks), time.perf_counter() - begin)


def in_turns(before: Network, after: Network, inputs: Mapping[str, Any]) -> Turns:
    """Time two networks in turns, for as long as `in_groups`, and at most a few times as long."""
    each = [network.benchmark(inputs, repeat=3).median_ms for network in (before, after)]
    repeats = [max(3, math.ceil(_TURN_S * 1e3 / max(ms, 1e-3))) for ms in each]
    found, begin = list[tuple[float, float]](), time.perf_counter()
    while len(found) < LEAST or _more(len(found), time.perf_counter() - begin, 2 * LEAST):
        order = _order(before, after, repeats, len(found))
        pair = [network.benchmark(inputs, repeat=n).median_ms for network, n in order]
        found.append((pair[0], pair[1]) if len(found) % 2 == 0 else (pair[1], pair[0]))
    return Turns(tuple(a for a, _ in found), tuple(b for _, b in found))


def _more(count: int, spent: float, least: int) -> bool:
    """Whether more groups are timed: they should be `least`, and last for a while, but not for ever."""
    return spent < (SPAN_S if count >= least else _MOST_S)


def _order(before: Network, after: Network, repeats: Sequence[int], turn: int) -> list[tuple[Network, int]]:
    """Return who is timed first in a turn, and who then, each with its repetitions: every other time the other way."""
    pairs = [(before, repeats[0]), (after, repeats[1])]
    return pairs if turn % 2 == 0 else pairs[::-1]


def _beside(looks: Sequence[Speed]) -> list[tuple[float, str]]:
    """Return the speed of the machine during each group, over the usual one: of the looks before and after it."""
    often = usual(looks)
    shares = [one.beside(often) for one in looks]
    return [min(pair) for pair in itertools.pairwise(shares)]


def combined(found: Sequence[BenchmarkResult], speeds: Sequence[tuple[float, str]], seconds: float) -> Groups:
    """Put groups together: those that were timed at the usual speed of the machine, or all where there are none."""
    usual_ones = [one for one, (share, _) in zip(found, speeds, strict=True) if share >= SLOW]
    slow = tuple(speed for speed in speeds if speed[0] < SLOW)
    counted = usual_ones or list(found)
    calm = [one for one in counted if one.clean] or counted
    medians = tuple(one.median_ms for one in calm)
    why_not = next((one.why_not for one in calm if one.why_not), "")
    if not usual_ones:
        why_not = slowness(slow)
    elif max(medians) - min(medians) > DIFFER * statistics.median(medians):
        why_not = why_not or f"groups of runs took from {min(medians):.4g} to {max(medians):.4g} ms"
    result = replace(
        calm[0], costs_ms=tuple(cost for one in calm for cost in one.costs_ms), first_ms=found[0].first_ms,
        disturbed=sum(one.disturbed for one in found), why_not=why_not,
    )  # fmt: skip
    return Groups(result, medians, seconds, slow)
