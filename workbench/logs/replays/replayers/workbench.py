"""Records of the workbench's own log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.errors import LogError
from workbench.graph.tasks import Task
from workbench.ir import Func
from workbench.log.reader import load_log
from workbench.log.record import Record
from workbench.log.replay import schedule_of
from workbench.logs.replays.result import CannotReplay, Rebuilt, ReplayStep, Request, replayer
from workbench.logs.replays.workloads import workload
from workbench.schedule.schedule import Schedule


@replayer("workbench")
def replay_own(request: Request) -> Rebuilt:
    """Rebuild a record of the workbench; of several tasks (`workbench.extract_tasks`) the one with its key is taken."""
    record = _record(request)
    try:
        found = schedule_of(_func(request.task, record), record)
    except LogError as error:
        raise CannotReplay(error.message) from None
    schedule = Schedule.from_json(found.base, found.trace, request.target)
    steps = [ReplayStep(k, str(step), "", (step,)) for k, step in enumerate(schedule.trace)]
    return schedule, steps, ()


def _record(request: Request) -> Record:
    """The record with its steps: a line of the log may hold no more than its numbers."""
    row = request.log.records.iloc[request.record]
    path = next((p for p in request.log.paths if Path(p).name == row["run"]), None)
    records = load_log(path).records if path is not None else ()
    first = int((request.log.records["run"] == row["run"]).to_numpy().argmax())
    place = request.record - first
    if place >= len(records):
        raise CannotReplay("the log has changed since it was opened")
    return records[place]


def _func(task: Any, record: Record) -> Task | Func:
    if task is None:
        raise CannotReplay("the log says its computation by a key only: replay(…, task=…) has to give it")
    if isinstance(task, list | tuple) and task and all(isinstance(t, Task) for t in task):
        tasks: list[Task] = list(task)
    else:
        tasks = [task if isinstance(task, Task) else Task.of_func(workload(record.task, task).func)]
    found = next((t for t in tasks if t.key == record.task_key), None)
    if found is None:
        raise CannotReplay("the computation has another key than the record")
    return found
