"""Schedules: a trace of primitives over a visible loop nest, with numbers that may be left open.

>>> from workbench import workloads
>>> s = Schedule(workloads.matmul(64, 64, 64))
>>> i0, i1 = s.split("i", [None, Hole()])
"""

from __future__ import annotations

import workbench.schedule.html  # noqa: F401 (it registers what a notebook shows)
from workbench.errors import ScheduleError
from workbench.ir.unit_loops import drop_unit_loops
from workbench.schedule.hole_domain import Domain
from workbench.schedule.holes import Hole, fill
from workbench.schedule.legal_moves import Move
from workbench.schedule.primitive import Primitive, primitive, registry
from workbench.schedule.refusal import Witness
from workbench.schedule.schedule import Schedule

__all__ = [
    "Domain",
    "Hole",
    "Move",
    "Primitive",
    "Schedule",
    "ScheduleError",
    "Witness",
    "drop_unit_loops",
    "fill",
    "primitive",
    "registry",
]
