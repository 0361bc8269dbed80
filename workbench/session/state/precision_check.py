"""What a comparison of the model's precisions found, as plain JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.graph import Graph
from workbench.session.state.statistics import rounded

TOO_LARGE = 1e300
"""What stands for an error that is no number: one of the two has infinities or NaN where the other has none."""
REST = -1
"""Id of the row of the kernels that belong to no task."""


def answer_of(table: Any, graph: Graph, groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Write what `compare_precisions` has found as plain JSON, by the tasks of a session.

    Parameters
    ----------
    table : Precisions
    graph : Graph
        The optimised model of the session.
    groups : sequence of sequence of str
        Names of the kernels of each task.

    Returns
    -------
    dict
        ``precisions`` (rows of the network), ``made`` (those that it was computed in), ``rows`` (`id` is the number of
        a task, or `REST`; `kernels`, and `ms`, `bytes` and `error` of each that was made: times and bytes of all its
        kernels in one run, errors of the worst),
        ``nodes`` (precision -> node -> error), ``random``, ``bound``.
    """
    task = {kernel: k for k, names in enumerate(groups) for kernel in names}
    task |= {n: task[name] for g in graph.groups for name in g.nodes if name in task for n in g.nodes}
    names = [r["precision"] for r in table.attrs["network"] if "ms" in r]
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in table.to_dict("records"):
        found.setdefault(task.get(row["kernel"], REST), []).append(row)
    return {
        "precisions": [_network(r) for r in table.attrs["network"]],
        "made": names,
        "rows": [_task(id, found[id], names) for id in sorted(found, key=lambda id: (id == REST, id))],
        "nodes": {p: {n: _error(e) for n, e in all_.items()} for p, all_ in table.attrs["nodes"].items()},
        "random": table.attrs["random"],
        "bound": table.attrs["bound"],
    }


def _network(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {"ms": _known(row.get("ms")), "error": _error(row.get("error"))}
    rest = {"first_above": "", "bytes": None, "weights": None, "note": ""}
    return {"precision": row["precision"], **numbers, **{k: row.get(k, v) for k, v in rest.items()}}


def _task(id: int, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Sum up the kernels of a task; one that a precision does not have by itself is part of another there."""

    def all_of(column: str) -> list[float]:
        return [row[column] for row in rows if _known(row.get(column)) is not None]

    return {
        "id": id, "kernels": len(rows),
        "ms": [_known(sum(x)) if (x := all_of(f"{p}_ms")) else None for p in names],
        "bytes": [int(sum(x)) if (x := all_of(f"{p}_bytes")) else None for p in names],
        "error": [_error(max(x)) if (x := _errors(rows, f"{p}_error")) else None for p in names],
    }  # fmt: skip


def _errors(rows: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    return [e for row in rows if (e := row.get(column)) is not None and not math.isnan(e)]


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else rounded(float(value))


def _error(value: float | None) -> float | None:
    if value is None or math.isnan(value):
        return None
    return TOO_LARGE if math.isinf(value) else rounded(float(value), 3)
