"""Measuring beside everything else: results by trace, failures in the row, the newest request wins."""

from __future__ import annotations

import time

import pytest
from session.conftest import Mirror, by_slice, matmul, own_threads, split
from waiting import until

from workbench import Hole, Schedule, Target, Task, workloads
from workbench.errors import RunError, ScheduleError, TargetError
from workbench.runtime.machine import turns
from workbench.runtime.machine.queue_line import Waiting
from workbench.session.measurement.measurements import Measurements
from workbench.session.state import results as measuring
from workbench.session.state.results import Result
from workbench.space.default_schedule import default_schedule


def row(s, k):
    return s.snapshot().slices["history"]["rows"][k]


def test_a_step_is_measured_for_real(session):
    s = session(auto_measure=True)
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "ok")
    assert row(s, 1)["ms"] > 0
    head = s.snapshot().slices["head"]
    assert head["ms"] == row(s, 1)["ms"] == head["best_ms"]
    assert head["best_by"] == "hand"
    assert 0 < head["peak_share"] < 1.5


@pytest.mark.parametrize("kind", ["vta", "cuda", "cpu-simt"])
def test_no_peak_is_measured_of_a_device(session, monkeypatch, kind):
    asked = []
    monkeypatch.setattr(Measurements, "_measure_peak", lambda self: asked.append(self))
    for target in (kind, "llvm"):
        s = session(Schedule(workloads.matmul(16, 16, 16), Target(target)))
        s.state.peak_measured = False
        got = []
        s.greet(got.append)
        until(lambda got=got, s=s: got and not s._measurements.peak_pending())
        s.run("select", id="k")
        assert asked == ([] if target == kind else [s._measurements])


def test_results_come_back_with_undo_and_redo(session, fake):
    s = session(auto_measure=True)
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "ok")
    s.run("undo")
    assert s.snapshot().slices["head"]["ms"] is None
    assert row(s, 1)["undone"]
    s.run("redo")
    assert s.snapshot().slices["head"]["ms"] == 1.5
    s.run("undo")
    s.run("apply", step=split("j", None, 16))
    assert row(s, 1)["status"] == "ok"
    assert len(fake.seen) == 1
    s.run("measure")
    until(lambda: len(fake.seen) == 2)


def test_steps_do_not_wait_for_a_measurement_and_the_newest_request_wins(session, fake):
    s = session(auto_measure=True)
    fake.gate.clear()
    began = time.monotonic()
    for k in (2, 2, 2, 2):
        s.run("apply", step=split(s.schedule.loops[0].name, None, k))
    s.run("undo")
    s.run("select", id="k")
    assert time.monotonic() - began < 100  # the gate would be waited for without end
    assert row(s, 1)["status"] == "measuring"
    assert [row(s, k)["status"] for k in (2, 3, 4)] == ["", "", "queued"]
    assert s.snapshot().slices["status"]["busy"] == "measuring v1"
    fake.gate.set()
    until(lambda: not s.state.doing)
    s.flush(100)
    assert [len(trace) for trace in fake.seen] == [1, 4]
    assert s.snapshot().slices["status"]["busy"] == ""


def test_of_several_steps_in_one_go_only_the_end_is_measured(session, fake):
    s = session(auto_measure=True)
    s.run("apply", step=split("j", None, 16), then=[split("i", None, 8), split("k", None, 4)])
    until(lambda: row(s, 3)["status"] == "ok")
    assert [len(trace) for trace in fake.seen] == [3]
    assert [row(s, k)["status"] for k in (1, 2)] == ["", ""]
    with pytest.raises(ScheduleError):
        s.run("apply", step=split("j.0", None, 2), then=[split("k", None, 2)])
    assert len(s.schedule.trace) == 3, "all of them or none"


def test_going_to_a_variant_measures_nothing(session, fake):
    s = session(auto_measure=False)
    s.run("apply", step=split("j", None, 16))
    s.run("apply", step=split("i", None, 16))
    s.run("auto_measure", on=True)
    for go in (("undo", {}), ("redo", {}), ("goto", {"step": 1}), ("branch", {"node": 2})):
        s.run(go[0], **go[1])
        assert [row(s, k)["status"] for k in (1, 2)] == ["", ""], go
    s.run("apply", step=split("k", None, 16))
    until(lambda: row(s, 3)["status"] == "ok")
    assert [len(trace) for trace in fake.seen] == [3]


@pytest.mark.parametrize("status", ["build_error", "run_error", "wrong_answer", "timeout"])
def test_a_failed_measurement_is_kept_in_its_row(session, fake, status):
    s = session(auto_measure=True)
    fake.result = Result(status, error="line one\nline two")
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == status)
    assert row(s, 1)["error"] == "line one\nline two"
    assert row(s, 1)["ms"] is None
    fake.result = Result("ok", 2.0)
    s.run("apply", step=split("i", None, 16))
    until(lambda: row(s, 2)["status"] == "ok")
    assert s.snapshot().slices["head"]["best_ms"] == 2.0


@pytest.mark.parametrize("error", [RunError("run.worker", "No worker", hint="look"), OSError("disk")])
def test_an_error_while_measuring_becomes_a_row(session, monkeypatch, error):
    def fails(*_, **_how):
        raise error

    monkeypatch.setattr(measuring.schedule_methods, "measure", fails)
    s = session(auto_measure=True)
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "run_error")
    assert "No worker" in row(s, 1)["error"] or "disk" in row(s, 1)["error"]


def test_a_schedule_with_holes_is_not_measured(session, fake):
    mine = Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1))
    mine.split("i", [None, Hole()])
    s = session(mine, auto_measure=True)
    s.run("apply", step=split("j", None, 16))
    assert s.snapshot().slices["head"]["holes"] == row(s, 2)["holes"] == row(s, 1)["holes"] > 0
    assert row(s, 0)["holes"] == 0
    with pytest.raises(ScheduleError) as e:
        s.run("measure")
    assert e.value.code == "schedule.open"
    assert not fake.seen


def test_a_target_of_another_machine_is_shown_but_not_measured(session, fake):
    other = Target("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=generic", threads=2)
    if not other.missing_here():
        other = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=2)
    s = session(Task.of_func(workloads.matmul(64, 64, 64), other), auto_measure=True)
    assert s.snapshot().slices["status"]["note"]["code"] == "target.host"
    s.run("apply", step=split("j", None, 16))
    for cmd, args in (("measure", {}), ("auto_measure", {"on": True}), ("tune", {})):
        with pytest.raises(TargetError):
            s.run(cmd, **args)
    assert not fake.seen


def test_closing_while_measuring(session, fake):
    s = session(auto_measure=True)
    fake.gate.clear()
    s.run("apply", step=split("j", None, 16))
    until(lambda: fake.seen)
    began = time.monotonic()
    s.close()
    assert time.monotonic() - began < 100  # the gate would be waited for without end
    fake.gate.set()
    until(lambda: not own_threads())
    assert s.state.history.results == {}


def convolution():
    """A 3x3 convolution of ResNet-50."""
    return Task.of_func(workloads.conv2d_nhwc(28, 28, 128, 128, bias=True, relu=True), Target.host(threads=2))


def test_one_step_is_two_messages_and_five_kilobytes(session, fake, monkeypatch):
    """Every step of the default schedule, each with its measurement."""
    # No step uses up what the next may send.
    monkeypatch.setattr("workbench.session.core.publisher.PER_SECOND", 1000.0)
    task = convolution()
    s = session(task, auto_measure=True)
    mirror = Mirror(s)
    for step in default_schedule(task, task.target).to_json():
        count, size = len(mirror.messages), sum(mirror.sizes)
        fake.gate.clear()
        s.submit("apply", {"step": step}, "x")
        until(lambda n=count: len(mirror.messages) > n)
        fake.gate.set()
        until(lambda: not s.state.doing)
        assert s.flush(100)
        assert len(mirror.messages) - count == 2, step
        assert sum(mirror.sizes) - size <= 5_120, (step, by_slice(mirror.messages[count:]))
    assert mirror.agrees(s)


def test_selecting_is_one_small_message(session):
    s = session(convolution())
    mirror = Mirror(s)
    for row_id in ("h", "stmt:conv", "X", "", "c"):
        count = len(mirror.messages)
        s.submit("select", {"id": row_id}, "x")
        assert s.flush(100)
        assert len(mirror.messages) == count + 1
        assert mirror.sizes[-1] <= 8_192, row_id


def test_opening_a_second_session_of_a_task_needs_no_thread(session):
    session(matmul())
    assert not own_threads()


def test_a_line_of_measurements_is_told_in_the_status(session):
    s = session()

    def busy():
        return s.snapshot().slices["status"]["busy"]

    s.later("say", lambda: turns.announce(Waiting(3, 4.0, 0.1)))
    until(lambda: busy() == "waiting for 3 others, about 4 s")
    s.later("say", lambda: turns.announce(Waiting(0, 0.0, 4.2)))
    until(lambda: busy() == "")
