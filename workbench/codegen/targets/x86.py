"""The x86-64 backend."""

from __future__ import annotations

from types import MappingProxyType

from workbench.codegen.backend import backend
from workbench.codegen.llvm.backend import LlvmBackend
from workbench.errors import BuildError
from workbench.host import X86_ISA
from workbench.ir.expr import Cast, Const, walk
from workbench.ir.func import Func
from workbench.ir.stmt import blocks
from workbench.target import Target


@backend
class X86(LlvmBackend):
    """x86-64 through LLVM: vectors of one SSE, AVX2 or AVX-512 register."""

    name = "llvm-x86"
    arches = ("x86_64",)
    isa = MappingProxyType({name: name for name in X86_ISA})

    def attributes(self, target: Target) -> tuple[str, ...]:
        # LLVM's model of some CPUs prefers 256 bits and would cut our vectors in two.
        return (f'"prefer-vector-width"="{8 * target.vector_bytes}"',)

    def check(self, func: Func, target: Target) -> None:
        super().check(func, target)
        if not {"f16c", "avx512fp16"} & target.isa and _uses(func, "float16"):
            # LLVM would call functions of a compiler's library that no process has to have.
            raise BuildError(
                "build.dtype",
                f"{target.cpu} has no instructions for float16.",
                (func.name,),
                "add +f16c to -mattr, compute in float32 or bfloat16, or use the kind 'c'",
            )


def _uses(func: Func, dtype: str) -> bool:
    """Whether a buffer or a value of the function has the dtype."""
    values = (e for b, _ in blocks(func.body) for e in walk(b.value) if isinstance(e, Cast | Const))
    return any(b.dtype == dtype for b in func.buffers) or any(e.dtype == dtype for e in values)
