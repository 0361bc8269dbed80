"""What is chosen of a log, and how the views show it: values that a front end sends and Python can set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

from workbench.errors import UsageError, did_you_mean
from workbench.logs.explorer.columns import Columns

MOST_AXES = 16
"""Axes of the parallel coordinates at most: more have no room for their names."""

MOST_ROWS = 400
"""Rows of the table that are sent at once."""


@dataclass(frozen=True, slots=True)
class Brush:
    """A range of one column.

    Attributes
    ----------
    low, high : float
        Both ends count. Of a column with labels: their numbers.
    missing : bool
        Rows without a value instead.
    """

    low: float = -math.inf
    high: float = math.inf
    missing: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the brush as a front end reads it."""
        return {"low": _finite(self.low), "high": _finite(self.high), "missing": self.missing}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records are chosen: those of a task that every brush, the statuses and the filter let through.

    Attributes
    ----------
    task : str
        Only this task, with axes of its own; "" for all.
    statuses : tuple of str
        Only these; empty for all.
    text : str
        A filter, see `workbench.logs.explorer.filters`.
    brushes : mapping
        Name of a column -> its `Brush`.
    """

    task: str = ""
    statuses: tuple[str, ...] = ()
    text: str = ""
    brushes: Mapping[str, Brush] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Views:
    """What the views show.

    Attributes
    ----------
    axes : tuple of str
        Columns of the parallel coordinates, from left to right.
    logs : tuple of str
        Columns whose axes are those of factors.
    x, y : str
        Columns of the scatter plot.
    histogram : str
        Column of the histogram.
    by_time : bool
        Whether the best so far is drawn over the time since the run began instead of the number of evaluations.
    sort : str
        Column that orders the table.
    descending : bool
    first, count : int
        Rows of the table that are on the screen.
    """

    axes: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    x: str = ""
    y: str = ""
    histogram: str = ""
    by_time: bool = False
    sort: str = ""
    descending: bool = False
    first: int = 0
    count: int = 32


_V = TypeVar("_V", Selection, Views)


def changed(value: _V, change: Mapping[str, Any], columns: Columns) -> _V:
    """Return a selection or views with some fields replaced; what comes from a front end is checked.

    Raises
    ------
    UsageError
        "explorer.change" for a field or column that is not there, or a value that it cannot have.
    """
    known = {f.name: f for f in fields(value)}
    made: dict[str, Any] = {}
    for name, new in change.items():
        if name not in known:
            raise _refusal(f"The explorer has no setting {name!r}", did_you_mean(str(name), known, "settings"))
        made[name] = _checked(name, getattr(value, name), new, columns)
    return replace(value, **made)


def _checked(name: str, old: Any, new: Any, columns: Columns) -> Any:
    if name == "brushes":
        return MappingProxyType(_brushes(new, columns))
    if name == "statuses":
        return tuple(_among(one, columns["status"].keys, "statuses") for one in _list(name, new))
    if name == "axes":
        return tuple(dict.fromkeys(_among(one, columns, "columns") for one in _list(name, new)))[:MOST_AXES]
    if name == "logs":
        return tuple(_among(one, columns, "columns") for one in _list(name, new))
    if name in ("x", "y", "histogram", "sort"):
        return _among(new, columns, "columns")
    if name == "task" and new:
        return _among(new, columns["task"].keys, "tasks")
    if type(new) is not type(old) or (isinstance(new, int) and not 0 <= new <= 2**53):
        raise _refusal(f"The explorer's setting {name!r} cannot be {str(new)[:40]!r}", f"such as {old!r}")
    return min(new, MOST_ROWS) if name == "count" else new


def _list(name: str, new: Any) -> Sequence[Any]:
    if isinstance(new, list | tuple):
        return new
    raise _refusal(f"The explorer's setting {name!r} is a list", "give a list of names")


def _among(name: Any, known: Any, what: str) -> str:
    if not isinstance(name, str) or name not in known:
        raise _refusal(f"The log has no {what[:-1]} {str(name)[:80]!r}", did_you_mean(str(name), known, what))
    return name


def _brushes(new: Any, columns: Columns) -> dict[str, Brush]:
    if not isinstance(new, Mapping):
        raise _refusal("Brushes are given by the names of their columns", "such as {'cost': Brush(0, 1)}")
    made = {}
    for name, value in new.items():
        _among(name, columns, "columns")
        brush = value if isinstance(value, Brush) else _brush(name, value)
        if brush is not None:
            made[name] = brush
    return made


def _brush(name: str, value: Any) -> Brush | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _refusal(f"The brush of {name!r} is no range", "give its two ends")
    ends = []
    for end, otherwise in (("low", -math.inf), ("high", math.inf)):
        given = value.get(end)
        if given is not None and (isinstance(given, bool) or not isinstance(given, int | float)):
            raise _refusal(f"The brush of {name!r} has an end that is no number", "give two numbers")
        ends.append(otherwise if given is None else float(given))
    return Brush(min(ends), max(ends), value.get("missing") is True)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _refusal(message: str, hint: str) -> UsageError:
    return UsageError("explorer.change", message, (), hint)
