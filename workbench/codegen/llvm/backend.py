"""What the backends that go through LLVM have in common."""

from __future__ import annotations

from workbench.codegen.assembly_listing import aligned, instructions
from workbench.codegen.backend import Backend
from workbench.codegen.code_line import Named
from workbench.codegen.llvm.module import emit_module
from workbench.codegen.llvm.source_map import MarkedCode
from workbench.intrinsics import require
from workbench.ir.func import Func
from workbench.target import Target


class LlvmBackend(Backend):
    """Our own loops, vectors and registers as LLVM text; LLVM selects instructions and allocates registers."""

    kind = "llvm"
    language = "LLVM"

    def attributes(self, target: Target) -> tuple[str, ...]:
        """Return further attributes of every function."""
        return ()

    def check(self, func: Func, target: Target) -> None:
        """Raise what keeps the function from being generated for the target."""
        require(func.body, target)

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        self.check(func, target)
        return emit_module(func, target, symbol, poison, self.attributes(target))

    def compile(self, text: str, target: Target) -> bytes:
        from workbench.codegen.llvm.llvm_bind import compile_ir

        return compile_ir(text, target)

    def assembly(self, text: str, target: Target) -> str:
        from workbench.codegen.llvm.llvm_bind import assembly

        return assembly(text, target)

    def listing(self, func: Func, target: Target) -> list[Named]:
        return self._marked(func, target).lines()

    def asm_listing(self, func: Func, target: Target) -> list[Named]:
        code = self._marked(func, target)
        text, rows = code.with_locations()
        inits = frozenset(row for row in rows if row.startswith("init:"))
        marked = instructions(self.assembly(text, target), lambda number: rows[number - 1], inits)
        return aligned(instructions(self.assembly(code.text(), target)), marked)

    def _marked(self, func: Func, target: Target) -> MarkedCode:
        self.check(func, target)
        return MarkedCode(func, target, "kernel", self.attributes(target))
