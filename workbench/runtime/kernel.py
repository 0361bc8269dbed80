"""One compiled function, callable on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.codegen.backend import Backend, backend_for
from workbench.errors import BuildError
from workbench.ir import Buffer, Func
from workbench.ir.func import pack
from workbench.ir.text.printer import to_text
from workbench.locks import ForkLock
from workbench.runtime.buffers import (
    Array,
    aligned_empty,
    as_aligned,
    check_array,
    concrete_shape,
    pointer_table,
    poison,
)
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.named_arguments import by_name
from workbench.runtime.thread_pool.launch_context import LaunchContext
from workbench.safe_text import shown_legibly
from workbench.schedule import schedule_hooks
from workbench.schedule.html import interface, machine, nest_table, operations

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode
    from workbench.target import Target

#: Rows of a nest that are shown: a screen.
_ROWS = 30


def logical_shape(buffer: Buffer) -> tuple[int, ...]:
    """Return the shape of the array that a caller gives for this buffer, before packing."""
    return concrete_shape(buffer.logical_shape())


class Kernel:
    """A compiled function.

    Calling it takes the inputs and constant operands in the function's order (or by name) and returns the output: one
    array, or a tuple where the function has several outputs. Constant operands are given as they are; packing happens
    here. A kernel for another machine, or one whose text no compiler of this machine takes, can be looked at (`source`,
    `asm`); calling it is an error.

    Parameters
    ----------
    func : Func
        The concrete function that was compiled.
    code : ObjectCode
        What the code generator made of it.
    target : Target
        The machine it was compiled for.
    threads : int, optional
        Threads to use; the target's by default.
    poison : bool
        Fill outputs and workspace with NaN before every call.

    Raises
    ------
    BuildError
        ``build.link`` when the code cannot be loaded.
    """

    def __init__(
        self, func: Func, code: ObjectCode, target: Target, threads: int | None = None, poison: bool = False
    ) -> None:
        self.func = func
        self._poison = poison
        self.target = target
        self._code = code
        self._problem = self._backend.run_problem(target)
        self._library = None if self._problem else LoadedCode(code)
        self._lock = ForkLock()
        self.set_threads(target.threads if threads is None else threads)

    @shown_legibly
    def __repr__(self) -> str:
        params = ", ".join(f"{b.name}: {b.dtype}{list(logical_shape(b))}" for b in self.func.params)
        return f"<Kernel {self.func.name}({params}), {self.threads} threads>"

    def __reduce__(self) -> tuple[type[Kernel], tuple[object, ...]]:
        """Copies, also in another process, load the object code anew: machine code has one owner."""
        return Kernel, (self.func, self._code, self.target, self.threads, self._poison)

    def _repr_html_(self) -> str:
        func, workspace = self.func, self.workspace_bytes
        more = f"{m.size(workspace)} of workspace" if workspace else ""
        code = f"{m.size(self.code_bytes)} of code"
        head = m.heading("Kernel", func.name, m.plural(self.threads, "thread"), operations(func), code, more)
        nest = nest_table(schedule_hooks.nest(func, self.target, _ROWS), _ROWS)
        target = m.label("target", machine(self.target))
        return m.page(head, interface(func), target, nest, m.fold("The nest as text", m.code(self.nest)))

    @property
    def code_bytes(self) -> int:
        """Size of the object file."""
        return len(self._code.object)

    @property
    def workspace_bytes(self) -> int:
        """Memory for temporaries that a call uses with the current number of threads."""
        return self._code.workspace_bytes(self.threads)

    @property
    def threads(self) -> int:
        """Number of threads that a call may use."""
        return self._around.threads

    def set_threads(self, threads: int) -> None:
        """Set the number of threads for the calls that follow."""
        with self._lock:
            around = LaunchContext(threads)
            around.reserve(self._code.workspace_bytes(threads))
            self._around = around

    @property
    def llvm(self) -> str:
        """LLVM text of the kernel, as the code generator wrote it.

        Raises
        ------
        BuildError
            "build.language" for a kernel that was not made through LLVM; its text is `source`.
        """
        language = self._backend.language
        if language != "LLVM":
            raise BuildError(
                "build.language", f"This kernel was written in {language}, not in LLVM's language.", (), "kernel.source"
            )
        return self.source

    @property
    def asm(self) -> str:
        """The target machine's assembly."""
        return self._backend.assembly(self.source, self.target)

    @property
    def source(self) -> str:
        """Text that the code generator wrote: LLVM's language or C."""
        return self._code.source

    @property
    def statistics(self) -> Sequence[Any]:
        """What is known of each kernel of a GPU before it runs, as `codegen.gpu.statistics.KernelStatistics`: grid and
        block, shared bytes, barriers, what each access costs a warp; for the target ``cuda`` registers, spills,
        occupancy and instructions.

        Raises
        ------
        BuildError
            "build.statistics" for a kernel of a processor.
        """
        return self._backend.statistics(self.func, self.target)

    @property
    def nest(self) -> str:
        """The loop nest as text."""
        return to_text(self.func)

    @property
    def _backend(self) -> Backend:
        return backend_for(self.target)

    @property
    def _loaded(self) -> LoadedCode:
        if self._library is None:
            assert self._problem is not None
            raise self._problem
        return self._library

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Run the kernel.

        Parameters
        ----------
        *arrays, **named : array
            Inputs and constant operands, in order or by name; shapes and dtypes must be those of the function's
            buffers.

        Returns
        -------
        array or tuple of array
            Freshly allocated outputs.

        Raises
        ------
        ShapeError
            ``shape.count``, ``shape.name``, ``shape.mismatch`` or ``shape.dtype``.
        TargetError
            ``target.host`` for a kernel of another machine.
        BuildError
            ``build.compiler`` for a kernel that was not compiled.
        RunFailure
            ``gpu.*`` for what a device found wrong.
        """
        return self.prepare(*arrays, **named)()

    def prepare(self, *arrays: Any, **named: Any) -> PreparedCall:
        """Check the operands, pack the constants and allocate the outputs once, for many calls.

        Parameters
        ----------
        *arrays, **named : array
            As for a call. Inputs that are C-contiguous and aligned are used in place: what is written into them later,
            the next call sees.

        Returns
        -------
        PreparedCall
            Calling it runs the kernel and returns the same output arrays every time.
        """
        _ = self._loaded  # a kernel that cannot run says so before it looks at the arrays
        given = by_name([b.name for b in self.func.inputs], arrays, named, self.func.name)
        outputs = [aligned_empty(concrete_shape(b.shape), b.dtype) for b in self.func.outputs]
        rest = iter(outputs)
        keep = [next(rest) if b.role == "output" else self._operand(b, given[b.name]) for b in self.func.params]
        return PreparedCall(self, outputs, keep)

    def _run(self, outputs: Sequence[Array], table: Array) -> None:
        with self._lock:
            if self._poison:
                self._around.poison()
                for array in outputs:
                    poison(array)
            self._around.call(self._loaded.address, table)
            found = self._loaded.fault()
        if found is not None:
            raise found

    @staticmethod
    def _operand(buffer: Buffer, value: Any) -> Array:
        array = check_array(buffer.name, value, logical_shape(buffer), buffer.dtype)
        return as_aligned(pack(buffer, array) if buffer.layout else array)


class PreparedCall:
    """A kernel with its operands, made by `Kernel.prepare`: a call does nothing but run it."""

    def __init__(self, kernel: Kernel, outputs: Sequence[Array], keep: Sequence[Array]) -> None:
        self._kernel, self._outputs, self._keep = kernel, tuple(outputs), tuple(keep)
        self._table = pointer_table([a.ctypes.data for a in keep])

    def __repr__(self) -> str:
        return f"<prepared call of {self._kernel!r}>"

    def __call__(self) -> Any:
        """Run the kernel; the output, or a tuple of outputs, is overwritten by the next call."""
        self._kernel._run(self._outputs, self._table)
        return self._outputs[0] if len(self._outputs) == 1 else self._outputs
