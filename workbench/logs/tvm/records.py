"""What the logs of TVM's tuners share: numbers of errors, results, and what a target says of the device."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.logs.evaluation import Status

ERRORS: tuple[tuple[str, Status], ...] = (
    ("ok", "ok"),
    ("instantiation error", "constraint"),
    ("compile error on the host", "compile"),
    ("compile error for the device", "compile"),
    ("runtime error", "run"),
    ("wrong answer", "wrong-answer"),
    ("build timeout", "build-timeout"),
    ("run timeout", "run-timeout"),
    ("unknown error", "unknown"),
)
"""What the numbers of errors mean, from 0; AutoTVM and the auto-scheduler have the same (``MeasureErrorNo``)."""

NEVER_S = 1e9
"""Seconds that stand for a failure: AutoTVM writes 1e9, the auto-scheduler and MetaSchedule 1e10."""

_MODEL = re.compile(r"(?:^|\s)-?-model=(\S+)")


@dataclass(slots=True)
class Contradictions:
    """Records whose number of an error and cost say different things, by which of the two says ok."""

    number_says_ok: int = 0
    cost_says_ok: int = 0

    def tally(self) -> dict[str, int]:
        """Return the counts by name."""
        return {"number_says_ok": self.number_says_ok, "cost_says_ok": self.cost_says_ok}

    def add(self, other: Mapping[str, int]) -> None:
        """Add counts of other records."""
        self.number_says_ok += other.get("number_says_ok", 0)
        self.cost_says_ok += other.get("cost_says_ok", 0)


def measured(result: Sequence[Any], contradictions: Contradictions) -> dict[str, Any]:
    """Return the fields of an `Evaluation` that ``[costs, error number, seconds spent, time]`` tells."""
    costs, number, spent, timestamp = result
    repeats = tuple(map(float, costs))
    if not isinstance(number, int):
        raise TypeError("the number of an error is a whole number")
    told, status = ERRORS[number] if 0 <= number < len(ERRORS) else (f"error {number}", "unknown")
    good = bool(repeats) and all(0.0 < cost < NEVER_S for cost in repeats)
    if status == "ok" and not good:
        contradictions.number_says_ok += 1
        told, status = "ok, without a time", "unknown"
    elif status != "ok" and good:
        contradictions.cost_says_ok += 1
    good = good and status == "ok"
    return {
        "status": status,
        "told": told,
        "value": math.fsum(repeats) / len(repeats) if good else None,
        "unit": "s",
        "statistic": "mean",
        "repeats": repeats if good else (),
        "timestamp": float(timestamp),
        "spent_s": float(spent),
    }


def notes_of(contradictions: Contradictions) -> list[str]:
    """Return a sentence per kind of contradiction that was met."""
    notes = []
    if count := contradictions.number_says_ok:
        notes.append(f"{count} records have no error but no time either: they count as failed for an unknown reason.")
    if count := contradictions.cost_says_ok:
        notes.append(f"{count} records have an error and a time: they count as failed.")
    return notes


def device_of(target: str) -> str:
    """Return the model of the device that a target names; empty where it names none.

    >>> device_of("cuda -keys=cuda,gpu -model=t4")
    't4'
    """
    found = _MODEL.search(target)
    return "" if found is None or found[1] == "unknown" else found[1]
