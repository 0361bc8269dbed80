"""Lab 9, "Packing": where the elements of an array lie, what another layout gains, and what the copy costs."""

from __future__ import annotations

from workbench.labs.catalog.packing.channels import CHANNELS, REPAIR
from workbench.labs.catalog.packing.copies import AHEAD, COPY, STRIP
from workbench.labs.catalog.packing.places import PLACE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="packing",
    number=9,
    title="Packing",
    minutes=(60, 90),
    prerequisites=("loops", "tiling", "vectors"),
    summary="You lay out an operand in the order in which a nest reads it, and say from counted lines and pages when "
    "the copy pays.",
    exercises=(PLACE, AHEAD, COPY, STRIP, CHANNELS, REPAIR),
)
