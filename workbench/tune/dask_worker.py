"""What a `DaskRunner` does in the workers of a cluster: one `LocalRunner` per process, kept between calls."""

from __future__ import annotations

import platform
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.errors import WorkbenchError
from workbench.runtime.contest import Contest
from workbench.runtime.measure import LocalRunner, MeasureInput, Measurement, MeasureOptions

_runners: dict[tuple[str, int | None], LocalRunner] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a worker says of itself.

    Attributes
    ----------
    host : str
        Its name, as records have it.
    machine : str
        What it could compile for, in a target's text form, for one thread.
    problem : str
        Why it cannot measure for the target; empty when it can.
    """

    host: str
    machine: str
    problem: str = ""


def host_name() -> str:
    """Return the name of this machine, as records have it."""
    return f"{platform.node()} {platform.machine()}"


def introduce(target: str) -> Introduction:
    """Say what machine this is, and whether it can measure for a target."""
    from workbench.codegen import require_runnable
    from workbench.target import Target

    machine = str(Target.host(threads=1))
    try:
        require_runnable(Target(target))
    except WorkbenchError as error:
        return Introduction(host_name(), machine, error.message)
    return Introduction(host_name(), machine)


def measure(
    target: str, builders: int | None, inputs: Sequence[MeasureInput], options: MeasureOptions
) -> list[Measurement]:
    """Measure some candidates, one after the other; ``cancelled`` where `abort` came first."""
    found = [Measurement(status="cancelled") for _ in inputs]
    for position, measurement in _runner(target, builders).measure_many(inputs, options):
        found[position] = replace(measurement, host=host_name())
    return found


def contest(
    target: str, builders: int | None, inputs: Sequence[MeasureInput], options: MeasureOptions, rules: Any
) -> Contest:
    """Time candidates of one task in alternating blocks."""
    result = _runner(target, builders).contest(inputs, options, rules)
    return replace(result, measurements=tuple(replace(m, host=host_name()) for m in result.measurements))


def abort() -> None:
    """Throw away what is being measured in this process."""
    for runner in list(_runners.values()):
        runner.cancel()


def let_go() -> None:
    """End the processes that measure for this one."""
    with _lock:
        runners = list(_runners.values())
        _runners.clear()
    for runner in runners:
        runner.close()


def _runner(target: str, builders: int | None) -> LocalRunner:
    from workbench.target import Target

    with _lock:
        key = (target, builders)
        if key not in _runners:
            _runners[key] = LocalRunner(Target(target), builders=builders)
        return _runners[key]
