"""Steering at its edges: where the control file lies, several threads at once, contradictions, late commands."""

from __future__ import annotations

import os
import threading

import numpy
import pytest
from tune.fakes import FakeContext, FakeMeasurer, measurement, tasks
from waiting import until

from workbench.errors import TuneError, WorkbenchError
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.steer import control_file
from workbench.tune.steer.control_file import Mailbox, control_path, distrust, send


def make(log=None, *, delay=0.01, **kwargs):
    kwargs.setdefault("trials", 400)
    measurer = kwargs.pop("measurer", None) or FakeMeasurer(delay=delay)
    return TuningSession(RunPlan(tasks(3), context=FakeContext(), measurer=measurer, log=log, **kwargs))


# ---- where the control file lies, and what lies there ----


def test_a_log_is_steered_by_any_of_its_names_and_from_anywhere(tmp_path, monkeypatch):
    folder = tmp_path / "logs"
    folder.mkdir()
    log, link = folder / "a.jsonl", tmp_path / "latest.jsonl"
    link.symlink_to(log)
    monkeypatch.chdir(folder)
    box = Mailbox("a.jsonl")
    monkeypatch.chdir(tmp_path)
    name = send("latest.jsonl", "stop", {})
    assert [m.id for m in box.poll()] == [name]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_control_file_is_neither_read_nor_written(tmp_path, kind):
    log, other = tmp_path / "a.jsonl", tmp_path / "other"
    other.write_text('{"id": "a", "name": "stop"}\n')
    path = control_path(log)
    {"link": lambda: path.symlink_to(other), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[kind]()
    box = Mailbox(log)  # and does not wait for somebody to write into a pipe
    assert box.poll() == []
    with pytest.raises(TuneError) as caught:
        send(log, "stop", {})
    assert caught.value.code == "steer.unwritable"
    assert len(other.read_text().splitlines()) == 1


FOREIGN = {
    "somebody else's": lambda path, patch: patch.setattr(os, "geteuid", lambda: path.stat().st_uid + 12345),
    "everybody's": lambda path, patch: path.chmod(0o666),
    "a group's": lambda path, patch: path.chmod(0o664),
}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
@pytest.mark.parametrize("make_foreign", FOREIGN.values(), ids=FOREIGN)
def test_a_control_file_that_others_may_write_is_not_obeyed(tmp_path, monkeypatch, make_foreign):
    monkeypatch.setattr(control_file, "ROOT", -1)  # whoever runs the tests
    log = tmp_path / "a.jsonl"
    box = Mailbox(log)
    send(log, "stop", {})
    assert [m.name for m in box.poll()] == ["stop"]
    path = control_path(log)
    with monkeypatch.context() as patch:
        make_foreign(path, patch)
        with open(path, "a") as file:
            file.write('{"id": "evil", "name": "cancel"}\n{"id": "half')
        told = box.poll()
        assert [(m.name, m.code) for m in told] == [(None, "steer.foreign")]
        assert str(path) in told[0].problem
        assert box.poll() == []  # said once
        with pytest.raises(TuneError) as caught:
            send(log, "stop", {})
        assert caught.value.code == "steer.foreign"
    path.chmod(0o644)
    with open(path, "a") as file:  # of what others wrote nothing is left, not even half a line
        file.write('{"id": "good", "name": "pause"}\n')
    assert [m.name for m in box.poll()] == ["pause"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give files away")
def test_the_owner_decides_and_root_may(tmp_path):
    log = tmp_path / "a.jsonl"
    path = control_path(log)
    send(log, "stop", {})
    assert not distrust(path.stat())
    os.chown(path, 12345, -1)
    assert "12345" in distrust(path.stat())
    box = Mailbox(log)
    path.write_text('{"id": "evil", "name": "cancel"}\n' * 2)
    assert [m.code for m in box.poll()] == ["steer.foreign"]


def test_a_session_says_that_it_does_not_obey(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=100_000).start()
    told = []
    session.events.subscribe(lambda e: told.append(e.message) if e.kind == "warning" else None)
    path = control_path(log)
    path.touch()
    path.chmod(0o666)
    with open(path, "a") as file:
        file.write('{"id": "evil", "name": "cancel"}\n')
    until(lambda: any("[steer.foreign]" in message for message in told))
    assert session.state == "running"
    session.cancel()


def test_a_pause_that_comes_during_a_measurement_by_hand_outlasts_it():
    session = make(trials=100_000).start()
    session.hold(True)
    assert session.on_hold
    session.pause()
    session.hold(False)
    assert session.state == "paused"
    session.resume()
    session.hold(True)
    session.hold(False)
    assert session.state == "running"
    session.cancel()


def test_whatever_threads_pause_and_go_on_the_runner_is_held_as_the_state_says():
    session = make(trials=10**6).start()

    def push(hold):
        for k in range(60):
            (session.hold(k % 2 == 0) if hold else (session.pause() if k % 2 else session.resume()))

    threads = [threading.Thread(target=push, args=(k % 2 == 0,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert session._plan.measurer.held == (session.state == "paused")
    session.resume()
    assert not session._plan.measurer.held
    session.cancel()


def test_commands_of_many_threads_all_hold(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=10**6).start()

    def forbid(k):
        for n in range(10):
            session.forbid(0, "x", [10 * k + n])
            session.budget(more=1)

    threads = [threading.Thread(target=forbid, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for n in range(10):
        send(log, "forbid", {"task": "0", "hole": "x", "values": [100 + n]})
    for thread in threads:
        thread.join(100)
    until(lambda: len(session.held(0).forbids["x"]) == 50)
    assert session._loop.run_state.budget.trials == 10**6 + 40
    session.cancel().join(100)
    again = make(log, trials=10**6, resume=True)
    assert again.held(0).forbids == {"x": {*range(40), *range(100, 110)}}
    again.cancel()


# ---- contradictions ----


def test_a_pin_to_what_is_forbidden_is_refused_either_way_round():
    session = make()
    session.forbid(0, "x", 7)
    with pytest.raises(WorkbenchError) as caught:
        session.pin(0, "x", 7)
    assert caught.value.code == "steer.value"
    session.pin(1, "x", 7)
    with pytest.raises(WorkbenchError):
        session.forbid(1, "x", 7)
    session.release(1, "x")
    session.forbid(1, "x", 7)
    assert (session.held(1).pins, session.held(1).forbids) == ({}, {"x": {7}})
    session.cancel()


def test_a_budget_below_what_is_used_ends_the_run_and_more_is_more_than_that():
    session = make(trials=30)
    session.start().wait(30)
    lines = session.records
    again = make(trials=100)
    for line in lines:
        again._loop.run_state.take(line)
    again.budget(trials=5)
    assert again.budget(more=10).args["trials"] == 40
    again.budget(trials=5)
    assert again.start().wait(30)
    assert (again.state, len(again.records)) == ("done", 30)


def test_more_of_no_limit_is_refused():
    session = make(trials=None, seconds=60.0)
    with pytest.raises(WorkbenchError) as caught:
        session.budget(more=10)
    assert caught.value.code == "steer.argument"
    assert session.budget(task=0, more=10).args["until"] == 10
    session.cancel()


def test_what_comes_during_the_play_offs_is_still_done():
    """The budget is used up, the last comparisons run: whoever gives more now gets it."""
    session, given = make(trials=40, delay=0.0), []

    def more(event):
        if event.kind == "compare" and event.line.reason == "play-off" and not given:
            given.append(session.budget(more=20))

    session.events.subscribe(more)
    session.start().wait(60)
    assert given
    assert len(session.records) == 60


def test_what_is_given_by_hand_is_measured_though_all_tasks_rest():
    flat = FakeMeasurer()
    options = TuneOptions(early_stop=2, early_end=True, batch=4, confirm=False)
    session, given = make(trials=10_000, measurer=flat, options=options), []
    flat.measure = lambda task, schedules, best_ms: ((k, measurement(ms=1.0)) for k, _ in enumerate(schedules))

    def add(event):
        if event.kind == "round" and session._loop.scheduler.all_rest and not given:
            given.append(session.add(0, variant=0, row={"x": 999}).args["key"])

    session.events.subscribe(add)
    session.start().wait(60)
    assert given
    assert given[0] in {r.key for r in session.records}
    assert not session.held(0).added


def test_numbers_of_numpy_sets_and_ranges_are_numbers():
    session = make()
    session.pin(numpy.int64(0), "x", numpy.int32(7))
    session.forbid(session.tasks[1], "x", {1, 2})
    session.forbid(1, "x", range(3, 5))
    session.forbid(1, "x", numpy.arange(5, 7))
    session.add(2, variant=numpy.int64(0), row={"x": numpy.int64(9)})
    assert session.held(0).pins == {"x": 7}
    assert session.held(1).forbids == {"x": set(range(1, 7))}
    assert session.held(2).added[0]["row"] == {"x": 9}
    for values in (range(10**12), range(10**30), {1, "a"}, numpy.zeros((2, 2)), {1.5}):
        with pytest.raises(WorkbenchError) as caught:
            session.forbid(1, "x", values)
        assert caught.value.code == "steer.argument"
    session.cancel()


def test_a_pause_that_would_mean_nothing_is_refused():
    session = make(measurer=(measurer := FakeMeasurer()))
    measurer.gate.clear()
    assert session.pause().state == "idle"
    with pytest.raises(WorkbenchError) as caught:
        session.steer("pause")
    assert caught.value.code == "steer.state"
    session.start()
    assert measurer.asked.wait(10)
    assert session.pause().state == "paused"
    session.stop()
    with pytest.raises(WorkbenchError) as caught:
        session.steer("resume")
    assert caught.value.code == "steer.state"
    measurer.gate.set()
    assert session.wait(30)
    assert [(c.name, c.accepted) for c in session.steered] == [
        ("start", True), ("pause", False), ("pause", True), ("stop", True), ("resume", False),
    ]  # fmt: skip
