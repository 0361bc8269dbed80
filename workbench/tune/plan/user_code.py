"""What a user has written and hands to a run (a sketch rule, a template, a search, a cost model) may raise anything.

That is the fault of one task: it is told with its place, tried again, and in the end the task is given up, while the
others go on. So every call from the loop into the context and its searches goes through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast

from workbench.arguments import shown
from workbench.errors import TuneError, WorkbenchError

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.tune.plan.tune_context import TuneContext


class TaskFault(TuneError):
    """A part of one task cannot work; has the code, the place and the hint of what it raised."""


@contextmanager
def as_task_fault(task: Task, part: str) -> Iterator[None]:
    """Turn whatever is raised into the fault of a task."""
    try:
        yield
    except TaskFault:
        raise
    except WorkbenchError as error:
        raise TaskFault(error.code, error.message, error.where, error.hint) from error
    except Exception as error:
        raise TaskFault("tune.part", *_told(task, part, error)) from error


@contextmanager
def as_tune_error(task: Task, part: str) -> Iterator[None]:
    """Turn what is no `WorkbenchError` into one: the caller knows what to do with these."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        raise TuneError("tune.part", *_told(task, part, error)) from error


def _told(task: Task, part: str, error: Exception) -> tuple[str, list[str], str]:
    found = error.__traceback__
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    place = [] if found is None else [f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}"]
    message = f"The {part} failed: {type(error).__name__}: {shown(str(error))}"
    return message, [task.name, *place], "the place is where it was raised; the cause is kept as __cause__"


_PARTS: dict[str, tuple[Callable[[Any, str], AbstractContextManager[None]], str]] = {
    "space": (as_task_fault, "space"),
    "remark": (as_task_fault, "space"),
    "search": (as_task_fault, "search"),
    "seeds": (as_tune_error, "seeds"),
    "given": (as_tune_error, "candidate by hand"),
    "default": (as_tune_error, "default schedule"),
    "schedule": (as_tune_error, "schedule of a trial"),
    "predicted": (as_tune_error, "cost model"),
}
"""Methods of a context that a user's code may run in: what becomes of what it raises, and the name of the part."""

_MISSING = object()


def guarded(context: TuneContext) -> TuneContext:
    """Return a context whose parts raise nothing but `WorkbenchError`."""
    return cast("TuneContext", _GuardedContext(context))


class _GuardedContext:
    def __init__(self, context: TuneContext) -> None:
        self._inner = context

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in _PARTS:
            return method
        guard, part = _PARTS[name]

        def call(task: Task, *args: Any) -> Any:
            with guard(task, part):
                made = method(task, *args)
            return _GuardedSearch(task, made) if name == "search" else made

        return call


class _GuardedSearch:
    """A search whose faults are told as those of its task."""

    def __init__(self, task: Task, search: Any) -> None:
        vars(self).update(_task=task, _inner=search)

    def __getattr__(self, name: str) -> Any:
        with as_task_fault(self._task, "search"):
            found = getattr(self._inner, name, _MISSING)
        if found is _MISSING:
            raise AttributeError(name)
        if not callable(found):
            return found

        def call(*args: Any) -> Any:
            with (as_tune_error if name == "restrict" else as_task_fault)(self._task, "search"):
                return found(*args)

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        with as_task_fault(self._task, "search"):
            setattr(self._inner, name, value)
