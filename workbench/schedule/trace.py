"""Traces: the steps of a schedule as values, as JSON and as a Python script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from workbench.errors import ScheduleError, WorkbenchError
from workbench.ir import Func
from workbench.ir.text.printer import to_text
from workbench.safe_text import legible_line, python_literal
from workbench.schedule.primitive import Json, Primitive, from_json

Trace: TypeAlias = tuple[Primitive, ...]

Recorded: TypeAlias = tuple[float, float | None, str]
"""What was measured: milliseconds, and the spread where there is one."""


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
    if isinstance(data, bytes) or not isinstance(data, Sequence):
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


def script(
    trace: Iterable[Primitive],
    func: Func,
    source: str | None = None,
    *,
    target: str = "",
    about: Iterable[str] = (),
    measure: Mapping[str, object] | None = None,
    recorded: Recorded | None = None,
) -> str:
    """Text of a Python script that rebuilds the schedule as ``s``.

    Parameters
    ----------
    trace : iterable of Primitive
    func : Func
        The unscheduled function.
    source : str, optional
        A Python expression for it, such as ``wb.workloads.matmul(512, 512, 512)``, which the caller answers for; its
        printed nest is parsed otherwise.
    target : str, optional
        What to compile for, in its text form.
    about : iterable of str
        Lines of comment at the top.
    measure : mapping, optional
        Options of a measurement, with which the script ends; without it the script only prints the nest.
    recorded : (float, float or None, str), optional
        Milliseconds and spread of an earlier measurement, which the script then says whether it has reproduced; and
        what disturbed it, "" where nothing did.
    """
    steps = [p.to_python("s") for p in trace]
    imports = ["import workbench as wb"]
    if not source:
        imports.append("from workbench.ir.text.parser import parse")
        source = f"parse({python_literal(chr(10) + to_text(func))})"
    if any("Hole(" in s for s in steps):
        imports.append("from workbench.schedule import Hole")
    comment = [f"# {legible_line(line)}" for line in about]
    machine = [f"target = wb.Target({target!r})"] if target else []
    start = f"s = wb.Schedule({source}{', target' if target else ''})"
    end = [] if measure is None else _measuring(measure, recorded)
    return "\n".join([*comment, *imports, "", *machine, start, *steps, "print(s.nest())", *end, ""])


def _measuring(options: Mapping[str, object], recorded: Recorded | None) -> list[str]:
    """Lines that measure and print; guarded, because a file that starts processes may be read again by them."""
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    if recorded is None:
        does, code = f"s.measure({given})", "0 if found.ok else 1"
    else:
        ms, spread, disturbed = recorded
        doubt = f"disturbed={python_literal(disturbed)}, " if disturbed else ""
        does = f"s.reproduce({ms!r}, spread={spread!r}, {doubt}{given})"
        code = "found.exit_code)  # 0: the same; 1: slower, or it failed; 2: faster, or nobody can tell"
    return [
        "",
        'if __name__ == "__main__":',
        f"    found = {does}",
        "    print(found)",
        f"    raise SystemExit({code}" + ("" if recorded else ")"),
    ]
