"""Lab 18, "GPU thinking on a CPU": bindings, coalescing, shared memory, banks, barriers."""

from __future__ import annotations

from workbench.labs.catalog.gpu.bindings import BIND, REPAIR
from workbench.labs.catalog.gpu.meeting import MEET
from workbench.labs.catalog.gpu.sharing import BANK, SHARE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="gpu",
    number=18,
    title="GPU thinking on a CPU",
    minutes=(75, 100),
    prerequisites=("tiling", "vectors", "threads"),
    summary="You bind loops to blocks and threads, say what a warp's accesses cost from their addresses, share fetched "
    "operands among the threads of a block, and say where these have to meet.",
    exercises=(BIND, REPAIR, SHARE, MEET, BANK),
)
