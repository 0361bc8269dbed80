"""Lab 13, "Networks": passes, fusion, memory and trials, each decided for a whole network."""

from __future__ import annotations

from workbench.labs.catalog.networks.fewer_kernels import FOLD, FUSE, TRAFFIC
from workbench.labs.catalog.networks.memory import PLACE, REPAIR
from workbench.labs.catalog.networks.trials import TRIALS
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="networks",
    number=13,
    title="Networks",
    minutes=(75, 90),
    prerequisites=("fusion", "search"),
    summary="You fold and fuse the nodes of a network, count the kernels and bytes that are left, place its tensors in "
    "little memory, and decide which of its kernels the tuner works on next.",
    exercises=(TRAFFIC, FOLD, FUSE, PLACE, TRIALS, REPAIR),
)
