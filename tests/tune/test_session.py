from __future__ import annotations

import asyncio
import json
import threading
import time

import numpy as np
import pandas
import pytest
from tune.fakes import Clock, FakeContext, FakeMeasurer, measurement, tasks
from waiting import until

from workbench.errors import LogError, TuneError, UsageError
from workbench.log import load_log
from workbench.log.reader import read_log
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan, default_batch
from workbench.tune.run.tuning_session import TuningSession


def make(log=None, n=3, measurer=None, size=1000, **kwargs):
    kwargs.setdefault("trials", 40)
    return TuningSession(
        RunPlan(tasks(n), context=FakeContext(size), measurer=measurer or FakeMeasurer(), log=log, **kwargs)
    )


def test_a_run_spends_its_budget_and_every_trial_is_in_the_log(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log).start()
    assert session.wait(60)
    assert session.state == "done"
    frame = read_log(log)
    assert list(frame["trial"]) == list(range(40))
    assert set(frame["task_key"]) == {"key0", "key1", "key2"}
    assert (frame.groupby("task_key")["origin"].first() == "default").all()
    assert session.table()["trials"].sum() == 40
    assert frame["confirmed"].any()
    for column in ("trial", "confirmed", "rank", "ledger_ms", "best_ms"):
        pandas.testing.assert_series_equal(session.frame()[column], frame[column])
    snapshot = session.snapshot()
    assert snapshot.untuned_ms == pytest.approx(10.0 * 6, rel=1e-3)
    assert snapshot.total_ms is not None
    assert snapshot.total_ms < snapshot.untuned_ms
    assert session.progress.fraction == 1.0


def test_a_session_of_several_tasks_prints_all_of_them_and_all_columns(tmp_path):
    session = make(tmp_path / "a.jsonl").start()
    assert session.wait(60)
    assert [line for line in session.explain().splitlines() if line.startswith("task ")] == [
        session.explain(k).splitlines()[0] for k in range(3)
    ]
    with pytest.raises(UsageError) as told:
        session.terms()
    assert told.value.hint == "terms(0) or terms(task)"
    table = session.table()
    assert "..." not in str(table)
    assert all(column in str(table) for column in table.columns)
    assert max(map(len, str(table).splitlines())) <= 120
    assert type(table[table["trials"] > 0]) is pandas.DataFrame


def test_what_the_cost_model_needs_is_loaded_once_and_not_before_the_first_trial():
    known, loaded = [], threading.Event()

    class TuneContext(FakeContext):
        def prepare(self):
            known.append(len(session.records))
            loaded.set()

    session = TuningSession(RunPlan(tasks(1), context=TuneContext(), measurer=FakeMeasurer(), trials=6, ahead=True))
    session.start()
    assert session.wait(60)
    assert loaded.wait(60)
    assert len(known) == 1
    assert known[0] >= 1


def test_what_the_cost_model_needs_is_not_loaded_beside_kernels_that_use_all_cores():
    class TuneContext(FakeContext):
        def prepare(self):
            raise AssertionError

    before = threading.active_count()
    session = TuningSession(RunPlan(tasks(1), context=TuneContext(), measurer=FakeMeasurer(), trials=6))
    assert session.start().wait(60)
    assert not session._prepared
    assert threading.active_count() <= before + 1


def test_numbers_of_numpy_are_a_budget(tmp_path):
    log = tmp_path / "a.jsonl"
    session = TuningSession(RunPlan(
        tasks(1), context=FakeContext(), measurer=FakeMeasurer(), trials=np.int64(6), seconds=np.float32(60), log=log,
        options=TuneOptions(epsilon=np.float32(0.25)),
    ))  # fmt: skip
    assert session.start().wait(60)
    assert len(session.records) == 6
    (start,) = [line for line in load_log(log).commands if line.name == "start"]
    assert (start.args["trials"], start.args["seconds"], start.args["epsilon"]) == (6, 60.0, 0.25)


def test_a_start_that_was_refused_starts_nothing():
    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=FakeMeasurer(), trials=6))
    with pytest.raises(UsageError):
        session.steer("start", confirm=False)
    assert session._loop.run_state.budget.trials == 6
    assert session._loop.scheduler.confirm is True
    assert session.start().wait(60)
    assert len(session.records) == 6


def test_records_are_in_the_log_before_they_are_announced(tmp_path):
    log = tmp_path / "a.jsonl"
    missing = []

    def check(event):
        if event.kind == "trial":
            lines = log.read_text().splitlines()
            if json.loads(lines[-1])["trial"] != event.record.trial:
                missing.append(event.record.trial)

    session = make(log)
    session.events.subscribe(check)
    session.start().wait(60)
    assert missing == []


def test_a_session_may_be_resumed_and_no_candidate_is_measured_twice(tmp_path):
    log = tmp_path / "a.jsonl"
    make(log, trials=25, size=30).start().wait(60)
    make(log, trials=60, size=30, resume=True).start().wait(60)
    frame = read_log(log)
    assert list(frame["trial"]) == list(range(60))
    assert not frame.duplicated(["task_key", "key"]).any()


def test_the_scheduler_after_resume_equals_that_of_an_uninterrupted_replay(tmp_path):
    log = tmp_path / "a.jsonl"
    first = make(log, trials=30)
    first.start().wait(60)
    again = make(log, trials=60, resume=True)
    assert again._loop.scheduler.states == first._loop.scheduler.states
    again.cancel()


def test_resume_counts_what_is_there(tmp_path):
    log = tmp_path / "a.jsonl"
    make(log, trials=20).start().wait(60)
    session = make(log, trials=20, resume=True).start()
    assert session.wait(60)
    assert len(load_log(log).records) == 20


@pytest.fixture
def clock(monkeypatch):
    return Clock().patch(monkeypatch)


def test_pause_and_resume_hold_and_go_on(clock):
    measurer = FakeMeasurer()
    session = make(measurer=measurer, trials=2000)
    session.events.subscribe(lambda e: session.pause().pause() if e.kind == "trial" and e.record.trial == 4 else None)
    session.start()
    until(lambda: session.state == "paused")
    elapsed = session.progress.elapsed_s
    clock.sleep(5.0)
    time.sleep(0.05)  # in which a run that is not held would go on
    assert measurer.count == 5
    assert session.state == "paused"
    assert session.progress.elapsed_s == elapsed
    session.resume().resume()
    until(lambda: measurer.count > 5)
    session.stop().stop()
    assert session.wait(60)
    assert session.state == "done"


def test_a_paused_run_can_be_stopped():
    measurer = FakeMeasurer()
    measurer.gate.clear()
    session = make(measurer=measurer).start()
    assert measurer.asked.wait(10)
    session.pause()
    measurer.gate.set()  # the loop waits for a trial that the pause holds back
    time.sleep(0.05)
    session.stop()
    assert session.wait(10), "what the pause held back comes to its end"
    assert session.state == "done"


def test_stop_keeps_the_trial_in_flight_and_cancel_throws_it_away(tmp_path):
    for name, action, expected in (("stop", "stop", 1), ("cancel", "cancel", 0)):
        measurer = FakeMeasurer()
        measurer.gate.clear()
        log = tmp_path / f"{name}.jsonl"
        session = make(log, measurer=measurer).start()
        assert measurer.asked.wait(60)
        getattr(session, action)()
        measurer.gate.set()
        session.wait(60)
        assert session.state == {"stop": "done", "cancel": "cancelled"}[name]
        assert len(load_log(log).records) == expected
        assert measurer.closed


def test_every_command_is_idempotent_in_every_state():
    for start in (True, False):
        session = make(trials=5)
        if start:
            session.start().wait(60)
        for _ in range(2):
            session.pause(), session.resume(), session.stop(), session.cancel()
        assert session.wait(60)
        assert session.state == "done"
        session.start()
        assert session.state == "done"


def test_the_context_manager_stops_and_cancels_on_an_exception():
    with make(measurer=FakeMeasurer(delay=0.005), trials=10_000) as session:
        session.start()
    assert session.state == "done"
    session = make(measurer=FakeMeasurer(delay=0.005), trials=10_000)
    with pytest.raises(ZeroDivisionError), session:
        raise ZeroDivisionError(session.start())
    assert session.state == "cancelled"


def test_awaiting_a_session_lets_others_go_on():
    async def run():
        session = make(trials=6, n=1)

        async def start():
            session.start()

        starting = asyncio.create_task(start())  # has its turn while the end is waited for
        assert await session is session
        await starting
        return session

    session = asyncio.run(asyncio.wait_for(run(), 60))
    assert session.state == "done"
    asyncio.run(asyncio.wait_for(waiting(session), 60))


async def waiting(session):
    return await session


def test_awaiting_raises_what_went_wrong_and_may_be_given_up():
    class Broken(FakeMeasurer):
        def measure(self, task, schedules, best_ms):
            raise RuntimeError("the machine is on fire")

    with pytest.raises(TuneError, match="on fire"):
        asyncio.run(waiting(make(measurer=Broken()).start()))
    idle = make(n=1)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(waiting(idle), 0.1))
    idle.cancel()
    assert asyncio.run(waiting(idle)).state == "cancelled"


def test_an_exception_in_the_thread_surfaces_in_wait_and_the_log_is_intact(tmp_path):
    log = tmp_path / "a.jsonl"

    def fail(task, x):
        if measurer.count > 10:
            raise OSError("the runner is gone")
        return "ok"

    measurer = FakeMeasurer(fail=fail)
    session = make(log, measurer=measurer).start()
    with pytest.raises(TuneError, match="the runner is gone") as caught:
        session.wait(60)
    assert isinstance(caught.value.__cause__, OSError)
    assert session.state == "failed"
    assert len(load_log(log).records) == 10


def test_a_runner_that_says_nothing_ends_the_run():
    measurer = FakeMeasurer()
    measurer.measure = lambda task, schedules, best_ms: iter(())
    session = make(measurer=measurer).start()
    with pytest.raises(TuneError) as caught:
        session.wait(60)
    assert caught.value.code == "tune.no_results"
    assert not session.rounds


def test_failed_trials_keep_their_text_and_kill_no_task(tmp_path):
    log = tmp_path / "a.jsonl"
    measurer = FakeMeasurer(fail=lambda task, x: "run_error" if task.key == "key1" and measurer.count < 25 else "ok")
    session = make(log, measurer=measurer, trials=200).start()
    session.wait(60)
    frame = read_log(log)
    bad = frame[frame["status"] == "run_error"]
    assert len(bad)
    assert (bad["error"] == "Traceback: why").all()
    assert bad["latency_ms"].isna().all()
    assert ((frame["task_key"] == "key1") & (frame["status"] == "ok")).any()


def test_an_exhausted_space_ends_the_session():
    session = make(size=5, trials=500).start()
    assert session.wait(60)
    assert len(session.records) == 3 * 6
    assert set(session.table()["state"]) == {"exhausted"}


def test_a_time_budget_ends_the_session():
    session = make(trials=None, seconds=0.2, measurer=FakeMeasurer(delay=0.005)).start()
    assert session.wait(60)
    assert session.progress.elapsed_s > 0.1
    assert session.state == "done"


def test_a_time_limit_is_kept_to_within_a_trial(clock):
    """The play-off counts as well; time spent paused does not."""
    session = make(trials=None, seconds=1.0, measurer=FakeMeasurer(delay=0.05, sleep=clock.sleep))
    session.events.subscribe(lambda e: session.pause() if e.kind == "trial" and e.record.trial == 4 else None)
    session.start()
    until(lambda: session.state == "paused")
    clock.sleep(10.0)
    session.resume()
    assert session.wait(60)
    assert 0.8 < session.progress.elapsed_s <= 1.05
    assert session.progress.elapsed_s == max(r.elapsed_s for r in session.rounds) or session.comparisons
    assert session.records[-1].elapsed_s <= 1.05


def test_candidates_are_proposed_ahead_and_none_is_lost():
    """Proposals for the task that is likely next are made while another is measured; what is pinned holds for them."""
    session = make(trials=400, size=60, ahead=True, options=TuneOptions(scheduler="round-robin", batch=8))
    asked, workshops = [], session._loop.searches
    workshops._ahead = lambda shop, n: (asked.append(n), type(workshops)._ahead(shop, n))

    def steer(event):
        if event.kind == "trial" and event.record.round == 5:  # task 0 is next, its proposals are made
            workshops.wait()
            session.pin(0, "x", 5)
        if event.kind == "round" and event.line.round == 11:
            session.release(0)

    session.events.subscribe(lambda event: steer(event))
    session.start().wait(60)
    assert asked
    pinned = [r.row["x"] for r in session.records if r.task_key == "key0" and 5 < r.round <= 11]
    assert pinned in ([], [5])
    for key in ("key0", "key1", "key2"):  # proposals that the pin forbade come again
        assert sorted(r.row.get("x", -1) for r in session.records if r.task_key == key) == list(range(-1, 60))
    assert not [t for t in threading.enumerate() if t.name == "workbench-ask"]


def test_only_some_tasks_are_tuned():
    session = make(only_tasks=["1", "conv2 3x3"]).start()
    session.wait(60)
    assert {r.task_key for r in session.records} == {"key1", "key2"}
    assert session.table()["state"][0] == "skipped"


@pytest.mark.parametrize(
    ("kwargs", "code"),
    [
        ({"trials": 0}, "usage.trials"),
        ({"trials": None, "seconds": -1.0}, "usage.seconds"),
        ({"only_tasks": [7]}, "usage.task"),
        ({"only_tasks": ["conv2 3x2"]}, "usage.task"),
        ({"n": 0}, "usage.no_tasks"),
        ({"options": TuneOptions(objective=lambda ms: 1 / 0)}, "usage.objective"),
    ],
)
def test_usage_errors_come_before_anything_is_written(tmp_path, kwargs, code):
    log = tmp_path / "a.jsonl"
    with pytest.raises(UsageError) as caught:
        make(log, **kwargs)
    assert caught.value.code == code
    assert not log.exists()


def test_unknown_options_are_refused():
    with pytest.raises(UsageError):
        TuneOptions(scheduler="greedy")
    with pytest.raises(UsageError):
        TuneOptions(batch=0)


@pytest.mark.parametrize(
    ("kwargs", "code"),
    [
        ({"epsilon": 1.2}, "usage.epsilon"),
        ({"epsilon": "much"}, "usage.epsilon"),
        ({"early_stop": 0}, "usage.early_stop"),
        ({"early_end": True}, "usage.early_stop"),
        ({"space": "everything"}, "usage.space"),
        ({"objective": 3}, "usage.type"),
        ({"structure": 3}, "usage.type"),
        ({"confirm": "yes"}, "usage.type"),
        ({"search": None}, "usage.type"),
        ({"model": 7}, "usage.type"),
    ],
)
def test_options_that_make_no_sense_are_refused(kwargs, code):
    with pytest.raises(UsageError) as caught:
        TuneOptions(**kwargs)
    assert caught.value.code == code


def test_a_run_may_end_when_nothing_improves():
    flat = FakeMeasurer()
    flat.measure = lambda task, schedules, best_ms: ((k, measurement(ms=1.0)) for k, _ in enumerate(schedules))
    session = make(
        trials=10_000, measurer=flat, options=TuneOptions(early_stop=3, early_end=True, batch=5, confirm=False)
    )
    told = []
    session.events.subscribe(lambda e: told.append(e.message) if e.kind == "warning" else None)
    assert session.start().wait(60)
    assert len(session.records) == 3 * 4 * 5
    assert "no task has gained" in told[-1]
    assert set(session.table()["state"]) == {"measured"}


def test_an_objective_that_fails_is_told_once_and_ends_nothing(tmp_path):
    log = tmp_path / "a.jsonl"

    def moody(ms):
        if 1.0 < ms["key2"] < 1.5:
            raise RuntimeError("enough")
        return sum(ms.values())

    told = []
    session = make(log, trials=90, options=TuneOptions(objective=moody))
    session.events.subscribe(lambda e: told.append(e.message) if e.kind == "warning" else None)
    assert session.start().wait(60)
    assert len(session.records) == 90
    assert len([text for text in told if "tune.objective" in text]) == 1
    assert "def moody" in load_log(log).commands[0].args["objective"]


def test_two_sessions_cannot_share_a_log(tmp_path):
    log = tmp_path / "a.jsonl"
    measurer = FakeMeasurer()
    measurer.gate.clear()
    with make(log, measurer=measurer) as session:
        session.start()
        with pytest.raises(LogError) as caught:
            make(log, resume=True)
        assert caught.value.code == "log.locked"
        measurer.gate.set()


def test_events_may_be_iterated_from_another_thread():
    session = make(trials=12)
    seen = []
    events = iter(session.events)
    thread = threading.Thread(target=lambda: seen.extend(events))
    thread.start()
    session.start().wait(60)
    thread.join(60)
    kinds = [event.kind for event in seen]
    assert kinds.count("trial") == 12
    assert "best" in kinds
    assert "round" in kinds
    assert kinds[-1] == "state"
    assert list(session.events) == []


def test_a_callback_that_raises_is_dropped():
    session = make(trials=12)
    session.events.subscribe(lambda event: 1 / 0)
    with pytest.warns(RuntimeWarning, match="not called again"):
        session.start().wait(60)
    assert session.state == "done"


def test_batches_suit_the_budget():
    assert default_batch(256, 20) == 4
    assert default_batch(512, 24) == 7
    assert default_batch(1000, 1) == 16
    assert default_batch(None, 3) == 16
    assert default_batch(None, 24, 60.0) == 10
    assert default_batch(None, 24, 1.0) == 4
    assert default_batch(200, 24, 1e9) == 4


def test_a_runner_that_gives_up_ends_the_run_and_what_it_measured_counts(tmp_path):
    measurer = FakeMeasurer(fail=lambda task, x: "cancelled" if measurer.count > 6 else "ok")
    session = make(tmp_path / "a.jsonl", measurer=measurer).start()
    with pytest.raises(TuneError) as caught:
        session.wait(30)
    assert caught.value.code == "tune.no_results"
    assert len(session.records) == 6
    assert sum(r.trials for r in session.rounds) == 6, "also the round that was broken off"


@pytest.mark.parametrize("wrong", [{"constants": "far"}, {"builders": 0}, {"flush_cache": "yes"}, {"baseline": 3}])
def test_options_that_make_no_sense(wrong):
    with pytest.raises(UsageError):
        TuneOptions(**wrong)
