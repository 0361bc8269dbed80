"""A benchmark waits until runs are warm, counts undisturbed ones, and says what it saw."""

import itertools
import math
from types import SimpleNamespace

import pytest

from workbench.runtime.networks import benchmark as timing
from workbench.runtime.networks.benchmark import BenchmarkResult, benchmark_result, repeat_runs, warm_up


class Machine:
    """Runs that take so many milliseconds; the clock stands still otherwise."""

    def __init__(self, monkeypatch, costs, calm=None):
        self.costs, self.calm = iter(costs), iter(calm or itertools.repeat(True))
        self.now, self.runs, self.present = 0.0, 0, 0.5
        monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def run(self, repeat, number):
        found = [next(self.costs) for _ in range(repeat)]
        self.runs += repeat * number
        self.now += sum(found) * number * 1e-3
        return found

    def begin(self):
        pass

    def absent(self):
        return next(self.calm)

    def share(self):
        return False

    def clock(self):
        return self.now

    def reason(self):
        return "somebody was there"


def test_runs_are_warm_when_two_windows_agree(monkeypatch):
    slower = [5.0 * 0.98**k for k in range(40)]
    machine = Machine(monkeypatch, itertools.chain([50.0], slower, itertools.repeat(2.0)))
    assert warm_up(machine.run, 2) == 50.0
    assert 1 + 40 + 25 <= machine.runs <= 1 + 40 + 3 * 25
    assert next(machine.costs) == 2.0


def test_runs_that_never_agree_are_not_waited_for_long(monkeypatch):
    machine = Machine(monkeypatch, (1.0 + (k // 40) % 2 for k in itertools.count()))
    warm_up(machine.run, 2)
    assert machine.now < 2 * timing.WARM_S


def test_slow_runs_warm_up_few_times_but_as_often_as_asked(monkeypatch):
    machine = Machine(monkeypatch, itertools.repeat(2000.0))
    warm_up(machine.run, 2)
    assert machine.runs <= 3
    machine = Machine(monkeypatch, itertools.repeat(2000.0))
    warm_up(machine.run, 5)
    assert machine.runs >= 5


@pytest.mark.parametrize("each", [0.01, 1.0, 25.0, 100.0])
def test_ten_repetitions_and_three_tenths_of_a_second(monkeypatch, each):
    machine = Machine(monkeypatch, itertools.repeat(each))
    found = repeat_runs(machine.run, machine, None, 1)
    assert found.clean == [each] * len(found)
    assert len(found) >= timing.LEAST
    assert timing.LEAST_S <= machine.now <= max(timing.LEAST_S, 10e-3 * each) + 2e-3 * max(each, 1.0)


def test_exactly_as_many_as_asked_for(monkeypatch):
    for repeat, number in ((1, 1), (7, 3), (100, 1)):
        machine = Machine(monkeypatch, itertools.repeat(0.05))
        found = repeat_runs(machine.run, machine, repeat, number)
        assert len(benchmark_result(found, repeat, 2, 1.0, 2).costs_ms) == repeat


def test_disturbed_runs_do_not_count(monkeypatch):
    calm = itertools.cycle([True, True, True, False])
    costs = itertools.cycle([1.0, 1.0, 1.0, 9.0])
    machine = Machine(monkeypatch, costs, calm)
    result = benchmark_result(repeat_runs(machine.run, machine, 10, 1), 10, 2, 3.0, 2)
    assert result.costs_ms == (1.0,) * 10
    assert result.clean
    assert result.disturbed >= 3
    assert result.remark == "first run 3 ms, then 10 repetitions, every thread on a core of its own"


def test_on_a_busy_machine_it_says_so(monkeypatch):
    machine = Machine(monkeypatch, itertools.cycle([2.0, 5.0, 6.0]), itertools.repeat(False))
    result = benchmark_result(repeat_runs(machine.run, machine, None, 1), None, 2, 3.0, 2)
    assert not result.clean
    assert (result.ms, result.median_ms) == (2.0, 5.0), "what disturbs only adds"
    assert timing._PATIENCE_S <= machine.now < timing._PATIENCE_S + 0.01
    assert "disturbed: somebody was there; undisturbed a run takes 2 ms at most" in str(result)
    assert result.to_json()["why_not"] == "somebody was there"
    assert "somebody was there" in result._repr_html_()


def test_what_nobody_watched_is_not_told():
    assert BenchmarkResult((1.0,), 2, 1.5).remark == "first run 1.5 ms, then 1 repetitions"
    assert "the caller on a core" in BenchmarkResult((1.0,), 2, 1.5, watched=1).remark
    assert math.isclose(BenchmarkResult((1.0, 3.0), 1).median_ms, 2.0)
