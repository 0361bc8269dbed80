"""How tuning went: best latency so far per trial, failures, and both as a plot.

A source is a table from `read_log`, the path of a log, a tuning session, or records, with comparisons among them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.claims import Told, claimed
from workbench.arguments import ArgumentTypeError
from workbench.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pandas

    from workbench.tune.lines import Comparison
    from workbench.tune.ranking import Key
    from workbench.tune.record import Record
    from workbench.tune.session import TuningSession

    Source: TypeAlias = "pandas.DataFrame | TuningSession | Iterable[Record | Comparison] | str | os.PathLike[str]"

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
        What these trials measured; empty for all tasks together.
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


@dataclass(frozen=True, slots=True)
class _Trial:
    """What a curve needs of a record."""

    trial: int
    key: str
    name: str
    status: str
    latency_ms: float | None
    weight: int
    error: str


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
    trials, known, told = _read(source)
    if task_key is None:
        return _total(trials, list(dict.fromkeys(known if tasks is None else tasks)), told)
    mine = [t for t in trials if t.key == task_key] or [t for t in trials if t.name == task_key]
    if not mine and task_key not in known and (tasks is None or task_key not in set(tasks)):
        names = dict.fromkeys(t.name for t in trials)
        raise InputError(
            "curve.task", f"No trial is of a task {task_key!r}.", (), did_you_mean(task_key, names, "tasks")
        )
    valid = [(n, t) for n, t in enumerate(mine, 1) if _ok(t)]
    latency = np.array([t.latency_ms for _, t in valid], np.float64)
    best = np.array(_claims(mine, told, mine[0].key) if mine else (), np.float64)
    return _curve(mine[0].name if mine else "", mine, valid, latency, best, 0 if valid else 1)


def _total(trials: Sequence[_Trial], keys: Sequence[str], told: Mapping[str, Told]) -> Curve:
    best: dict[str, float] = {}
    claims = {key: iter(_claims(trials, told, key)) for key in keys}
    wanted, total, found = set(keys), 0.0, list[tuple[int, _Trial]]()
    after: list[float] = []
    for n, t in enumerate(trials, 1):
        if _ok(t) and t.key in wanted:
            now = next(claims[t.key])
            total += t.weight * (now - best.get(t.key, 0.0))
            best[t.key] = now
        if len(best) == len(keys) > 0:
            found.append((n, t))
            after.append(total)
    empty = np.empty(0, np.float64)
    return _curve("end to end", trials, found, empty, np.array(after, np.float64), len(keys) - len(best))


def _claims(trials: Sequence[_Trial], told: Mapping[str, Told], key: str) -> list[float]:
    mine = [(t.trial, t.latency_ms) for t in trials if t.key == key and _ok(t) and t.latency_ms is not None]
    return claimed(mine, told.get(key, Told()))


def _curve(
    name: str,
    trials: Sequence[_Trial],
    found: Sequence[tuple[int, _Trial]],
    latency: NDArray[np.float64],
    best: NDArray[np.float64],
    missing: int,
) -> Curve:
    failed = [(n, t) for n, t in enumerate(trials, 1) if not _ok(t)]
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
    for t in _read(source)[0]:
        if not _ok(t):
            key = (t.name, _kind(t))
            count[key] = count.get(key, 0) + 1
            example[key] = example.get(key) or t.error
    rows = [(*key, n, example[key]) for key, n in sorted(count.items(), key=lambda x: (-x[1], x[0]))]
    return pandas.DataFrame(rows, columns=["task", "status", "count", "error"])


def _ok(t: _Trial) -> bool:
    return t.status == "ok" and t.latency_ms is not None


def _kind(t: _Trial) -> str:
    return NO_TIME if t.status == "ok" else t.status


def _read(source: Any) -> tuple[list[_Trial], list[str], dict[str, Told]]:
    """Trials in order, the keys of the tasks that belong together, and what comparisons say about each."""
    from workbench.tune.lines import Comparison
    from workbench.tune.log import load_log
    from workbench.tune.record import Record
    from workbench.tune.session import TuningSession

    if isinstance(source, str | os.PathLike):
        log = load_log(source)
        trials = _of_records(log.records)
        keys = [key for key, _ in log.header.tasks] if log.header else _keys(trials)
        return trials, keys, _told(log.records, log.comparisons)
    if isinstance(source, TuningSession):
        keys = [r.key for r in source.snapshot().rows if r.state != "skipped"]
        return _of_records(source.records), keys, _told(source.records, source.comparisons)
    if hasattr(source, "columns"):
        trials = _of_frame(source)
        return trials, _keys(trials), _told_by_columns(source)
    given = list(source) if isinstance(source, Iterable) else None
    if given is None or not all(isinstance(r, Record | Comparison) for r in given):
        message = f"There is no curve of a {type(source).__name__}"
        raise ArgumentTypeError("usage.type", message, ("source",), "pass a table from read_log, a path or a session")
    records = [r for r in given if isinstance(r, Record)]
    trials = _of_records(records)
    return trials, _keys(trials), _told(records, [r for r in given if isinstance(r, Comparison)])


def _keys(trials: Iterable[_Trial]) -> list[str]:
    return list(dict.fromkeys(t.key for t in trials))


def _told(records: Iterable[Record], comparisons: Iterable[Comparison]) -> dict[str, Told]:
    base: dict[str, dict[int, Key]] = {}
    for r in records:
        if r.ok:
            base.setdefault(r.task_key, {}).setdefault(r.trial, (r.warmth, r.latency_ms))
    lines: dict[str, list[Comparison]] = {}
    for c in comparisons:
        lines.setdefault(c.task_key, []).append(c)
    return {key: Told.of(trials, lines.get(key, ())) for key, trials in base.items()}


def _told_by_columns(frame: pandas.DataFrame) -> dict[str, Told]:
    """What the table's own columns say; nothing where they were removed."""
    if not {"rank", "confirmed", "compared_ms"} <= set(frame.columns):
        return {}
    found = {}
    for key, part in frame[frame["rank"].notna()].groupby("task_key", sort=False):
        shown = {int(n): float(ms) for n, ms in zip(part["trial"], part["compared_ms"], strict=True) if ms == ms}
        won = frozenset(int(n) for n in part["trial"][part["confirmed"]])
        numbers = [int(n) for n in part["trial"]]
        best = int(part.sort_values(["rank", "latency_ms"])["trial"].iloc[0])
        # The first one of a task is its first best; every other one has become it by a comparison.
        found[str(key)] = Told(shown, won, frozenset(shown) - won - {numbers[0]}, best)
    return found


def _of_records(records: Iterable[Record]) -> list[_Trial]:
    return [_Trial(r.trial, r.task_key, r.task, r.status, r.latency_ms, r.weight, r.error) for r in records]


def _of_frame(frame: pandas.DataFrame) -> list[_Trial]:
    names = ("trial", "task_key", "task", "status", "latency_ms", "weight", "error")
    lacking = [n for n in names if n not in frame.columns]
    if lacking:
        text = f"The table has no column {', '.join(map(repr, lacking))}."
        raise InputError("curve.columns", text, lacking, "use the table that read_log returns")
    columns = [frame[n].tolist() for n in names]
    return [
        _Trial(int(n), key, task, status, None if ms is None or ms != ms else float(ms), int(weight), str(error))
        for n, key, task, status, ms, weight, error in zip(*columns, strict=True)
    ]
