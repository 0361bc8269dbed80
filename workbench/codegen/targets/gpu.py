"""Backends for GPUs: CUDA C, run thread by thread on the CPU, and OpenCL C, run by whatever has a driver."""

from __future__ import annotations

from workbench.codegen.backend import Backend, backend
from workbench.codegen.code_line import Named, named
from workbench.codegen.device_image import wrapped
from workbench.codegen.gpu import opencl, simt
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.words import CUDA, OPENCL
from workbench.errors import WorkbenchError
from workbench.ir import Func
from workbench.target import Target


@backend
class CpuSimt(Backend):
    """CUDA C run by the CPU, thread by thread, in three orders: missing barriers and wrong indices are found.

    Slow, and no measure of a GPU. Needs a C++ compiler.
    """

    name = kind = "cpu-simt"
    language = "CUDA C"
    overlaps = False

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        module = GpuModule(func, symbol, CUDA, target, poison=True)
        return simt.text(module), module.workspace_bytes, 0

    def compile(self, text: str, target: Target) -> bytes:
        return wrapped("simt", simt.compile_text(text))

    def assembly(self, text: str, target: Target) -> str:
        return simt.assembly_of(text)

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in GpuModule(func, "kernel", CUDA, target).lines()]

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return simt.problem()


@backend
class OpenCL(Backend):
    """OpenCL C for any GPU or processor with a driver, compiled by the driver.

    Temporaries of threads and blocks cannot be filled with NaN first.
    """

    name = kind = "opencl"
    language = "OpenCL C"
    overlaps = False

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        module = GpuModule(func, symbol, OPENCL, target)
        return "\n".join([*module.lines(), ""]), module.workspace_bytes, 0

    def compile(self, text: str, target: Target) -> bytes:
        return wrapped(self.name, opencl.compile_text(text, target))

    def assembly(self, text: str, target: Target) -> str:
        return opencl.assembly_of(text, target)

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in GpuModule(func, "kernel", OPENCL, target).lines()]

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return opencl.problem(target)

    def takes_cores(self, target: Target) -> bool:
        return opencl.is_processor(target)
