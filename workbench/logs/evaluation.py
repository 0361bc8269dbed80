"""What one record of any tuner's log says: a configuration that was tried, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

SECONDS: Mapping[str, float] = MappingProxyType({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9})
"""Units of time, and how long they are."""

OF_ALL = "of all"
"""Stands behind the statistic where a log keeps only some of the repeats that the value is made of."""

NEVER = (1e9, 1e10)
"""Times that tuners write for a failure, in their unit: AutoTVM the first, the auto-scheduler and MetaSchedule the
second. In nanoseconds they are one second and ten.
"""

NEVER_FROM = 1e20
"""Value from which on a time stands for a failure: Kernel Tuner wrote this one."""

Status = Literal[
    "ok", "compile", "build-timeout", "run", "run-timeout", "wrong-answer", "constraint", "pruned", "filtered",
    "started-only", "unknown",
]  # fmt: skip
"""What can become of a configuration, over all tuners; `Evaluation.told` has the tuner's own word."""

STATUSES: Mapping[str, str] = MappingProxyType(
    {
        "ok": "measured",
        "compile": "did not compile",
        "build-timeout": "took too long to compile",
        "run": "failed while it ran",
        "run-timeout": "took too long to run",
        "wrong-answer": "computed something else",
        "constraint": "not allowed on this device or by the space",
        "pruned": "given up before its end",
        "filtered": "left out by the tuner before it was measured",
        "started-only": "begun, no end is written",
        "unknown": "failed, the log does not say how",
    }
)
"""Every status in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One configuration that a tuner has tried, in that tuner's words and units.

    Attributes
    ----------
    params : mapping
        Name of a parameter -> its value, of any type that JSON has.
    status : Status
        What became of it, in the words that all tuners share.
    told : str
        The same as the log writes it.
    value : float or None
        The objective, in `unit`; None where there is none.
    unit, objective, direction : str
        Unit of the value ("" where the log says none), what it is, and whether small or large values are good.
    statistic : str
        What the value is of `repeats`: mean, median, min; "" where the log does not say. With `OF_ALL` behind it, the
        log keeps only some of them.
    repeats : tuple of float
        The measurements behind the value, in its unit.
    run : str
        Which run of the tuner, where a log has several.
    task, device, target : str
        What was tuned, on what, for what; empty where the log does not say it.
    error : str
        What went wrong, as far as the log says it.
    timestamp, elapsed_s : float or None
        When it ended, in seconds since 1970, and in seconds since the run began.
    compile_s, run_s, verify_s, search_s, spent_s : float or None
        Seconds spent on it: compiling, measuring, checking, choosing it; and in all where only that is told.
    technique, generation, predicted
        Which search technique proposed it, in which generation, and with which prediction.
    extra : mapping
        What else the log tells: counters, energy, temperature, identifiers.
    where : str
        Where it stands in the file: ``line 12``, or a name.
    raw : Any
        The record as it was written (values as JSON has them); None where `offset` says where to find its line.
    offset : int
        First byte of its line in the unpacked file; -1 where it has none.
    """

    params: Mapping[str, Any]
    status: Status = "ok"
    told: str = ""
    value: float | None = None
    unit: str = ""
    objective: str = "time"
    direction: Literal["min", "max"] = "min"
    statistic: str = ""
    repeats: tuple[float, ...] = ()
    run: str = ""
    task: str = ""
    device: str = ""
    target: str = ""
    error: str = ""
    timestamp: float | None = None
    elapsed_s: float | None = None
    compile_s: float | None = None
    run_s: float | None = None
    verify_s: float | None = None
    search_s: float | None = None
    spent_s: float | None = None
    technique: str = ""
    generation: int | None = None
    predicted: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    raw: Any = None
    offset: int = -1

    def checked(self) -> Evaluation:
        """Return the evaluation, as failed where its value is a time that no kernel takes: 0, less, a failure's."""
        value, unit = self.value, self.unit
        if self.status != "ok" or value is None or unit not in SECONDS:
            return self
        if 0.0 < value < NEVER_FROM and (value not in NEVER or unit == "ns"):
            return self
        told = self.told or f"{value:g} {unit}"
        return replace(self, status="unknown", told=told, value=None, statistic="", repeats=())

    @property
    def cost_s(self) -> float | None:
        """The value in seconds, where it is a time and counts."""
        if self.status != "ok" or self.value is None or self.unit not in SECONDS:
            return None
        return self.value * SECONDS[self.unit]
