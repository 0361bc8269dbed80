"""A whole network as one executable: one native loop over a table of kernel calls, on one planned arena."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import real, whole
from workbench.errors import ShapeError, did_you_mean
from workbench.locks import ForkLock
from workbench.markup import size
from workbench.runtime import harness
from workbench.runtime.buffers import (
    Array,
    aligned_empty,
    as_aligned,
    check_array,
    numpy_dtype,
    pointer_table,
    poison,
)
from workbench.runtime.host_call import HostCode
from workbench.runtime.loaded import CodeImage, LoadedCode, Surroundings
from workbench.runtime.plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot, check_plan

if TYPE_CHECKING:
    import pandas

__all__ = ["ArraySpec", "BenchmarkResult", "CallPlan", "Executable", "ExecutablePlan", "HostCall", "Slot"]


@dataclass(frozen=True, slots=True, repr=False)
class BenchmarkResult:
    """Times of a whole network; `str()` has the layout of TVM's benchmark.

    Parameters
    ----------
    costs_ms : tuple of float
        Milliseconds per run, one number per repetition (wall time).
    threads : int
        Threads that were used.
    """

    costs_ms: tuple[float, ...]
    threads: int

    @property
    def mean_ms(self) -> float:
        """Mean repetition."""
        return statistics.fmean(self.costs_ms)

    @property
    def median_ms(self) -> float:
        """Median repetition."""
        return statistics.median(self.costs_ms)

    @property
    def max_ms(self) -> float:
        """Slowest repetition."""
        return max(self.costs_ms)

    @property
    def min_ms(self) -> float:
        """Fastest repetition."""
        return min(self.costs_ms)

    @property
    def std_ms(self) -> float:
        """Standard deviation of the repetitions (of the population, as TVM's)."""
        return statistics.pstdev(self.costs_ms)

    def to_json(self) -> dict[str, float | int]:
        """Return the five numbers and the threads, as the command line prints them."""
        return {
            "mean_ms": self.mean_ms,
            "median_ms": self.median_ms,
            "max_ms": self.max_ms,
            "min_ms": self.min_ms,
            "std_ms": self.std_ms,
            "threads": self.threads,
        }

    def __str__(self) -> str:
        heads = " ".join(f"{f'{name} (ms)':^12}" for name in ("mean", "median", "max", "min", "std"))
        numbers = (self.mean_ms, self.median_ms, self.max_ms, self.min_ms, self.std_ms)
        return f"Execution time summary:\n {heads}\n " + " ".join(f"{n:^12.4f}" for n in numbers)

    def __repr__(self) -> str:
        times = f"median {self.median_ms:.4g} ms, {self.min_ms:.4g} to {self.max_ms:.4g} ms"
        return f"<BenchmarkResult {times}, {len(self.costs_ms)} repeats, {self.threads} threads>"

    def _repr_html_(self) -> str:
        from workbench.runtime.html import benchmark_html

        return benchmark_html(self)


class Executable:
    """A compiled network.

    Parameters
    ----------
    plan : ExecutablePlan
        Calls, memory, constants.
    threads : int, optional
        Threads to use; the plan's by default.

    Attributes
    ----------
    plan : ExecutablePlan
        As given.

    Raises
    ------
    BuildError
        ``build.plan`` when the plan is not consistent, ``build.link`` when code cannot be loaded.

    Notes
    -----
    Safe to call from several threads: one run at a time.
    """

    def __init__(self, plan: ExecutablePlan, threads: int | None = None) -> None:
        check_plan(plan)
        self.plan = plan
        self._lock = ForkLock()
        self._inputs = [aligned_empty(s.shape, s.dtype) for s in plan.inputs]
        self._outputs = [aligned_empty(s.shape, s.dtype) for s in plan.outputs]
        self._constants = [as_aligned(np.ascontiguousarray(a)) for a in plan.constants]
        self._arena = aligned_empty((plan.arena_bytes,), "uint8")
        for array in (*self._inputs, *self._outputs):
            array[...] = 0
        self._arena[...] = 0  # touched now, so that the first run does not pay for the pages
        self._load()
        self.set_threads(plan.threads if threads is None else threads)

    def _load(self) -> None:
        """Link each kernel once and write the call table."""
        loaded: dict[int, LoadedCode] = {}
        rows: list[int] = []
        self._argument_tables: list[Array] = []
        self._host: list[HostCode] = []
        for call in self.plan.calls:
            if isinstance(call, HostCall):
                views = [[self._view(*place) for place in places] for places in (call.args, call.results)]
                self._host.append(HostCode(call, *views))
                rows += [self._host[-1].address, 0]
                continue
            code = loaded.get(id(call.code))
            if code is None:
                code = loaded[id(call.code)] = LoadedCode(CodeImage.of(call.code))
            table = pointer_table([self._address(slot) for slot in call.args])
            self._argument_tables.append(table)
            rows += [code.address, int(table.ctypes.data)]
        self._code = list(loaded.values())
        self._table = pointer_table([len(self.plan.calls), 0, harness.wall_clock(), *rows])

    def _address(self, slot: Slot) -> int:
        if slot.kind == "arena":
            return int(self._arena.ctypes.data) + slot.at
        arrays = {"input": self._inputs, "output": self._outputs, "const": self._constants}[slot.kind]
        return int(arrays[slot.at].ctypes.data)

    # ---- what it is ----

    def __repr__(self) -> str:
        plan = self.plan
        memory = size(plan.arena_bytes + sum(a.nbytes for a in plan.constants))
        return f"<Executable {plan.name}: {len(plan.calls)} calls, {memory}, {self.threads} threads>"

    def _repr_html_(self) -> str:
        from workbench.runtime.html import executable_html

        return executable_html(self)

    @property
    def inputs(self) -> tuple[ArraySpec, ...]:
        """Name, shape and dtype of each input."""
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[ArraySpec, ...]:
        """Name, shape and dtype of each output."""
        return self.plan.outputs

    @property
    def untuned(self) -> tuple[str, ...]:
        """Tasks that run with their default schedule because no record was found."""
        return self.plan.untuned

    @property
    def threads(self) -> int:
        """Number of threads that a run may use."""
        return self._around.threads

    def set_threads(self, threads: int) -> None:
        """Set the number of threads for the runs that follow.

        Raises
        ------
        UsageError
            ``run.threads``.
        """
        with self._lock:
            around = Surroundings(threads)
            need = max((c.image.workspace_bytes(threads) for c in self._code), default=0)
            around.reserve(need)[...] = 0
            self._around = around

    # ---- running ----

    def run(self, *args: Any, **named: Any) -> dict[str, Array]:
        """Run the network once.

        Parameters
        ----------
        *args, **named : array
            Either one mapping from input names to arrays, or the arrays in order, or by keyword.

        Returns
        -------
        dict of str to array
            The outputs by name, in the network's order; the caller's to keep.

        Raises
        ------
        ShapeError
            ``shape.count``, ``shape.name``, ``shape.mismatch``, ``shape.dtype``.
        """
        given = self._bind(args, named)
        arrays = [check_array(s.name, given[s.name], s.shape, s.dtype) for s in self.plan.inputs]
        with self._lock:
            for kept, array in zip(self._inputs, arrays, strict=True):
                kept[...] = array
            self._walk()
            slots = self.plan.output_slots or tuple(Slot("output", i) for i in range(len(self._outputs)))
            return {s.name: self._view(slot, s).copy() for s, slot in zip(self.plan.outputs, slots, strict=True)}

    __call__ = run

    def _view(self, slot: Slot, spec: ArraySpec) -> Array:
        if slot.kind == "arena":
            return self._arena[slot.at : slot.at + spec.nbytes].view(numpy_dtype(spec.dtype)).reshape(spec.shape)
        arrays = {"input": self._inputs, "output": self._outputs, "const": self._constants}[slot.kind]
        return arrays[slot.at].reshape(spec.shape)

    def _walk(self) -> None:
        self._around.call(harness.walk_address(), self._table)
        self._raise_failures()

    def _raise_failures(self) -> None:
        for code in self._host:
            code.raise_failure()

    def _bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        names = [s.name for s in self.plan.inputs]
        if len(args) == 1 and isinstance(args[0], Mapping):
            given: dict[str, Any] = dict(args[0])
        else:
            if len(args) > len(names):
                raise ShapeError("shape.count", f"the network takes {len(names)} inputs, not {len(args)}", names)
            given = dict(zip(names, args, strict=False))
        given.update(named)
        for name in given:
            if name not in names:
                hint = did_you_mean(str(name), names, "inputs")
                raise ShapeError("shape.name", f"the network has no input {name!r}", (name,), hint)
        missing = [name for name in names if name not in given]
        if missing:
            raise ShapeError("shape.count", f"no array is given for {', '.join(missing)}", missing)
        return given

    # ---- measuring ----

    def _set_inputs(self, inputs: Mapping[str, Any] | None) -> None:
        """Take the given inputs, or keep what is there (random numbers in a network that never ran)."""
        if inputs is not None:
            given = self._bind((inputs,), {})
            for kept, spec in zip(self._inputs, self.plan.inputs, strict=True):
                kept[...] = check_array(spec.name, given[spec.name], spec.shape, spec.dtype)
            return
        rng = np.random.default_rng(0)
        for kept in self._inputs:
            if kept.dtype.kind == "f" and not kept.any():
                kept[...] = rng.standard_normal(kept.shape)

    def benchmark(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        repeat: int = 10,
        number: int = 1,
        min_repeat_ms: float = 0.0,
        warmup: int = 2,
    ) -> BenchmarkResult:
        """Time whole runs, in native code, with the wall clock.

        Parameters
        ----------
        inputs : mapping, optional
            Input arrays by name; those of the last run, or random numbers, by default.
        repeat : int
            Number of repetitions.
        number : int
            Runs per repetition; their average counts.
        min_repeat_ms : float
            Raise `number` until a repetition lasts this long, in milliseconds.
        warmup : int
            Runs before the first repetition.

        Returns
        -------
        BenchmarkResult
            Mean, median, maximum, minimum and standard deviation in milliseconds.

        Raises
        ------
        UsageError
            ``usage.repeat`` for numbers below 1.
        """
        whole("repeat", repeat, code="usage.repeat")
        whole("number", number, code="usage.repeat")
        whole("warmup", warmup, least=0, code="usage.repeat")
        real("min_repeat_ms", min_repeat_ms, code="usage.repeat")
        with self._lock:
            self._set_inputs(inputs)
            for _ in range(warmup):
                self._walk()
            if min_repeat_ms > 0:
                once = max(min(self._time(2, 1)), 1e-6)
                number = max(number, math.ceil(min_repeat_ms / once))
            return BenchmarkResult(tuple(self._time(repeat, number)), self.threads)

    def _time(self, repeat: int, number: int) -> list[float]:
        self._around.ready()
        costs: list[float] = []
        chunk = 10
        while len(costs) < repeat:  # in portions of a fifth of a second, because native code does not hear Ctrl-C
            nanoseconds = harness.time_calls(
                harness.walk_address(),
                int(self._table.ctypes.data),
                self._around.workspace,
                self._around.rt,
                min(chunk, repeat - len(costs)),
                number,
                harness.wall_clock(),
            )
            self._raise_failures()
            portion = [float(t) * 1e-6 for t in nanoseconds]
            costs += portion
            chunk = max(1, min(10_000, int(200 * len(portion) / max(sum(portion) * number, 1e-3))))
        return costs

    def profile(
        self, inputs: Mapping[str, Any] | None = None, *, repeat: int = 10, warmup: int = 2
    ) -> pandas.DataFrame:
        """Time every call of the network, in native code.

        Parameters
        ----------
        inputs, repeat, warmup
            As for `benchmark`.

        Returns
        -------
        pandas.DataFrame
            One row per call in execution order: ``call`` (name), ``task``, ``ms`` (median), ``min_ms``, ``share`` (of
            the sum of the medians), ``gflops`` (NaN where the call has no floating-point operations), ``flops``,
            ``tuned``, ``note`` (why a call is not compiled and cannot be tuned, else "").
        """
        import pandas

        whole("repeat", repeat, code="usage.repeat")
        whole("warmup", warmup, least=0, code="usage.repeat")
        calls = self.plan.calls
        stamps = np.zeros((repeat, len(calls) + 1), np.int64)
        with self._lock:
            self._set_inputs(inputs)
            for _ in range(warmup):
                self._walk()
            try:
                for row in stamps:
                    self._table[1] = row.ctypes.data
                    self._walk()
            finally:
                self._table[1] = 0
        spent = np.diff(stamps, axis=1) * 1e-6
        median, fastest = np.median(spent, axis=0), np.min(spent, axis=0)
        flops = np.array([c.flops for c in calls], np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.where(flops > 0, flops / (median * 1e6), np.nan)
        return pandas.DataFrame(
            {
                "call": [c.name for c in calls],
                "task": [c.task for c in calls],
                "ms": median,
                "min_ms": fastest,
                "share": median / max(float(median.sum()), 1e-12),
                "gflops": speed,
                "flops": [c.flops for c in calls],
                "tuned": [c.tuned for c in calls],
                "note": [f"not tunable: {c.reason}" if isinstance(c, HostCall) else "" for c in calls],
            }
        )

    def poison(self) -> None:
        """Fill outputs, intermediate results and workspace with NaN, so that a read before a write shows in the next
        run.
        """
        with self._lock:
            for array in (*self._outputs, self._arena):
                poison(array)
            self._around.poison()
