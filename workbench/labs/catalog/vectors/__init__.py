"""Lab 3, "Vectors": how many numbers at once, which loop, what is left over, and what the assembly shows."""

from __future__ import annotations

from workbench.labs.catalog.vectors.assembly import READ
from workbench.labs.catalog.vectors.loops import LEGAL, REPAIR, REST, WHOLE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="vectors",
    number=3,
    title="Vectors",
    minutes=(60, 75),
    prerequisites=("loops", "tiling"),
    summary="You say which loop of a nest may become vectors and which one should, deal with sizes that do not divide, "
    "and read in the assembly whether it worked.",
    exercises=(WHOLE, LEGAL, REST, REPAIR, READ),
)
