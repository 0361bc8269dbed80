"""The best so far of each run and task, as curves of steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.logs.explorer.scales import of_numbers

if TYPE_CHECKING:
    from workbench.logs.explorer.explorer import Explorer

MOST_CURVES = 8
"""Curves that are drawn: those of the runs and tasks with the most records."""


def series(e: Explorer) -> Mapping[str, Any]:
    """Return the curves: for each its name and, of all records and of what is chosen, where it steps down."""
    scope, columns = e.scope, e.scope.columns
    at, unit = _when(e)
    name = columns.cost
    curves: list[dict[str, Any]] = []
    groups = _curves(e)
    for label, rows in groups[:MOST_CURVES]:
        when = np.arange(1, len(rows) + 1, dtype=np.float64) if at is None else at[rows]
        if at is not None:
            order = np.argsort(when, kind="stable")
            rows, when = rows[order], when[order]
        cost = scope.signed_cost[rows]
        mask = scope.chosen.mask[rows]
        curves.append({
            "name": label, "end": float(np.nanmax(when, initial=0.0)), "all": _steps(when, cost, columns.direction),
            "chosen": _steps(when[mask], cost[mask], columns.direction),
        })  # fmt: skip
    low, high = _limits([c["all"] for c in curves])
    log = name in e.views.logs
    scale = of_numbers(low, high, log)
    end = max((c["end"] for c in curves), default=1.0)
    across = of_numbers(0.0, end or 1.0, False)
    return {
        "curves": curves, "more": max(0, len(groups) - MOST_CURVES), "by_time": at is not None,
        "can_time": _elapsed(e) is not None, "x": _axis(across, unit), "y": _axis(scale, name),
    }  # fmt: skip


def _axis(scale: Any, name: str) -> Mapping[str, Any]:
    ticks = [[float(scale.place(np.array([at]))[0]), text] for at, text in scale.ticks]
    return {"title": name, "low": scale.low, "high": scale.high, "log": scale.log, "ticks": ticks}


def _when(e: Explorer) -> tuple[npt.NDArray[np.float64] | None, str]:
    elapsed = _elapsed(e) if e.views.by_time else None
    return (None, "evaluations") if elapsed is None else (elapsed, "seconds")


def _elapsed(e: Explorer) -> npt.NDArray[np.float64] | None:
    column = e.scope.columns.by_name.get("elapsed_s")
    return None if column is None else column.values


def _curves(e: Explorer) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Return a name and the rows of each curve, the longest first."""
    columns = e.scope.columns
    split = [columns[n] for n in ("run", "device", "task") if n in columns and columns[n].varies]
    if not split:
        return [("", np.arange(columns.n))] if columns.n else []
    key = np.zeros(columns.n, np.int64)
    for column in split:
        key = key * (len(column.labels) + 1) + column.values + 1
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    parts = sorted(np.split(order, starts[1:]), key=len, reverse=True)
    return [(" · ".join(c.text(int(rows[0])) for c in split), rows) for rows in parts]


def _steps(
    when: npt.NDArray[np.float64], cost: npt.NDArray[np.float64], direction: str
) -> Mapping[str, npt.NDArray[np.float32]]:
    if not len(cost):
        return {"x": np.zeros(0, np.float32), "y": np.zeros(0, np.float32)}
    so_far = np.minimum.accumulate(cost)
    better = np.flatnonzero(so_far < np.concatenate(([np.inf], so_far[:-1])))
    y = -cost[better] if direction == "max" else cost[better]
    return {"x": when[better].astype(np.float32), "y": y.astype(np.float32)}


def _limits(curves: list[Any]) -> tuple[float, float]:
    values = np.concatenate([c["y"] for c in curves]) if curves else np.zeros(0, np.float32)
    return (float(values.min()), float(values.max())) if len(values) else (np.nan, np.nan)
