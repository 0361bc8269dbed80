"""Lab 2, "Tiling by hand": a matrix product in tiles that caches hold, explained by what is loaded and what misses."""

from __future__ import annotations

from workbench.labs.catalog.tiling.edges import EDGES
from workbench.labs.catalog.tiling.fewest import FEWEST
from workbench.labs.catalog.tiling.fit import REPAIR, TILE
from workbench.labs.catalog.tiling.levels import LEVELS
from workbench.labs.catalog.tiling.traffic import TRAFFIC
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="tiling",
    number=2,
    title="Tiling by hand",
    minutes=(60, 90),
    prerequisites=("loops",),
    summary="You cut a matrix product into tiles for one cache and for two, choose their sizes by what the caches "
    "hold, deal with sizes that do not divide, and say how often each matrix is fetched.",
    exercises=(TRAFFIC, TILE, LEVELS, EDGES, REPAIR, FEWEST),
)
