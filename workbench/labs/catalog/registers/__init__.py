"""Lab 4, "Registers": chains, loads, what fits into registers, what is spilled, and a whole product by hand."""

from __future__ import annotations

from workbench.labs.catalog.registers.arithmetic import CHAINS, LOADS, PRODUCT
from workbench.labs.catalog.registers.spilling import FIT, READ, REPAIR
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="registers",
    number=4,
    title="Registers",
    minutes=(75, 90),
    prerequisites=("tiling", "vectors"),
    summary="You choose a tile of results by the latency, the loads and the registers of a core, see in the assembly "
    "whether it fits, and bring a matrix product near the vendor's library by hand.",
    exercises=(CHAINS, LOADS, FIT, READ, REPAIR, PRODUCT),
)
