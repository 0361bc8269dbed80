"""The best so far of each run and task, as curves of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.logs.explorer.explorer import NO_RANK
from workbench.logs.explorer.scales import Scale, of_numbers

if TYPE_CHECKING:
    from workbench.logs.explorer.explorer import Explorer, Scope

MOST_CURVES = 8
"""Curves that are drawn: those of the runs and tasks with the most records."""

BLOCK = 4096
"""Records that are looked at together. Chosen: the best of a block is found several times as fast as the steps in it,
and of many blocks few have any."""

Steps = Mapping[str, npt.NDArray[np.float32]]
Floats = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The records of one run and task in their order: their rows, when they were, their ranks by cost."""

    name: str
    rows: npt.NDArray[np.int64]
    when: Floats
    rank: Ranks
    steps: Steps
    end: float


def series(e: Explorer) -> Mapping[str, Any]:
    """Return the curves: for each its name and, of all records and of what is chosen, where it steps down."""
    scope, name = e.scope, e.scope.columns.cost
    elapsed = "elapsed_s" in scope.columns
    by_time = e.views.by_time and elapsed
    curves, others = scope.kept(("curves", by_time), lambda: _curves(scope, by_time))
    ends = [curve.steps["y"] for curve in curves]
    values = np.concatenate(ends) if ends else np.zeros(0, np.float32)
    low, high = (float(values.min()), float(values.max())) if len(values) else (np.nan, np.nan)
    across = of_numbers(0.0, max((curve.end for curve in curves), default=0.0) or 1.0, False)
    return {
        "curves": [_shown(scope, curve) for curve in curves], "more": others, "by_time": by_time, "can_time": elapsed,
        "x": _axis(across, "seconds" if by_time else "evaluations"),
        "y": _axis(of_numbers(low, high, name in e.views.logs), name),
    }  # fmt: skip


def _shown(scope: Scope, curve: Curve) -> Mapping[str, Any]:
    mask = scope.chosen.mask.take(curve.rows)
    chosen = _steps(scope, curve.rows, curve.when, np.where(mask, curve.rank, NO_RANK))
    return {"name": curve.name, "end": curve.end, "all": curve.steps, "chosen": chosen}


def _axis(scale: Scale, name: str) -> Mapping[str, Any]:
    ticks = [[float(scale.place(np.array([at]))[0]), text] for at, text in scale.ticks]
    return {"title": name, "low": scale.low, "high": scale.high, "log": scale.log, "ticks": ticks}


def _curves(scope: Scope, by_time: bool) -> tuple[list[Curve], int]:
    """Return the longest curves, and how many others there are."""
    groups = _groups(scope)
    return [_curve(scope, name, rows, by_time) for name, rows in groups[:MOST_CURVES]], max(
        0, len(groups) - MOST_CURVES
    )


def _curve(scope: Scope, name: str, rows: npt.NDArray[np.int64], by_time: bool) -> Curve:
    if by_time:
        when = scope.columns["elapsed_s"].values[rows]
        order = np.argsort(when, kind="stable")
        rows, when = rows[order], when[order]
    else:
        when = np.arange(1, len(rows) + 1, dtype=np.float64)
    rank = scope.rank[rows]
    finite = when[np.isfinite(when)]
    end = float(finite.max()) if len(finite) else 0.0
    return Curve(name, rows, when, rank, _steps(scope, rows, when, rank), end)


def _groups(scope: Scope) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Return a name and the rows of each curve, the longest first."""
    columns = scope.columns
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


def _better(rank: Ranks) -> npt.NDArray[np.int64]:
    """Return which ranks are smaller than all before."""
    so_far = np.minimum.accumulate(rank)
    return np.flatnonzero(so_far < np.concatenate(([NO_RANK], so_far[:-1])))


def _steps(scope: Scope, rows: npt.NDArray[np.int64], when: Floats, rank: Ranks) -> Steps:
    whole = len(rank) // BLOCK * BLOCK
    firsts = rank[:whole].reshape(-1, BLOCK).min(axis=1)
    blocks = _better(np.append(firsts, rank[whole:].min(initial=NO_RANK)))
    at = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    at = at[at < len(rank)]
    better = at[_better(rank[at])]
    y = scope.columns[scope.columns.cost].values[rows[better]]
    return {"x": when[better].astype(np.float32), "y": y.astype(np.float32)}
