"""Lab 15, "Capstone": a layer of a real network by hand, against what the tuner found for it."""

from __future__ import annotations

from workbench.labs.catalog.capstone.beat import HAND
from workbench.labs.catalog.capstone.reading import LAYER, TUNER
from workbench.labs.catalog.capstone.register_tiles import REPAIR, TILE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="capstone",
    number=15,
    title="Capstone: beat the tuner on one layer",
    minutes=(90, 180),
    prerequisites=("loops", "tiling", "vectors", "registers", "threads", "fusion"),
    summary="You schedule a layer of SqueezeNet by hand, compare it with the tuner's schedule in counted properties, "
    "and report what decides.",
    exercises=(LAYER, TUNER, REPAIR, TILE, HAND),
    threads=2,
)
