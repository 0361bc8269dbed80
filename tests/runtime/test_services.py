"""`Schedule.build` and `Schedule.measure`."""

import numpy as np
import pytest

from workbench import workloads
from workbench.errors import TargetError, UsageError
from workbench.runtime import schedule_methods
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.schedule import Schedule
from workbench.target import Target

HERE = Target.host(2)


@pytest.fixture
def schedule():
    s = Schedule(workloads.matmul(32, 32, 32), Target.host(1))
    outer, inner = s.split("j", [None, 16])
    s.reorder(outer, "k", inner)
    s.vectorize(inner)
    return s


def test_build(schedule):
    a, b = np.random.default_rng(0).standard_normal((2, 32, 32), dtype="float32")
    kernel = schedule.build()
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
    assert schedule.build(threads=2).threads == 2


def test_packed_constant_operand():
    s = Schedule(workloads.dense(8, 32, 16), Target.host(1))
    s.split("j", [None, 16])
    s.transform_layout("W", 1, 16)
    assert s.func.buffer("W").layout
    x, w, bias = (np.random.default_rng(0).standard_normal(n, dtype="float32") for n in ((8, 16), (16, 32), (32,)))
    np.testing.assert_allclose(s.build()(x, w, bias), x @ w + bias, rtol=1e-4, atol=1e-4)
    assert s.measure(repeat=3).ok


def test_measure(schedule):
    done = schedule.measure(repeat=5)
    assert done.ok, done.error
    assert done.repeats == 5
    assert done.flops == 2 * 32**3


def test_bad_options(schedule):
    for call in (schedule.build, schedule.measure):
        with pytest.raises(UsageError) as caught:
            call(repeats=5)
        assert caught.value.code == "usage.option"


def test_a_target_that_this_machine_is_not():
    arch = "x86_64" if HERE.arch == "aarch64" else "aarch64"
    other = f"llvm -mtriple={arch}-unknown-linux-gnu -mcpu=generic"
    s = Schedule(workloads.matmul(8, 8, 8), Target(other))
    kernel = s.build()
    assert "kernel" in kernel.asm
    a = np.zeros((8, 8), "f4")
    for call in (lambda: kernel(a, a), lambda: kernel.prepare(a, a), s.measure, lambda: s.measure(target=other)):
        with pytest.raises(TargetError) as caught:
            call()
        assert caught.value.code == "target.host"
    assert s.build(target=HERE)(a, a).shape == (8, 8)
    assert s.build(target=str(HERE)).target == HERE


def test_a_target_that_no_backend_serves():
    s = Schedule(workloads.matmul(8, 8, 8), Target("llvm -mtriple=sparcv9-unknown-linux-gnu -mcpu=generic"))
    with pytest.raises(TargetError) as caught:
        s.build()
    assert caught.value.code == "target.backend"
    assert "'c'" in caught.value.hint


def test_contest(schedule):
    slow = Schedule(workloads.matmul(32, 32, 32), Target.host(1))
    found = schedule_methods.contest([slow.func, schedule.func], slow.base, Target.host(1), budget_ms=10.0, least=7)
    assert found.status == "ok"
    assert found.ratio(1) == pytest.approx(1 / found.ratio(0, 1))
    assert found.ratio(1) < 0.7
    assert found.beats(1)


def test_contest_of_what_does_not_compute_the_same(schedule):
    wrong = Schedule(workloads.conv2d_nhwc(4, 4, 4, 4), Target.host(1))
    found = schedule_methods.contest([schedule.func, wrong.func], schedule.base, Target.host(1), budget_ms=10.0)
    assert found.status != "ok"
    assert found.measurements[0].ok
    assert not found.measurements[1].ok
    assert "participant 1" in found.error


@pytest.mark.parametrize(
    ("count", "options", "code"),
    [(1, {}, "usage.contest"), (2, {"budget": 1}, "usage.option"), (2, {"least": 0}, "usage.contest")],
)
def test_contest_refuses(schedule, count, options, code):
    with pytest.raises(UsageError) as caught:
        schedule_methods.contest([schedule.func] * count, schedule.base, Target.host(1), **options)
    assert caught.value.code == code


def test_what_a_person_measures_has_a_spread_or_says_that_it_was_timed_once(schedule, monkeypatch):
    asked = []
    once = Measurement(status="ok", costs_ms=(1000.0,), flops=10**9)

    def measured(self, item, options):
        asked.append(options.at_least)
        return once

    monkeypatch.setattr(LocalRunner, "measure", measured)
    assert schedule.measure() is once
    schedule.measure(at_least=1)
    assert asked == [schedule_methods.AT_LEAST, 1]
    assert schedule_methods.AT_LEAST >= 3
    assert str(once) == "1000.0000 ms (timed once), 1.0 GFLOP/s"
    assert "timed once" in once._repr_html_()
    assert "repetition" not in once._repr_html_()
    assert "timed once" not in str(Measurement(status="ok", costs_ms=(1000.0, 1001.0)))
