"""From a record back to a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import LogError, WorkbenchError

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.ir.func import Func
    from workbench.schedule import Schedule
    from workbench.tune.record import Record


def schedule_of(task: Task | Func, record: Record) -> Schedule:
    """Return the schedule that a record describes, as an editable value.

    Raises
    ------
    LogError
        ``log.replay`` when the trace does not apply to the task: the log was changed by hand, or comes from a version
        whose primitives worked differently.
    """
    from workbench.schedule import Schedule

    try:
        return Schedule.from_json(task, list(record.trace))
    except WorkbenchError as error:
        place = [f"trial {record.trial}", record.task]
        hint = "the log was changed, or was written by another version; tune this task again"
        raise LogError("log.replay", f"The schedule in the log does not apply: {error.message}", place, hint) from error
