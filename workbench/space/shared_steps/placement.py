"""Steps that bring operands and stages to the loops of a tile, and marks of their loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.block_queries import loop_of_axis, loops_inside, size_of

#: Bytes of weights that come from beyond the near caches in a network, however few they are: from here on they are
#: fetched ahead. Measured in networks: 2 to 3 % of inception_v1 and of a small BERT, nothing lost in others.
LEAST = 64 << 10
#: Iterations of the sum that weights are fetched ahead: a few hundred cycles, about as long as memory takes.
DISTANCE = 16
#: Rows per weight: below the first, memory cannot deliver a panel while the rows pass over the one before; above the
#: second, waiting for weights hardly matters. Chosen, not measured; `bench_suite` and `bench_space` tell what comes of
#: it.
FEW, MANY = 24, 256
#: Rows of a block that is turned round in registers: as many as a vector of float32 has lanes at most.
ROWS = 16


def mark(s: Schedule, unrolled: Iterable[str], vector: str) -> None:
    """Unroll some loops, and run one in lanes."""
    for loop in unrolled:
        s.unroll(loop)
    s.vectorize(vector)


def place_copy(s: Schedule, copy: str, dim: int, width: Any, at: str) -> None:
    """Store a copy in blocks of the tile's vectors, and make it inside of a loop ("" for before all of them): what that
    reads is one stream.
    """
    s.transform_layout(s.func.block(copy)[0].buffer, dim, width)
    if at:
        s.compute_at(copy, at)
    block, path = s.func.block(copy)
    lane, last = loop_of_axis(block, path, block.index[-1].single_var() or ""), path[-1]
    if lane is None or lane.name == last.name:
        s.vectorize(last.name)
        return
    rows = max((d for d in divisors(last.extent) if d <= ROWS), default=1) if isinstance(last.extent, int) else 1
    outer, row = s.split(last.name, [None, rows])  # vectors along what is read, which shuffles turn round
    s.reorder(outer, row, lane.name)
    mark(s, (row,), lane.name)


def finish(s: Schedule, stage: str, at: str, vector: str, unrolled: bool) -> None:
    """Compute what is behind a tile as soon as the tile is complete, with the tile's own vectors.

    Parameters
    ----------
    s : Schedule
    stage : str
        Element-wise stage that reads the tile.
    at, vector : str
        Loop in which the tile is complete, and the vectorised loop of the tile.
    unrolled : bool
        Whether the tile is in registers, so that every element is taken by its number.
    """
    s.reverse_compute_at(stage, at)
    own = [lp.name for lp in loops_inside(s.func, stage, at)]
    if not own:
        return
    if s.func.loop(own[-1])[0].extent != s.func.loop(vector)[0].extent:
        own[-1:] = s.split(own[-1], [None, size_of(s.func, vector)])
    mark(s, own[:-1] if unrolled else (), own[-1])


def partial_sums(s: Schedule, loop: str, factors: Sequence[Any]) -> tuple[str, str, int | str]:
    """Cut the loop of a sum in three; several vectors of partial sums run through it, and are added up afterwards.

    Returns
    -------
    tuple
        The block of partial sums, the block that adds the vectors up to one, and the number of vectors. What is left
        of the block itself adds up the lanes of that one.
    """
    *_, vectors, lane = s.split(loop, list(factors))
    several = size_of(s.func, vectors)
    combine = str(s.rfactor(lane, -1))
    return str(s.rfactor(vectors, -2)), combine, several


def fetch_weights(s: Schedule, along: str, panel: str | None, far: bool) -> None:
    """Fetch weights some iterations of a sum ahead; where they are far away, the next panel evenly during this one."""
    s.annotate(along, "prefetch", DISTANCE)
    if far and panel is not None:
        s.annotate(panel, "prefetch", 1)
