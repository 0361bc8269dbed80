"""What importers say about an objective: its unit, whether little is good, which statistic it is, what is a number."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from workbench.errors import UsageError
from workbench.safe_text import legible_line

Direction = Literal["min", "max"]

UNITS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
        **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds", "milisecond", "miliseconds"), "ms"),
        **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), "us"),
        **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), "ns"),
    }
)
"""Units of time as logs spell them (in small letters), in ours; ``miliseconds`` is how T4 files of a hub have it."""

FAILED_AS_NUMBER = 1e20
"""Value from which on a number stands for a failure: Kernel Tuner wrote this one for a time."""

_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = MappingProxyType(
    {"mean": statistics.fmean, "median": statistics.median, "min": min, "max": max}
)
_LITTLE = re.compile(r"time|duration|latency|energy|power|cost|loss|error|cycles|(^|_)edp$|_s$|_ms$|_us$|_ns$", re.I)
_MUCH = re.compile(r"flops?|/s\b|/w\b|/j\b|score|speed|throughput|bandwidth|efficiency|accuracy|occupancy|rate$", re.I)


def unit_of(told: object) -> str:
    """Return a unit as `workbench.logs.SECONDS` has it where it is one of time, else as it was told."""
    text = told if isinstance(told, str) else ""
    return UNITS.get(text.strip().lower(), text)


def direction_of(objective: str, hints: Mapping[str, Any]) -> tuple[Direction, str]:
    """Return whether small or large values of an objective are good, for formats that do not say it.

    Parameters
    ----------
    objective : str
        Its name.
    hints : mapping
        What the caller of `open` says; its ``direction`` decides.

    Returns
    -------
    direction : {"min", "max"}
        What to take.
    note : str
        What was assumed, for the reader of the table; "" where nothing was.

    Raises
    ------
    UsageError
        ``usage.direction`` for a hint that is neither.
    """
    said = hints.get("direction")
    if said is not None:
        if said not in ("min", "max"):
            raise UsageError("usage.direction", f"{said!r} is no direction", ("direction",), 'say "min" or "max"')
        return said, ""
    much = _MUCH.search(objective) is not None
    if _LITTLE.search(objective) and not much:
        return "min", ""
    name, word = legible_line(objective), "large" if much else "small"
    other = "min" if much else "max"
    note = (
        f"The log does not say whether small or large values of {name!r} are good; "
        f'taken: {word} (direction="{other}" for the other).'
    )
    return ("max" if much else "min"), note


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300  # NaN is not, either


def numbers(values: Any) -> Iterator[float]:
    """Yield the numbers of a list; nothing else of it, and nothing of what is no list."""
    if isinstance(values, list):
        yield from (float(value) for value in values if is_number(value))


def scaled(value: Any, by: float) -> float | None:
    """Return a number times a factor; None for what is no number."""
    return float(value) * by if is_number(value) else None


def statistic_of(value: float, repeats: Sequence[float]) -> str:
    """Return what a value is of its repeats: mean, median, min, max; "" where it is none of these."""
    if repeats:
        for name, statistic in _STATISTICS.items():
            of = statistic(repeats)
            if abs(value - of) <= 1e-6 * max(abs(of), abs(value)):
                return name
    return ""
