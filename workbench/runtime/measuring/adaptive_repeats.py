"""How often a kernel is repeated until its time is known: seldom when far from the best, on and on when disturbed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from workbench.runtime.buffers import Array
from workbench.runtime.machine.interference import FEWEST, Interference, Repetitions
from workbench.runtime.machine.processor_speed import Pace
from workbench.runtime.measuring.cold_constants import CallCycle
from workbench.runtime.measuring.jobs import TrialJob
from workbench.runtime.native import timing_loop
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.thread_pool.launch_context import LaunchContext

#: Shortest repetition in ms: reading the processor-time clock is a system call of a few tenths of a microsecond.
#: Chosen, not measured; a reading is 1 to 2 % of it.
SHORTEST_MS = 0.02

#: So long in ms repetitions go on before anybody asks whether they were disturbed, or were enough.
#: Chosen, not measured.
LOT_MS = 0.3

#: Repetitions that rank a candidate near the best: at least so many, and for so many milliseconds.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
ENOUGH, ENOUGH_MS = 10, 3.0

#: Where the processor's time is read, one repetition in some ten thousand is too short by 10 to 20 microseconds. The
#: fastest counts as one of these if it takes less than this part of the next one's time, among so many, and the
#: difference is no more than so many milliseconds.
LONELY, CROWD, STOLEN_MS = 0.9, 5, 0.03

#: A kernel whose first run takes more than this part of the time that it has is not run again.
#: Chosen, not measured.
ONLY_ONCE = 0.4

#: So long in ms a slow kernel is repeated until there are `MeasureOptions.at_least` times of it; another one may begin
#: when half of it fits in.
#: Chosen, not measured.
PATIENCE_MS = 3000.0

#: A median that somebody looks at is to be known to this part (its standard error), unless that takes so many times
#: `MeasureOptions.least_ms`.
#: Chosen, not measured: no contest counts less than half a percent.
KNOWN, PATIENT = 0.005, 10.0

#: Where something is evicted before each repetition, so many times `ENOUGH_MS` may pass altogether.
#: Chosen, not measured.
EVICTING = 3.0

#: Disturbed repetitions in a row, several times slower than the best, after which a candidate stops, too.
#: Chosen, not measured.
NOISY = 12
NOISY_FACTOR = 3.0


def far(costs: Sequence[float], best_ms: float, limit: float) -> bool:
    """Whether these first repetitions show that a candidate is no match for the best.

    Parameters
    ----------
    costs : sequence of float
        Milliseconds per call of each repetition.
    best_ms : float
        Least time of the task so far.
    limit : float
        How many times the best it takes; twice the spread of the repetitions comes on top. 0: never.
    """
    least = min(costs)
    spread = (statistics.median(costs) - least) / least if least > 0 else 0.0
    return limit > 0 and least > best_ms * (limit + 2.0 * spread)


def uncertain(costs: Sequence[float]) -> float:
    """Standard error of the median of some times, as a part of it; two at least, and as if of a normal distribution."""
    low, middle, high = statistics.quantiles(costs, n=4, method="inclusive")
    return 0.93 * (high - low) / (middle * math.sqrt(len(costs))) if middle > 0 else 0.0


def believable(costs: Sequence[float], number: int = 1) -> list[float]:
    """Leave out the fastest repetition, of `number` calls, as long as no other one comes near it and a clock that was
    read wrongly explains why.
    """
    lowest = sorted(costs)
    gone = 0
    while len(lowest) - gone >= CROWD and lowest[gone] < LONELY * lowest[gone + 1]:
        if (lowest[gone + 1] - lowest[gone]) * number > STOLEN_MS:
            break
        gone += 1
    return [c for c in costs if c >= lowest[gone]] if gone else list(costs)


class Timer:
    """Repetitions of one loaded kernel.

    Parameters
    ----------
    fn : int
        Address of the kernel.
    table : array
        Its buffers' addresses.
    around : LaunchContext
        Threads and workspace.
    job : TrialJob
        What is measured and how.
    arrays : list of array
        The buffers.
    """

    def __init__(self, fn: int, table: Array, around: LaunchContext, job: TrialJob, arrays: list[Array]) -> None:
        self._fn, self._table, self._around = fn, table, around
        self._options: MeasureOptions = job.options
        self._best_ms = job.best_ms
        self._clock = timing_loop.clock_for(job.threads)
        self._cycle: CallCycle | None = None
        self._flush: Array | None = None
        if job.options.flush_cache:
            space = around.reserve(job.code.workspace_bytes(job.threads))
            self._flush = timing_loop.flush_table([*arrays, space])
        elif job.options.constants == "memory":
            weights = [a for b, a in zip(job.params, arrays, strict=True) if b.role == "const"]
            self._flush = timing_loop.flush_table(weights) if weights else None
        self.number = 1
        self.disturbed = 0
        self.clock = "cpu" if job.threads == 1 else "wall"
        self.why_not = ""
        self.at_least_ms = 0.0

    @property
    def flushes(self) -> bool:
        """Whether something is evicted from the caches before each repetition, so that one is one call."""
        return self._flush is not None

    def stream(self, tables: Array) -> None:
        """Cycle through these rows of operands' addresses where there are several."""
        if len(tables) > 1:
            self._cycle = CallCycle(self._fn, tables, self._clock)

    def run(self, repeat: int, number: int) -> list[float]:
        """Return milliseconds per call for each repetition."""
        workspace, rt = self._around.workspace, self._around.rt
        if self._cycle is not None:
            return [t * 1e-6 for t in self._cycle.times(repeat, number, workspace, rt)]
        table = int(self._table.ctypes.data)
        times = timing_loop.time_calls(self._fn, table, workspace, rt, repeat, number, self._clock, self._flush)
        return [float(t) * 1e-6 for t in times]

    def measure(self, first_ms: float, watch: Interference, pace: Pace | None = None) -> list[float]:
        """Time the kernel.

        Parameters
        ----------
        first_ms : float
            What the checking run took, with cold caches.
        watch : Interference
            Looks after the threads; it has begun before the checking run.
        pace : Pace, optional
            Looks after the processor's speed; without it, that does not matter.

        Returns
        -------
        list of float
            Milliseconds per call of each repetition that nobody disturbed, or, where there are none, of all. `why_not`
            says then what was wrong, and `at_least_ms` how long the kernel takes at least. `number` says how many calls
            each had, `disturbed` how many repetitions were disturbed or cannot be true.
        """
        options = self._options
        if options.repeat is None and first_ms > ONLY_ONCE * 1e3 * options.timeout_s:
            return self._once(first_ms, watch)
        slow = options.repeat is None and bool(options.early_stop) and first_ms > 2 * options.budget_ms
        if slow and far([first_ms / 2], self._best_ms, 3.0):
            return self._once(first_ms, watch)
        if self.flushes or first_ms > options.budget_ms:
            each = first_ms
        else:
            each = min(self.run(2 if first_ms < 1.0 else 1, 1))
        shortest = SHORTEST_MS if options.min_repeat_ms is None else options.min_repeat_ms
        if not self.flushes:
            self.number = max(1, math.ceil(shortest / max(each, 1e-6)))
        return self._repeat(each * self.number, watch, pace)

    def repetitions(self, watch: Interference) -> Repetitions:
        """For times of this kernel."""
        return Repetitions(watch, own_time=self.clock == "cpu", warm=not self.flushes)

    def _once(self, first_ms: float, watch: Interference) -> list[float]:
        found = self.repetitions(watch)
        found.add([first_ms])
        self._conclude(found)
        return [first_ms]

    def _repeat(self, each: float, watch: Interference, pace: Pace | None) -> list[float]:
        """Repeat until enough is known; a repetition takes about `each` milliseconds."""
        found, wanted = self.repetitions(watch), self._options.repeat
        watch.begin()
        begin = watch.clock()
        while not len(found) or not self._enough(found, (watch.clock() - begin) * 1e3):
            found.share()
            costs = self.run(self._lot(each, len(found.clean)), self.number)
            found.add(costs, self.number, pace.look() if pace else 1.0)
            each = min(costs) * self.number
        if pace:
            pace.conclude()
        self._conclude(found)
        if wanted is not None:
            return [*found.clean, *found.noisy][:wanted]
        if self.clock == "cpu" and len(found.clean) >= CROWD:
            true = believable(found.clean, self.number)
            self.disturbed += len(found.clean) - len(true)
            return true
        return found.clean or found.noisy

    def _conclude(self, found: Repetitions) -> None:
        self.disturbed, self.why_not, self.at_least_ms = len(found.noisy), found.why_not, found.at_least_ms

    def _lot(self, each: float, clean: int) -> int:
        """Repetitions until somebody asks whether they were disturbed; one takes `each` milliseconds."""
        lot = max(1, min(round(LOT_MS / max(each, 1e-3)), ENOUGH if self.flushes else 64))
        return lot if self._options.repeat is None else min(lot, self._options.repeat - clean)

    def _enough(self, found: Repetitions, spent_ms: float) -> bool:
        options, best_ms, clean, noisy = self._options, self._best_ms, found.clean, found.noisy
        waited = spent_ms >= max(options.patience_ms, 2 * options.budget_ms)
        if options.repeat is not None:
            return len(clean) >= options.repeat or (waited and len(found) >= options.repeat)
        if len(clean) >= FEWEST and far(clean, best_ms, options.early_stop):
            return True
        each = max(min(clean or noisy) * self.number, 1e-3)
        told = len(clean or noisy) >= options.at_least or spent_ms + each / 2 > PATIENCE_MS
        if noisy and len(clean) < FEWEST:
            hopeless = len(noisy) >= NOISY and bool(options.early_stop) and min(noisy) > NOISY_FACTOR * best_ms
            return hopeless or (told and waited)
        if self.flushes and len(clean) >= ENOUGH and spent_ms >= EVICTING * ENOUGH_MS:
            return True
        if told and spent_ms >= max(options.budget_ms, 0.0 if options.early_stop else PATIENT * options.least_ms):
            return True
        return len(clean) >= max(ENOUGH, math.ceil(options.least_ms / each)) and (
            bool(options.early_stop) or uncertain(clean) <= KNOWN
        )
