"""Instructions that compute a small nest at once, each declared as description and implementation.

A schedule calls one with ``tensorize(loop, name)``; the nest keeps the loops, which say what happens.
"""

from __future__ import annotations

from workbench.intrinsics import arm_dot, x86_amx, x86_vnni
from workbench.intrinsics.base import Emitter, Intrinsic, Machine, Place, Registry, registry, require
from workbench.intrinsics.match import Match, Mismatch, computes, match

__all__ = [
    "Emitter",
    "Intrinsic",
    "Machine",
    "Match",
    "Mismatch",
    "Place",
    "Registry",
    "arm_dot",
    "computes",
    "match",
    "registry",
    "require",
    "x86_amx",
    "x86_vnni",
]
