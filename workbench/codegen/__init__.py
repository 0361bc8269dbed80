"""Code generation: a concrete loop nest becomes text of a backend's language, and object code.

Start with `backend` (what a code generator declares) and `lowering` (what all start from). `targets` has the backends, a
module each, `llvm` and `c` what they are made of; neither of the two knows the other. `temporary_storage` places
temporaries. Imports `intrinsics`, `ir`, `target` and below.

Names are loaded when they are first used: a process that only runs object code needs `llvm_bind` and nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.codegen.backend import (
        Backend,
        backend_for,
        backends,
        backends_here,
        build_func,
        generate_func,
        require_runnable,
    )
    from workbench.codegen.llvm.module import emit_module
    from workbench.codegen.lowering import ObjectCode, ParamInfo

_HOME = {"ObjectCode": "lowering", "ParamInfo": "lowering", "emit_module": "llvm.module"}

__all__ = [
    "Backend",
    "ObjectCode",
    "ParamInfo",
    "backend_for",
    "backends",
    "backends_here",
    "build_func",
    "emit_module",
    "generate_func",
    "require_runnable",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME.get(name, 'backend')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
