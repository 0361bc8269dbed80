"""Lab 17, "An accelerator": memories that a program fills, tokens, virtual threads, and sizes for a budget."""

from __future__ import annotations

from workbench.labs.catalog.accelerator.design import DESIGN
from workbench.labs.catalog.accelerator.hiding import HIDE, REPAIR
from workbench.labs.catalog.accelerator.memories import MEMORIES
from workbench.labs.catalog.accelerator.tokens import TOKENS
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="accelerator",
    number=17,
    title="An accelerator",
    minutes=(75, 120),
    prerequisites=("tiling", "packing"),
    summary="You fill the memories of an accelerator by a schedule, say what becomes of a program whose engines wait "
    "for each other by tokens, hide loads behind products, and choose the accelerator's sizes for a budget.",
    exercises=(MEMORIES, TOKENS, HIDE, REPAIR, DESIGN),
)
