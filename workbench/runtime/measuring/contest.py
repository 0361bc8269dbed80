"""Who is faster: the statistics of a contest in which kernels are timed in alternating blocks.

Two measurements made one after the other differ by what the machine did meanwhile: clocks that sink, other programs,
pages that lie elsewhere. In a contest all kernels run in every round, shortly one after the other and in changing
order, so whatever is slower than a round meets all of them alike. Only ratios within a round are compared, by their
ranks: one disturbed block of a hundred times the usual length counts as much as any other.
"""

from __future__ import annotations

import functools
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from workbench.arguments import real, whole
from workbench.errors import UsageError
from workbench.runtime.html import contest_html
from workbench.runtime.measuring.comparison_words import DISTURBED, SURE, contest_text
from workbench.runtime.measuring.results import Measurement, Status

#: Runs a block of a participant: its milliseconds per call, whether that was undisturbed, milliseconds that passed.
Block: TypeAlias = Callable[[int], tuple[float, bool, float]]

#: Half the width of the interval that holds the median of normal numbers in 99 of 100 cases, in their median absolute
#: deviations and for one number; with n numbers it is so much over the root of n.
#: Computed: quantile of the normal distribution, standard error of the median, scale of the deviation.
_WIDTH = 2.576 * 1.253 * 1.4826

#: So many of these half widths a ratio has to be away from one for a contest to end before its time.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
_CLEAR = 2.5


#: Fewest rounds that can give this confidence.
#: Computed: signed ranks of seven rounds have 128 outcomes.
_SEVEN = 7

#: A difference is plain, and needs no statistics, when in so many rounds every block of one takes so many times as
#: long as every block of the other.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
_PLAIN_ROUNDS, _PLAIN = 4, 1.25

#: Where other programs take cores away, so many times as long as usual is waited for rounds that they leave alone.
#: Chosen, not measured.
_WAITED = 3


#: What counts for a block in which a coarse clock did not move, in milliseconds.
_LEAST_MS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRules:
    """How long a contest lasts.

    Parameters
    ----------
    block_ms : float
        Time for which one participant runs before it is the next one's turn, in milliseconds. What is timed begins
        after the first quarter of it, so that caches and clocks are the participant's own.
    warm_ms : float
        Time for which participants run in turns before the first block counts, in milliseconds.
    budget_ms : float
        Time for all blocks of all participants after which it ends where the machine is quiet, in milliseconds.
    most_ms : float
        The same where it is not, so that a difference of `resolution` could not be seen after `budget_ms`.
    least : int
        Rounds at least, as long as there is time. Seven are the fewest that can give a confidence of 0.99; only a plain
        difference, of a quarter in every block, is believed after four.
    resolution : float
        Relative difference that is to be seen.

    Raises
    ------
    UsageError
        ``usage.contest`` for what cannot be.
    """

    block_ms: float = 4.0
    warm_ms: float = 16.0
    budget_ms: float = 100.0
    most_ms: float = 800.0
    least: int = 10
    resolution: float = 0.015

    def __post_init__(self) -> None:
        for name in ("block_ms", "budget_ms", "most_ms", "resolution"):
            real(name, getattr(self, name), above=0, code="usage.contest")
        if real("warm_ms", self.warm_ms, code="usage.contest") < 0:
            raise UsageError("usage.contest", f"warm_ms cannot be negative, like {self.warm_ms:g}", ("warm_ms",))
        whole("least", self.least, code="usage.contest")


#: Rules for the comparisons during a run, which are many: what they leave undecided, a longer one decides at its end.
BRIEF = ContestRules(block_ms=1.5, warm_ms=3.0, budget_ms=25.0, most_ms=100.0, least=8, resolution=0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What a contest gave. Participants are counted from 0; the first one is the incumbent.

    Parameters
    ----------
    measurements : tuple of Measurement
        One per participant. Their `costs_ms` are blocks, in milliseconds per call; the numbers at the same place were
        timed in the same round. A participant that failed has a status that says so, and no times.
    elapsed_s : float
        Seconds from the request to the answer.
    names : tuple of str
        What the participants are called in what is printed, where they have names.
    """

    measurements: tuple[Measurement, ...]
    elapsed_s: float = 0.0
    names: tuple[str, ...] = ()

    def name(self, i: int) -> str:
        """What a participant is called."""
        return self.names[i] if i < len(self.names) else f"participant {i}"

    def __str__(self) -> str:
        return contest_text(self)

    def __repr__(self) -> str:
        return f"<Contest {self}>"

    def _repr_html_(self) -> str:
        return contest_html(self)

    @property
    def costs_ms(self) -> tuple[tuple[float, ...], ...]:
        """Milliseconds per call of each block, for each participant."""
        return tuple(m.costs_ms for m in self.measurements)

    @property
    def status(self) -> Status:
        """``ok`` when all participants were timed, ``cancelled`` when the contest was, or else how the first failed."""
        states: list[Status] = [m.status for m in self.measurements]
        if "cancelled" in states or not states:
            return "cancelled"
        return next((s for s in states if s != "ok"), "ok")

    @property
    def error(self) -> str:
        """What went wrong with each participant that failed; empty when nothing did."""
        parts = [f"{self.name(i)}: {m.status}: {m.error}" for i, m in enumerate(self.measurements) if not m.ok]
        return "\n".join(parts)

    @property
    def rounds(self) -> int:
        """Number of rounds that were timed."""
        return max((len(c) for c in self.costs_ms), default=0)

    @property
    def clean(self) -> bool:
        """Whether it was decided by rounds that nobody disturbed."""
        return all(m.clean for m in self.measurements)

    @property
    def why_not(self) -> str:
        """What disturbed it; empty where nothing did."""
        return next((m.why_not for m in self.measurements if not m.clean), "")

    def latency_ms(self, i: int) -> float:
        """Time of a participant, in milliseconds per call; infinite when it was not timed."""
        return self.measurements[i].ms

    def ratio(self, i: int, j: int = 0) -> float:
        """Median over the rounds of the time of `i` over the time of `j`: below 1 when `i` is faster."""
        return ratio(self.costs_ms[i], self.costs_ms[j])

    def confidence(self, i: int, j: int = 0) -> float:
        """How sure it is that `i` is faster than `j`: one minus the chance of this outcome between equal kernels."""
        return confidence(self.costs_ms[i], self.costs_ms[j])

    def resolution(self, i: int, j: int = 0) -> float:
        """Logarithm of the ratio below which the two could not be told apart in this contest (99 %)."""
        return resolution(self.costs_ms[i], self.costs_ms[j])

    def differ(self, i: int, j: int = 0) -> bool:
        """Whether the two take different times, whichever is faster: beyond all doubt, or by more than `resolution`.

        Where other programs took cores away, only what takes `DISTURBED` times as long in every block tells anything.
        """
        if not self.clean:
            return plain(self.costs_ms[i], self.costs_ms[j], DISTURBED)
        if plain(self.costs_ms[i], self.costs_ms[j]):
            return True
        return _distance(self.ratio(i, j)) > self.resolution(i, j)

    def beats(self, i: int, j: int = 0, *, level: float = SURE, margin: float = 0.005) -> bool:
        """Whether `i` is faster than `j`.

        Parameters
        ----------
        level : float
            Least `confidence`.
        margin : float
            Least relative gain: where the same code lies in memory makes a difference of some tenths of a percent, and
            a contest long enough would find it. The gain has to be larger than the `resolution`, too.
        """
        found = self.ratio(i, j)
        if not self.clean and self.costs_ms[i] and self.costs_ms[j]:
            return found < 1.0 and self.differ(i, j)
        if not (self.costs_ms[i] and self.costs_ms[j]) or plain(self.costs_ms[i], self.costs_ms[j]):
            return found < 1.0
        seen = found < 1.0 and _distance(found) >= self.resolution(i, j)
        return seen and self.confidence(i, j) >= level and 1.0 - found >= margin

    def winner(self, *, level: float = SURE, margin: float = 0.005) -> int:
        """The fastest of those that beat the incumbent, or the incumbent.

        With several challengers each has to be that much surer, so that the chance of an unjust winner is no larger.
        """
        challengers = range(1, len(self.measurements))
        if challengers and not self.costs_ms[0]:  # it failed: the fastest of the others, measured against each other
            timed = [i for i in challengers if self.costs_ms[i]]
            return min(timed, key=lambda i: self.ratio(i, timed[0]), default=0)
        strict = _level(level, len(challengers))
        return min((i for i in challengers if self.beats(i, 0, level=strict, margin=margin)), key=self.ratio, default=0)


def play(block: Block, participants: int, rules: ContestRules) -> tuple[list[list[float]], bool]:
    """Let participants run in turns until enough is known.

    Parameters
    ----------
    block : callable
        Runs a block of a participant; returns milliseconds per call, whether enough of that was undisturbed, and how
        many milliseconds it took.
    participants : int
        Their number; the first one is the incumbent.
    rules : ContestRules
        How long it may last.

    Returns
    -------
    list of lists of float, bool
        Each one's blocks: of the rounds in which nobody was disturbed, or of all where those are too few; and whether
        it is the former.
    """
    everyone, orders = range(participants), _orders(participants)
    quiet: list[list[float]] = [[] for _ in everyone]
    every: list[list[float]] = [[] for _ in everyone]
    warm = spent = 0.0
    while warm < rules.warm_ms:
        warm += sum(block(i)[2] for i in everyone)
    while not enough(quiet, spent, rules):
        if spent >= _WAITED * rules.most_ms and len(every[0]) >= min(rules.least, _SEVEN):
            return every, False
        undisturbed = True
        for i in next(orders):
            cost, clean, passed = block(i)
            every[i].append(cost)
            undisturbed = undisturbed and clean
            spent += passed
        if undisturbed:
            for costs, mine in zip(every, quiet, strict=True):
                mine.append(costs[-1])
    return quiet, True


def _orders(participants: int) -> Iterator[list[int]]:
    """Yield the order of one round after the other.

    An order by chance keeps in step with nothing that goes on beside it. Backwards, backwards and forwards again after
    it, everyone is as often early as late in a round, and two of them follow themselves as often as each other:
    otherwise whatever a place brings with it (a clock that sinks, caches that are warm) would be somebody's gain.
    """
    chance, order = random.Random(0), list(range(participants))
    while True:
        chance.shuffle(order)
        back = order[::-1]
        yield from (list(order), back, back, list(order))


def enough(costs: Sequence[Sequence[float]], spent_ms: float, rules: ContestRules) -> bool:
    """Whether a contest may end: after its time, or as soon as every challenger's fate is clear.

    Parameters
    ----------
    costs : sequence of sequences of float
        Blocks of each participant so far; the first one is the incumbent's.
    spent_ms : float
        Time for all of them.
    rules : ContestRules
        How long it may last.
    """
    rounds = min(map(len, costs))
    if rounds >= _PLAIN_ROUNDS and all(plain(challenger, costs[0]) for challenger in costs[1:]):
        return True
    if spent_ms >= rules.most_ms:
        return rounds >= min(rules.least, _SEVEN)
    if rounds < rules.least:
        return False
    level, late = _level(SURE, len(costs) - 1), spent_ms >= rules.budget_ms
    return all(_decided(challenger, costs[0], level, late, rules) for challenger in costs[1:])


def _level(level: float, challengers: int) -> float:
    """How sure each of several has to be, so that the chance of an unjust winner is no larger than with one."""
    return 1.0 - (1.0 - level) / max(1, challengers)


def _decided(
    challenger: Sequence[float], incumbent: Sequence[float], level: float, late: bool, rules: ContestRules
) -> bool:
    """Whether a challenger's fate is clear; or, late, whether more rounds would hardly make it clearer."""
    found, width = ratio(challenger, incumbent), resolution(challenger, incumbent)
    unproven = found < 1.0 - rules.resolution and confidence(challenger, incumbent) < level
    clear = abs(math.log(found)) > _CLEAR * width
    return not unproven and (clear or (late and width <= rules.resolution))


def plain(mine: Sequence[float], other: Sequence[float], factor: float = _PLAIN) -> bool:
    """Whether one of two is faster beyond all doubt, by so much in every block, whichever it is."""
    if min(len(mine), len(other)) < _PLAIN_ROUNDS:
        return False
    slowest, rival = max(*mine, _LEAST_MS), max(*other, _LEAST_MS)
    return min(mine) >= factor * rival or min(other) >= factor * slowest


def ratio(mine: Sequence[float], other: Sequence[float]) -> float:
    """Median ratio of two participants' times in the same rounds; infinite or 0 where only one of them was timed."""
    if not mine or not other:
        return 1.0 if not mine and not other else (math.inf if not mine else 0.0)
    return math.exp(statistics.median(_logs(mine, other)))


def _distance(found: float) -> float:
    """How far a ratio is from one, as the logarithm: the same for twice as fast and for twice as slow."""
    return math.inf if found <= 0.0 or not math.isfinite(found) else abs(math.log(found))


def resolution(mine: Sequence[float], other: Sequence[float]) -> float:
    """Half the width of the interval in which the logarithm of the true ratio lies; infinite for under two rounds."""
    logs = _logs(mine, other)
    if len(logs) < 2:
        return math.inf
    middle = statistics.median(logs)
    return _WIDTH * statistics.median(abs(x - middle) for x in logs) / math.sqrt(len(logs))


def confidence(mine: Sequence[float], other: Sequence[float]) -> float:
    """Return one minus the chance that equal kernels look at least so much in favour of `mine` (signed ranks)."""
    if not mine or not other:
        return 1.0 if mine else 0.0
    logs = [x for x in _logs(mine, other) if x != 0.0]
    ranked = sorted(logs, key=abs)
    won = sum(rank for rank, x in enumerate(ranked, 1) if x < 0)
    return float(_below(len(logs))[won])


def _logs(mine: Sequence[float], other: Sequence[float]) -> list[float]:
    return [math.log(max(a, _LEAST_MS) / max(b, _LEAST_MS)) for a, b in zip(mine, other, strict=False)]


@functools.lru_cache(maxsize=128)
def _below(n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The chance, for every sum of ranks, that n fair coins give less than this sum to the heads."""
    chances = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(chances.size + rank)
        longer[: chances.size] += 0.5 * chances
        longer[rank:] += 0.5 * chances
        chances = longer
    return np.concatenate([[0.0], np.cumsum(chances)[:-1]])
