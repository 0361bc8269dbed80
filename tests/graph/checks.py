"""Whether what passes make of a network still computes the same; mutations and random networks are held against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from graph.nets import close, random_feeds, run_groups

from workbench.graph import Graph, run_reference


def kept(
    graph: Graph,
    order: Sequence[str] | None = None,
    without: Iterable[str] = (),
    *,
    kernels: bool = True,
    tolerance: float = 2e-5,
) -> str:
    """What is wrong with an optimised graph, in words; "" when nothing is.

    Its outputs are compared with those of the graph as it was, computed node by node (`run_reference`), and, with
    `kernels`, kernel by kernel in the planned memory (`run_groups`).
    """
    done = graph.optimize(order, without)
    if done.outputs != graph.outputs or done.inputs != graph.inputs:
        return f"inputs or outputs changed: {done.inputs} -> {done.outputs}"
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    if wrong := _differ("a node", run_reference(done, feeds), want, tolerance):
        return wrong
    return _differ("a kernel", run_groups(done, feeds), want, tolerance) if kernels else ""


def _differ(by: str, got: dict[str, np.ndarray], want: dict[str, np.ndarray], tolerance: float) -> str:
    for name, value in want.items():
        if not _agree(got[name], value, tolerance):
            return f"output {name!r} of {by} differs: {got[name].dtype}{list(got[name].shape)}"
    return ""


def _agree(got: np.ndarray, want: np.ndarray, tolerance: float) -> bool:
    if want.dtype.kind != "f":
        return got.dtype == want.dtype and np.array_equal(got, want)
    holes = ~np.isfinite(want)
    if got.shape != want.shape or not np.array_equal(got[holes], want[holes], equal_nan=True):
        return False
    return close(np.where(holes, 0, got).astype(got.dtype), np.where(holes, 0, want).astype(want.dtype), tolerance)
