"""The AArch64 backend."""

from __future__ import annotations

from types import MappingProxyType

from ..host import ARM_ISA
from .backend import backend
from .llvm_backend import LlvmBackend


@backend
class AArch64(LlvmBackend):
    """64-bit ARM through LLVM: vectors of one NEON register (16 bytes, 32 of them); SVE stays unused."""

    name = "llvm-aarch64"
    arches = ("aarch64",)
    isa = MappingProxyType({name: name for name in ARM_ISA if not name.startswith("sve")})
