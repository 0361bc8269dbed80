"""Lab 6, "The roofline": operations per byte, what bounds a kernel, and how to move it."""

from __future__ import annotations

from workbench.labs.catalog.roofline.moving import FUSE, REPAIR, TILE
from workbench.labs.catalog.roofline.reading import BOUND, INTENSITY, RIDGE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="roofline",
    number=6,
    title="The roofline",
    minutes=(60, 90),
    prerequisites=("loops", "tiling", "vectors"),
    summary="You say from operations and bytes how fast a kernel can be, what bounds it, and which step would help.",
    exercises=(INTENSITY, RIDGE, BOUND, FUSE, TILE, REPAIR),
)
