"""Lab 12, "Search": where the candidates of a tuner come from, and how it finds a good one among thousands."""

from __future__ import annotations

from workbench.labs.catalog.search.own_search import SEARCH
from workbench.labs.catalog.search.recorded_runs import CHANCE, RANK
from workbench.labs.catalog.search.sketches import REPAIR, RULES, SKETCH
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="search",
    number=12,
    title="Search",
    minutes=(70, 90),
    prerequisites=("tiling", "registers", "templates"),
    summary="You read the space that sketch rules make of a computation, mend a rule that leaves something out, say "
    "how far chance gets in it, how good a cost model ranks, and write a search that beats chance on two GPUs.",
    exercises=(SKETCH, RULES, REPAIR, CHANCE, RANK, SEARCH),
)
