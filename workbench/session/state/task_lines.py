"""Trials by hand and who was faster in turns, as lines of a log where they are in none; and back from its lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from workbench.log import Comparison, Record
from workbench.log.lines import INSIDE
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.session.state.history import History
from workbench.session.state.manual_trials import ManualTrials
from workbench.session.state.results import Key
from workbench.session.state.session_input import TaskInfo
from workbench.session.state.verdicts import PairResult

KEPT_BEFORE = -1_000_000
"""From here on downwards are the numbers of trials that another session has measured."""


def trials_of(index: int, info: TaskInfo, history: History, made: ManualTrials) -> dict[Key, Record]:
    """Return the trial of each state of a task that has a time: one of the log, or with a number below 0."""
    own = ((key, made.trial(key)) for key in history.results if key[0] == index)
    found = {key: record for key, record in own if record is not None}
    for k, (key, result) in enumerate(history.by_hand(index)):
        if not made.knows(key):  # it was kept with the variants
            found[key] = made.remembered(key, info, result, KEPT_BEFORE - k)
    return found


def lines_of(
    info: TaskInfo, trials: dict[Key, Record], history: History, made: ManualTrials, logged: Sequence[Comparison]
) -> tuple[Record | Comparison, ...]:
    """Return the lines of a task, given its `trials`, that are not among the comparisons of the log."""
    written = {line.timestamp for line in logged}
    found: list[Record | Comparison] = [record for _, record in made.made(info.key)]
    found += [record for record in trials.values() if record.trial <= KEPT_BEFORE]
    for pair in history.contests.values():
        if pair.keys[0] in trials and pair.at not in written:
            found += filter(None, (pair.line(info, trials, made.stamp),))
    return tuple(found)


def recall_contests(
    index: int, info: TaskInfo, comparisons: Sequence[Comparison], history: History, made: ManualTrials
) -> None:
    """Take in what the newest comparisons of the log say of variants that have not met in this session."""
    states = made.numbers(index)
    for line in reversed(comparisons):
        if line.task_key != info.key or not line.clean or line.reason == INSIDE:
            continue
        known = [i for i, trial in enumerate(line.trials) if trial in states and any(line.costs_ms[i : i + 1])]
        for i, j in combinations(known, 2):
            keys = (states[line.trials[i]], states[line.trials[j]])
            if keys[0] == keys[1]:
                continue
            timed = tuple(Measurement(status="ok", costs_ms=line.costs_ms[k]) for k in (i, j))
            found = PairResult(keys, "", (Contest(measurements=timed),), at=line.timestamp)
            history.contests.setdefault(frozenset(keys), found)
