"""From a runtime kernel to the text of an LLVM module: an entry point, and a region for each loop over rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.codegen.constants import Storage, Tasks
from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.regions import (
    context_arguments,
    entry_signature,
    launch_region,
    region_context,
    region_signature,
    tail,
)
from workbench.codegen.llvm.values import Value, index
from workbench.codegen.lowering import ParamInfo, task_limit
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.codegen.runtime_kernels.language import Code, Number
from workbench.ir.dtypes import itemsize
from workbench.target import Target


def emit_kernel(
    kernel: KernelFunction, target: Target, symbol: str, attributes: tuple[str, ...]
) -> tuple[str, int, int]:
    """Return the LLVM text and the workspace sizes (shared, per thread) in bytes.

    Parameters
    ----------
    kernel : KernelFunction
    target : Target
        Machine to generate for.
    symbol : str
        Name of the entry point.
    attributes : tuple of str
        Further attributes of every function, as the architecture wants them.
    """
    k = KernelEmitter(kernel.params, target, symbol)
    kernel.body(k, *kernel.arguments)
    return k.finish(" ".join(("nounwind", *attributes)))


@dataclass(frozen=True, slots=True)
class _Scratch:
    """Memory of a kernel: bytes from the beginning of what is common, or of what each thread has."""

    offset: int
    dtype: str
    shared: bool


@dataclass(slots=True)
class _Workspace:
    """Memory that a kernel asked for so far."""

    shared: int = 0
    per_thread: int = 0
    found: dict[str, _Scratch] = field(default_factory=dict)

    def add(self, name: str, count: int, dtype: str, shared: bool) -> None:
        nbytes = -(-count * itemsize(dtype) // Storage.ALIGN) * Storage.ALIGN
        self.found[name] = _Scratch(self.shared if shared else self.per_thread, dtype, shared)
        if shared:
            self.shared += nbytes
        else:
            self.per_thread += nbytes


class KernelEmitter:
    """One runtime kernel while its body writes it.

    A body asks for its memory first, then writes steps, which run one after the other.

    Parameters
    ----------
    params : tuple of ParamInfo
        The arguments of a call.
    target : Target
    symbol : str
        Name of the entry point.
    """

    def __init__(self, params: tuple[ParamInfo, ...], target: Target, symbol: str) -> None:
        self._params = {p.name: (k, p) for k, p in enumerate(params)}
        self.target, self._symbol = target, symbol
        self._workspace = _Workspace()
        self._functions: list[list[str]] = []
        self._declarations: dict[str, str] = {}
        self._entry: Code | None = None
        self._context: Value | None = None

    def has(self, name: str) -> bool:
        """Whether the node has this input or output."""
        return name in self._params

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an input or output."""
        return self._params[name][1].shape

    def dtype(self, name: str) -> str:
        """Element type of an input or output."""
        return self._params[name][1].dtype

    def scratch(self, name: str, count: int, dtype: str, shared: bool = False) -> None:
        """Ask for memory: for each thread, or common to all; it is found with `Code.array`."""
        assert self._entry is None, "a body asks for its memory first"
        self._workspace.add(name, count, dtype, shared)

    def once(self, step: Callable[[Code], None]) -> None:
        """Write a step that one thread takes."""
        step(self._start())

    def rows(self, count: int, step: Callable[[Code, Number], None], work: int) -> None:
        """Write a step that is taken for each row, by any thread and in any order.

        Parameters
        ----------
        count : int
            Number of rows.
        step : callable
            Writes what is done for the row of a number.
        work : int
            Operations of a row, about: few rows of little work are not worth a second thread.
        """
        enough = max(1, count * work // Tasks.LEAST_WORK)
        tasks = min(count, task_limit(self.target.threads), enough)
        entry = self._start()
        if tasks < 2:
            with entry.loop(count) as row:
                step(entry, row)
            return
        self._context = self._context or region_context(entry.fb)
        name = f"{self._symbol}.r{len(self._functions)}"
        self._region(name, count, tasks, step)
        launch_region(entry.fb, name, self._context, tasks)

    def finish(self, attributes: str) -> tuple[str, int, int]:
        """Return the text and the workspace sizes."""
        self._end(self._start().fb, entry_signature(self._symbol))
        lines = [*self._declarations.values(), *(line for f in self._functions for line in f), *tail(attributes)]
        return "\n".join(lines) + "\n", self._workspace.shared, self._workspace.per_thread

    def _start(self) -> Code:
        if self._entry is None:
            self._entry = self._code(Value("%bufs", "ptr"), Value("%workspace", "ptr"), index(0))
        return self._entry

    def _region(self, name: str, count: int, tasks: int, step: Callable[[Code, Number], None]) -> None:
        fb = FunctionBuilder(self.target.isa)
        bufs, workspace = context_arguments(fb)
        code = self._code(bufs, workspace, Value("%tid", "int64"), fb)
        task = Number(code, Value("%task", "int64"))
        with code.loop((task + 1) * count // tasks, task * count // tasks) as row:
            step(code, row)
        self._end(fb, region_signature(name))

    def _end(self, fb: FunctionBuilder, signature: str) -> None:
        self._functions.append(fb.lines(signature))
        self._declarations.update(fb.declarations)

    def _code(self, bufs: Value, workspace: Value, tid: Value, fb: FunctionBuilder | None = None) -> Code:
        """A function; `tid` says which part of the workspace is its own."""

        def find(fb: FunctionBuilder, name: str) -> tuple[Value, str] | None:
            if name in self._params:
                k, p = self._params[name]
                at = fb.gep(bufs, index(k), "ptr")
                return fb.pure(f"load ptr, {at.typed}, align 8", "ptr", 1, (at,)), p.dtype
            scratch = self._workspace.found.get(name)
            if scratch is None:
                return None
            start = index(scratch.offset)
            if not scratch.shared:
                own = fb.mul(tid, self._workspace.per_thread)
                start = fb.add(own, index(self._workspace.shared + scratch.offset))
            return fb.gep(workspace, start, "i8"), scratch.dtype

        return Code(fb or FunctionBuilder(self.target.isa), self.target, find)


def split(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Elements before an axis, along it and behind it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
