"""Lab 5, "Threads": what may run at the same time, how evenly, and who writes whose cache lines."""

from __future__ import annotations

from workbench.labs.catalog.threads.lines import REPAIR, SHARING, SUM
from workbench.labs.catalog.threads.work import AMDAHL, BALANCE, LEGAL
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="threads",
    number=5,
    title="Threads",
    minutes=(60, 90),
    prerequisites=("tiling", "vectors", "registers"),
    summary="You give the iterations of a loop to threads, evenly and without races or false sharing, and say what "
    "speed-up there can be at most.",
    exercises=(LEGAL, BALANCE, SHARING, REPAIR, SUM, AMDAHL),
    threads=None,
)
