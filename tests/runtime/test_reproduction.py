"""Whether a recorded number comes out again: tolerances follow the spreads, and a busy machine is no verdict."""

from __future__ import annotations

import pytest

from workbench import Schedule, Target, workloads
from workbench.errors import UsageError, WorkbenchError
from workbench.runtime.results import reproduction
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.results.reproduction import FLOOR, UNKNOWN, Reproduction, reproduce


def took(ms, spread=0.0):
    """A measurement whose time and spread are these."""
    step = spread / 2  # of four steps between five repetitions, the quartiles are two apart
    return Measurement(status="ok", costs_ms=tuple(ms * (1 + k * step) for k in range(-2, 3)))


@pytest.fixture
def idle(monkeypatch):
    monkeypatch.setattr(reproduction, "load_average", lambda: 0.0)


def test_the_helper_makes_that_spread():
    for spread in (0.0, 0.01, 0.2):
        assert took(2.0, spread).spread == pytest.approx(spread)
        assert took(2.0, spread).ms == 2.0


@pytest.mark.parametrize(
    ("now", "recorded", "verdict", "code"),
    [
        ((1.0, 0.0), (1.0, 0.0), "same", 0),
        ((1.07, 0.0), (1.0, 0.0), "same", 0),
        ((1.10, 0.0), (1.0, 0.0), "slower", 1),
        ((1.10, 0.02), (1.0, 0.02), "same", 0),
        ((1.30, 0.1), (1.0, 0.0), "slower", 1),
        ((1.30, 0.1), (1.0, 0.2), "same", 0),
        ((0.90, 0.0), (1.0, 0.0), "faster", 2),
        ((0.90, 0.0), (1.0, 0.1), "same", 0),
        ((1.10, 0.0), (1.0, None), "same", 0),
        ((1.20, 0.0), (1.0, None), "slower", 1),
        ((1.05, 0.3), (1.0, 0.4), "same", 0),
        ((1.10, 0.3), (1.0, 0.4), "unclear", 2),
        ((1.90, 0.3), (1.0, 0.4), "slower", 1),
    ],
)
def test_the_tolerance_is_made_of_both_spreads(now, recorded, verdict, code):
    found = Reproduction(took(*now), *recorded)
    assert (found.verdict, found.exit_code) == (verdict, code), str(found)


def test_it_is_symmetrical_and_named():
    found = Reproduction(took(1.1, 0.02), 1.0, 0.03)
    assert found.tolerance == pytest.approx(FLOOR + 0.05)
    assert str(found) == "measured 1.1 ms, spread 2 %, recorded 1 ms, spread 3 %: the same within ±13 %"
    assert str(Reproduction(took(1.0, 0.02), 1.0, 0.03)).endswith("the same within ±8 %")
    assert Reproduction(took(1.0), 1.0).tolerance == pytest.approx(FLOOR + UNKNOWN)
    slow = str(Reproduction(took(3.0), 1.0, 0.0))
    assert slow.endswith("3.00× slower than recorded, beyond ±8 %")
    assert "2.00× as fast as recorded" in str(Reproduction(took(0.5), 1.0, 0.0))


def test_a_busy_machine_excuses_no_more_than_it_may_cause():
    assert Reproduction(took(2.0), 1.0, 0.0, load=1.0).verdict == "unclear"
    said = str(Reproduction(took(1.76), 1.0, 0.0, load=0.9))
    assert said.endswith(
        ": 76 % slower than recorded, but the machine is busy (0.9 busy programs for each core): no verdict"
    )
    assert Reproduction(took(5.0), 1.0, 0.0, load=1.0).verdict == "slower"
    assert Reproduction(took(2.0), 1.0, 0.0, load=0.2).verdict == "slower"
    assert Reproduction(took(1.0), 1.0, 0.0, load=3.0).verdict == "same"


def test_what_failed_is_told_whole():
    found = Reproduction(Measurement(status="wrong_answer", error="one\ntwo"), 1.0)
    assert (found.verdict, found.exit_code, str(found)) == ("failed", 1, "wrong_answer: one\ntwo")


def test_only_what_is_slower_is_measured_again(idle):
    times = iter([1.5, 1.3, 1.02, 0.9])
    found = reproduce(lambda: took(next(times)), 1.0, 0.0)
    assert (found.found.ms, found.verdict) == (1.02, "same")
    times = iter([1.3, 1.5, 1.4, 0.9])
    found = reproduce(lambda: took(next(times)), 1.0, 0.0)
    assert (found.found.ms, found.verdict) == (1.3, "slower")
    times = iter([1.0, 0.5])
    assert reproduce(lambda: took(next(times)), 1.0, 0.0).found.ms == 1.0


def test_a_schedule_says_it(idle):
    s = Schedule(workloads.matmul(16, 16, 16), Target.host(threads=1))
    found = s.reproduce(1e-9, spread=0.0, repeat=2)
    assert found.verdict in ("slower", "unclear")  # unclear where three repetitions in a row were torn apart
    assert s.reproduce(1e6, repeat=2).verdict == "faster"
    with pytest.raises(WorkbenchError) as caught:
        s.reproduce(1.0, repeats=2)
    assert caught.value.code == "usage.option"


@pytest.mark.parametrize("given", [{"ms": 0}, {"ms": "x"}, {"ms": float("nan")}, {"ms": 1.0, "spread": -1}])
def test_a_record_is_a_number(given):
    with pytest.raises(UsageError):
        reproduce(lambda: took(1.0), **given)


def lost(ms, least):
    return Measurement(
        status="ok", costs_ms=(ms,), why_not="the second of 2 threads had 55 % of a core", at_least_ms=least
    )


def test_what_was_disturbed_is_no_verdict(idle):
    found = reproduce(lambda: lost(1.02, 0.6), 1.0, 0.01)
    assert (found.verdict, found.exit_code) == ("unclear", 2)
    assert str(found) == (
        "measured at least 0.6 ms (1.02 ms seen), recorded 1 ms, spread 1 %: no verdict, because the second of 2"
        " threads had 55 % of a core; try again when the machine is quiet"
    )


def test_an_undisturbed_attempt_counts_more_than_a_faster_one(idle):
    attempts = iter([lost(0.9, 0.5), took(1.01)])
    assert reproduce(lambda: next(attempts), 1.0, 0.0).verdict == "same"


def test_a_disturbed_record_is_measured_once_and_never_judged(idle):
    attempts = iter([took(1.0, 0.01)])
    found = reproduce(lambda: next(attempts), 1.0, None, "the thread had 40 % of a core")
    assert found.verdict == "unclear"
    assert str(found).endswith(
        "recorded 1 ms at most: no verdict, because the thread had 40 % of a core when it was recorded"
    )
