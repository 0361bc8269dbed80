"""Lab 7, "Where to compute a stage": a blur in two stages, inlined, per row, per strip and per tile."""

from __future__ import annotations

from workbench.labs.catalog.fusion.placements import INLINE, ROW, STRIP
from workbench.labs.catalog.fusion.tiles import EPILOGUE, REPAIR, TILE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="fusion",
    number=7,
    title="Where to compute a stage",
    minutes=(60, 90),
    prerequisites=("tiling", "vectors"),
    summary="You place one stage of a pipeline inside another and say what it costs: memory kept, work repeated, "
    "locality gained.",
    exercises=(INLINE, ROW, STRIP, TILE, REPAIR, EPILOGUE),
)
