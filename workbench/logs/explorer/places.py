"""Where a record stands on axes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.logs.explorer.explorer import Explorer


def places(e: Explorer, names: Iterable[str], row: int) -> list[float | None]:
    """Return where a row stands on each axis, from 0 to 1; None where it has no value."""
    return [_place(e, name, row) for name in names]


def _place(e: Explorer, name: str, row: int) -> float | None:
    column = e.scope.columns[name]
    value = float(column.values[row])
    if (column.discrete and value < 0) or not np.isfinite(value):
        return None
    return float(column.scale(name in e.views.logs).place(np.array([value]))[0])
