"""Lab 8, "Sums in another order": partial sums, vectors of them, and what rounding does."""

from __future__ import annotations

from workbench.labs.catalog.reductions.partial_sums import CHAIN, COLUMNS, REPAIR, VECTORS
from workbench.labs.catalog.reductions.rounding import TREE
from workbench.labs.catalog.reductions.softmax import SOFTMAX
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="reductions",
    number=8,
    title="Sums in another order",
    minutes=(60, 90),
    prerequisites=("vectors", "registers", "fusion"),
    summary="You break the chain of a long sum with rfactor, make vectors of partial sums, and say what another order "
    "does to the result.",
    exercises=(CHAIN, VECTORS, COLUMNS, REPAIR, TREE, SOFTMAX),
)
