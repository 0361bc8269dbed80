"""Traces: the steps of a schedule as values, as JSON and as a Python script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..errors import ScheduleError, WorkbenchError
from .primitive import Json, Primitive, from_json

Trace: TypeAlias = tuple[Primitive, ...]


def trace_to_json(trace: Iterable[Primitive]) -> list[Json]:
    """``[{"primitive": "split", "args": {"loop": "i", "factors": [null, 8]}}, ...]``."""
    return [p.to_json() for p in trace]


def trace_from_json(data: str | Sequence[object]) -> Trace:
    """Read a trace from JSON text or from the list that it stands for. Nothing in it is evaluated.

    Raises
    ------
    ScheduleError
        "trace.json" when it is not a list of steps, "trace.step" and "primitive.unknown" for a step that cannot be
        read; `where` begins with the number of the step.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as e:  # no JSON, a number of thousands of digits, or lists without end
            raise ScheduleError(
                "trace.json", f"The trace is not JSON: {e}.", ("trace",), "see Schedule.to_json()"
            ) from None
    if not isinstance(data, list | tuple):
        raise ScheduleError(
            "trace.json",
            f"A trace is a list of steps, not {type(data).__name__}.",
            ("trace",),
            "see Schedule.to_json()",
        )
    steps = []
    for k, step in enumerate(data):
        try:
            steps.append(step if isinstance(step, Primitive) else from_json(step))
        except WorkbenchError as e:
            e.where = (f"step {k}", *e.where)
            raise
    return tuple(steps)


def script(trace: Iterable[Primitive], func_source: str, parsed: bool = False) -> str:
    """Text of a Python script that rebuilds the schedule as ``s``.

    Parameters
    ----------
    trace : iterable of Primitive
    func_source : str
        A Python expression for the function, such as ``wb.workloads.matmul(512, 512, 512)``.
    parsed : bool
        Whether the expression uses ``parse`` of the nest's text.
    """
    steps = [p.to_python("s") for p in trace]
    imports = ["import workbench as wb"]
    if parsed:
        imports.append("from workbench.ir.parser import parse")
    if any("Hole(" in s for s in steps):
        imports.append("from workbench.schedule import Hole")
    return "\n".join([*imports, "", f"s = wb.Schedule({func_source})", *steps, "print(s.nest())", ""])
