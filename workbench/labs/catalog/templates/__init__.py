"""Lab 11, "Templates": knobs, the size of a space, limits and variants, and what a configuration is worth elsewhere."""

from __future__ import annotations

from workbench.labs.catalog.templates.knobs_and_limits import FACTORS, LIMITS, VARIANTS
from workbench.labs.catalog.templates.the_best import REPAIR, SMALL, TRANSFER
from workbench.labs.plan import LabPlan, LabSettings

LAB = LabPlan(
    name="templates",
    number=11,
    title="Templates",
    minutes=(60, 90),
    prerequisites=("tiling", "registers"),
    summary="You write a schedule that leaves numbers open, count its space before you make it, keep out of it what "
    "cannot be good, and carry its best to another size.",
    exercises=(FACTORS, LIMITS, VARIANTS, TRANSFER, SMALL, REPAIR),
    settings=LabSettings(advice=True, tuner=True),
)
