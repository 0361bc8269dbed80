"""Lab 1, "The order of loops": the same product in six orders, and what a cache makes of each."""

from __future__ import annotations

from workbench.labs.catalog.loops.conflicts import PITCH
from workbench.labs.catalog.loops.order import LINES, ORDER, REPAIR
from workbench.labs.catalog.loops.reuse import REUSE, TRANSPOSE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="loops",
    number=1,
    title="The order of loops",
    minutes=(60, 90),
    prerequisites=("Python", "what a matrix product is"),
    summary="You read from a nest which way it goes through memory, count the cache lines that it fetches, and put its "
    "loops into an order that fetches few.",
    exercises=(LINES, ORDER, REUSE, TRANSPOSE, PITCH, REPAIR),
)
