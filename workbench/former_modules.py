"""Modules and names that have moved: what an older version said to import is still found by its former name.

Exported scripts and the notebooks that `workbench lab` copied belong to the user; they keep working after an update.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader  # to import it takes 8 ms, half as long as all of `import workbench`

#: Former module -> the one that has its names. Only what a user was told to import, or what an export imports.
FORMER = {
    "workbench.graph.fill": "workbench.graph.seeded_weights",
    "workbench.ir.interp": "workbench.ir.interpreter.interp",
    "workbench.ir.parser": "workbench.ir.text.parser",
    "workbench.runtime.roofs": "workbench.runtime.machine.measured_roofline",
    "workbench.tune.cost_model": "workbench.cost_model",
    "workbench.tune.database": "workbench.log.database",
    "workbench.tune.distributed": "workbench.tune.dask.runner",
    "workbench.tune.dynamic": "workbench.network.dynamic_shapes",
    "workbench.tune.features": "workbench.machine_model.features",
    "workbench.tune.record": "workbench.log.record",
    "workbench.tune.space": "workbench.space.space",
    "workbench.tune.template": "workbench.space.template",
}

#: Former ``module:name`` -> the one that has it, where the module is still there.
FORMER_ATTRIBUTES = {
    "workbench.analysis:Cure": "workbench.advice:Offer",
    "workbench.analysis:Reason": "workbench.advice:Reason",
    "workbench.analysis:Why": "workbench.advice:Why",
    "workbench.analysis:why": "workbench.advice:why",
}


def former_attribute(module: str, name: str) -> object:
    """Return what a module had by this name, for its ``__getattr__``; AttributeError where it never had it."""
    present, _, attribute = FORMER_ATTRIBUTES.get(f"{module}:{name}", "").partition(":")
    if not present:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(importlib.import_module(present), attribute)


class _FormerNames:
    """A finder and loader for the names in `FORMER`; Python asks it after all others."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, cast("Loader", self)) if name in FORMER else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python: a module of its own, so that the specification of the present one is not overwritten."""

    def exec_module(self, module: ModuleType) -> None:
        present = importlib.import_module(FORMER[module.__name__])
        vars(module).update((name, value) for name, value in vars(present).items() if not name.startswith("__"))


def keep_former_names() -> None:
    """Let former module names be imported."""
    if not any(isinstance(finder, _FormerNames) for finder in sys.meta_path):
        sys.meta_path.append(_FormerNames())
