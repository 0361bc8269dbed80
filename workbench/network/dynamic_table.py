"""Which kernels run which sizes of a range, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from workbench.graph.open_sizes import Bucket
from workbench.runtime.execution.executable import Executable

if TYPE_CHECKING:
    from workbench.network.ranged_executable import RangedExecutable


def dynamic_rows(
    ranged: RangedExecutable, compared: Collection[Bucket] = (), step: Callable[[Bucket], object] = lambda _: None
) -> list[dict[str, Any]]:
    """The buckets of a network, with those kernels that run the smallest size of each.

    Parameters
    ----------
    ranged : RangedExecutable
    compared : collection of Bucket
        Those whose smallest size is compiled alone, and compared.
    step : callable
        Is told of each of them before.

    Returns
    -------
    list of dict
        ``least``, ``most`` and ``kernels`` (lengths, in the order of the ranges), ``ms``, ``untuned``; where it is
        compared, ``fixed_ms``, and ``ms`` of runs in turns with it.
    """
    rows = []
    for one in ranged.compiled:
        kernels = ranged.kernels(one.bucket.least)
        if kernels is None:  # compiled alone
            continue
        row: dict[str, Any] = {"least": one.bucket.least, "most": one.bucket.most, "kernels": kernels.bucket.most}
        row |= {"ms": kernels.ms, "untuned": len(kernels.executable.plan.untuned)}
        if one.bucket in compared:
            step(one.bucket)
            row |= _compared(kernels.executable, ranged.fixed(one.bucket.least))
        rows.append(row)
    return rows


def _compared(mine: Executable, alone: Executable) -> dict[str, float]:
    """Milliseconds of a run with these kernels and with those of that very size, in turns; the best of each."""
    found: tuple[list[float], list[float]] = ([], [])
    runs: tuple[Callable[[], float], ...] = (lambda: milliseconds(mine), lambda: milliseconds(alone))
    for _ in range(3):
        for times, run in zip(found, runs, strict=True):
            times.append(run())
    ms, fixed = map(min, found)
    return {"ms": ms, "fixed_ms": fixed}


def milliseconds(executable: Executable) -> float:
    """Shortest of some runs."""
    with executable._timed(executable.draw_inputs()) as runs:
        first = runs.run(2, 1)[-1]
        return min(runs.run(max(3, min(30, int(10 / max(first, 1e-3)))), 1))
