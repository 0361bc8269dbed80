"""Which tasks are meant: by position, key or name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from workbench.graph.tasks import Task


def select_tasks(tasks: Sequence[Task], only: Sequence[int | str] | None) -> list[int]:
    """Return the positions of the tasks that `only` names (positions, keys or names); all when it is None."""
    if only is None:
        return list(range(len(tasks)))
    if isinstance(only, int | str):
        only = [only]
    chosen = sorted({position(tasks, item) for item in only})
    if not chosen:
        raise UsageError("usage.no_tasks", "The list of tasks to tune is empty")
    return chosen


def position(tasks: Sequence[Task], item: object) -> int:
    """Return the position of the task that `item` (position, key or name) means, or raise ``usage.task``."""
    if isinstance(item, str) and item.strip().isdigit():
        item = int(item)
    if isinstance(item, int):
        if 0 <= item < len(tasks):
            return item
        raise UsageError("usage.task", f"There is no task {item}", (), f"tasks are numbered 0 to {len(tasks) - 1}")
    for attribute in ("key", "name"):
        found = [i for i, task in enumerate(tasks) if getattr(task, attribute) == item]
        if found:
            return found[0]
    hint = did_you_mean(str(item), [task.name for task in tasks])
    raise UsageError("usage.task", f"There is no task '{item}'", (), hint)
