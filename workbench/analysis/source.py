"""What the charts read: trials, comparisons and rounds of a table, a log, a tuning session or of lines."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.analysis.claims import Told
from workbench.arguments import ArgumentTypeError
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas

    from workbench.tune.lines import Comparison, Round
    from workbench.tune.record import Record
    from workbench.tune.session import TuningSession

    Source: TypeAlias = (
        "pandas.DataFrame | TuningSession | Iterable[Record | Comparison | Round] | str | os.PathLike[str] | Lines"
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """What charts need of a record; `program` and `warmth` as in `workbench.tune.ranking`."""

    trial: int
    key: str
    name: str
    status: str
    latency_ms: float | None
    weight: int
    error: str
    flops: int = 0
    round: int = 0
    predicted: float | None = None
    program: str = ""
    warmth: int = 0

    @property
    def ok(self) -> bool:
        """Whether it counts."""
        return self.status == "ok" and self.latency_ms is not None


@dataclass(frozen=True, slots=True)
class Lines:
    """Trials in order, keys of the tasks that belong together, what comparisons say of each task, and the rounds."""

    trials: Sequence[Trial]
    keys: Sequence[str]
    told: Mapping[str, Told] = field(default_factory=dict)
    rounds: Sequence[Round] = ()

    def of(self, key: str) -> list[Trial]:
        """Return the trials of a task."""
        return [t for t in self.trials if t.key == key]


def read(source: Any) -> Lines:
    """Read a source once, for several charts; what was read already is returned as it is.

    Raises
    ------
    ArgumentTypeError
        "usage.type" for anything else.
    InputError
        "curve.columns" for a table without what is needed; `LogError` for what is wrong with a log.
    """
    from workbench.tune.log import load_log
    from workbench.tune.session import TuningSession

    if isinstance(source, Lines):
        return source
    if isinstance(source, str | os.PathLike):
        log = load_log(source)
        names = dict(log.header.tasks) if log.header else {}
        return of_lines(log.records, log.comparisons, log.rounds, list(names) if log.header else None, names)
    if isinstance(source, TuningSession):
        names = {r.key: r.name for r in source.snapshot().rows}
        keys = [r.key for r in source.snapshot().rows if r.state != "skipped"]
        return of_lines(source.records, source.comparisons, source.rounds, keys, names)
    if hasattr(source, "columns"):
        trials = _of_frame(source)
        return Lines(trials, _keys(trials), _told_by_columns(source))
    return _of_iterable(source)


def of_lines(
    records: Iterable[Record],
    comparisons: Iterable[Comparison] = (),
    rounds: Iterable[Round] = (),
    keys: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
) -> Lines:
    """Take lines of a log together; the tasks are those that occur, unless `keys` names them. A task is called what
    `names` says by its key, else as in its first trial: later trials may have been written under another name.
    """
    records = list(records)
    called = dict(names or {})
    for r in records:
        called.setdefault(r.task_key, r.task)
    times = Counter((r.task_key, r.trial) for r in records)
    trials = [
        Trial(r.trial, r.task_key, called[r.task_key], r.status, r.latency_ms, r.weight, r.error, r.flops, r.round,
              r.predicted, _program(r) if times[r.task_key, r.trial] > 1 else "", r.warmth)
        for r in records
    ]  # fmt: skip
    return Lines(trials, _keys(trials) if keys is None else list(keys), _told(records, comparisons), tuple(rounds))


def _of_iterable(source: Any) -> Lines:
    from workbench.tune.lines import Comparison, Round
    from workbench.tune.record import Record

    given = list(source) if isinstance(source, Iterable) else None
    if given is None or not all(isinstance(r, Record | Comparison | Round) for r in given):
        message = f"There is no curve of a {type(source).__name__}"
        raise ArgumentTypeError("usage.type", message, ("source",), "pass a table from read_log, a path or a session")
    return of_lines(
        [r for r in given if isinstance(r, Record)],
        [r for r in given if isinstance(r, Comparison)],
        [r for r in given if isinstance(r, Round)],
    )


def _keys(trials: Iterable[Trial]) -> list[str]:
    return list(dict.fromkeys(t.key for t in trials))


def _told(records: Iterable[Record], comparisons: Iterable[Comparison]) -> dict[str, Told]:
    valid: dict[str, list[Record]] = {}
    for r in records:
        if r.ok:
            valid.setdefault(r.task_key, []).append(r)
    lines: dict[str, list[Comparison]] = {}
    for c in comparisons:
        lines.setdefault(c.task_key, []).append(c)
    return {key: Told.of(mine, lines.get(key, ())) for key, mine in valid.items()}


def _told_by_columns(frame: pandas.DataFrame) -> dict[str, Told]:
    """What the table's own columns say; nothing where they were removed."""
    if not {"rank", "confirmed", "compared_ms"} <= set(frame.columns):
        return {}
    found = {}
    for key, part in frame[frame["rank"].notna()].groupby("task_key", sort=False):
        shown = {int(n): float(ms) for n, ms in zip(part["trial"], part["compared_ms"], strict=True) if ms == ms}
        won = frozenset(int(n) for n in part["trial"][part["confirmed"]])
        numbers = [int(n) for n in part["trial"]]
        best = part.sort_values(["rank", "latency_ms"]).iloc[0]
        best_ms = float(min(best["latency_ms"], shown.get(int(best["trial"]), math.inf)))
        # The first one of a task is its first best; every other one has become it by a comparison.
        found[str(key)] = Told(shown, won, frozenset(shown) - won - {numbers[0]}, best_ms)
    return found


def _of_frame(frame: pandas.DataFrame) -> list[Trial]:
    names = ("trial", "task_key", "task", "status", "latency_ms", "weight", "error")
    lacking = [n for n in names if n not in frame.columns]
    if lacking:
        text = f"The table has no column {', '.join(map(repr, lacking))}."
        raise InputError("curve.columns", text, lacking, "use the table that read_log returns")
    more = {"flops": 0, "round": 0, "predicted": None, "key": "", "caches": ""}
    columns = [frame[n].tolist() for n in names]
    columns += [frame[n].tolist() if n in frame.columns else [usual] * len(frame) for n, usual in more.items()]
    return [
        Trial(
            int(n),
            key,
            task,
            status,
            _number(ms),
            int(weight),
            str(error),
            int(flops),
            int(batch),
            _number(told),
            str(program),
            _warmth(str(caches)),
        )
        for n, key, task, status, ms, weight, error, flops, batch, told, program, caches in zip(*columns, strict=True)
    ]


def _number(value: Any) -> float | None:
    """A number of a table, which has NaN where a record has nothing."""
    return None if value is None or value != value else float(value)


def _program(r: Record) -> str:
    """What tells a record's program from others that have the same number."""
    return f"{r.key}:{r.variant}:{sorted(r.row.items())}:{r.trace}"


def _warmth(caches: str) -> int:
    """What `Record.warmth` would say."""
    from workbench.tune.record import CONDITIONS

    return CONDITIONS.index(caches) if caches in CONDITIONS else len(CONDITIONS)
