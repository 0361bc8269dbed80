"""Families of processors, a module each: names of CPUs and extensions, vector registers, masks, a C compiler's options.

What is declared here is found by being here. `Target`, `host`, the C compiler's options and a backend through LLVM
follow from the declaration. Start with `declaration`; imports nothing but `registry` and below.
"""

from __future__ import annotations

from workbench.architectures.declaration import (
    Architecture,
    Vectors,
    architecture,
    architecture_name,
    architectures,
)
from workbench.late_binding import import_modules

__all__ = ["Architecture", "Vectors", "architecture", "architecture_name", "architectures"]

import_modules(__name__)
