"""Functions that were built: `tvm.build` and `tvm.lower`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import UsageError
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.te import Tensor
from workbench.tvm.target import plain


def lower(schedule: Schedule, args: Sequence[Tensor] = (), name: str = "main", simple_mode: bool = False) -> str:
    """Text of the nest."""
    return schedule.nest()


def build(
    schedule: Schedule, args: Sequence[Tensor], target: Any = None, target_host: Any = None, name: str = "default"
) -> Function:
    """Compile a schedule to a function of arrays, results included, in the order of `args`."""
    return Function(schedule.build(plain(target)), tuple(t.name for t in args), name)


class Function:
    """A compiled function that writes into arrays of the caller.

    Attributes
    ----------
    kernel : Kernel
    entry_name : str
    """

    def __init__(self, kernel: Kernel, names: tuple[str, ...], entry_name: str) -> None:
        self.kernel, self.entry_name, self._names = kernel, entry_name, names
        self._outputs = tuple(b.name for b in kernel.func.params if b.role == "output")
        if missing := {b.name for b in kernel.func.params} - set(names):
            text = f"The function has arguments that were not named: {', '.join(sorted(missing))}"
            raise UsageError("usage.arguments", text, tuple(sorted(missing)), "tvm.build(s, [A, B, C])")

    def __call__(self, *arrays: Any) -> None:
        """Compute; the results are written into the arrays that stand for them."""
        given = dict(zip(self._names, arrays, strict=True))
        found = self.kernel(**{n: np.asarray(a) for n, a in given.items() if n not in self._outputs})
        for name, value in zip(self._outputs, found if isinstance(found, tuple) else (found,), strict=True):
            given[name][...] = value

    def time_evaluator(
        self, name: str, dev: Any = None, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0
    ) -> Callable[..., Timing]:
        """Return a function of the arrays that times the kernel, the copies of results included."""

        def timed(*arrays: Any) -> Timing:
            self(*arrays)
            many, results = number, list[float]()
            while len(results) < repeat:
                start = time.perf_counter()
                for _ in range(many):
                    self(*arrays)
                took = time.perf_counter() - start
                if took * 1e3 < min_repeat_ms:
                    many *= 2
                else:
                    results.append(took / many)
            return Timing(tuple(results))

        return timed

    def get_source(self) -> str:
        """Text that was generated."""
        return str(self.kernel.source)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of each repetition."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.results)
