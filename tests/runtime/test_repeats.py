"""How often a candidate is repeated, what counts as disturbed, and what is kept between trials."""

import gc
import itertools
import math
import os
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from runtime.llvm_kernels import ADD, code

from workbench import te
from workbench.ir import Buffer, LayoutStep
from workbench.ir.func import pack
from workbench.ir.winograd_weights import WinogradStep
from workbench.runtime.machine.interference import FEWEST, Interference, StolenTime
from workbench.runtime.measuring import adaptive_repeats as repeats
from workbench.runtime.measuring import operands
from workbench.runtime.measuring.adaptive_repeats import Timer, far
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.runtime.measuring.jobs import SetupJob, TrialJob
from workbench.runtime.measuring.operands import Packed
from workbench.runtime.results.measure_options import MeasureOptions

# ---- how far is too far ----


@pytest.mark.parametrize(
    ("costs", "stops"),
    [
        ((1.0, 1.0, 1.0), False),
        ((1.29, 1.29, 1.29), False),
        ((1.31, 1.31, 1.31), True),
        ((1.4, 1.6, 1.6), False),  # a spread of a seventh: too early to say
        ((1.7, 1.8, 1.9), True),
        ((2.0, 2.8, 2.9), False),
        ((2.0, 2.1, 9.0), True),
    ],
)
def test_far_from_the_best(costs, stops):
    assert far(costs, 1.0, 1.3) == stops
    assert not far(costs, 1.0, 0.0)
    assert not far(costs, math.inf, 1.3)


class Watch:
    """Says of one stretch after the other whether it was undisturbed."""

    def __init__(self, says, present=0.5):
        self.says, self.present = iter(says), present
        self.clock = lambda: 0.0

    def begin(self):
        pass

    def share(self):
        return False

    def absent(self):
        return next(self.says)

    def reason(self):
        return "somebody was there"


def quiet():
    return Watch(itertools.repeat(True))


def busy():
    return Watch(itertools.repeat(False))


def timer_of(monkeypatch, costs, watch=None, best_ms=math.inf, clock="cpu", **options):
    """A timer that is told the milliseconds of its repetitions, and counts them."""
    timer = Timer.__new__(Timer)
    timer._options, timer._best_ms, timer._flush, timer._cycle = MeasureOptions(**options), best_ms, None, None
    timer.number, timer.disturbed, timer.clock = 1, 0, clock
    timer.why_not, timer.at_least_ms = "", 0.0
    measure = timer.measure
    stream, clock = iter(costs), SimpleNamespace(now=0.0, runs=0)
    watch = watch or quiet()
    watch.clock = lambda: clock.now
    timer.measure = lambda first_ms: measure(first_ms, watch)

    def run(repeat, number):
        found = [next(stream) for _ in range(repeat)]
        clock.now += sum(found) * number * 1e-3
        clock.runs += repeat
        return found

    monkeypatch.setattr(timer, "run", run, raising=False)
    return timer, clock


@pytest.fixture
def patched(monkeypatch):
    return lambda *args, **more: timer_of(monkeypatch, *args, **more)


def test_one_near_the_best_is_repeated_ten_times(patched):
    timer, _ = patched(itertools.repeat(1.0), best_ms=0.9)
    assert len(timer.measure(1.0)) == repeats.ENOUGH


def test_one_far_from_the_best_stops_after_three(patched):
    timer, _ = patched(itertools.repeat(1.0), best_ms=0.5)
    assert len(timer.measure(1.0)) == FEWEST
    timer, _ = patched(itertools.repeat(1.0), best_ms=0.5, early_stop=0.0)
    assert len(timer.measure(1.0)) == repeats.ENOUGH


def test_short_ones_are_timed_for_some_milliseconds(patched):
    timer, clock = patched(itertools.repeat(0.001))
    costs = timer.measure(0.001)
    assert timer.number == math.ceil(repeats.SHORTEST_MS / 0.001)
    assert repeats.ENOUGH_MS <= len(costs) * timer.number * 0.001 < repeats.ENOUGH_MS + 2 * repeats.LOT_MS
    assert clock.now < 0.01


def test_what_is_disturbed_does_not_count(patched):
    says = [False, True, True, False] * 100
    timer, _ = patched(
        itertools.chain([1.0], itertools.cycle([5.0, 2.0, 1.0, 9.0])), Watch(says), best_ms=1.0, budget_ms=500.0
    )
    assert timer.measure(1.0) == [1.0] * repeats.ENOUGH  # nor does what follows it, with caches that others have filled
    assert timer.disturbed >= 3 * (repeats.ENOUGH - 1)
    assert timer.why_not == ""


def test_of_a_kernel_that_fills_the_caches_in_no_time_the_next_repetition_counts(patched):
    timer, _ = patched(itertools.chain([20.0], itertools.cycle([50.0, 20.0])), Watch([False, True] * 50), at_least=3)
    assert timer.measure(20.0) == [20.0] * FEWEST
    assert timer.disturbed == FEWEST


def test_what_cannot_be_measured_says_so(patched):
    timer, _ = patched(itertools.repeat(2.0), busy(), clock="wall")
    assert set(timer.measure(2.0)) == {2.0}
    assert (timer.why_not, timer.at_least_ms) == ("somebody was there", 1.0)
    timer, _ = patched(itertools.repeat(2.0), busy())  # the processor's time is that of the kernel alone
    timer.measure(2.0)
    assert (timer.why_not, timer.at_least_ms) == ("somebody was there", 2.0)
    timer, _ = patched(itertools.repeat(2.0), Watch([True, False, *[False] * 100]))  # one of dozens is no evidence
    timer.measure(2.0)
    assert timer.why_not == "somebody was there"
    timer, _ = patched(itertools.repeat(900.0), busy(), best_ms=10.0)
    assert timer.measure(900.0) == [900.0]
    assert timer.why_not == "somebody was there"


def test_a_number_of_repetitions_counts_undisturbed_ones(patched):
    timer, clock = patched(itertools.repeat(1.0), Watch([True, False, True, True, True, True]), repeat=4)
    assert timer.measure(1.0) == [1.0] * 4
    assert (timer.disturbed, timer.why_not) == (2, "")
    timer, clock = patched(itertools.repeat(1.0), busy(), repeat=4, patience_ms=30.0, budget_ms=10.0)
    assert timer.measure(1.0) == [1.0] * 4
    assert (timer.why_not, clock.runs) == ("somebody was there", 31)  # one to begin with, and what patience allows


def test_a_disturbed_one_is_not_given_up_early(patched):
    says = itertools.chain([False] * 8, itertools.repeat(True))
    timer, _ = patched(itertools.chain([1.0] + [2.5] * 8, itertools.repeat(1.0)), Watch(says), best_ms=1.0)
    assert timer.measure(1.0) == [1.0] * repeats.ENOUGH
    assert timer.why_not == ""


def test_one_that_is_slow_even_so_is_given_up(patched):
    timer, _ = patched(itertools.repeat(4.0), busy(), best_ms=1.0)
    assert timer.measure(4.0) == [4.0] * repeats.NOISY
    timer, _ = patched(itertools.repeat(2.0), busy(), best_ms=1.0)
    costs = timer.measure(2.0)
    assert len(costs) == timer.disturbed
    assert 2 * 50.0 <= sum(costs) < 2 * 50.0 + 4.0  # twice the budget and no more


def test_slow_ones_stop_with_the_budget(patched):
    timer, _ = patched(itertools.repeat(20.0))
    assert len(timer.measure(20.0)) == 3
    timer, clock = patched(itertools.repeat(300.0), best_ms=10.0)
    assert timer.measure(300.0) == [300.0]
    assert clock.runs == 0


def test_so_slow_a_kernel_that_it_would_be_stopped_is_run_once(patched):
    timer, clock = patched(itertools.repeat(5000.0), timeout_s=10.0)
    assert timer.measure(5000.0) == [5000.0]
    assert clock.runs == 0
    timer, clock = patched(itertools.repeat(5000.0), timeout_s=20.0)
    assert timer.measure(5000.0) == [5000.0]
    assert clock.runs == 1


def test_a_repetition_that_is_too_short_to_be_true_does_not_count(patched):
    usual = [0.03, 0.0306, 0.0303, 0.0309] * 400
    timer, _ = patched([0.03, *usual[:3], 0.0132, usual[3], 0.0195, *usual])
    costs = timer.measure(0.03)
    assert min(costs) == 0.03
    assert timer.disturbed == 2
    assert repeats.believable([1.0, 1.3, 1.7, 2.0]) == [1.0, 1.3, 1.7, 2.0]  # too few to tell
    assert repeats.believable([1.0, 0.95, 1.3, 1.7, 2.0]) == [1.0, 0.95, 1.3, 1.7, 2.0]
    assert min(repeats.believable([5.0, 5.6, 5.7, 5.8, 5.9])) == 5.0  # no clock that is read wrongly loses so much
    assert min(repeats.believable([0.02, 0.04, 0.04, 0.04, 0.04], number=10)) == 0.02
    watched, _ = patched([0.03, 0.03, 0.03, 0.015, *usual], quiet(), clock="wall")
    assert min(watched.measure(0.03)) == 0.015  # by the wall clock, all others may have been disturbed


def test_evicting_counts_where_it_takes_longer_than_the_kernel(patched):
    timer, clock = patched(itertools.repeat(0.01))
    timer._flush, run = np.zeros(2), timer.run

    def evict(repeat, number):
        clock.now += repeat * 0.5e-3
        return run(repeat, number)

    timer.run = evict
    costs = timer.measure(0.01)
    assert timer.number == 1
    assert repeats.ENOUGH <= len(costs) <= repeats.EVICTING * repeats.ENOUGH_MS / 0.5 + repeats.ENOUGH


@pytest.mark.parametrize("watch", [None, busy()])
def test_there_is_always_a_time(patched, watch):
    timer, clock = patched(itertools.repeat(1.0), watch)
    timer._enough = lambda found, spent_ms: True
    assert timer.measure(1.0)
    assert clock.runs >= 1


# ---- who disturbs ----


@pytest.mark.parametrize(
    ("ran", "absent", "said"),
    [
        ((1.0, 1.0), True, ""),
        ((1.0, 0.99), True, ""),
        ((1.0, 0.55), False, "the second of 2 threads had 55 % of a core"),
        ((0.5, 0.9), False, "the first of 2 threads had 50 % of a core"),
        ((0.2,), False, "the thread had 20 % of a core"),
        ((0.4, 0.5), False, "the first of 2 threads had 40 % of a core"),
    ],
)
def test_a_thread_that_did_not_run_all_the_time_was_disturbed(monkeypatch, ran, absent, said):
    watch, passed = Interference(range(1, len(ran) + 1)), 1_000_000
    times = iter([0, passed])
    monkeypatch.setattr("time.perf_counter_ns", lambda: next(times))
    values = iter([[0] * len(ran), [int(part * passed) for part in ran]])
    monkeypatch.setattr(Interference, "_running", lambda self: next(values))
    watch._missed_ns = [0] * len(ran)
    watch.begin()
    assert watch.absent() == absent
    assert watch.reason() == said
    # While one is away the other may wait for it: what each has missed may have held up the work by itself.
    assert watch.present == pytest.approx(max(1e-3, 1.0 - sum(1.0 - part for part in ran)), abs=1e-6)


def test_where_the_system_does_not_tell_nothing_is_disturbed(monkeypatch):
    monkeypatch.setattr("workbench.runtime.machine.interference.sys", SimpleNamespace(platform="beos"))
    watch = Interference([1, 2])
    watch.begin()
    assert watch.absent()
    assert watch.reason() == ""


def test_what_a_host_takes_is_told_when_it_is_much(monkeypatch):
    ticks, now = (
        iter([(0.0, 0.0, 0.0), (10.0, 0.0, 1.0), (100.0, 0.0, 5.0), (200.0, 0.0, 55.0)]),
        iter([0.0, 0.1, 1.0, 2.0]),
    )
    monkeypatch.setattr("workbench.runtime.machine.interference.totals", lambda: next(ticks))
    monkeypatch.setattr("workbench.runtime.machine.interference.time", SimpleNamespace(monotonic=lambda: next(now)))
    stolen = StolenTime()
    assert [stolen.reason(), stolen.reason()] == ["", ""]  # too early to tell, and little
    assert stolen.reason() == "the host of this virtual machine took 50 % of its time"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_busy_neighbour_is_noticed():
    mine = os.sched_getaffinity(0)
    core = {min(mine)}
    program = f"import os\nos.sched_setaffinity(0, {core})\nprint(flush=True)\nwhile True: pass"
    other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    watch = Interference([threading.get_native_id()])
    try:
        other.stdout.readline()
        os.sched_setaffinity(0, core)
        watch.begin()
        end = time.monotonic() + 60
        while watch.absent():  # until the two have shared the core for a while
            assert time.monotonic() < end, "nobody was noticed"
    finally:
        os.sched_setaffinity(0, mine)
        other.kill()
        other.wait()
        other.stdout.close()


# ---- what is kept ----


def test_packed_constants_are_those_of_the_reference_and_kept():
    kernel = np.random.default_rng(0).standard_normal((3, 3, 8, 32), np.float32)
    packed = Packed()
    for layout in ((LayoutStep(3, 16),), (WinogradStep(4), LayoutStep(3, 8)), (WinogradStep(4), LayoutStep(3, 16))):
        shape = [*kernel.shape]
        if isinstance(layout[0], WinogradStep):
            shape[:2] = 6, 6
        block = layout[-1].block
        buffer = Buffer("W", (32 // block, *shape[:3], block), role="const", layout=layout)
        array = packed.get("task", buffer, kernel)
        assert np.array_equal(array, pack(buffer, kernel))
        assert array.ctypes.data % 64 == 0
        assert packed.get("task", buffer, kernel) is array
    assert len(packed._kept) == 4  # Winograd's transform stands once for both
    packed.forget("task")
    assert (len(packed._kept), packed._bytes) == (0, 0)


def test_what_a_loaded_candidate_reads_stays_although_others_push_it_out():
    x, w = te.placeholder((64,), "float32", "X"), te.placeholder((64,), "float32", "W", constant=True)
    func = te.func(te.compute((64,), lambda i: x[i] * w[i], "Y"), "scale")
    layout = (LayoutStep(0, 16),)
    packed = [replace(b, shape=(4, 16), layout=layout) if b.role == "const" else b for b in func.params]
    runner = TrialRunner()
    runner.setup(SetupJob("t", func, 0))
    image = code(ADD, 64, 1.0)
    candidate = runner.candidate(TrialJob("t", image, tuple(packed), 1, MeasureOptions()))
    array = weakref.ref(next(iter(runner._packed._kept.values())))
    runner._packed.forget("t")
    gc.collect()
    assert array() is not None
    candidate.close()


def test_what_was_not_asked_for_longest_gives_way():
    array = np.zeros((4, 64), np.float32)
    buffers = [Buffer(f"W{k}", (4, 4, 16), role="const", layout=(LayoutStep(1, 16),)) for k in range(5)]
    packed = Packed(most_bytes=3 * array.nbytes)
    kept = [packed.get("task", b, array) for b in buffers]
    assert len(packed._kept) == 3
    assert packed.get("task", buffers[4], array) is kept[4]
    assert packed.get("task", buffers[0], array) is not kept[0]


def test_guarded_arrays_may_be_small():
    guarded = operands.Guarded.make((), "float32")
    assert guarded.array.shape == ()
    assert guarded.intact()
    assert operands.Guarded.make((0, 3), "float32").intact()


def test_the_reference_of_a_function_is_prepared():
    x = te.placeholder((8,), "float32", "X")
    task = operands.prepare(te.func(te.compute((8,), lambda i: te.log(x[i]), "Y"), "log"), 0)
    assert task.expected["Y"].share == 1  # inputs were chosen where the logarithm is defined


# ---- slow kernels that a person has measured ----


@pytest.mark.parametrize(("each_ms", "runs"), [(60.0, 3), (1000.0, 3), (1400.0, 2), (2500.0, 1), (4100.0, 0)])
def test_a_slow_kernel_is_timed_three_times_as_long_as_that_takes_three_seconds(patched, each_ms, runs):
    timer, clock = patched(itertools.repeat(each_ms), at_least=3)
    assert len(timer.measure(each_ms)) == max(runs, 1)
    assert clock.runs == runs
    assert clock.now <= 1e-3 * repeats.PATIENCE_MS
    tuned, clock = patched(itertools.repeat(each_ms))
    tuned.measure(each_ms)
    assert clock.runs == min(runs, 1), "a tuner has no time for that"


def test_a_slow_kernel_beside_others_is_timed_three_times_too(patched):
    timer, _ = patched(itertools.repeat(900.0), busy(), at_least=3)
    assert len(timer.measure(900.0)) == 3


def test_after_a_turn_was_given_away_the_caches_fill_first(monkeypatch):
    """Between two repetitions others measure: what comes next finds their data, until a millisecond has passed."""
    watch = quiet()
    given = iter([False, True])
    watch.share = lambda: next(given, False)
    timer, clock = timer_of(monkeypatch, itertools.repeat(0.5), watch, early_stop=0.0, least_ms=10.0)
    costs = timer.measure(0.5)
    assert timer.disturbed == 2
    assert clock.runs == len(costs) + 2 + 2  # two to see how long one takes
    assert not timer.why_not
