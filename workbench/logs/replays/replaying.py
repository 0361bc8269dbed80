"""`replay`: from a record of a log to a schedule."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from workbench.arguments import is_a
from workbench.errors import ExpressionError, ScheduleError, UsageError
from workbench.logs.replays import replayers  # noqa: F401  # each declares what it rebuilds
from workbench.logs.replays.result import REPLAYERS, CannotReplay, Replay, Request
from workbench.logs.tuning_log import TuningLog
from workbench.target import Target


def replay(log: TuningLog, record: int | None = None, task: Any = None, target: Target | str | None = None) -> Replay:
    """Rebuild a record of a tuner's log as a schedule of the same computation.

    Parameters
    ----------
    log : TuningLog
        From `workbench.logs.open`.
    record : int, optional
        Number of the record; the best one by default, where the log has one task.
    task : optional
        The computation, where the log does not say it: a `Func`, a `Task`, a tensor of `workbench.te`, the printed
        compute DAGs of TVM as text, or a file of them.
    target : Target or str, optional
        What the schedule is for; this machine by default.

    Returns
    -------
    Replay
        With a schedule, or with the reason why there is none.

    Raises
    ------
    UsageError
        ``replay.format`` for a format that has no replay, ``replay.record`` where it is not said which one,
        ``usage.record`` for a number that no record has, ``replay.task`` for a `task` that is none of these.
    LogError
        ``replay.dag``, ``log.missing``, ``log.unreadable`` for a text or a file with computations.
    """
    is_a("log", log, TuningLog, "open it by `wb.logs.open`")
    number = _best(log) if record is None else log.number(record)
    raw = log.raw(number)
    row = log.records.iloc[number]
    where = target if isinstance(target, Target) else Target("llvm" if target is None else target)
    then = float(row["cost_s"]) * 1e3
    told = Replay(
        record=number, task=str(row["task"]), device=str(row["device"] or row["target"]),
        then_ms=then if then == then else None,
    )  # fmt: skip
    make = REPLAYERS[str(row["format"]) if "format" in row else log.format]
    try:
        schedule, steps, notes = make(Request(log, number, raw, task, where))
    except CannotReplay as refused:
        return dataclasses.replace(told, steps=refused.steps, reason=refused.reason)
    except (ScheduleError, ExpressionError) as error:
        return dataclasses.replace(told, reason=f"{error.message} [{error.code}]")
    return dataclasses.replace(told, schedule=schedule, steps=tuple(steps), notes=tuple(notes))


def replay_all(
    log: TuningLog, records: Sequence[int] | None = None, task: Any = None, target: Target | str | None = None
) -> list[Replay]:
    """Rebuild several records, all of them by default; as `replay`."""
    chosen = range(len(log)) if records is None else records
    return [replay(log, record, task, target) for record in chosen]


def _best(log: TuningLog) -> int:
    tasks = log.tasks
    found = [int(n) for n in tasks["best_record"].dropna()]
    if len(tasks) != 1 or not found:
        text = f"The log has {len(tasks)} tasks" if len(tasks) != 1 else "No record of the log is ok"
        hint = "log.tasks and log.records have the numbers"
        raise UsageError("replay.record", f"{text}, so the record has to be named", ("record",), hint)
    return found[0]
