"""Lab 10, "Three ways to convolve": direct, as a matrix product of copies, with Winograd's algorithm."""

from __future__ import annotations

from workbench.labs.catalog.convolution.columns import PATCH, REPAIR, ROWS
from workbench.labs.catalog.convolution.direct import DIRECT
from workbench.labs.catalog.convolution.winograd import EXACT, FOUR, TILES
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="convolution",
    number=10,
    title="Three ways to convolve",
    minutes=(75, 90),
    prerequisites=("vectors", "registers", "fusion"),
    summary="You compute a convolution directly, as a matrix product of copied patches and with Winograd's algorithm, "
    "and say what each costs in multiplications, bytes and rounding.",
    exercises=(DIRECT, PATCH, ROWS, REPAIR, FOUR, TILES, EXACT),
)
