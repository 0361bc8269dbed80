"""The backend for accelerators like VTA."""

from __future__ import annotations

from workbench.codegen.backend import Backend, backend
from workbench.codegen.code_line import Named, named
from workbench.codegen.device_image import wrapped
from workbench.codegen.vta import assembly
from workbench.codegen.vta.nests import program_of
from workbench.ir import Func
from workbench.target import Target


@backend
class Vta(Backend):
    """Instructions of an accelerator: loads, products of bytes, element-wise steps and stores, which wait by tokens.

    A simulator runs them and counts cycles.
    """

    name = kind = "vta"
    language = "VTA"
    overlaps = False
    self_contained = True
    any_nest = False

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        return "".join(f"{line}\n" for line in assembly.lines(program_of(func, target))), 0, 0

    def compile(self, text: str, target: Target) -> bytes:
        assembly.read(text)
        return wrapped("vta", text.encode())

    def assembly(self, text: str, target: Target) -> str:
        return text

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in assembly.lines(program_of(func, target))]
