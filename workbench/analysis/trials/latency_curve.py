"""How tuning went: best latency so far per trial, failures, and both as a plot.

A source is a table from `read_log`, the path of a log, a tuning session, or lines of a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.trials.trial_reader import Trial, read
from workbench.errors import InputError, did_you_mean
from workbench.log import Measured
from workbench.log.weighted_latency import total

if TYPE_CHECKING:
    import pandas

    from workbench.analysis.trials.trial_reader import Source

NO_TIME = "no time"
"""Kind of a trial that ran without an error and yet has no latency."""


MOST = 0.9
"""Share of the tuner's candidates that a plot has to show; slower ones may lie above it. Chosen, not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Best latency so far.

    Attributes
    ----------
    name : str
        Name of the task; "sum of kernels" for all of them together.
    trials, nth : array of int
        Number in the log of every trial that the curve has a value for, and the how-manieth trial of the task (of the
        log, for all tasks together) it is, from 1.
    latency_ms : array of float
        What the ledger tells of these trials, none below the line; empty for all tasks together.
    best_ms : array of float
        Best so far, as the ledger had it by then: what came later changes none of these. For all tasks: the sum of each
        task's best, times its weight, from the trial on after which every task has one.
    reasons : tuple of (int, str)
        Where the best became slower, by `nth`, and why.
    disturbed : tuple of bool
        Which of `trials` were disturbed whenever they were timed: these take as long as `latency_ms` at most.
    failed_trials, failed_nth : array of int
        Trials without a latency.
    failed_status : tuple of str
        What happened to each of these.
    count : int
        Trials in all.
    missing : int
        Tasks without a valid trial.
    usual_ms : float or None
        Of a task: what the tuner's first candidate takes, the default schedule where there is one, and nine tenths of
        its candidates at most; None where it has none.
    network : tuple of Measured
        For all tasks: what the whole network took when it was measured; `at` is by how many trials.
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
    reasons: tuple[tuple[int, str], ...] = ()
    disturbed: tuple[bool, ...] = ()
    network: tuple[Measured, ...] = ()
    usual_ms: float | None = None


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
    trials, known = lines.trials, lines.keys
    if task_key is None:
        keys = dict.fromkeys(known if tasks is None else tasks)
        of_all = tuple(one for one in lines.network if one.line.alone_ms.keys() == keys.keys())
        return replace(_total(trials, list(keys)), network=of_all)
    mine = [t for t in trials if t.key == task_key] or [t for t in trials if t.name == task_key]
    if not mine and task_key not in known and (tasks is None or task_key not in set(tasks)):
        names = dict.fromkeys(t.name for t in trials)
        raise InputError(
            "curve.task", f"No trial is of a task {task_key!r}.", (), did_you_mean(task_key, names, "tasks")
        )
    valid, after = list[tuple[int, Trial]](), list[Trial]()
    for n, t in enumerate(mine, 1):
        if t.ok:
            valid.append((n, t))
            after.append(t)
        elif after:  # a comparison behind a trial that failed
            after[-1] = replace(t, why=t.why or after[-1].why)
    best = np.array([t.best_ms for t in after], np.float64)
    told = np.array([t.told_ms for _, t in valid], np.float64)
    risen = np.diff(best, prepend=np.inf) > 0
    reasons = [(n, t.why) for (n, _), t, up in zip(valid, after, risen, strict=True) if up]
    # What is known of a trial now may be less than the best was then, which stays as it was.
    latency = np.maximum(told, best)
    found = _curve(mine[0].name if mine else "", mine, valid, latency, best, 0 if valid else 1, reasons)
    own = [ms for (_, t), ms in zip(valid, latency.tolist(), strict=True) if not t.by_hand]
    return replace(found, usual_ms=max(own[0], float(np.quantile(own, MOST))) if own else None)


def _total(trials: Sequence[Trial], keys: Sequence[str]) -> Curve:
    best: dict[str, float | None] = dict.fromkeys(keys)
    weights = {t.key: t.weight for t in reversed(trials)}
    found, after, now = list[tuple[int, Trial]](), list[float](), None
    for n, t in enumerate(trials, 1):
        if t.best_ms != best.get(t.key, t.best_ms):
            best[t.key] = t.best_ms
            now = total([(weights.get(key, 1), ms) for key, ms in best.items()])
        if now is not None:
            found.append((n, t))
            after.append(now)
    missing = sum(ms is None for ms in best.values())
    return _curve("sum of kernels", trials, found, np.empty(0, np.float64), np.array(after, np.float64), missing)


def _curve(
    name: str,
    trials: Sequence[Trial],
    found: Sequence[tuple[int, Trial]],
    latency: NDArray[np.float64],
    best: NDArray[np.float64],
    missing: int,
    reasons: Iterable[tuple[int, str]] = (),
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
        tuple(reasons),
        tuple(not t.clean for _, t in found),
    )


def failures(source: Source) -> pandas.DataFrame:
    """Return what went wrong, most frequent first: `task`, `status`, `count`, and `error` as an example."""
    import pandas

    errors: dict[tuple[str, str], list[str]] = {}
    for t in read(source).trials:
        if not t.ok:
            errors.setdefault((t.name, _kind(t)), []).append(t.error)
    found = sorted(errors.items(), key=lambda x: (-len(x[1]), x[0]))
    rows = [(*key, len(texts), next(filter(None, texts), "")) for key, texts in found]
    return pandas.DataFrame(rows, columns=["task", "status", "count", "error"])


def _kind(t: Trial) -> str:
    return NO_TIME if t.status == "ok" else t.status
