"""What the tests need to know of a primitive: one module each, called like the primitive.

A module has ``refusals()``, a refused step for every error code that the primitive declares, and ``MUTATIONS``, wrong
changes to its rewrite that the property tests have to notice. Where the defaults do not do it also has ``WEIGHT``, how
often random schedules try it early and late, ``WITNESSES``, what the witness of a code shows (None: it has none), and
``start()``, a schedule where it has candidates.
The older ones stand together in ``schedule/refusals.py``, ``property/mutations_*.py`` and ``property/randoms.py``.

Nothing of the workbench is imported here before a mutation is installed.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

MODULES = {m.name: importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)}


def given(what: str, default: Any) -> dict[str, Any]:
    """Primitive -> what its module says."""
    return {name: getattr(module, what, default) for name, module in MODULES.items()}
