"""Weights stored for the schedule, ahead of time."""

from __future__ import annotations

from workbench.errors import ScheduleError
from workbench.ir import Func, accesses, blocks
from workbench.schedule.schedule import Schedule


def rewrite_layouts(schedule: Schedule) -> list[str]:
    """Store the weights as their innermost loop reads them; returns what stays as it is, in words."""
    left = []
    for buffer in [b for b in schedule.buffers if b.role == "const"]:
        found = innermost_read(schedule.func, buffer.name)
        if found is None:
            left.append(f"no loop reads neighbours of {buffer.name}")
            continue
        try:
            schedule.transform_layout(buffer.name, *found)
        except ScheduleError as error:
            left.append(error.message)
    return left


def innermost_read(func: Func, buffer: str) -> tuple[int, int] | None:
    """The dimension of a buffer along which its innermost loop reads it, and how many elements; None where the loop
    reads all of the dimension, or along several.
    """
    readers = [(b, path) for b, path in blocks(func.body) if buffer in {ld.buffer for ld in b.loads()}]
    if len(readers) != 1:
        return None
    block, path = readers[0]
    index = next(a.index for a in accesses(block) if a.buffer == buffer and not a.is_write)
    for loop in reversed(path):
        dims = [d for d, form in enumerate(index) if loop.name in form.vars]
        if loop.extent == 1 or not dims:
            continue
        whole = func.buffer(buffer).shape[dims[0]]
        if len(dims) > 1 or not isinstance(loop.extent, int) or loop.extent == whole:
            return None
        return dims[0], loop.extent
    return None
