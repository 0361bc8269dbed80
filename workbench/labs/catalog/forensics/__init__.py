"""Lab 14, "Log forensics": what the logs of other people's tuners say, and what they do not."""

from __future__ import annotations

from workbench.labs.catalog.forensics.made_tables import FAILS, REPAIR, UNITS
from workbench.labs.catalog.forensics.real_logs import FASTEST, LATE, TRANSFER
from workbench.labs.plan import LabPlan

LAB = LabPlan(
    name="forensics",
    number=14,
    title="Log forensics",
    minutes=(60, 90),
    prerequisites=("templates", "search", "pandas"),
    summary="You open a log that somebody else's tuner has written, find its best configuration, what its failures "
    "have in common, whether its winner is worth anything elsewhere, and which of its numbers not to believe.",
    exercises=(FASTEST, LATE, TRANSFER, UNITS, FAILS, REPAIR),
)
