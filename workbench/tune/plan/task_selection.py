"""Which tasks are meant: by position, key or name; and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import index, shown
from workbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.log import LogWriter


def select_tasks(tasks: Sequence[Task], only: Any) -> list[int]:
    """Return the positions of the tasks that `only` names (positions, keys, names or tasks); all when it is None."""
    if only is None:
        return list(range(len(tasks)))
    several = isinstance(only, Iterable) and not isinstance(only, str)
    chosen = sorted({position(tasks, item) for item in (only if several else [only])})
    if not chosen:
        raise UsageError("usage.no_tasks", "The list of tasks to tune is empty")
    return chosen


def position(tasks: Sequence[Task], item: object) -> int:
    """Return the position of the task that `item` (position, key, name or task) means, or raise ``usage.task``."""
    item = getattr(item, "key", item)
    keys = [task.key for task in tasks]
    if isinstance(item, str) and item in keys:  # first: some keys are made of digits alone
        return keys.index(item)
    if isinstance(item, str) and item.strip().isdecimal() and len(item) < 16:
        item = int(item)
    number = None if isinstance(item, bool) else index(item)
    if number is not None:
        if 0 <= number < len(tasks):
            return number
        hint = f"tasks are numbered 0 to {len(tasks) - 1}"
        raise UsageError("usage.task", f"There is no task {shown(number)}", (), hint)
    found = [i for i, task in enumerate(tasks) if isinstance(item, str) and task.name == item]
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"say it by its number: {', '.join(map(str, found))}"
        raise UsageError("usage.task", f"{len(found)} tasks are named {shown(item)}", (), hint)
    hint = did_you_mean(item, [task.name for task in tasks]) if isinstance(item, str) else "numbers, keys or names"
    raise UsageError("usage.task", f"There is no task {shown(item)}", (), hint)


def as_named(tasks: Sequence[Task], writer: LogWriter | None) -> Sequence[Task]:
    """Return the tasks with the log's names: one that comes as a schedule does not say which layer of a model it is."""
    if writer is None:
        return tasks
    names = {**{r.task_key: r.task for r in reversed(writer.found.records)}, **dict(writer.header.tasks)}
    other = {task.key for task in tasks if names.get(task.key, task.name) != task.name}
    first = {r.task_key: r for r in reversed(writer.found.records) if r.task_key in other}
    out = []
    for task in tasks:
        if task.key in other:
            told = first.get(task.key, task)
            task = replace(task, name=names[task.key], weight=told.weight, description=told.description)
        out.append(task)
    return tuple(out)
