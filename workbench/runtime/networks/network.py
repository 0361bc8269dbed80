"""What all compiled networks have in common, whether compiled here or loaded from a library: `run` and `benchmark`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.arguments import real, whole
from workbench.runtime.buffers import Array, aligned_empty, check_array, numpy_dtype
from workbench.runtime.machine.blas_threads import quiet, settle
from workbench.runtime.machine.interference import timing
from workbench.runtime.named_arguments import by_name
from workbench.runtime.networks.benchmark import BenchmarkResult, benchmark_result, repeat_runs, warm_up
from workbench.runtime.networks.execution_plan import ArraySpec
from workbench.runtime.networks.outputs import OutputMemory, checked_outputs
from workbench.runtime.thread_pool.pool import ThreadPool


@dataclass(frozen=True, slots=True)
class TimedRuns:
    """Runs with threads of their own, to be timed.

    Attributes
    ----------
    run : callable
        Is given a number of repetitions and the runs in each; returns milliseconds per run of each repetition.
    threads : int
    pool : ThreadPool or None
        The threads that can be watched besides the calling one.
    watched : int
        Their number, the calling one included.
    """

    run: Callable[[int, int], list[float]]
    threads: int
    pool: ThreadPool | None
    watched: int


class Network(ABC):
    """A network that can be run.

    Parameters
    ----------
    inputs, outputs : tuple of ArraySpec
        Name, shape and dtype of each.
    """

    def __init__(self, inputs: tuple[ArraySpec, ...], outputs: tuple[ArraySpec, ...]) -> None:
        self.inputs, self.outputs = inputs, outputs
        self._names = [s.name for s in inputs]
        self._kinds = [(s, numpy_dtype(s.dtype)) for s in inputs]
        self._results = [s.name for s in outputs]
        self._memory = OutputMemory(outputs)

    @abstractmethod
    def _compute(self, inputs: list[Array], outputs: list[Array]) -> None:
        """Run once on these arrays, which fit."""

    @abstractmethod
    def _timed(self, inputs: list[Array]) -> AbstractContextManager[TimedRuns]:
        """Runs on these inputs, for a ``with`` statement."""

    def run(self, *args: Any, out: Any = None, **named: Any) -> dict[str, Array]:
        """Run the network once.

        Parameters
        ----------
        *args, **named : array
            Either one mapping from input names to arrays, or the arrays in order, or by keyword. Arrays that are
            C-contiguous are read where they are, others are copied. So are those that do not begin at a multiple of 64
            bytes (those of `empty_inputs` do) where kernels read every element very often. Nobody may write to them
            during the call.
        out : mapping or sequence, optional
            Arrays to write outputs to: by name, as many as you like, or one for each output (None: a new one). They
            have to be C-contiguous, and overlap neither each other nor an input.

        Returns
        -------
        dict of str to array
            The outputs by name, in the network's order; the caller's to keep. The memory of one that nothing refers to
            any more, views included, is that of a later run. Of an output whose length data decide (`Graph.cuts`), the
            part that counts: a view of an array of the largest size, which is also what `out` takes.

        Raises
        ------
        ShapeError
            ``shape.count``, ``shape.name``, ``shape.mismatch``, ``shape.dtype``.
        UsageError
            ``run.out`` for arrays that outputs cannot be written to.
        RunError
            ``run.step`` where a step that is not compiled fails; ``run.memory`` and ``run.threads`` where the system
            gives no more.
        """
        inputs = self._arrays(args, named)
        given = None if out is None else checked_outputs(self.outputs, out, zip(self._names, inputs, strict=True))
        return self._run_checked(inputs, given)

    def _run_checked(self, inputs: list[Array], given: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Run on arrays that fit, in the network's order."""
        outputs = self._memory.take(given)
        self._compute(inputs, outputs)
        return self.results(outputs)

    def results(self, outputs: Sequence[Array]) -> dict[str, Array]:
        """What a run returns of the arrays that it wrote, in the network's order."""
        return dict(zip(self._results, outputs, strict=True))

    __call__ = run

    def empty_inputs(self) -> dict[str, Array]:
        """Return uninitialised arrays for all inputs, by name, that begin where vectors are the fastest."""
        return {s.name: aligned_empty(s.shape, s.dtype) for s in self.inputs}

    def draw_inputs(self) -> list[Array]:
        """Random numbers for all inputs, zeros for integers."""
        rng = np.random.default_rng(0)
        arrays = list(self.empty_inputs().values())
        for array in arrays:
            array[...] = rng.standard_normal(array.shape) if array.dtype.kind in "fV" else 0
        return arrays

    def _arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        """Return the checked inputs, in the network's order."""
        given = by_name(self._names, args, named)
        return [check_array(s.name, given[s.name], s.shape, dtype) for s, dtype in self._kinds]

    def benchmark(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        repeat: int | None = None,
        number: int = 1,
        min_repeat_ms: float = 0.0,
        warmup: int = 2,
    ) -> BenchmarkResult:
        """Time whole runs with the wall clock, once they take the same time again and again.

        Runs of an `Executable` are timed in native code. Of a library from Python, only the calling thread can be
        watched, and the call, about a microsecond, is part of each run.

        Parameters
        ----------
        inputs : mapping, optional
            Input arrays by name; random numbers by default, zeros for integers.
        repeat : int, optional
            Number of repetitions that count; at least ten, for at least 0.3 s, by default.
        number : int
            Runs per repetition; their average counts.
        min_repeat_ms : float
            Raise `number` until a repetition lasts this long, in milliseconds.
        warmup : int
            Runs before the first repetition at least.

        Returns
        -------
        BenchmarkResult
            Mean, median, maximum, minimum and standard deviation in milliseconds, the first run, and whether all
            threads had cores of their own (`clean`, `why_not`).

        Raises
        ------
        UsageError
            ``usage.repeat`` for numbers below 1.
        """
        if repeat is not None:
            whole("repeat", repeat, code="usage.repeat")
        whole("number", number, code="usage.repeat")
        whole("warmup", warmup, least=0, code="usage.repeat")
        real("min_repeat_ms", min_repeat_ms, code="usage.repeat")
        with quiet(), self._timed(self._given(inputs)) as runs, timing(runs.pool) as watch:
            settle()
            first_ms = warm_up(runs.run, warmup)
            if min_repeat_ms > 0:
                once = max(min(runs.run(2, 1)), 1e-6)
                number = max(number, math.ceil(min_repeat_ms / once))
            found = repeat_runs(runs.run, watch, repeat, number)
            return benchmark_result(found, repeat, runs.threads, first_ms, watched=runs.watched)

    def _given(self, inputs: Mapping[str, Any] | None) -> list[Array]:
        return self.draw_inputs() if inputs is None else self._arrays((inputs,), {})
