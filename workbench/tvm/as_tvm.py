"""The modules here under TVM's own names, so that a program's lines of imports stay as they are."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module, util

from workbench.errors import UsageError

#: This package.
_OURS = __package__ or ""


def install_as_tvm() -> None:
    """Let ``import tvm`` and ``from tvm import relay`` find the modules here, in this process.

    Call it before the program's imports. Nothing is written to the disk, and no other process is concerned.

    Raises
    ------
    UsageError
        "tvm.installed" where there is a TVM: it is never put aside.
    """
    if sys.modules.get("tvm") is sys.modules[_OURS]:
        return
    other = sys.modules.get("tvm")
    spec = getattr(other, "__spec__", None) if other is not None else util.find_spec("tvm")
    if (other is not None and spec is None) or (spec is not None and spec.origin is not None):  # a folder is no package
        hint = f"import {_OURS} as tvm"
        raise UsageError("tvm.installed", "TVM is installed, and its names stay its own", ["tvm"], hint)
    package = import_module(_OURS)
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{_OURS}.")]
    modules = {name: import_module(name) for name in (_OURS, *names, f"{_OURS}.te")}
    sys.modules.update({f"tvm{name.removeprefix(_OURS)}": module for name, module in modules.items()})
