"""What is known of a task that is in no log, as lines of one: trials by hand, and who was faster in turns."""

from __future__ import annotations

from workbench.log import Comparison, Record
from workbench.session.state.history import History
from workbench.session.state.manual_trials import ManualTrials
from workbench.session.state.results import Key
from workbench.session.state.session_input import TaskInfo

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
    info: TaskInfo, trials: dict[Key, Record], history: History, made: ManualTrials, written: set[float]
) -> tuple[Record | Comparison, ...]:
    """Return the lines of a task, given its `trials` and when those comparisons ended that are written already."""
    found: list[Record | Comparison] = [record for _, record in made.made(info.key)]
    found += [record for record in trials.values() if record.trial <= KEPT_BEFORE]
    for pair in history.contests.values():
        if pair.keys[0] in trials and pair.at not in written:
            found += filter(None, (pair.line(info, trials, made.stamp),))
    return tuple(found)
