"""What the backends that go through LLVM have in common."""

from __future__ import annotations

from ..intrinsics import require
from ..ir.func import Func
from ..target import Target
from .backend import Backend


class LlvmBackend(Backend):
    """Our own loops, vectors and registers as LLVM text; LLVM selects instructions and allocates registers."""

    kind = "llvm"
    language = "LLVM"

    def attributes(self, target: Target) -> tuple[str, ...]:
        """Return further attributes of every function."""
        return ()

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        from .module import emit_module

        require(func.body, target)
        return emit_module(func, target, symbol, poison, self.attributes(target))

    def compile(self, text: str, target: Target) -> bytes:
        from .llvm_bind import compile_ir

        return compile_ir(text, target)

    def assembly(self, text: str, target: Target) -> str:
        from .llvm_bind import assembly

        return assembly(text, target)
