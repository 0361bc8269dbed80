"""What measuring a state of a schedule gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.errors import WorkbenchError, render
from workbench.log import Record
from workbench.log.conditions import found_in
from workbench.markup import doubtful
from workbench.runtime import schedule_methods
from workbench.runtime.results.comparison_words import UNKNOWN
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Schedule
from workbench.session.core.protocol import error_json
from workbench.session.state.statistics import rounded
from workbench.target import Target

Key = tuple[int, str]
"""A state of a schedule: the task's number, and the steps as text."""

DISTURBED = "other programs disturbed it"
"""What is said of a disturbed time where nobody knows more."""


@dataclass(frozen=True, slots=True)
class Result:
    """What measuring one state gave; `status` is that of a measurement ("ok", "build_error", ...).

    Where other programs disturbed it, `why_not` says so, `ms` is what was seen (it takes no longer), `at_least_ms` how
    long it takes at least, if that is known, and there is neither a spread nor a speed.
    """

    status: str
    ms: float | None = None
    spread: float | None = None
    gflops: float | None = None
    error: str = ""
    why_not: str = ""
    at_least_ms: float | None = None
    #: Why there is this number and no longer another one.
    remark: str = ""
    #: Which variant takes the same time in turns, where this one's own time is longer.
    same: str = ""
    #: What it found in the caches, in words; "" where nobody knows.
    caches: str = ""
    #: All of it, until it is in a log.
    measurement: Measurement | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(measurement: Measurement) -> Result:
        """Keep what is shown of a measurement."""
        if not measurement.ok:
            return Result(measurement.status, error=measurement.error, measurement=measurement)
        ms, caches = measurement.ms, measurement.caches
        if not measurement.clean:
            least, why_not = measurement.at_least_ms or None, measurement.why_not
            return Result("ok", ms, why_not=why_not, at_least_ms=least, caches=caches, measurement=measurement)
        gflops = measurement.gflops or None
        return Result("ok", ms, measurement.spread, gflops, caches=caches, measurement=measurement)

    @staticmethod
    def of_record(record: Record, constants: bool = True) -> Result:
        """Keep what is shown of a trial, of a task with `constants` or without."""
        ms, caches = record.latency_ms, found_in(record.caches, constants) if record.ok else ""
        if not record.clean:
            why_not, least = record.why_not or DISTURBED, record.at_least_ms or None
            return Result(record.status, ms, error=record.error, why_not=why_not, at_least_ms=least, caches=caches)
        return Result(record.status, ms, record.spread, record.gflops, record.error, caches=caches)

    @property
    def clean_ms(self) -> float | None:
        """The time where nothing disturbed it: what can be compared with others."""
        return None if self.why_not else self.ms

    @property
    def bounds(self) -> tuple[float, float]:
        """Milliseconds between which its time lies: half the spread around it, or what a disturbed one still tells."""
        ms = self.ms or 0.0
        if self.why_not:
            return self.at_least_ms or 0.0, ms
        half = (UNKNOWN if self.spread is None else self.spread) / 2.0
        return ms * (1.0 - half), ms * (1.0 + half)

    def doubt(self) -> dict[str, Any] | None:
        """Return what a front end says beside a disturbed time; None for others."""
        if not self.why_not:
            return None
        return {"ms": doubtful(self.ms, self.at_least_ms), "at_least": rounded(self.at_least_ms), "text": self.why_not}


def measure(view: Schedule, target: Target, constants: str = "near") -> Result:
    """Build, check and time the schedule; an error that is raised becomes a result like any other.

    Parameters
    ----------
    constants : str
        Where it finds its constants, see `MeasureOptions`.
    """
    try:
        return Result.of(schedule_methods.measure(view.func, view.base, target, constants=constants))
    except WorkbenchError as error:
        return Result("run_error", error=render(error))
    except Exception as error:
        return Result("run_error", error=f"{error_json(error)['message']} [internal]")
