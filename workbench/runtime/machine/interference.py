"""Whether the threads of a measurement had their cores to themselves.

A kernel on several threads is timed by the wall clock, which counts what others do; and a thread that has no core is
not missed: the others do its work, in twice the time. But the system keeps an account of how long each thread ran.
While a kernel is timed its threads work or spin and never sleep (`timing`), so each has to have run all the
time that has passed. (How long a thread waited is no help: it is booked when the wait is over.)
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from workbench.runtime.machine import turns
from workbench.runtime.machine.processor_speed import off
from workbench.runtime.machine.system_load import totals
from workbench.runtime.machine.turns import Turn
from workbench.runtime.thread_pool.placement import confined
from workbench.runtime.thread_pool.pool import ThreadPool

#: A thread that is away for this part of the time, or for so many nanoseconds, was there: the clock ticks, and the
#: accounts are not read at one moment.
#: Chosen, not measured; `bench_trust` tells what comes of it (`load`, `same`).
AWAY, AWAY_NS = 0.02, 5_000

#: Of a virtual machine's time its host may take so much; what is less is lost in the account's ticks of 10 ms.
#: Chosen, not measured.
STOLEN = 0.1

#: The account of stolen time is looked at over so many seconds.
#: Chosen, not measured: thirty ticks of the account.
_STOLEN_S = 0.3

#: Among disturbed repetitions so many undisturbed ones make a time.
#: Chosen, not measured.
FEWEST = 3

#: Where the processor ran at its usual speed for a smaller part of the time than this, it was on its way elsewhere.
#: Chosen, not measured.
SELDOM = 0.1

#: After another program has had a core, so many milliseconds of work do not count, unless a repetition takes this long:
#: what it finds in the caches is another program's.
#: Set with `bench_trust` (`load`): measurements beside other programs.
COLD_MS, SETTLED_MS = 1.0, 5.0

#: Where threads were away all the time, so much of it is left: something was done.
#: Chosen, not measured.
_LEAST_PRESENT = 1e-3

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


class Interference:
    """Watches the threads of a measurement; to be used from one thread.

    Parameters
    ----------
    threads : sequence of int
        The system's numbers of the threads that take part.
    stage : Stage, optional
        What can be given away between two repetitions.

    Attributes
    ----------
    present : float
        What part of the latest stretch is left without the time for which its threads were away, one after the other:
        while one is away the others may wait for it, however much they run.
    """

    def __init__(self, threads: Sequence[int], stage: Stage | None = None) -> None:
        self._stage = stage
        # Linux has a clock of the processor time of every thread; elsewhere nobody knows.
        self._clocks = [(~thread << 3) | 6 for thread in threads] if sys.platform == "linux" else []
        self._began, self._ran = 0, [0] * len(self._clocks)
        self._missed_ns, self._passed_ns = [0] * len(self._clocks), 0
        self.present = 1.0

    def begin(self) -> None:
        """Begin with a stretch of work."""
        self._began, self._ran = time.perf_counter_ns(), self._running()

    @property
    def waited_s(self) -> float:
        """Seconds that were waited for turns at measuring."""
        return 0.0 if self._stage is None else self._stage.turn.waited_s

    def clock(self) -> float:
        """Seconds of a steady clock that stands still while a turn is waited for."""
        return time.perf_counter() - self.waited_s

    def share(self) -> bool:
        """Let others measure first, where they wait and this has gone on for long; whether that was so."""
        if self._stage is None or not self._stage.share():
            return False
        self.begin()
        return True

    def absent(self) -> bool:
        """Whether nobody interfered since `begin` or the last call; True where the system does not tell."""
        began, before = self._began, self._ran
        self._ran, self._began = self._running(), time.perf_counter_ns()
        passed = self._began - began
        missed = [max(0, passed - (now - then)) for now, then in zip(self._ran, before, strict=True)]
        self.present = max(_LEAST_PRESENT, 1.0 - sum(missed) / max(1, passed))
        if max(missed, default=0) <= max(AWAY * passed, AWAY_NS):
            return True
        self._passed_ns += passed
        self._missed_ns = [a + b for a, b in zip(self._missed_ns, missed, strict=True)]
        return False

    def reason(self) -> str:
        """Say which thread went short of its core in the disturbed stretches, and by how much; empty without any."""
        if not self._passed_ns:
            return ""
        count, worst = len(self._missed_ns), max(range(len(self._missed_ns)), key=self._missed_ns.__getitem__)
        which = _ORDINALS[worst] if worst < len(_ORDINALS) else f"{worst + 1}th"
        who = "the thread" if count == 1 else f"the {which} of {count} threads"
        return f"{who} had {100 * (1.0 - self._missed_ns[worst] / self._passed_ns):.0f} % of a core"

    def _running(self) -> list[int]:
        """Nanoseconds for which each thread ran so far."""
        return [time.clock_gettime_ns(clock) for clock in self._clocks]


class Repetitions:
    """Repetitions of one piece of work, told apart by whether somebody interfered.

    Parameters
    ----------
    watch : Interference
        Has begun.
    own_time : bool
        Whether the times are those of the processor for one thread, and not of the wall clock.
    warm : bool
        Whether what is timed finds its data in the caches. Then the first ones after a disturbed one do not count
        either.

    Attributes
    ----------
    clean, noisy : list of float
        Milliseconds of the undisturbed ones, and of the others.
    at_least_ms : float
        How long the work takes at least, by the disturbed ones: threads that were away did nothing. 0 without any.
    """

    def __init__(self, watch: Interference, *, own_time: bool = False, warm: bool = True) -> None:
        self._watch, self._own_time, self._warm = watch, own_time, warm
        self._cold_ms, self._reason, self._off = 0.0, "", 0
        self._cooled_ms = 0.0  # what does not count after somebody else had the core
        self.clean: list[float] = []
        self.noisy: list[float] = []
        self.at_least_ms = 0.0

    def add(self, costs: Sequence[float], number: int = 1, pace: float = 1.0) -> None:
        """Take repetitions that have just ended, in milliseconds for each of `number` calls; `pace` as of `Pace`."""
        calm, usual = self._watch.absent(), not off(pace)
        # What fills its caches again in a small part of its time need not be run before it counts.
        self._cooled_ms = COLD_MS if self._warm and min(costs) * number <= SETTLED_MS else 0.0
        (self.clean if calm and usual and self._cold_ms <= 0.0 else self.noisy).extend(costs)
        if calm:
            self._cold_ms -= sum(costs) * number
        else:
            self._cold_ms = self._cooled_ms
            least = min(costs) * (1.0 if self._own_time else self._watch.present)
            self._doubt(self._watch.reason(), least)
        if calm and not usual:
            self._off += len(costs)
            self._doubt(off(pace), min(costs) * min(1.0, pace))

    def share(self) -> None:
        """Let others measure between two repetitions, as `Interference.share`."""
        if self._watch.share():
            self._cold_ms = self._cooled_ms

    def merge(self, others: Repetitions) -> None:
        """Take what others have."""
        self.clean += others.clean
        self.noisy += others.noisy
        self._off += others._off
        if others.at_least_ms:
            self._doubt(others._reason, others.at_least_ms)

    def _doubt(self, reason: str, least_ms: float) -> None:
        self._reason, self.at_least_ms = reason, min(self.at_least_ms or math.inf, least_ms)

    def forget(self) -> None:
        """Drop what was taken: it was there to warm up."""
        self.clean.clear()
        self.noisy.clear()
        self.at_least_ms = 0.0

    def __len__(self) -> int:
        return len(self.clean) + len(self.noisy)

    @property
    def trusted(self) -> list[float]:
        """The undisturbed ones, or all where those are too few."""
        return self.clean if not self.why_not else [*self.clean, *self.noisy]

    @property
    def why_not(self) -> str:
        """Why the times are not to be trusted; empty where undisturbed ones are enough."""
        return "" if len(self.clean) >= max(min(FEWEST, len(self)), SELDOM * self._off) else self._reason


class StolenTime:
    """What the host of a virtual machine takes away: the threads' own accounts show it on some systems only.

    Attributes
    ----------
    share : float
        The part of the processors' time that was taken lately, when somebody asked.
    """

    def __init__(self) -> None:
        self._seen = [(time.monotonic(), *totals())]
        self.share = 0.0

    def reason(self) -> str:
        """Say how much was taken lately; empty where it is little."""
        now = (time.monotonic(), *totals())
        while len(self._seen) > 1 and now[0] - self._seen[1][0] >= _STOLEN_S:
            self._seen.pop(0)
        then = self._seen[0]
        self._seen.append(now)
        passed = now[1] - then[1]
        self.share = (now[3] - then[3]) / passed if now[0] - then[0] >= _STOLEN_S and passed > 0 else 0.0
        return (
            f"the host of this virtual machine took {100 * self.share:.0f} % of its time" if self.share > STOLEN else ""
        )


class Stage:
    """What some timed work has to itself: a turn at measuring, cores, and threads that do not sleep.

    Parameters
    ----------
    turn : Turn
        Held.
    pool : ThreadPool or None
        None is a pool of one thread.
    """

    def __init__(self, turn: Turn, pool: ThreadPool | None) -> None:
        self.turn, self._pool = turn, pool
        self._held = ExitStack()

    def enter(self) -> list[int]:
        """Keep to the cores; return the system's numbers of the threads."""
        pool, held = self._pool, self._held
        if pool is not None:
            pool.start()
        members = [] if pool is None else pool.members
        held.enter_context(confined(self.turn.cores, members))
        if pool is not None:
            if not self.turn.cores:
                held.enter_context(pool.placement.caller())
            held.enter_context(pool.spinning())
        return [threading.get_native_id(), *members]

    def leave(self) -> None:
        """Go where the threads were before."""
        self._held.close()

    def share(self) -> bool:
        """Give all of it away and wait for the next turn, if that is due; whether it was."""
        if not self.turn.due():
            return False
        self.leave()
        self.turn.again()
        self.enter()
        return True


@contextmanager
def timing(pool: ThreadPool | None, busy: int | None = None) -> Iterator[Interference]:
    """Work whose time counts: it is this process's turn, the calling thread keeps to its cores, and no thread sleeps.

    Where one of them is not running all the time, it is because something else has its core: that is what the
    `Interference` sees that this yields. None is a pool of one thread.

    Of work that keeps only the first `busy` threads occupied, nobody asks after the others.
    """
    with turns.turn() as turn:
        stage = Stage(turn, pool)
        try:
            yield Interference(stage.enter()[:busy], stage)
        finally:
            stage.leave()
