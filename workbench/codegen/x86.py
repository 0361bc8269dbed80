"""The x86-64 backend."""

from __future__ import annotations

from types import MappingProxyType

from ..host import X86_ISA
from ..target import Target
from .backend import backend
from .llvm_backend import LlvmBackend


@backend
class X86(LlvmBackend):
    """x86-64 through LLVM: vectors of one SSE, AVX2 or AVX-512 register."""

    name = "llvm-x86"
    arches = ("x86_64",)
    isa = MappingProxyType({name: name for name in X86_ISA})

    def attributes(self, target: Target) -> tuple[str, ...]:
        # LLVM's model of some CPUs prefers 256 bits and would cut our vectors in two.
        return (f'"prefer-vector-width"="{8 * target.vector_bytes}"',)
