"""What the tables for readers show: a time in the unit that fits its size, a configuration in columns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.forms import plain
from workbench.logs.evaluation import SECONDS

MOST_COLUMNS = 16
"""Parameters that get a column each. Chosen: more do not fit beside one another."""


def readable(value: float, unit: str) -> tuple[float, str]:
    """Return a factor and a unit for values of this size: those of a time that is short or long in its own unit."""
    size = abs(value) * SECONDS.get(unit, 0.0)
    if not size or not math.isfinite(size) or 0.01 <= abs(value) < 1e4:
        return 1.0, "µs" if unit == "us" else unit
    better = next((u for u in ("s", "ms", "us") if size >= SECONDS[u]), "ns")
    return SECONDS[unit] / SECONDS[better], "µs" if better == "us" else better


def shown(value: float | None, unit: str = "") -> str:
    """Return a number with its unit, four digits of it; a time that is short or long in its unit, in another one. A
    value that is missing (None, NaN) is a dash.
    """
    if value is None or math.isnan(value):
        return "-"
    factor, better = readable(value, unit)
    return f"{factor * value:.4g} {better}".strip()


def in_columns(params: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells for configurations: a column per parameter, or one with JSON where there are too many."""
    names = list(dict.fromkeys(name for one in params for name in one))
    if len(names) > MOST_COLUMNS:
        return ["Parameters"], [[_text(dict(one))] for one in params]
    return names, [[_text(one[name]) if name in one else "" for name in names] for one in params]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
