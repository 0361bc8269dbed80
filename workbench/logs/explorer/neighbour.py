"""The nearest record that is better: it differs in one parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.logs.explorer.columns import Column
from workbench.logs.explorer.explorer import Scope


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What one change of a record makes of it.

    Attributes
    ----------
    tried : int
        Records that differ in one parameter only, of the same run, task and device.
    better : int
        How many of them are better.
    row : int or None
        The best of these.
    parameter : Column or None
        What differs in it.
    """

    tried: int
    better: int
    row: int | None
    parameter: Column | None


def neighbours(scope: Scope, row: int) -> Neighbours:
    """Look at all records of the log that differ from one in a single parameter."""
    columns, cost = scope.columns, scope.signed_cost
    same = columns.group == columns.group[row]
    if "run" in columns:
        same &= columns["run"].values == columns["run"].values[row]
    rows = np.flatnonzero(same)
    differs, which = np.zeros(len(rows), np.int16), np.full(len(rows), -1, np.int16)
    parameters = columns.parameters
    for k, column in enumerate(parameters):
        values, own = column.values[rows], column.values[row]
        other = values != own
        if not column.discrete and np.isnan(own):
            other = ~np.isnan(values)
        differs += other
        which[other] = k
    near = np.flatnonzero(differs == 1)
    better = near[cost[rows[near]] < cost[row]]
    if not len(better):
        return Neighbours(len(near), 0, None, None)
    best = int(better[np.argmin(cost[rows[better]])])
    return Neighbours(len(near), len(better), int(rows[best]), parameters[int(which[best])])
