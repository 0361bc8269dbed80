"""What measurements of other runs say to the model of this one.

A record holds the steps of its schedule with numbers; a variant of a space holds steps with holes. Where the two are
the same but for that, the numbers are a row, and the features of many records are worked out at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.machine_model import features as feature_columns
from workbench.schedule.size_limits import NUMBER_LIMIT
from workbench.search.history import log_speed
from workbench.space.trace_alignment import unify

if TYPE_CHECKING:
    from workbench.log import Record
    from workbench.space.space import Space
    from workbench.space.variant import Variant


def facts(
    records: Iterable[Record], spaces: Mapping[str, Space], most: int = 512
) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float64]]]:
    """Features and speeds of recorded trials, as a cost model's `warm_start` takes them.

    Parameters
    ----------
    records : iterable of Record
        Of any tasks, spaces and machines; cancelled ones are left out.
    spaces : mapping of str to Space
        Task key -> a space of that task. Records of other tasks are left out: without the task's function nothing is
        known about their loops.
    most : int
        Records of each group at most: the fastest half, and the others evenly. Chosen, not measured.

    Returns
    -------
    dict of str to (array [N, F], array [N])
        For each task and machine (speeds of different machines are not comparable): features for the machine of the
        space, and log2 of operations per nanosecond, NaN for failed trials.
    """
    groups: dict[str, list[Record]] = {}
    for r in records:
        if r.task_key in spaces and r.status != "cancelled":
            groups.setdefault(f"{r.task_key} on {r.host} for {r.target} ({r.caches})", []).append(r)
    out = {}
    for name, group in groups.items():
        x, speed = _facts(_some(group, most), spaces[group[0].task_key])
        if len(x):
            out[name] = (x, speed)
    return out


def _some(records: list[Record], most: int) -> list[Record]:
    """The fastest half of `most`, and the others evenly."""
    if len(records) <= most:
        return records
    ranked = sorted(records, key=lambda r: (r.latency_ms if r.ok and r.latency_ms else math.inf, r.trial))
    rest = ranked[most // 2 :]
    return ranked[: most // 2] + rest[:: max(1, -(-len(rest) // (most - most // 2)))]


def _facts(records: list[Record], space: Space) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rows: dict[int, list[tuple[Record, Mapping[str, int]]]] = {}
    patterns: list[Any] = [v.schedule.to_json() for v in space.variants]
    for r in records:
        found = _place(r, space, patterns)
        if found is not None:
            rows.setdefault(found[0].index, []).append((r, found[1]))
    xs, speeds = [np.zeros((0, len(feature_columns.COLUMNS)), np.float32)], [np.zeros(0)]
    for index, group in rows.items():
        variant = space.variants[index]
        columns = {h.name: np.array([row[h.name] for _, row in group], np.int64) for h in variant.schedule.holes}
        xs.append(feature_columns.features(variant.plan, columns, len(group), variant.machine))
        speeds.append(np.array([_speed(r) for r, _ in group]))
    return np.concatenate(xs), np.concatenate(speeds)


def _place(record: Record, space: Space, patterns: Sequence[Any]) -> tuple[Variant, Mapping[str, int]] | None:
    """Variant and numbers of a record, where it has the steps of one; they need not be legal in the space.

    A trace also has the numbers of holes that a later split replaced: there may be more of them than holes.
    """
    if record.space == space.id and 0 <= record.variant < len(space.variants):
        variant = space.variants[record.variant]
        if _names_all(record.row, variant):
            return variant, record.row
    for variant, pattern in zip(space.variants, patterns, strict=True):
        row = unify(record.trace, pattern)
        if row is not None and _names_all(row, variant):
            return variant, row
    return None


def _names_all(row: Mapping[str, int], variant: Variant) -> bool:
    """Whether a row has a number that makes sense for every hole."""
    return all(1 <= row.get(h.name, 0) < NUMBER_LIMIT for h in variant.schedule.holes)


def _speed(r: Record) -> float:
    return log_speed(r.flops, r.latency_ms if r.ok else None)
