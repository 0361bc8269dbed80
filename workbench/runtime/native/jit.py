"""Functions of the emitter as machine code in this process."""

from __future__ import annotations

import platform
import sys
from collections.abc import Container
from typing import TYPE_CHECKING

from workbench.runtime.native.emitter import Module, Native

if TYPE_CHECKING:
    from workbench.codegen.llvm.llvmlite_binding import Library
    from workbench.target import Target


def load(*functions: Native, target: Target | None = None, features: Container[str] = ()) -> Library:
    """Compile functions for a target, any machine of this architecture by default, and link them into this process."""
    from workbench.codegen.llvm import llvmlite_binding

    text = Module(sys.platform, platform.machine(), features=features).text(*functions)
    return llvmlite_binding.load_object(llvmlite_binding.compile_ir(text, target), [f.symbol for f in functions])
