"""Times of a whole network."""

from __future__ import annotations

import statistics
from dataclasses import dataclass


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
