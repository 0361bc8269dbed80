"""How tuning went: best latency so far per trial, failures, and both as a plot.

A source is a table from `read_log`, the path of a log, a tuning session, or records, with comparisons among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.claims import Told, claimed
from workbench.analysis.source import Trial, read
from workbench.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pandas

    from workbench.analysis.source import Source

NO_TIME = "no time"
"""Kind of a trial that ran without an error and yet has no latency."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Best latency so far.

    Attributes
    ----------
    name : str
        Name of the task; "end to end" for all of them together.
    trials, nth : array of int
        Number in the log of every trial that the curve has a value for, and the how-manieth trial of the task (of the
        log, for all tasks together) it is, from 1.
    latency_ms : array of float
        What these trials took, each the least that is known of it; empty for all tasks together.
    best_ms : array of float
        Best so far: a trial that lost a comparison never was. For all tasks: the sum of each task's best, times its
        weight, from the trial on after which every task has one.
    failed_trials, failed_nth : array of int
        Trials without a latency.
    failed_status : tuple of str
        What happened to each of these.
    count : int
        Trials in all.
    missing : int
        Tasks without a valid trial.
    """

    name: str
    trials: NDArray[np.int64]
    nth: NDArray[np.int64]
    latency_ms: NDArray[np.float64]
    best_ms: NDArray[np.float64]
    failed_trials: NDArray[np.int64]
    failed_nth: NDArray[np.int64]
    failed_status: tuple[str, ...]
    count: int
    missing: int


def best_so_far(source: Source, task_key: str | None = None, tasks: Iterable[str] | None = None) -> Curve:
    """Return the best latency so far after every trial.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record and Comparison
    task_key : str, optional
        Key or name of a task; all tasks together when left out.
    tasks : iterable of str, optional
        Keys of the tasks that make up the whole; those that the log or the session names when left out, else those that
        occur.

    Raises
    ------
    InputError
        "curve.task" when no trial is of that task.
    """
    lines = read(source)
    trials, known, told = lines.trials, lines.keys, lines.told
    if task_key is None:
        return _total(trials, list(dict.fromkeys(known if tasks is None else tasks)), told)
    mine = [t for t in trials if t.key == task_key] or [t for t in trials if t.name == task_key]
    if not mine and task_key not in known and (tasks is None or task_key not in set(tasks)):
        names = dict.fromkeys(t.name for t in trials)
        raise InputError(
            "curve.task", f"No trial is of a task {task_key!r}.", (), did_you_mean(task_key, names, "tasks")
        )
    valid = [(n, t) for n, t in enumerate(mine, 1) if t.ok]
    shown = told[mine[0].key].shown if mine and mine[0].key in told else {}
    latency = np.array([_least(t, shown) for _, t in valid], np.float64)
    best = np.array(_claims(mine, told, mine[0].key) if mine else (), np.float64)
    return _curve(mine[0].name if mine else "", mine, valid, latency, best, 0 if valid else 1)


def _least(t: Trial, shown: Mapping[int, float]) -> float:
    """The least time that is known of a trial; of two that have one number, comparisons are about the first."""
    own = t.latency_ms or 0.0
    return own if t.program else min(own, shown.get(t.trial, own))


def _total(trials: Sequence[Trial], keys: Sequence[str], told: Mapping[str, Told]) -> Curve:
    best: dict[str, float] = {}
    claims = {key: iter(_claims(trials, told, key)) for key in keys}
    wanted, total, found = set(keys), 0.0, list[tuple[int, Trial]]()
    after: list[float] = []
    for n, t in enumerate(trials, 1):
        if t.ok and t.key in wanted:
            now = next(claims[t.key])
            total += t.weight * (now - best.get(t.key, 0.0))
            best[t.key] = now
        if len(best) == len(keys) > 0:
            found.append((n, t))
            after.append(total)
    empty = np.empty(0, np.float64)
    return _curve("end to end", trials, found, empty, np.array(after, np.float64), len(keys) - len(best))


def _claims(trials: Sequence[Trial], told: Mapping[str, Told], key: str) -> list[float]:
    return claimed([t for t in trials if t.key == key and t.ok], told.get(key, Told()))


def _curve(
    name: str,
    trials: Sequence[Trial],
    found: Sequence[tuple[int, Trial]],
    latency: NDArray[np.float64],
    best: NDArray[np.float64],
    missing: int,
) -> Curve:
    failed = [(n, t) for n, t in enumerate(trials, 1) if not t.ok]
    return Curve(
        name,
        np.array([t.trial for _, t in found], np.int64),
        np.array([n for n, _ in found], np.int64),
        latency,
        best,
        np.array([t.trial for _, t in failed], np.int64),
        np.array([n for n, _ in failed], np.int64),
        tuple(_kind(t) for _, t in failed),
        len(trials),
        missing,
    )


def failures(source: Source) -> pandas.DataFrame:
    """Return what went wrong, most frequent first: `task`, `status`, `count`, and `error` as an example."""
    import pandas

    count: dict[tuple[str, str], int] = {}
    example: dict[tuple[str, str], str] = {}
    for t in read(source).trials:
        if not t.ok:
            key = (t.name, _kind(t))
            count[key] = count.get(key, 0) + 1
            example[key] = example.get(key) or t.error
    rows = [(*key, n, example[key]) for key, n in sorted(count.items(), key=lambda x: (-x[1], x[0]))]
    return pandas.DataFrame(rows, columns=["task", "status", "count", "error"])


def _kind(t: Trial) -> str:
    return NO_TIME if t.status == "ok" else t.status
