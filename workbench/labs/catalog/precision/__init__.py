"""Lab 16, "Low precision": what few bits keep, where sums are kept, instructions for whole tiles, scales of bytes."""

from __future__ import annotations

from workbench.labs.catalog.precision.formats import FORMATS, SUMS
from workbench.labs.catalog.precision.instructions import DOTS, PACK
from workbench.labs.catalog.precision.networks import KEEP
from workbench.labs.catalog.precision.scales import CLIP, SCALE
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="precision",
    number=16,
    title="Low precision",
    minutes=(75, 90),
    prerequisites=("vectors", "registers", "reductions", "packing"),
    summary="You round to bfloat16 and to bytes, say how large the error is and where sums have to be kept, let an "
    "instruction compute a small nest (tensorize), and choose which nodes of a network stay in float32.",
    exercises=(FORMATS, SUMS, DOTS, PACK, SCALE, CLIP, KEEP),
)
