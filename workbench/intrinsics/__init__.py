"""Instructions that compute a small nest at once, each declared as description and implementation.

A schedule calls one with ``tensorize(loop, name)``; the nest keeps the loops, which say what happens. A module that
declares some is found by being here.
"""

from __future__ import annotations

from workbench.intrinsics.declaration import Emitter, Intrinsic, Machine, Place, registry, require
from workbench.intrinsics.match import Match, Mismatch, computes, match
from workbench.late_binding import import_modules

__all__ = ["Emitter", "Intrinsic", "Machine", "Match", "Mismatch", "Place", "computes", "match", "registry", "require"]

import_modules(__name__)
