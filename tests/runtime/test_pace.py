"""The processor's own speed beside measurements: what is timed at an unusual one does not count."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from workbench import Target
from workbench.runtime.machine import processor_speed as module
from workbench.runtime.machine.arithmetic_peak import Arithmetic
from workbench.runtime.machine.interference import Interference, Repetitions
from workbench.runtime.machine.processor_speed import KEPT, KNOWN, Pace, off
from workbench.runtime.measuring.adaptive_repeats import uncertain


class Speeds:
    """Stands for the kernel of multiply-adds, with the speeds that it is given."""

    def __init__(self, *speeds: float) -> None:
        self.speeds = list(speeds)

    def __call__(self, target: Target) -> Speeds:
        return self

    def last(self, ns: float) -> None:
        pass

    def gflops(self, repeat: int) -> float:
        return self.speeds.pop(0) if len(self.speeds) > 1 else self.speeds[0]


@pytest.fixture
def speeds(monkeypatch: pytest.MonkeyPatch) -> Any:
    def given(*values: float) -> Speeds:
        found = Speeds(*values)
        monkeypatch.setattr(module, "Arithmetic", found)
        return found

    return given


def measured(pace: Pace, looks: int = 5, kernel: str = "matmul") -> float:
    pace.begin(kernel)
    seen = [pace.look() for _ in range(looks)]
    pace.conclude()
    return statistics.median(seen)


def test_a_speed_is_compared_with_that_of_the_measurements_before(speeds: Any) -> None:
    machine, pace = speeds(100.0), Pace()
    assert [measured(pace) for _ in range(KNOWN)] == [1.0] * KNOWN
    machine.speeds = [92.0]
    assert measured(pace) == pytest.approx(0.92)
    machine.speeds = [100.0]
    assert measured(pace) == 1.0, "one slow measurement is not what is usual"


def test_a_machine_that_stays_at_another_speed_has_a_new_usual_one(speeds: Any) -> None:
    machine, pace = speeds(100.0), Pace()
    for _ in range(KEPT):
        measured(pace)
    machine.speeds = [70.0]  # the charger was pulled out
    seen = [measured(pace) for _ in range(KEPT)]
    assert seen[0] == pytest.approx(0.7)
    assert seen[-1] == 1.0


def test_the_first_measurement_is_compared_with_itself(speeds: Any) -> None:
    machine, pace = speeds(100.0), Pace()
    assert measured(pace) == 1.0
    machine.speeds = [100.0, 100.0, 100.0, 80.0]
    pace.begin("matmul")
    assert [round(pace.look(), 2) for _ in range(4)] == [1.0, 1.0, 1.0, 0.8]


def test_what_is_usual_is_so_for_one_kernel(speeds: Any) -> None:
    machine, pace = speeds(100.0), Pace()
    for _ in range(KNOWN):
        measured(pace, kernel="copy")
    machine.speeds = [80.0]  # the processor is slower under what takes more power
    assert measured(pace, kernel="matmul") == 1.0
    assert measured(pace, kernel="copy") == pytest.approx(0.8)


def test_few_repetitions_at_the_usual_speed_are_not_typical() -> None:
    found = Repetitions(Interference([]))
    for _ in range(5):
        found.add([2.0])
    for _ in range(60):
        found.add([2.2], pace=0.9)
    assert found.why_not == off(0.9)
    found.add([2.0])
    assert found.why_not == ""


@pytest.mark.parametrize(("pace", "which"), [(0.9, "10 % below"), (1.08, "8 % above")])
def test_repetitions_at_an_unusual_speed_do_not_count_and_the_reason_says_so(pace: float, which: str) -> None:
    found = Repetitions(Interference([]))
    for _ in range(4):
        found.add([2.0], pace=pace)
    assert (found.clean, found.noisy) == ([], [2.0] * 4)
    assert found.why_not == f"the processor ran {which} its usual speed" == off(pace)
    assert found.at_least_ms == pytest.approx(2.0 * min(1.0, pace)), "at the usual speed it may be faster, not slower"
    for _ in range(3):
        found.add([2.2])
    assert found.clean == [2.2] * 3
    assert found.why_not == ""


def test_arithmetic_runs_as_long_as_it_is_told_and_at_one_speed() -> None:
    kernel = Arithmetic(Target.host())
    speeds = []
    for ns in (20_000.0, 200_000.0):
        kernel.last(ns)
        speeds.append(kernel.gflops(50))
    kernel.close()
    assert 0.5 < speeds[0] / speeds[1] < 2.0
    assert speeds[1] > 1.0


def test_the_median_of_many_equal_times_is_certain_and_of_few_wide_ones_is_not() -> None:
    assert uncertain([1.0] * 10) == 0.0
    assert uncertain([1.0, 1.2] * 5) > 0.03
    assert uncertain([1.0, 1.2] * 5) == pytest.approx(uncertain([1.0, 1.2] * 500) * 10)
