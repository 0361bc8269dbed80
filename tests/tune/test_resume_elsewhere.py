"""Going on with a log under other conditions: another target, other caches, another space, without comparisons."""

from __future__ import annotations

import dataclasses

import pytest
from tune.fakes import FakeContext, FakeMeasurer, FakeSchedule, tasks
from tune.states import state_of

from workbench.errors import RunError, UsageError
from workbench.log import Command, Header, LogWriter, load_log
from workbench.log.reader import write_log
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession

HERE, THERE = "llvm -mcpu=a -threads=1", "llvm -mcpu=a -threads=2"


class Elsewhere(FakeContext):
    def __init__(self, origin):
        super().__init__()
        self._origin = origin

    def origin(self):
        return self._origin


def make(log, *, origin="fake", measurer=None, trials=40, **kwargs):
    told = []
    measurer = measurer or FakeMeasurer()
    session = TuningSession(
        RunPlan(tasks(2), context=Elsewhere(origin), measurer=measurer, log=log, trials=trials, resume=True, **kwargs)
    )
    session.events.subscribe(lambda e: told.append(e.message) if e.kind == "warning" else None)
    return session, told


def run(log, **kwargs):
    session, told = make(log, **kwargs)
    session.start().wait(60)
    return session, told


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        ({"target": HERE}, {"target": THERE}, "for another target (threads=1 instead of 2)"),
        ({"target": HERE}, {"target": HERE, "options": TuneOptions(constants="memory")}, "with other caches (warm"),
        ({"target": HERE}, {"target": HERE, "options": TuneOptions(flush_cache=True)}, "with other caches (warm"),
    ],
)
def test_trials_under_other_conditions_are_kept_told_and_not_mixed(tmp_path, first, then, words):
    log = tmp_path / "a.jsonl"
    before, _ = run(log, **first)
    slow = FakeMeasurer(bias=lambda x: 1.0)
    measure = slow.measure

    def slower(task, schedules, best_ms):  # ten times slower here: no trial of before may be the best
        for position, found in measure(task, schedules, best_ms):
            found.ms *= 10.0
            yield position, found

    slow.measure = slower
    session, told = run(log, measurer=slow, **then)
    assert [text for text in told if f"40 trials of the log were measured {words}" in text]
    assert len(session.records) == session.progress.trials == 40
    numbers = [r.trial for r in load_log(log).records]
    assert numbers == list(range(80)), "numbers go on"
    for index, state in enumerate(session._loop.scheduler.states):
        assert state.champion >= 40
        assert {session._loop.run_state.trial(t).task_key for t in state.valid} == {f"key{index}"}
        assert min(state.valid.values()) >= 10.0
    assert not {r.trial for r in session.records} & {r.trial for r in before.records}
    assert all(min(c.trials) >= 40 for c in session.comparisons)
    back, told = run(log, trials=44, **first)
    assert [r.trial for r in back.records] == [*range(40), *range(80, 84)]
    assert any("40 trials" in text for text in told)


def test_logs_that_do_not_name_the_caches_count(tmp_path):
    log = tmp_path / "a.jsonl"
    run(log, target=HERE)
    old = load_log(log)
    lines = [dataclasses.replace(x, caches="") if x.kind == "trial" else x for x in old.lines]
    write_log(log, old.header, lines)
    session, told = run(log, trials=44, target=HERE)
    assert len(session.records) == 44
    assert not any("measured" in text and "log" in text for text in told)


def test_what_was_said_about_another_space_holds_no_longer(tmp_path):
    log = tmp_path / "a.jsonl"
    session, _ = make(log, origin="sketch")
    session.pin(0, "x", 7)
    session.forbid(1, variant=3)
    session.add(0, variant=0, row={"x": 8})
    session.add(0, FakeSchedule(9))
    session.cancel()
    same, told = make(log, origin="sketch")
    assert (same.held(0).pins, same.held(1).variants) == ({"x": 7}, {3})
    same.cancel()
    other, told = make(log, origin="template matmul")
    assert (other.held(0).pins, other.held(1).variants) == ({}, set())
    assert [a["key"] for a in other.held(0).added] == ["x9"], "a schedule is one in every space"
    other.pin(0, "x", 5)
    expected = state_of(other._loop.run_state)
    other.start().wait(60)
    assert len([text for text in told if "another space" in text]) == 2
    again, _ = make(log, origin="template matmul")
    assert again.held(0).pins == {"x": 5}
    assert again._loop.run_state.requests["key1"] == expected["requests"]["key1"]
    again.cancel()


# ---- comparisons ----


class Unsteady(FakeMeasurer):
    """The first comparisons fail."""

    failing = 2

    def compare(self, task, schedules, rules):
        if self.contests < self.failing:
            self.contests += 1
            raise RunError("run.worker", "the worker is gone")
        return super().compare(task, schedules, rules)


def test_after_a_comparison_that_failed_the_best_still_has_to_win_one():
    measurer, events = Unsteady(), []
    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=measurer, trials=60))
    session.events.subscribe(events.append)
    session.start().wait(60)
    best = [e.record.trial for e in events if e.kind == "best"]
    won = [e.line.winner for e in events if e.kind == "compare" and e.line.new_best]
    assert best[0] == 0
    assert best[1:] == won
    assert won
    assert session.snapshot().rows[0].sure == "compared"


def test_where_no_comparison_works_the_best_is_told_to_be_timed_once():
    measurer = Unsteady()
    measurer.failing = 10**6
    session = TuningSession(
        RunPlan(tasks(1), context=FakeContext(), measurer=measurer, trials=60, options=TuneOptions(batch=6))
    )
    session.start().wait(60)
    assert session.snapshot().rows[0].latency_ms < 2.0
    assert session.snapshot().rows[0].sure == "once"
    assert "timed once" in session.explain(0)


@pytest.mark.parametrize("confirm", [(True, False), (False, True), (True, False, True)])
def test_runs_with_and_without_comparisons_may_follow_each_other(tmp_path, confirm):
    log = tmp_path / "a.jsonl"
    for number, on in enumerate(confirm):
        options = TuneOptions(confirm=on, batch=5)
        session, _ = run(log, trials=20 * (number + 1), options=options)
        again, _ = make(log, trials=20 * (number + 1), options=options)
        assert again._loop.scheduler.states == session._loop.scheduler.states
        again.cancel()
    if not confirm[-1]:
        for state in session._loop.scheduler.states:
            assert not state.pending


def test_a_log_without_starts_goes_on_as_before(tmp_path):
    """Older logs say nothing of comparisons: without any, the least latency of earlier rounds counts."""
    log = tmp_path / "a.jsonl"
    first, _ = run(log, options=TuneOptions(confirm=False))
    old = load_log(log)
    write_log(log, old.header, [line for line in old.lines if not isinstance(line, Command)])
    again, _ = make(log)
    for mine, theirs in zip(again._loop.scheduler.states, first._loop.scheduler.states, strict=True):
        late = [t for t, ms in mine.pending.items() if ms <= theirs.best_ms]
        assert mine.champion == theirs.champion or theirs.champion in late
    again.cancel()


def test_what_a_hand_has_written_into_a_log_is_no_share_of_random_proposals(tmp_path):
    log = tmp_path / "a.jsonl"
    header = Header(tasks=(("key0", "conv0 3x3"), ("key1", "conv1 3x3")))
    with LogWriter(log, header) as writer:
        writer.append(Command(name="start", args={"trials": 5, "epsilon": 7.0, "confirm": "yes", "space": 3}))
        writer.append(Command(name="epsilon", args={"value": -2.0}))
    session, _ = make(log)
    assert session._loop.run_state.epsilon == 0.08
    assert session.start().wait(60)


@pytest.mark.parametrize(
    "what",
    [{"variant": 0, "row": {"x": 5}}, {"trace": [{"primitive": "fake", "args": {"x": 5}}]}],
    ids=["row", "trace"],
)
def test_what_another_version_has_given_another_key_is_measured_once(tmp_path, what):
    log = tmp_path / "a.jsonl"
    header = Header(tasks=(("key0", "conv0 3x3"), ("key1", "conv1 3x3")))
    with LogWriter(log, header) as writer:
        writer.append(Command(name="add", args={"task": "key0", "key": "strange", **what}))
    session, _ = run(log)
    assert [r.key for r in session.records if r.origin == "manual"] == ["x5"]
    assert not session.held(0).added
    assert {r.task_key for r in session.records} == {"key0", "key1"}


def test_of_several_pins_those_hold_that_the_space_still_has(tmp_path):
    log = tmp_path / "a.jsonl"
    header = Header(tasks=(("key0", "conv0 3x3"), ("key1", "conv1 3x3")))
    said = [{"task": "key0", "hole": "gone", "value": 3}, {"task": "key0", "hole": "x", "value": 7}]
    with LogWriter(log, header) as writer:
        for args in said:
            writer.append(Command(name="pin", args=args))
    session, told = make(log, only_tasks=[0])
    search_of = session._plan.context.search

    def search(task, space, seed):
        made = search_of(task, space, seed)
        hold = made.restrict

        def restrict(pins, forbids, variants):
            if "gone" in pins:
                raise UsageError("steer.hole", "No variant of the space has a hole 'gone'.", ("gone",))
            hold(pins, forbids, variants)

        made.restrict = restrict
        return made

    session._plan.context.search = search
    session.start().wait(30)
    assert [r.row["x"] for r in session.records if r.row] == [7]
    assert len([text for text in told if "does not hold" in text and "'gone'" in text]) == 1


def test_programs_of_another_space_are_known_to_the_search(tmp_path):
    log = tmp_path / "a.jsonl"
    first, _ = run(log, trials=30)
    old = load_log(log)
    moved = [dataclasses.replace(x, space="another") if x.kind == "trial" else x for x in old.lines]
    write_log(log, old.header, moved)
    again, _ = run(log, trials=60)
    shop = again._loop.searches.of(0)
    assert {r.row["x"] for r in first.records if r.task_key == "key0" and r.row} <= shop.search.known
    assert len({(r.task_key, r.key) for r in again.records}) == 60
