"""Kinds of targets, a module each: what `Target` takes as its first word, with which options, and what devices it has.

What is declared here is found by being here. `Target`, `workbench.devices`, `workbench doctor` and the page of devices
follow from the declaration. Start with `declaration`; imports nothing but `host` and below. A module above that
finds devices, or generates code, is named by a text and loaded when it is asked.
"""

from __future__ import annotations

from workbench.late_binding import import_modules
from workbench.target_kinds.declaration import Device, Option, State, TargetKind, target_kinds

__all__ = ["Device", "Option", "State", "TargetKind", "target_kinds"]

import_modules(__name__)
