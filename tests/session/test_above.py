"""Shares of the peak above one: why, in the header, the table and the roofline; and the peak of all threads."""

from __future__ import annotations

import pytest
from waiting import until

from workbench import Schedule, Target, workloads
from workbench.log import Record
from workbench.runtime.machine import measured_roofline
from workbench.session.measurement import measurements as bench
from workbench.session.state.results import Result
from workbench.session.tuning_run import charts

TARGET = Target.host(threads=1)
FEWER = "Winograd's algorithm (tiles of 4×4) does 4.00× fewer multiplications than are counted; these are 50.0\u202f%"


@pytest.fixture
def peak(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)


def conv():
    return Schedule(workloads.conv2d_nhwc(14, 14, 16, 16), TARGET)


def slices(s, name):
    return s.snapshot().slices[name]


def measured(s, gflops):
    flops = slices(s, "head")["flops"]
    return Result("ok", flops / (gflops * 1e6), 0.01, gflops)


def test_a_convolution_by_winograd_is_faster_than_the_peak_and_says_why(session, fake, peak):
    s = session(conv())
    assert slices(s, "head")["above"] == ""
    s.run("apply", step={"primitive": "winograd", "args": {"block": "conv"}})
    fake.result = measured(s, 200.0)
    s.run("measure")
    until(lambda: slices(s, "head")["ms"])
    assert slices(s, "head")["peak_share"] == 2.0
    assert slices(s, "head")["above"].startswith(FEWER)
    assert slices(s, "tasks")["rows"][0]["above"].startswith(FEWER)
    assert s.flush(100)
    [spot] = [spot for spot in charts.spots(s.state) if spot.measured]
    assert spot.above.startswith(FEWER)


def test_another_one_is_told_that_the_peak_is_an_estimate(session, fake, peak):
    s = session(conv())
    fake.result = measured(s, 130.0)
    s.run("measure")
    until(lambda: slices(s, "head")["ms"])
    assert slices(s, "head")["above"].startswith("The peak is an estimate")
    fake.result = measured(s, 99.0)
    s.run("measure")
    until(lambda: slices(s, "head")["gflops"] == 99.0)
    assert slices(s, "head")["above"] == ""


def test_of_a_task_that_the_tuner_solved_its_steps_tell(session, peak):
    s = session(conv())
    info = s.state.infos[0]
    tuned = conv()
    tuned.winograd("conv")
    record = Record(
        task_key=info.key, task=info.name, trial=0, status="ok", target=str(TARGET), flops=info.flops,
        latency_ms=info.flops / 200e6, trace=[step.to_json() for step in tuned.trace],
    )  # fmt: skip
    s.run(lambda: s.state.stats.add([record]))
    assert slices(s, "tasks")["rows"][0]["above"].startswith(FEWER)


def test_the_peak_of_all_threads_is_measured_by_itself(session, monkeypatch):
    """Until then it is one core's, taken times the threads: of two threads of one core that is too much."""
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    kept = []
    monkeypatch.setattr(measured_roofline, "stored", lambda *_: kept[0] if kept else None)
    monkeypatch.setattr(bench, "measure_all_threads", lambda target: 120.0)
    monkeypatch.setattr(Target, "peak_gflops", lambda self: 100.0)
    s = session(Schedule(workloads.matmul(8, 8, 8), Target.host(threads=2)))
    assert (slices(s, "meta")["peak_gflops"], slices(s, "meta")["peak_measured"]) == (200.0, False)
    s.greet(lambda message: None)
    until(lambda: slices(s, "meta")["peak_measured"])
    assert slices(s, "meta")["peak_gflops"] == 120.0
    kept.append(measured_roofline.Roofs(2, 120.0, 50.0, 1 << 20))
    assert measured_roofline.all_threads(Target.host(threads=2)) == (120.0, True)
    assert measured_roofline.all_threads(Target.host(threads=1)) == (100.0, True)
