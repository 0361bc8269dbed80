"""What measuring a state of a schedule gave, or two of them against each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from workbench.errors import WorkbenchError, render
from workbench.log import Record
from workbench.markup import doubtful
from workbench.runtime import schedule_methods
from workbench.runtime.results.comparison_words import UNKNOWN, against, outcome
from workbench.runtime.results.contest import Contest
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
    #: All of it, until it is in a log.
    measurement: Measurement | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(measurement: Measurement) -> Result:
        """Keep what is shown of a measurement."""
        if not measurement.ok:
            return Result(measurement.status, error=measurement.error, measurement=measurement)
        if not measurement.clean:
            least, why_not = measurement.at_least_ms or None, measurement.why_not
            return Result("ok", measurement.ms, why_not=why_not, at_least_ms=least, measurement=measurement)
        gflops = measurement.gflops or None
        return Result("ok", measurement.ms, measurement.spread, gflops, measurement=measurement)

    @staticmethod
    def of_record(record: Record) -> Result:
        """Keep what is shown of a trial."""
        if not record.clean:
            why_not, least = record.why_not or DISTURBED, record.at_least_ms or None
            return Result(record.status, record.latency_ms, error=record.error, why_not=why_not, at_least_ms=least)
        return Result(record.status, record.latency_ms, record.spread, record.gflops, record.error)

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


State = Literal["", "running", "failed"]


@dataclass(frozen=True, slots=True)
class PairResult:
    """What came of timing two states against each other; the first one is what the second is compared with."""

    keys: tuple[Key, Key]
    state: State = "running"
    contest: Contest | None = None
    error: str = ""

    def seen_from(self, first: Key) -> Contest:
        """Return the outcome with this state as the one that the other is compared with."""
        assert self.contest is not None
        if self.keys[0] == first:
            return self.contest
        return replace(self.contest, measurements=self.contest.measurements[::-1])

    def against(self, whose: str, other: Key, sure: bool = False) -> str:
        """Say how fast the other one of the two is beside `other`; "" until that is known.

        Parameters
        ----------
        sure : bool
            Whether to say how sure that is, too.
        """
        if self.contest is None or self.state:
            return ""
        seen = self.seen_from(other)
        certain = seen.confidence(1) if seen.ratio(1) <= 1.0 else seen.confidence(0, 1)
        return against(whose, seen.ratio(1), seen.differ(1), certain if sure else None, seen.why_not)

    def info(self, a: int, b: int, first: Key) -> dict[str, Any]:
        """Return what a front end shows of it: the time of `b` over that of `a`, and how sure the faster one is.

        Parameters
        ----------
        first : tuple
            State of the variant `a`.
        """
        ratio = confidence = resolution = ms = None
        if self.contest is not None and not self.state:
            seen = replace(self.seen_from(first), names=(f"v{a}", f"v{b}"))
            ratio, resolution = seen.ratio(1), seen.resolution(1)
            confidence = seen.confidence(1) if ratio <= 1.0 else seen.confidence(0, 1)
            text, ms = outcome(seen, 1, 0), [rounded(seen.latency_ms(0)), rounded(seen.beside_ms(1))]
        else:
            text = "they are being timed" if self.state == "running" else f"not timed: {self.error.splitlines()[0]}"
        return {
            "id": f"{a} {b}", "a": a, "b": b, "ratio": rounded(ratio, 4), "confidence": rounded(confidence, 6),
            "resolution": rounded(resolution, 2), "state": self.state, "error": self.error,
            "text": text, "ms": ms,
        }  # fmt: skip
