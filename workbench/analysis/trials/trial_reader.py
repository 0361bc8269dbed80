"""What the charts read: trials and rounds of a table, a log, a tuning session or of lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.arguments import ArgumentTypeError
from workbench.errors import InputError
from workbench.log import Ledger, Measured, Record, Round, load_log
from workbench.log.lines import KINDS, AnyLine
from workbench.tune.run.tuning_session import TuningSession

if TYPE_CHECKING:
    import pandas

    Source: TypeAlias = "pandas.DataFrame | TuningSession | Iterable[AnyLine] | str | os.PathLike[str] | RunHistory"


BY_HAND = "manual"
"""Origin of a trial that a person has measured."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What charts need of a record, and of the ledger: what is told of it, the best of its task after it, and why that
    is slower than before, where it is. One that is not `clean` was disturbed whenever it was timed; one `by_hand` is no
    candidate of the tuner.
    """

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
    told_ms: float | None = None
    best_ms: float | None = None
    why: str = ""
    clean: bool = True
    by_hand: bool = False

    @property
    def ok(self) -> bool:
        """Whether it counts."""
        return self.status == "ok" and self.latency_ms is not None


@dataclass(frozen=True, slots=True)
class RunHistory:
    """Trials in order, keys of the tasks that belong together, the rounds, and measurements of the whole network."""

    trials: Sequence[Trial]
    keys: Sequence[str]
    rounds: Sequence[Round] = ()
    network: Sequence[Measured] = ()


def read(source: Any) -> RunHistory:
    """Read a source once, for several charts; what was read already is returned as it is.

    Raises
    ------
    ArgumentTypeError
        "usage.type" for anything else.
    InputError
        "curve.columns" for a table without what is needed; `LogError` for what is wrong with a log.
    """
    if isinstance(source, RunHistory):
        return source
    if isinstance(source, str | os.PathLike):
        log = load_log(source)
        names = dict(log.header.tasks) if log.header else {}
        return of_lines(log.lines, list(names) if log.header else None, names)
    if isinstance(source, TuningSession):
        names = {r.key: r.name for r in source.snapshot().rows}
        keys = [r.key for r in source.snapshot().rows if r.state != "skipped"]
        return of_lines([*source.lines, *source.rounds], keys, names)
    if hasattr(source, "columns"):
        trials = _of_frame(source)
        return RunHistory(trials, _keys(trials))
    return _of_iterable(source)


def of_lines(
    lines: Iterable[AnyLine], keys: Sequence[str] | None = None, names: Mapping[str, str] | None = None
) -> RunHistory:
    """Take lines of a log together, in its order; the tasks are those that occur, unless `keys` names them. A task is
    called what `names` says by its key, else as in its first trial: later ones may have another name.
    """
    ledger, records, rounds = Ledger(), list[Record](), list[Round]()
    for line in lines:
        if isinstance(line, Round):
            rounds.append(line)
        elif ledger.take(line) and isinstance(line, Record):
            records.append(line)
    return of_ledger(ledger, records, rounds, keys, names)


def of_ledger(
    ledger: Ledger,
    records: Iterable[Record],
    rounds: Iterable[Round] = (),
    keys: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
) -> RunHistory:
    """Do what `of_lines` does, where the lines were taken in already; `records` are those that were news."""
    called = {key: task.name for key, task in ledger.tasks.items()} | dict(names or {})
    course = {key: iter(task.after()) for key, task in ledger.tasks.items()}
    trials = []
    for r in records:
        told, best = ledger.tasks[r.task_key].of(r), next(course[r.task_key])
        trials.append(
            Trial(r.trial, r.task_key, called[r.task_key], r.status, r.latency_ms, r.weight, r.error, r.flops, r.round,
                  r.predicted, told.ms if told else None, best.ms if best else None, best.why if best else "",
                  told is None or told.sure != "disturbed", r.origin == BY_HAND)
        )  # fmt: skip
    return RunHistory(trials, _keys(trials) if keys is None else list(keys), tuple(rounds), ledger.whole.course)


def _of_iterable(source: Any) -> RunHistory:
    given = list(source) if isinstance(source, Iterable) else None
    if given is None or not all(isinstance(line, tuple(KINDS.values())) for line in given):
        message = f"There is no curve of a {type(source).__name__}"
        raise ArgumentTypeError("usage.type", message, ("source",), "pass a table from read_log, a path or a session")
    return of_lines(given)


def _keys(trials: Iterable[Trial]) -> list[str]:
    return list(dict.fromkeys(t.key for t in trials))


def _of_frame(frame: pandas.DataFrame) -> list[Trial]:
    names = ("trial", "task_key", "task", "status", "latency_ms", "weight", "error")
    lacking = [n for n in names if n not in frame.columns]
    if lacking:
        text = f"The table has no column {', '.join(map(repr, lacking))}."
        raise InputError("curve.columns", text, lacking, "use the table that read_log returns")
    more = (
        {"flops": 0, "round": 0}
        | dict.fromkeys(("predicted", "ledger_ms", "best_ms"))
        | {"best_why": "", "clean": True, "origin": ""}
    )
    columns = [frame[n].tolist() for n in names]
    columns += [frame[n].tolist() if n in frame.columns else [usual] * len(frame) for n, usual in more.items()]
    found = [
        Trial(int(n), key, task, status, _number(ms), int(weight), str(error), int(flops), int(batch), _number(guess),
              _number(told), _number(best), str(why), bool(clean), origin == BY_HAND)
        for n, key, task, status, ms, weight, error, flops, batch, guess, told, best, why, clean, origin
        in zip(*columns, strict=True)
    ]  # fmt: skip
    return found if {"ledger_ms", "best_ms"} <= set(frame.columns) else _by_themselves(found)


def _by_themselves(trials: Iterable[Trial]) -> list[Trial]:
    """Let the least latency count, in a table whose columns of the ledger were removed."""
    best: dict[str, float] = {}
    out = []
    for t in trials:
        if t.ok and t.latency_ms is not None:
            best[t.key] = min(t.latency_ms, best.get(t.key, t.latency_ms))
        out.append(replace(t, told_ms=t.latency_ms, best_ms=best.get(t.key)))
    return out


def _number(value: Any) -> float | None:
    """A number of a table, which has NaN where a record has nothing."""
    return None if value is None or value != value else float(value)
