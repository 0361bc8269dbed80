"""What one run of a network needs for itself, so that any number of runs can go on at the same time.

`LoadedNetwork` is what all runs share and nobody changes: linked code, constants, which argument lies where. A
`RunContext` is the memory of one run: arena, workspace, the tables that machine code walks, and the Python steps bound
to it. Inputs and outputs are the caller's arrays; their addresses are written into the tables when a run begins.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.locks import once
from workbench.runtime.buffers import (
    KERNEL_TYPE,
    Array,
    RuntimeStruct,
    address,
    aligned_empty,
    as_aligned,
    is_ready,
    numpy_dtype,
    poison,
)
from workbench.runtime.execution.python_steps import HostCode
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.native import timing_loop
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot
from workbench.runtime.thread_pool.pool import ThreadPool, serial_launch_address
from workbench.runtime.thread_pool.processor_share import Loan

#: In the place of arrays of the caller, between two runs.
NOTHING: Array = np.empty(0, np.uint8)


@once
def _walk() -> Callable[[int, int, int], None]:
    return KERNEL_TYPE(timing_loop.walk_address())


class LoadedNetwork:
    """A plan whose code is linked, and where each argument of its calls lies.

    Parameters
    ----------
    plan : ExecutablePlan

    Raises
    ------
    BuildError
        ``build.link``.

    Attributes
    ----------
    codes : list of LoadedCode
        Each kernel once.
    constants : list of array
    arguments : array of addresses
        All arguments of all calls in a row; what depends on the run is an offset.
    in_arena : array of int
        Positions whose offset is into the arena.
    uses : dict of kind to list of lists of (int, int)
        Positions of each input's or output's address, with the bytes to add to it.
    """

    def __init__(self, plan: ExecutablePlan) -> None:
        self.plan = plan
        self.constants = [as_aligned(np.ascontiguousarray(a)) for a in plan.constants]
        loaded: dict[int, LoadedCode] = {}
        for call in plan.calls:
            if isinstance(call, CallPlan) and id(call.code) not in loaded:
                loaded[id(call.code)] = LoadedCode(call.code)
        self.codes = list(loaded.values())
        self.uses: dict[str, list[list[tuple[int, int]]]] = {
            "input": [[] for _ in plan.inputs],
            "output": [[] for _ in plan.outputs],
        }
        arguments: list[int] = []
        in_arena: list[int] = []
        self.rows: list[tuple[int, int]] = []  # address of the code (0: a Python step), position of its first argument
        for call in plan.calls:
            kernel = isinstance(call, CallPlan)
            self.rows.append((loaded[id(call.code)].address if isinstance(call, CallPlan) else 0, len(arguments)))
            for slot in call.args if kernel else ():
                assert isinstance(slot, Slot)
                self._place(slot, arguments, in_arena)
        self.arguments = np.array(arguments or [0], np.uintp)
        self.in_arena = np.array(in_arena, np.intp)

    def _place(self, slot: Slot, arguments: list[int], in_arena: list[int]) -> None:
        here = len(arguments)
        if slot.kind == "arena":
            in_arena.append(here)
            arguments.append(slot.at + slot.skip)
        elif slot.kind == "const":
            arguments.append(int(self.constants[slot.at].ctypes.data) + slot.skip)
        else:
            self.uses[slot.kind][slot.at].append((here, slot.skip))
            arguments.append(0)

    def workspace_bytes(self, threads: int) -> int:
        """Size of the workspace that the calls share."""
        return max((each.code.workspace_bytes(threads) for each in self.codes), default=0)


class _Outcome:
    """What became of a run: the first error of a Python step, which is also its last step."""

    table: Array

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """End the run after this step: what follows would compute with numbers that are not there."""
        self.error = error
        self.table[timing_loop.STOP] = 1

    def tell(self) -> None:
        """Raise the error, once."""
        error, self.error = self.error, None
        self.table[timing_loop.STOP] = 0
        if error is not None:
            raise error


class RunContext:
    """Memory and tables of one run at a time.

    Parameters
    ----------
    network : LoadedNetwork
    threads : int
        Threads that the workspace has room for.
    """

    def __init__(self, network: LoadedNetwork, threads: int) -> None:
        self.network = network
        plan = network.plan
        self._poisoned = False
        # Touched now, so that no run pays for the pages.
        self.arena = aligned_empty((plan.arena_bytes,), "uint8")
        self.arena[...] = 0
        self._copies: list[Array | None] = [None] * len(plan.inputs)
        self._arguments = network.arguments.copy()
        self._arguments[network.in_arena] += np.uintp(self.arena.ctypes.data)
        self._addresses = self._arguments.data  # written in a third of the time
        self._places: dict[str, list[Array]] = {"input": [], "output": []}
        self._steps: list[HostCode] = []
        self._bound: list[tuple[list[Array], int, Slot, ArraySpec]] = []
        self._outcome = _Outcome()
        self._table = self._outcome.table = timing_loop.call_table(self._rows(plan))
        self._table_at = int(self._table.ctypes.data)
        self.pool: ThreadPool | None = None
        self.rt = RuntimeStruct(1, None, serial_launch_address())
        self._rt_at = ctypes.addressof(self.rt)
        self.resize(threads)

    def _rows(self, plan: ExecutablePlan) -> list[int]:
        rows: list[int] = []
        first = int(self._arguments.ctypes.data)
        for call, (entry, start) in zip(plan.calls, self.network.rows, strict=True):
            buffers = first + start * self._arguments.itemsize
            if isinstance(call, HostCall):
                code = HostCode(call, self._views(call.args, True), self._views(call.results), self._outcome.fail)
                self._steps.append(code)
                entry, buffers = timing_loop.python_step_address(), code.address
            rows += [entry, buffers]
        return rows

    def _views(self, places: Sequence[tuple[Slot, ArraySpec]], read_only: bool = False) -> list[Array]:
        """Views for a Python step; those of the caller's arrays come with each run."""
        views: list[Array] = []
        for slot, spec in places:
            if slot.kind in ("input", "output"):
                self._bound.append((views, len(views), slot, spec))
                views.append(NOTHING)
            else:
                views.append(self.view(slot, spec))
                views[-1].flags.writeable = not read_only
        return views

    def resize(self, threads: int) -> None:
        """Make room for so many threads."""
        self._workspace = aligned_empty((self.network.workspace_bytes(threads),), "uint8")
        self._workspace[...] = 0
        self._workspace_at = int(self._workspace.ctypes.data)
        self.threads = threads

    def poison(self) -> None:
        """Fill everything that a run writes before it reads with NaN, for the next run."""
        poison(self.arena)
        poison(self._workspace)
        self._poisoned = True

    # ---- one run ----

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Say where the inputs and outputs of the runs that follow are.

        The arrays have to live until then. Inputs that machine code cannot read, or not well, are copied here.
        """
        given = [self._ready(k, array) for k, array in enumerate(inputs)]
        if self._poisoned:
            self._poisoned = False
            for array in outputs:
                poison(array)
        for kind, arrays in (("input", given), ("output", outputs)):
            for array, where in zip(arrays, self.network.uses[kind], strict=True):
                self._say(where, array)
        self._places["input"], self._places["output"] = given, list(outputs)
        for views, k, slot, spec in self._bound:
            views[k] = self.view(slot, spec)
            if slot.kind == "input":
                views[k].flags.writeable = False

    def _say(self, where: Sequence[tuple[int, int]], array: Array) -> None:
        """Write the address of an array where calls read it."""
        start, arguments = address(array) if where else 0, self._addresses
        for position, skip in where:
            arguments[position] = start + skip

    def bind_input(self, number: int, array: Array) -> None:
        """As `bind` for one input, for a network that `keeps_addresses`."""
        self._say(self.network.uses["input"][number], self._ready(number, array))

    def bind_outputs(self, outputs: Sequence[Array]) -> None:
        """As `bind` for the outputs, for a network that `keeps_addresses`."""
        for array, where in zip(outputs, self.network.uses["output"], strict=True):
            self._say(where, array)

    @property
    def keeps_addresses(self) -> bool:
        """Whether a run needs nothing of the caller's arrays but where they are, which the next run finds, too."""
        return not self._bound

    def reads(self, number: int, array: Array) -> bool:
        """Whether machine code reads an array where it is, as the input of this number."""
        flags = array.flags
        return flags.c_contiguous and flags.aligned and (number not in self.network.plan.lines or is_ready(array))

    def _ready(self, number: int, array: Array) -> Array:
        """The array itself where machine code reads it as it is, else a copy in memory that is kept."""
        if self.reads(number, array):
            return array
        copy = self._copies[number]
        if copy is None:
            copy = self._copies[number] = aligned_empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    def release(self) -> None:
        """Let go of the caller's arrays."""
        self._places = {"input": [], "output": []}
        for views, k, _, _ in self._bound:
            views[k] = NOTHING

    @property
    def lent(self) -> int:
        """Threads that the run has."""
        return int(self.rt.nthreads)

    def use(self, loan: Loan) -> None:
        """Run with these threads."""
        pool = self.pool = loan.pool
        self.rt.nthreads = loan.threads
        self.rt.pool = None if pool is None else pool.address
        self.rt.launch = serial_launch_address() if pool is None else pool.launch_address

    def walk(self, stamps: Array | None = None) -> None:
        """Run all calls once; the time before each of them, and after the last one, goes to `stamps` (ns)."""
        if stamps is None:
            _walk()(self._table_at, self._workspace_at, self._rt_at)
        else:
            self._table[timing_loop.STAMPS] = stamps.ctypes.data
            try:
                _walk()(self._table_at, self._workspace_at, self._rt_at)
            finally:
                self._table[timing_loop.STAMPS] = 0
        if self._outcome.error is not None:
            self._outcome.tell()

    def time(self, repeat: int, number: int) -> list[float]:
        """Milliseconds per run, `repeat` averages of `number` runs."""
        times = self._time(self._table, repeat, number)
        if self._outcome.error is not None:
            self._outcome.tell()
        return times

    def time_call(self, number: int, repeat: int) -> list[float]:
        """Milliseconds that one call takes over and over, its operands where the last time left them.

        A result that lies over an operand in the network goes elsewhere here. Empty for a Python step.
        """
        call, (entry, start) = self.network.plan.calls[number], self.network.rows[number]
        if isinstance(call, HostCall):
            return []
        arguments = self._arguments[start : start + len(call.args)].copy()
        params = call.code.params
        elsewhere = {o: aligned_empty(params[o].shape, params[o].dtype) for _, o in call.reuses}
        for position, array in elsewhere.items():
            arguments[position] = array.ctypes.data
        table = timing_loop.call_table([entry, int(arguments.ctypes.data)])
        return self._time(table, 2 + repeat, 1)[2:]  # the first two bring the operands

    def _time(self, table: Array, repeat: int, number: int) -> list[float]:
        walk, clock = timing_loop.walk_address(), timing_loop.wall_clock()
        at = int(table.ctypes.data)
        times = timing_loop.time_calls(walk, at, self._workspace_at, self.rt, repeat, number, clock)
        return [float(t) * 1e-6 for t in times]

    def view(self, slot: Slot, spec: ArraySpec) -> Array:
        """The memory of a slot as an array."""
        start = slot.skip
        if slot.kind == "arena":
            memory, start = self.arena, slot.at + slot.skip
        else:
            arrays: Sequence[Any] = self.network.constants if slot.kind == "const" else self._places[slot.kind]
            memory = arrays[slot.at].reshape(-1).view(np.uint8)
        return memory[start : start + spec.nbytes].view(numpy_dtype(spec.dtype)).reshape(spec.shape)
