"""The estimate stands beside every state: at once where it is shown, soon everywhere else."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from session.conftest import Mirror, matmul, split
from waiting import until

from workbench import Target
from workbench.analysis import estimate
from workbench.schedule import Hole
from workbench.session.state import estimates


@pytest.fixture(autouse=True)
def clock(fake):
    """A peak is known, and nothing is measured."""
    return fake


def head(s):
    return s.snapshot().slices["head"]


def rows(s):
    return {r["id"]: r["est"] for r in s.snapshot().slices["history"]["rows"]}


def shown(s, schedule=None):
    schedule = s.schedule if schedule is None else schedule
    return estimate(schedule, s.state.target, peak_gflops=s.state.peak).to_json()


def ready(s):
    until(lambda: s.state.peak is not None)
    assert s.flush(100)


def test_a_step_and_its_estimate_come_in_one_patch(session):
    s = session()
    mirror = Mirror(s)
    ready(s)
    before = len(mirror.messages)
    s.run("apply", step=split("i", None, 8))
    assert s.flush(100)
    assert len(mirror.messages) == before + 1
    assert mirror.slices["head"]["est"] == shown(s)
    assert mirror.slices["head"]["est"]["ms"] > 0
    s.run("undo")
    assert head(s)["est"] == shown(s)


def test_steps_that_nobody_looked_at_between_have_one_too(session):
    s = session()
    Mirror(s)
    ready(s)
    s.schedule.split("i", [None, 8])
    s.schedule.split("j", [None, 8])
    until(lambda: len(rows(s)) == 3 and all(rows(s).values()))


def test_before_the_peak_is_known_there_are_bytes_and_no_time(session, monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: None)  # another test may have measured it
    s = session()
    assert s.state.peak is None
    assert head(s)["est"]["ms"] is None
    assert head(s)["est"]["bytes"]["L1"] > 0
    Mirror(s)
    until(lambda: head(s)["est"]["ms"] is not None)
    assert head(s)["est"] == shown(s)


def test_open_numbers_have_a_range(session):
    s = session()
    Mirror(s)
    ready(s)
    s.run("apply", step=split("i", None, {"hole": "ti"}))
    s.run("apply", step=split("k", None, {"hole": "tk"}))
    est = head(s)["est"]
    assert est == shown(s)
    assert est["low"] <= est["ms"] <= est["high"]


def test_a_choice_of_structure_is_worked_out_beside_the_thread(session, monkeypatch):
    s = session(matmul(16))
    Mirror(s)
    ready(s)
    threads = set()
    real = estimates.estimated

    def noted(*args):
        threads.add(s.here())
        return real(*args)

    monkeypatch.setattr(estimates, "estimated", noted)
    s.schedule.unroll(Hole("which", choices=("i", "j", "k")))
    until(lambda: head(s)["step"] == "v1" and head(s)["est"] is not None)
    assert threads == {False}
    assert head(s)["est"] == shown(s)
    assert head(s)["est"]["low"] < head(s)["est"]["high"]


def test_what_goes_wrong_is_told_once_and_the_others_have_theirs(session, monkeypatch):
    s = session()
    Mirror(s)
    ready(s)
    real, calls = estimates.estimated, []

    def breaks(schedule, *args):
        calls.append(len(schedule.trace))
        if len(schedule.trace) == 1:
            raise RuntimeError("no such thing")
        return real(schedule, *args)

    monkeypatch.setattr(estimates, "estimated", breaks)
    s.schedule.split("i", [None, 8])
    s.schedule.split("j", [None, 8])
    s.schedule.split("k", [None, 8])
    until(lambda: s.snapshot().slices["status"]["note"] is not None)
    s.run("dismiss")
    s.run("undo", n=1)
    assert s.flush(100)
    assert calls.count(1) == 1
    assert s.snapshot().slices["status"]["note"] is None
    assert rows(s)[2] is not None


def two_tasks(session, monkeypatch, gate):
    """A model of two: the second does less arithmetic, and should take longer."""
    subject = [matmul(64), matmul(32)]
    slow = subject[1].key

    def guess(task, *how):
        assert gate.wait(100)
        return replace(real(task, *how), cycles=9e9 if task.key == slow else 1.0, ms=None)

    real = estimates._untuned
    monkeypatch.setattr(estimates, "_untuned", guess)
    s = session(subject)
    Mirror(s)
    return s


def test_the_task_that_should_take_most_is_the_open_one_and_the_first_of_the_table(session, monkeypatch):
    gate = threading.Event()
    s = two_tasks(session, monkeypatch, gate)
    assert head(s)["task"] == 0
    gate.set()
    until(lambda: head(s)["task"] == 1)
    table = s.snapshot().slices["tasks"]["rows"]
    assert max(table, key=lambda row: row["est_share"])["id"] == 1


@pytest.mark.parametrize("going_on", ["schedule", "command"])
def test_who_has_gone_on_keeps_the_task(session, monkeypatch, going_on):
    gate = threading.Event()
    s = two_tasks(session, monkeypatch, gate)
    if going_on == "schedule":
        assert s.schedule is not None
    else:
        s.run("select", id="i")
    gate.set()
    until(lambda: all(row.get("est_share") for row in s.snapshot().slices["tasks"]["rows"]))
    assert s.flush(100)
    assert head(s)["task"] == 0
