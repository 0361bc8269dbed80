"""Measuring the schedule on show, and keeping what came out by trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError, render
from workbench.runtime import services

from .protocol import error_json

if TYPE_CHECKING:
    from workbench.runtime.results import Measurement
    from workbench.schedule import Schedule
    from workbench.target import Target
    from workbench.tune.record import Record

Key = tuple[int, str]
"""A state of a schedule: the task's number, and the steps as text."""


@dataclass(frozen=True, slots=True)
class Result:
    """What measuring one state gave; `status` is that of a measurement ("ok", "build_error", ...)."""

    status: str
    ms: float | None = None
    spread: float | None = None
    gflops: float | None = None
    error: str = ""
    #: All of it, until it is in a log.
    measurement: Measurement | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(measurement: Measurement) -> Result:
        """Keep what is shown of a measurement."""
        if not measurement.ok:
            return Result(measurement.status, error=measurement.error, measurement=measurement)
        gflops = measurement.gflops or None
        return Result("ok", measurement.ms, measurement.spread, gflops, measurement=measurement)

    @staticmethod
    def of_record(record: Record) -> Result:
        """Keep what is shown of a trial."""
        return Result(record.status, record.latency_ms, record.spread, record.gflops, record.error)


def measure(view: Schedule, target: Target, constants: str = "near") -> Result:
    """Build, check and time the schedule; an error that is raised becomes a result like any other.

    Parameters
    ----------
    constants : str
        Where it finds its constants, see `MeasureOptions`.
    """
    try:
        return Result.of(services.measure(view.func, view.base, target, constants=constants))
    except WorkbenchError as error:
        return Result("run_error", error=render(error))
    except Exception as error:
        return Result("run_error", error=f"{error_json(error)['message']} [internal]")
