"""Backends for GPUs: CUDA C, run thread by thread on the CPU, and OpenCL C, run by whatever has a driver."""

from __future__ import annotations

from workbench.codegen.backend import Backend, backend
from workbench.codegen.code_line import Named, named
from workbench.codegen.device_image import wrapped
from workbench.codegen.gpu import cuda_driver, nvrtc, opencl, simt
from workbench.codegen.gpu.launch import launches_of, packed
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.statistics import KernelStatistics, machine_code, statistics
from workbench.codegen.gpu.words import CUDA, OPENCL, OPENCL_VECTORS, Words
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

    def statistics(self, func: Func, target: Target) -> tuple[KernelStatistics, ...]:
        return statistics(GpuModule(func, "kernel", CUDA, target))


@backend
class Cuda(Backend):
    """CUDA C for NVIDIA's GPUs, compiled by NVRTC without a GPU or a toolkit; a driver runs it.

    Temporaries of threads and blocks cannot be filled with NaN first.
    """

    name = kind = "cuda"
    language = "CUDA C"
    overlaps = False

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        module = GpuModule(func, symbol, CUDA, target)
        return "\n".join([*module.lines(), ""]), module.workspace_bytes, 0

    def compile(self, text: str, target: Target) -> bytes:
        arch = str(target.option("arch"))
        return wrapped(self.name, packed(arch, launches_of(text), nvrtc.compile_text(text, arch).cubin))

    def assembly(self, text: str, target: Target) -> str:
        listed = nvrtc.disassembly(nvrtc.compile_text(text, str(target.option("arch"))).cubin)
        return "\n".join(line for _, line, _ in nvrtc.sass(listed))

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in GpuModule(func, "kernel", CUDA, target).lines()]

    def asm_listing(self, func: Func, target: Target) -> list[Named]:
        rows = self.listing(func, target)
        text = "".join(f"{line}\n" for line, _ in rows)
        listed = nvrtc.disassembly(nvrtc.compile_text(text, str(target.option("arch"))).cubin)
        return [(line, rows[number - 1][1] if number else "") for _, line, number in nvrtc.sass(listed)]

    def statistics(self, func: Func, target: Target) -> tuple[KernelStatistics, ...]:
        module, arch = GpuModule(func, "kernel", CUDA, target), str(target.option("arch"))
        if nvrtc.problem() is not None:
            return statistics(module)
        text = "\n".join([*module.lines(), ""])
        return statistics(module, machine_code(nvrtc.compile_text(text, arch), arch))

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return nvrtc.problem()

    def run_problem(self, target: Target) -> WorkbenchError | None:
        return self.compiler_problem(target) or cuda_driver.problem(target)

    def takes_cores(self, target: Target) -> bool:
        return False


@backend
class OpenCL(Backend):
    """OpenCL C for any GPU or processor with a driver, compiled by the driver.

    Temporaries of threads and blocks cannot be filled with NaN first.
    """

    name = kind = "opencl"
    language = "OpenCL C"
    overlaps = False

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        module = GpuModule(func, symbol, _opencl(target), target)
        return "\n".join([*module.lines(), ""]), module.workspace_bytes, 0

    def compile(self, text: str, target: Target) -> bytes:
        return wrapped(self.name, opencl.compile_text(text, target))

    def assembly(self, text: str, target: Target) -> str:
        return opencl.assembly_of(text, target)

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in GpuModule(func, "kernel", _opencl(target), target).lines()]

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return opencl.problem(target)

    def statistics(self, func: Func, target: Target) -> tuple[KernelStatistics, ...]:
        return statistics(GpuModule(func, "kernel", _opencl(target), target))

    def takes_cores(self, target: Target) -> bool:
        return opencl.is_processor(target)


def _opencl(target: Target) -> Words:
    """The words for a GPU, or for a processor."""
    return OPENCL_VECTORS if int(target.option("thread_warp_size")) == 1 else OPENCL
