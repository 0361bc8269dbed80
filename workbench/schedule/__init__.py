"""Schedules: a trace of primitives over a visible loop nest, with numbers that may be left open.

>>> from workbench import workloads
>>> s = Schedule(workloads.matmul(64, 64, 64))
>>> i0, i1 = s.split("i", [None, Hole()])
"""

from __future__ import annotations

from ..errors import ScheduleError
from ..ir.units import drop_unit_loops
from .domain import Domain
from .holes import Hole, fill
from .moves import Move
from .primitive import Primitive, primitive, registry
from .refusal import Witness
from .schedule import Schedule

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
