"""Backends for GPUs: CUDA C, run thread by thread on the CPU, and OpenCL C, run by whatever has a driver."""

from __future__ import annotations

from workbench.codegen.backend import Backend, backend
from workbench.codegen.code_line import Named, named
from workbench.codegen.device_image import wrapped
from workbench.codegen.gpu import cuda_driver, nvrtc, opencl, simt
from workbench.codegen.gpu.launch import launches_of, packed
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.statistics import KernelStatistics, machine_code, statistics
from workbench.codegen.gpu.words import CUDA, OPENCL, OPENCL_VECTORS
from workbench.errors import WorkbenchError
from workbench.ir import Func
from workbench.target import Target


class _Gpu(Backend):
    """What the backends of all GPUs have in common: the text is that of a module."""

    overlaps = False

    def _module(self, func: Func, target: Target, symbol: str = "kernel") -> GpuModule:
        return GpuModule(func, symbol, CUDA, target)

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        module = self._module(func, target, symbol)
        return _text(module), module.workspace_bytes, 0

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in self._module(func, target).lines()]

    def statistics(self, func: Func, target: Target) -> tuple[KernelStatistics, ...]:
        return statistics(self._module(func, target))


def _text(module: GpuModule) -> str:
    return "\n".join([*module.lines(), ""])


@backend
class CpuSimt(_Gpu):
    """CUDA C run by the CPU, thread by thread, in three orders: missing barriers and wrong indices are found.

    Slow, and no measure of a GPU. Needs a C++ compiler.
    """

    name = kind = "cpu-simt"
    language = "CUDA C"

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        module = GpuModule(func, symbol, CUDA, target, poison=True)
        return simt.text(module), module.workspace_bytes, 0

    def compile(self, text: str, target: Target) -> bytes:
        return wrapped("simt", simt.compile_text(text))

    def assembly(self, text: str, target: Target) -> str:
        return simt.assembly_of(text)

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return simt.problem()


@backend
class Cuda(_Gpu):
    """CUDA C for NVIDIA's GPUs, compiled by NVRTC without a GPU or a toolkit; a driver runs it.

    Temporaries of threads and blocks cannot be filled with NaN first.
    """

    name = kind = "cuda"
    language = "CUDA C"

    def compile(self, text: str, target: Target) -> bytes:
        arch = str(target.option("arch"))
        return wrapped(self.name, packed(arch, launches_of(text), nvrtc.compile_text(text, arch).cubin))

    def assembly(self, text: str, target: Target) -> str:
        listed = nvrtc.disassembly(nvrtc.compile_text(text, str(target.option("arch"))).cubin)
        return "\n".join(line for _, line, _ in nvrtc.sass(listed))

    def asm_listing(self, func: Func, target: Target) -> list[Named]:
        rows = self.listing(func, target)
        text = "".join(f"{line}\n" for line, _ in rows)
        listed = nvrtc.disassembly(nvrtc.compile_text(text, str(target.option("arch"))).cubin)
        return [(line, rows[number - 1][1] if number else "") for _, line, number in nvrtc.sass(listed)]

    def statistics(self, func: Func, target: Target) -> tuple[KernelStatistics, ...]:
        if nvrtc.problem() is not None:
            return super().statistics(func, target)
        module, arch = self._module(func, target), str(target.option("arch"))
        return statistics(module, machine_code(nvrtc.compile_text(_text(module), arch), arch))

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return nvrtc.problem()

    def run_problem(self, target: Target) -> WorkbenchError | None:
        return self.compiler_problem(target) or cuda_driver.problem(target)

    def takes_cores(self, target: Target) -> bool:
        return False


@backend
class OpenCL(_Gpu):
    """OpenCL C for any GPU or processor with a driver, compiled by the driver.

    Temporaries of threads and blocks cannot be filled with NaN first.
    """

    name = kind = "opencl"
    language = "OpenCL C"

    def _module(self, func: Func, target: Target, symbol: str = "kernel") -> GpuModule:
        alone = int(target.option("thread_warp_size")) == 1  # a processor
        return GpuModule(func, symbol, OPENCL_VECTORS if alone else OPENCL, target)

    def compile(self, text: str, target: Target) -> bytes:
        return wrapped(self.name, opencl.compile_text(text, target))

    def assembly(self, text: str, target: Target) -> str:
        return opencl.assembly_of(text, target)

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return opencl.problem(target)

    def takes_cores(self, target: Target) -> bool:
        return opencl.is_processor(target)
