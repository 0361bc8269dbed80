"""The AArch64 backend."""

from __future__ import annotations

from types import MappingProxyType

from workbench.codegen.backend import backend
from workbench.codegen.llvm.backend import LlvmBackend
from workbench.host import ARM_ISA


@backend
class AArch64(LlvmBackend):
    """64-bit ARM through LLVM: vectors of one NEON register (16 bytes, 32 of them); SVE stays unused."""

    name = "llvm-aarch64"
    arches = ("aarch64",)
    isa = MappingProxyType({name: name for name in ARM_ISA if not name.startswith("sve")})
