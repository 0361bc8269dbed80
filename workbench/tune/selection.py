"""Which tasks are meant: by position, key or name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.arguments import index, shown
from workbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from workbench.graph.tasks import Task


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
