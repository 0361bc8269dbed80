"""A backend through LLVM for every architecture that declares one (`workbench.architectures`)."""

from __future__ import annotations

from workbench.architectures import Architecture, architectures
from workbench.codegen.assembly_listing import aligned, instructions
from workbench.codegen.backend import Backend, backends
from workbench.codegen.code_line import Named
from workbench.codegen.llvm.module import emit_module
from workbench.codegen.llvm.source_map import MarkedCode
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.codegen.runtime_kernels.module import emit_kernel
from workbench.errors import BuildError
from workbench.intrinsics import require
from workbench.ir import Cast, Const, Func, blocks
from workbench.ir.expr import walk
from workbench.target import Target


class LlvmBackend(Backend):
    """Our own loops, vectors and registers as LLVM text; LLVM selects instructions and allocates registers."""

    kind = "llvm"
    language = "LLVM"
    self_contained = True

    def __init__(self, architecture: Architecture) -> None:
        self.name, self.title, self.arches = architecture.backend, architecture.summary, (architecture.name,)
        self._architecture = architecture

    def attributes(self, target: Target) -> tuple[str, ...]:
        """Return further attributes of every function."""
        attribute = self._architecture.llvm_attribute
        return (attribute.format(bits=8 * target.vector_bytes),) if attribute else ()

    def check(self, func: Func, target: Target) -> None:
        """Raise what keeps the function from being generated for the target."""
        require(func.body, target)
        self._check_types(func.name, _uses(func, "float16"), target)

    def _check_types(self, name: str, half: bool, target: Target) -> None:
        have = self._architecture.float16
        if half and have and target.isa.isdisjoint(have):
            # LLVM would call functions of a compiler's library that no process has to have.
            raise BuildError(
                "build.dtype",
                f"{target.cpu} has no instructions for float16.",
                (name,),
                f"add +{have[0]} to -mattr, compute in float32 or bfloat16, or use the kind 'c'",
            )

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        self.check(func, target)
        return emit_module(func, target, symbol, poison, self.attributes(target))

    def emit_kernel(self, kernel: KernelFunction, target: Target, symbol: str) -> tuple[str, int, int]:
        self._check_types(kernel.name, any(p.dtype == "float16" for p in kernel.params), target)
        return emit_kernel(kernel, target, symbol, self.attributes(target))

    def compile(self, text: str, target: Target) -> bytes:
        from workbench.codegen.llvm.llvmlite_binding import compile_ir

        return compile_ir(text, target)

    def assembly(self, text: str, target: Target) -> str:
        from workbench.codegen.llvm.llvmlite_binding import assembly

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


def _uses(func: Func, dtype: str) -> bool:
    """Whether a buffer or a value of the function has the dtype."""
    values = (e for b, _ in blocks(func.body) for e in walk(b.value) if isinstance(e, Cast | Const))
    return any(b.dtype == dtype for b in func.buffers) or any(e.dtype == dtype for e in values)


for one in architectures:
    if one.backend:
        backends.add(LlvmBackend(one))
