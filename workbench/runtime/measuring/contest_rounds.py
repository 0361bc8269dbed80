"""Rounds of a contest: in which order participants run, and when enough is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from workbench.runtime.results.comparison_words import SURE
from workbench.runtime.results.contest_statistics import PLAIN_ROUNDS, confidence, joint_level, plain, ratio, resolution
from workbench.runtime.results.measure_options import ContestRules

#: Runs a block of a participant: its milliseconds per call, whether that was undisturbed, milliseconds that passed.
Block: TypeAlias = Callable[[int], tuple[float, bool, float]]

#: So many of these half widths a ratio has to be away from one for a contest to end before its time.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
_CLEAR = 2.5

#: Fewest rounds that can give this confidence.
#: Computed: signed ranks of seven rounds have 128 outcomes.
_SEVEN = 7

#: Where other programs take cores away, so many times as long as usual is waited for rounds that they leave alone.
#: Chosen, not measured.
_WAITED = 3


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
    if rounds >= PLAIN_ROUNDS and all(plain(challenger, costs[0]) for challenger in costs[1:]):
        return True
    if spent_ms >= rules.most_ms:
        return rounds >= min(rules.least, _SEVEN)
    if rounds < rules.least:
        return False
    level, late = joint_level(SURE, len(costs) - 1), spent_ms >= rules.budget_ms
    return all(_decided(challenger, costs[0], level, late, rules) for challenger in costs[1:])


def _decided(
    challenger: Sequence[float], incumbent: Sequence[float], level: float, late: bool, rules: ContestRules
) -> bool:
    """Whether a challenger's fate is clear; or, late, whether more rounds would hardly make it clearer."""
    found, width = ratio(challenger, incumbent), resolution(challenger, incumbent)
    unproven = found < 1.0 - rules.resolution and confidence(challenger, incumbent) < level
    clear = abs(math.log(found)) > _CLEAR * width
    return not unproven and (clear or (late and width <= rules.resolution))
