"""Sessions that begin or end in another way than by running through."""

from __future__ import annotations

import dataclasses
import gc
import threading

import numpy
import pytest
from tune.fakes import FakeContext, FakeMeasurer, measurement, tasks

from workbench.errors import TuneError, UsageError
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.plan.task_selection import select_tasks
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.events import FINAL
from workbench.tune.state.run_end import RAN_THROUGH, goes_first, waiting_text


def make(log=None, measurer=None, size=1000, **kwargs):
    kwargs.setdefault("trials", 40)
    return TuningSession(
        RunPlan(tasks(3), context=FakeContext(size), measurer=measurer or FakeMeasurer(), log=log, **kwargs)
    )


def test_a_start_that_fails_ends_the_session(tmp_path):
    class NoWorkers(FakeMeasurer):
        def start(self):
            raise OSError("no more processes")

    log = tmp_path / "a.jsonl"
    session = make(log, measurer=NoWorkers())
    with pytest.raises(OSError, match="no more processes"):
        session.start()
    assert session.state == "failed"
    with pytest.raises(TuneError, match="no more processes"):
        session.wait(10)
    make(log, resume=True).cancel()  # the log is free again


def test_a_session_that_was_never_started_and_is_forgotten_lets_go_of_its_log(tmp_path):
    log = tmp_path / "a.jsonl"
    make(log)
    gc.collect()
    make(log, resume=True).cancel()


def test_whoever_interrupts_the_end_of_a_block_leaves_nothing_running(monkeypatch):
    measurer = FakeMeasurer()
    measurer.gate.clear()
    session = make(measurer=measurer)

    def interrupted(timeout=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "wait", interrupted)
    session.start()
    assert measurer.asked.wait(10)
    with pytest.raises(KeyboardInterrupt), session:
        pass
    assert session.state == "cancelled"
    assert measurer.closed


def test_several_threads_may_wait_and_all_hear_how_it_ended():
    measurer = FakeMeasurer(fail=lambda task, x: 1 / 0)
    session, heard = make(measurer=measurer), []

    def wait():
        try:
            session.wait(30)
        except TuneError as error:
            heard.append(error.code)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    session.start()
    for thread in threads:
        thread.join(100)
    assert heard == ["tune.failed"] * 4


def test_a_task_that_is_there_twice_is_refused(tmp_path):
    twice = [*tasks(2), tasks(1)[0]]
    with pytest.raises(UsageError) as caught:
        TuningSession(
            RunPlan(twice, context=FakeContext(), measurer=FakeMeasurer(), log=tmp_path / "a.jsonl", trials=4)
        )
    assert caught.value.code == "usage.same_task"
    assert not (tmp_path / "a.jsonl").exists()


def test_a_resumed_session_shows_one_row_for_each_task_before_it_starts(tmp_path):
    log = tmp_path / "a.jsonl"
    bad = FakeMeasurer(fail=lambda task, x: "run_error" if task.key == "key1" else "ok")
    make(log, size=5, measurer=bad, trials=500).start().wait(60)
    again = make(log, size=5, trials=500, resume=True)
    assert list(again.table()["id"]) == [0, 1, 2]
    assert list(again.table()["state"]) == ["measured", "no result", "measured"]
    assert list(again.table()["trials"]) == [6, 6, 6]
    again.start().wait(60)
    assert set(again.table()["state"]) == {"exhausted"}
    assert len(again.records) == 18


def test_whoever_stops_iterating_keeps_no_events():
    session = make()
    for _ in range(3):
        events = iter(session.events)
    del events
    gc.collect()
    assert not list(session.events._queues)
    session.cancel()
    assert list(session.events) == []


# ---- which tasks are meant ----


@pytest.mark.parametrize(
    "only", [1, "1", " 1 ", "key1", "conv1 3x3", [1], {1}, numpy.int64(1), [numpy.int32(1)], tasks(2)[1]]
)
def test_a_task_is_said_in_many_ways(only):
    assert select_tasks(tasks(3), only) == [1]


@pytest.mark.parametrize("only", [3, -1, "3", "\u00b2", "conv", True, [True], 1.0, [None], [[1]], 10**30, "1" * 5000])
def test_what_names_no_task_is_refused(only):
    with pytest.raises(UsageError) as caught:
        select_tasks(tasks(3), only)
    assert caught.value.code == "usage.task"


def test_a_name_that_several_tasks_have_says_none_of_them():
    several = [*tasks(1), dataclasses.replace(tasks(1)[0], key="other")]
    with pytest.raises(UsageError, match="2 tasks are named"):
        select_tasks(several, "conv0 3x3")
    assert select_tasks(several, "other") == [1]


def test_a_key_of_digits_is_a_key():
    assert select_tasks([*tasks(1), dataclasses.replace(tasks(1)[0], key="4711471147114711")], "4711471147114711") == [
        1
    ]


def flat(task, schedules, best_ms):
    return ((k, measurement(ms=1.0)) for k, _ in enumerate(schedules))


@pytest.mark.parametrize(
    ("kwargs", "how", "end"),
    [
        ({"trials": 12}, None, "budget"),
        ({"size": 4, "trials": 1000}, None, "exhausted"),
        (
            {"options": TuneOptions(early_stop=2, early_end=True, batch=4, confirm=False), "trials": 500},
            None,
            "resting",
        ),
        ({"trials": 500}, "stop", "stopped"),
        ({"trials": 500}, "cancel", "cancelled"),
        ({"trials": 500}, "fail", "failed"),
    ],
)
def test_a_run_says_why_it_ended(kwargs, how, end):
    measurer = FakeMeasurer(fail=(lambda task, x: 1 / 0) if how == "fail" else None)
    if end == "resting":
        measurer.measure = flat
    session = make(measurer=measurer, **kwargs)
    ends = set()
    session.events.subscribe(lambda event: ends.add((session.state, session.snapshot().end)))
    if how in ("stop", "cancel"):
        measurer.gate.clear()
    session.start()
    assert end == "resting" or measurer.asked.wait(10)
    if how in ("stop", "cancel"):
        getattr(session, how)()
        measurer.gate.set()
    session.join(100)
    snapshot = session.snapshot()
    assert snapshot.end == end
    assert (snapshot.progress.fraction == 1.0) == (end in RAN_THROUGH), "the bar stands where the run was ended"
    assert {told for state, told in ends if state in FINAL} == {end}
    assert {told for state, told in ends if state not in FINAL} <= {""}
    assert ("stopped" in repr(session)) == (end == "stopped")


def test_what_was_added_and_not_measured_is_told_and_comes_first_when_the_log_is_gone_on_with(tmp_path):
    log = tmp_path / "a.jsonl"
    measurer = FakeMeasurer()
    measurer.gate.clear()
    session = make(log, measurer=measurer, options=TuneOptions(batch=2)).start()
    assert measurer.asked.wait(10)
    session.add(2, variant=0, row={"x": 77})
    session.add(2, variant=0, row={"x": 78})
    session.stop()
    measurer.gate.set()
    assert session.wait(30)
    assert session.snapshot().waiting == 2
    again = make(log, resume=True, trials=len(session.records) + 2)
    assert again.snapshot().waiting == 2
    assert again.start().wait(30)
    assert {record.key for record in again.records[-2:]} == {"x77", "x78"}
    assert again.snapshot().waiting == 0
    assert waiting_text(0, "a") == "" == goes_first(0)
    assert (
        waiting_text(1, "a")
        == "1 candidate added by hand was not measured; a run that goes on with a measures it first"
    )
