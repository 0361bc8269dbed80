"""Times of a whole network."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from workbench import markup as m
from workbench.runtime.machine.interference import Interference, Repetitions
from workbench.runtime.results.repetition_times import Times

#: Runs are warm when the medians of two windows in a row, of so many milliseconds each, differ by no more than this.
#: Chosen, not measured; `bench_trust` tells what comes of it (`fresh`).
WINDOW_MS, AGREE = 50.0, 0.02

#: So many runs make a window at least, and so many seconds runs may take to become warm.
#: Chosen, not measured.
_WINDOW_RUNS, WARM_S = 3, 1.5

#: A benchmark that nobody limits has so many repetitions at least, and takes so many seconds.
#: Chosen, not measured.
LEAST, LEAST_S = 10, 0.3

#: Where other programs take cores away, undisturbed repetitions are waited for so many seconds, or so many times as
#: long as all of them should take.
#: Chosen, not measured; `bench_trust` tells what comes of it (`load`).
_PATIENCE_S, _PATIENCE = 1.0, 3.0

#: So long in milliseconds runs follow each other until it is asked whether they were disturbed.
#: Chosen, not measured: a question is a system call for each thread.
_LOT_MS = 0.3

#: What is told of the repetitions, in milliseconds, in TVM's order; and so many of them are shown: a screen.
_NUMBERS = ("mean", "median", "max", "min", "std")
_ROWS = 30


@dataclass(frozen=True, slots=True, repr=False)
class BenchmarkResult(Times):
    """Times of a whole network; `str()` has the layout of TVM's benchmark.

    Parameters
    ----------
    costs_ms : tuple of float
        Milliseconds per run, one number per repetition (wall time).
    threads : int
        Threads that were used.
    first_ms : float
        The first run, before anything was warm.
    disturbed : int
        Repetitions during which a thread had no core. They are not among the costs, unless there are too few others.
    why_not : str
        Why the times are not to be trusted; empty where nobody disturbed them.
    at_least_ms : float
        How long a run takes at least, where `why_not` says something.
    watched : int
        Of so many threads it is known whether they had cores of their own.
    """

    costs_ms: tuple[float, ...]
    threads: int
    first_ms: float = 0.0
    disturbed: int = 0
    why_not: str = ""
    at_least_ms: float = 0.0
    watched: int = 0

    @property
    def max_ms(self) -> float:
        """Slowest repetition."""
        return max(self.costs_ms)

    @property
    def std_ms(self) -> float:
        """Standard deviation of the repetitions (of the population, as TVM's)."""
        return statistics.pstdev(self.costs_ms)

    def to_json(self) -> dict[str, float | int | str]:
        """Return the numbers as the command line prints them."""
        return {
            **{f"{name}_ms": getattr(self, f"{name}_ms") for name in _NUMBERS},
            "threads": self.threads,
            "first_ms": self.first_ms,
            "repeats": len(self.costs_ms),
            "clean": self.clean,
            "why_not": self.why_not,
        }

    def __str__(self) -> str:
        heads = " ".join(f"{f'{name} (ms)':^12}" for name in _NUMBERS)
        numbers = " ".join(f"{getattr(self, f'{name}_ms'):^12.4f}" for name in _NUMBERS)
        table = f"Execution time summary:\n {heads}\n {numbers}"
        return f"{table}\n{self.remark}"

    @property
    def remark(self) -> str:
        """What is to be said beside the numbers: the first run, and whether anything disturbed the others."""
        first = f"first run {self.first_ms:.4g} ms, then {len(self.costs_ms)} repetitions"
        if self.clean:
            own = (
                "every thread on a core of its own"
                if self.watched == self.threads
                else "the caller on a core of its own"
            )
            return f"{first}, {own}" if self.watched else first
        return f"{first}, disturbed: {self.why_not}; undisturbed a run takes {self.min_ms:.4g} ms at most"

    def __repr__(self) -> str:
        times = f"median {self.median_ms:.4g} ms, {self.min_ms:.4g} to {self.max_ms:.4g} ms"
        return f"<BenchmarkResult {times}, {len(self.costs_ms)} repeats, {self.threads} threads>"

    def _repr_html_(self) -> str:
        head = m.heading(
            "Execution time", m.milliseconds(self.median_ms), m.plural(len(self.costs_ms), "repetition"),
            m.plural(self.threads, "thread"),
        )  # fmt: skip
        columns = [m.Column("deviation" if name == "std" else name, number=True) for name in _NUMBERS]
        table = m.table(columns, [[m.milliseconds(getattr(self, f"{name}_ms")) for name in _NUMBERS]])
        costs = [
            [k, m.milliseconds(c), m.bar(c / self.max_ms if self.max_ms else None, 160)]
            for k, c in enumerate(self.costs_ms, 1)
        ]
        columns = [m.Column("#", number=True), m.Column("Time", number=True), m.Column("")]
        each = m.table(columns, m.cut(costs, _ROWS, "repetitions"))
        remark = m.line(m.faint(self.remark) if self.clean else m.bad(self.remark, 300))
        return m.page(head, table, remark, m.fold("Each repetition", each))


def repeat_runs(
    run: Callable[[int, int], list[float]], watch: Interference, repeat: int | None, number: int
) -> Repetitions:
    """Time runs until there are enough that nobody disturbed.

    Parameters
    ----------
    run : callable
        Is given a number of repetitions and the runs in each; returns milliseconds per run of each repetition.
    watch : Interference
        Looks after the threads.
    repeat : int, optional
        Repetitions; those of `LEAST` and `LEAST_S` by default.
    number : int
        Runs per repetition.
    """
    found = Repetitions(watch)
    watch.begin()
    begin, each = watch.clock(), math.inf
    while True:
        found.share()
        spent = watch.clock() - begin
        if len(found.clean) >= (repeat or LEAST) and (repeat or spent >= LEAST_S):
            break
        expected = (repeat or LEAST) * each * number * 1e-3
        if len(found) >= (repeat or LEAST) and spent >= max(_PATIENCE_S, _PATIENCE * expected):
            break
        lot = max(1, min(round(_LOT_MS / max(each * number, 1e-3)), 64))
        costs = run(lot if repeat is None else min(lot, max(1, repeat - len(found.clean))), number)
        found.add(costs, number)
        each = min(costs)
    return found


def benchmark_result(
    found: Repetitions, repeat: int | None, threads: int, first_ms: float, watched: int
) -> BenchmarkResult:
    """Return what came out: the undisturbed repetitions, or all where those are too few."""
    costs = tuple(found.trusted[:repeat])
    return BenchmarkResult(costs, threads, first_ms, len(found.noisy), found.why_not, found.at_least_ms, watched)


def warm_up(run: Callable[[int, int], list[float]], least: int, seconds: float = WARM_S) -> float:
    """Run until two windows in a row take the same time, `least` times at least, and else for so many seconds.

    Returns
    -------
    float
        Milliseconds of the first run.
    """
    end = time.perf_counter() + seconds
    first = run(1, 1)[0]
    runs, before = 1, math.inf
    while True:
        window: list[float] = []
        while sum(window) < WINDOW_MS or len(window) < _WINDOW_RUNS:
            window += run(1, 1)
            if time.perf_counter() > end:
                break
        runs, middle = runs + len(window), statistics.median(window)
        late = time.perf_counter() > end
        if runs >= least and (late or abs(middle - before) <= AGREE * min(middle, before)):
            return first
        before = middle
