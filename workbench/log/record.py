"""One measured trial, as it stands in the log.

The dataclass below *is* the log format: every field becomes one JSON key of a line and one column of the table, its
meaning beside it. Fields that a newer version has added are kept in `Record.extra` and written back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from workbench.errors import TuneError
from workbench.log.columns import Line, column, columns, unknown_fields

if TYPE_CHECKING:
    from workbench.runtime.results.measurement import Measurement

SCHEMA = 1
"""Version of a trial's line that has all fields by their names; `workbench.log.rows` has the short form."""

COSTS_KEPT = 100
"""Repeats that a comparison keeps of each participant; a kernel of some nanoseconds is repeated thousands of times.
Chosen."""

TRIAL_COSTS = 10
"""Repeats that a trial keeps. The latency and the spread are those of all repeats. Chosen: a log has many trials."""

CONDITIONS = ("constants in memory", "constants shared", "flushed")
"""States of the caches that rank before all others, in this order; see `Record.warmth`."""

Status = Literal["ok", "build_error", "run_error", "wrong_answer", "timeout", "cancelled"]
STATUSES: tuple[str, ...] = ("ok", "build_error", "run_error", "wrong_answer", "timeout", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Line):
    """Everything that is known about one trial."""

    kind: ClassVar[str] = "trial"

    task_key: str = column("structural key of the task")
    task: str = column("readable name of the task")
    trial: int = column("running number of the trial in this log, from 0")
    status: str = column("ok, build_error, run_error, wrong_answer, timeout or cancelled")
    target: str = column("the target, in its text form")
    description: str = column("what the task computes, in words", default="")
    weight: int = column("how often the task occurs in the model", default=1)
    flops: int = column("floating-point operations of one execution", default=0)
    host: str = column("machine that measured", default="")
    round: int = column("running number of the batch that the trial belongs to", default=0)
    space: str = column("identifier of the space that the candidate was drawn from", default="")
    variant: int = column("variant of the space; -1 when the trace is not a row of the space", default=-1)
    row: Mapping[str, int] = column("value of every hole", default_factory=dict)
    trace: tuple[Mapping[str, Any], ...] = column("the schedule: primitives with their numbers", default=())
    key: str = column("structural key of the filled candidate; equal keys are the same program", default="")
    origin: str = column(
        "who proposed it: default, seed, sketch, template, mutation, crossover, random, manual", default=""
    )
    parent: str | None = column("key of the candidate that it was derived from", default=None)
    mutation: str | None = column("what was changed in the parent", default=None)
    seed: int = column("seed of the session", default=0)
    predicted: float | None = column("score that the cost model gave before the measurement", default=None)
    model: str | None = column("version of the cost model that predicted", default=None)
    caches: str = column(
        "what a call found in the caches: warm (everything), constants shared or constants in memory (all else, as in a"
        " network), flushed (nothing); empty in older logs",
        default="",
    )
    costs_ms: tuple[float, ...] = column(
        f"timed repeats in milliseconds; of more than {TRIAL_COSTS}, every n-th", default=()
    )
    latency_ms: float | None = column(
        "the latency that ranks the candidate, in milliseconds", positive=True, default=None
    )
    spread: float | None = column("relative spread of the repeats", default=None)
    clean: bool = column(
        "whether the repeats were timed undisturbed; where not, `latency_ms` is an upper bound, and the trial is not"
        " the best while a clean one is known",
        default=True,
    )
    why_not: str = column("what disturbed the repeats, in words; empty where nothing did", default="")
    at_least_ms: float = column(
        "how long a call takes at least, in milliseconds, where something disturbed the repeats; 0 where nobody knows",
        default=0.0,
    )
    compile_s: float = column("time to build the candidate, in seconds", default=0.0)
    run_s: float = column("time that checking and timing took, in seconds", default=0.0)
    max_rel_error: float | None = column(
        "largest error of an element over what rounding may make of it: up to 1 is right", default=None
    )
    elapsed_s: float = column("tuning time of this log when the trial ended, in seconds", default=0.0)
    timestamp: float = column("seconds since the epoch when the trial ended", default=0.0)
    error: str = column("full text of the error; empty when there is none", default="")
    schema: int = column("version of the log format", default=SCHEMA)
    extra: Mapping[str, Any] = unknown_fields()

    @property
    def ok(self) -> bool:
        """Whether the trial counts: it ran, its result was right and it was timed."""
        return self.status == "ok" and self.latency_ms is not None

    @property
    def program(self) -> str:
        """What tells the program from others of the task; empty where the line does not say it."""
        if self.key and not self.key.startswith("default:"):
            return self.key
        told = self.key or self.row or self.trace
        return f"{self.key}:{self.variant}:{sorted(self.row.items())}:{self.trace}" if told else ""

    @property
    def warmth(self) -> int:
        """What the trial's latency can be compared with: only others of the same warmth. The lowest ranks first: as in
        a network, then after flushing, then with everything in the caches (or nobody knows what).
        """
        return CONDITIONS.index(self.caches) if self.caches in CONDITIONS else len(CONDITIONS)

    @property
    def gflops(self) -> float | None:
        """Speed in GFLOP/s, or None when nothing was timed."""
        return speed(self.flops, self.latency_ms) if self.ok else None


USUAL: Mapping[str, Any] = {f.name: f.default for f in columns(Record) if not f.required}
"""What fields of a trial are that nobody told."""


def speed(flops: int, latency_ms: float | None) -> float | None:
    """Return GFLOP/s for `flops` done in `latency_ms`; None when there is no latency."""
    if latency_ms is None or not math.isfinite(latency_ms) or latency_ms <= 0.0:
        return None
    return flops / (latency_ms * 1e6)


def digits(number: float, count: int = 9) -> float:
    """Return a number with as many significant digits: further ones say nothing of a time, and take room."""
    return float(f"{number:.{count}g}")


def outcome(measurement: Measurement) -> dict[str, Any]:
    """Return the fields of a record that come from a measurement."""
    ok = measurement.status == "ok"
    latency = measurement.ms if ok else None
    if ok and (latency is None or not math.isfinite(latency)):
        raise TuneError("tune.measurement", "The runner reported success without a time")
    costs = [cost for cost in measurement.costs_ms if math.isfinite(cost)]
    return {
        "status": measurement.status,
        "error": measurement.error or "",
        "costs_ms": tuple(digits(c, 4) for c in costs[:: -(-len(costs) // TRIAL_COSTS) or 1]),
        "latency_ms": None if latency is None else max(digits(latency), 1e-9),
        "spread": None if measurement.spread is None else digits(measurement.spread, 3),
        "compile_s": digits(measurement.compile_s, 3),
        "run_s": digits(measurement.run_s, 3),
        "max_rel_error": None if measurement.max_rel_error is None else digits(measurement.max_rel_error, 3),
        "clean": measurement.clean,
        "why_not": measurement.why_not,
        "at_least_ms": digits(measurement.at_least_ms) if measurement.why_not else 0.0,
    }
