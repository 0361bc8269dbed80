"""Where a run stands follows from its log: at every line, a resumed run stands where the living one stood."""

from __future__ import annotations

import contextlib
import random
import re
from types import SimpleNamespace

import pytest
from tune.fakes import FakeContext, FakeMeasurer, latency, tasks
from tune.states import state_of

from workbench.errors import RunError, UsageError
from workbench.log import Command, Comparison, Record, load_log
from workbench.runtime.results.measure_options import BRIEF
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.log_recorder import LogRecorder


def steer_at_random(session, rng):
    """One command; what is refused is in the log as well."""
    choices = [
        lambda: session.pin(rng.randrange(3), "x", rng.randrange(1100)),
        lambda: session.forbid(rng.randrange(3), "x", [rng.randrange(1000) for _ in range(3)]),
        lambda: session.release(rng.randrange(3)),
        lambda: session.add(rng.randrange(3), variant=0, row={"x": rng.randrange(1000)}),
        lambda: session.budget(task=rng.randrange(3), more=3),
        lambda: session.epsilon(rng.random()),
        lambda: session.budget(trials=rng.randrange(100, 140)),
    ]
    with contextlib.suppress(UsageError):
        rng.choice(choices)()


@pytest.mark.parametrize("seed", range(4))
def test_a_resumed_run_stands_where_the_living_one_stood(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    living = []
    write = LogRecorder.write

    def noted(self, line):
        answer = write(self, line)
        living.append(state_of(self._run_state))
        return answer

    options = TuneOptions(early_stop=rng.choice([None, 2]), confirm=seed != 3, batch=5)
    log = tmp_path / "a.jsonl"
    measurer = FakeMeasurer(
        fail=lambda task, x: "run_error" if (x * 31) % 7 == 0 else "ok", bias=lambda x: 1 + (x * 13 % 50) / 100
    )
    with monkeypatch.context() as patch:
        patch.setattr(LogRecorder, "write", noted)
        session = TuningSession(
            RunPlan(tasks(3), context=FakeContext(), measurer=measurer, log=log, trials=100, seed=seed, options=options)
        )
        due = lambda event: event.kind == "trial" and not rng.randrange(6)  # noqa: E731
        session.events.subscribe(lambda event: steer_at_random(session, rng) if due(event) else None)
        session.start().wait(60)
    raw = re.findall(rb"(?:\{\"id\".*\n)*.+\n", log.read_bytes())  # what rows share comes with the first of them
    assert len(raw) == len(living) + 1  # and the header
    parsed = load_log(log).lines
    assert {Record, Comparison, Command} <= {type(line) for line in parsed} | ({Comparison} if seed == 3 else set())
    for cut in [*sorted(rng.sample(range(2, len(raw)), 25)), len(raw)]:
        part = tmp_path / f"{cut}.jsonl"
        torn = raw[cut][: rng.randrange(1, len(raw[cut]) - 1)] if cut < len(raw) else b""  # more than its newline lacks
        part.write_bytes(b"".join(raw[:cut]) + torn)
        again = TuningSession(RunPlan(
            tasks(3), context=FakeContext(), measurer=measurer, log=part, trials=100, seed=seed, options=options,
            resume=True,
        ))  # fmt: skip
        expected, found = living[cut - 2], state_of(again._loop.run_state)
        expected = {**expected, "lines": (*expected["lines"][:3], expected["lines"][3] + 1)}  # its own start
        assert found == expected
        again.cancel()


# ---- comparisons ----


def run(n=1, **kwargs):
    measurer = kwargs.pop("measurer", None) or FakeMeasurer()
    events = []
    kwargs.setdefault("trials", 60)
    session = TuningSession(RunPlan(tasks(n), context=FakeContext(), measurer=measurer, **kwargs))
    session.events.subscribe(events.append)
    session.start().wait(60)
    return session, events, measurer


def test_a_new_best_is_claimed_only_after_a_comparison_that_it_won():
    session, events, _ = run()
    champion = None
    for event in events:
        if event.kind == "compare" and event.line.new_best:
            champion = event.line.winner
        if event.kind == "best":
            assert champion is None or event.record.trial == champion
            champion = champion if champion is not None else event.record.trial
    assert champion == session._loop.scheduler.states[0].champion
    assert session.best().x == session.records[champion].row["x"]
    # honest measurements: the best of all is found to be the best
    assert latency(session.best().x) == min(latency(r.row["x"]) for r in session.records if r.row)


def test_what_only_seems_faster_is_no_new_best():
    """Alone every candidate looks faster than the default schedule; side by side none is."""
    session, events, measurer = run(measurer=FakeMeasurer(bias=lambda x: 1.0 if x < 0 else 100.0))
    assert measurer.contests > 1
    assert [e.record.trial for e in events if e.kind == "best"] == [0]
    assert session.snapshot().rows[0].latency_ms == pytest.approx(10.0, rel=1e-3)
    lost = [e.message for e in events if e.kind == "compare"]
    assert all("lost" in text for text in lost)
    assert session.snapshot().rows[0].confidence > 0.9


def test_what_the_default_schedule_takes_is_told_as_what_others_take():
    """In a contest everything takes twice its time: that is told of both, or there would seem to be a loss."""
    session, _, _ = run(measurer=FakeMeasurer(bias=lambda x: 2.0 if x < 0 else 100.0))
    row = session.snapshot().rows[0]
    assert row.untuned_ms == row.latency_ms == pytest.approx(20.0, rel=1e-2)
    assert row.corrected.startswith("measured again: 20")


def test_without_confirmation_the_least_latency_counts():
    session, events, measurer = run(options=TuneOptions(confirm=False))
    assert measurer.contests == 0
    assert not session.comparisons
    assert session.snapshot().rows[0].latency_ms == min(r.latency_ms for r in session.records)
    assert [e for e in events if e.kind == "compare"] == []


def test_a_contest_that_fails_blocks_nothing():
    class Failing(FakeMeasurer):
        def compare(self, task, schedules, rules):
            from workbench.errors import RunError

            raise RunError("run.worker", "the worker is gone")

    session, events, _ = run(measurer=Failing())
    assert any("worker is gone" in e.message for e in events if e.kind == "warning")
    assert session.snapshot().rows[0].latency_ms < 2.0
    assert len(session.records) == 60


def test_a_play_off_ends_a_task_once():
    session, _, _ = run(n=2, trials=80)
    finals = [c for c in session.comparisons if c.reason == "play-off"]
    assert len({c.task_key for c in finals}) == len(finals)
    assert all(2 <= len(c.trials) <= 4 for c in finals)


class Disturbed(FakeMeasurer):
    """The default schedule (x is -1) is disturbed when it is timed by itself; candidates are not."""

    alone = 10.0

    def measure(self, task, schedules, best_ms):
        given = list(schedules)
        for position, found in super().measure(task, given, best_ms):
            usual = given[position].x < 0
            yield position, replaced(found, clean=False, ms=self.alone, costs_ms=(self.alone,)) if usual else found


class NoBrief(Disturbed):
    """The brief contests of the rounds cannot be made."""

    def compare(self, task, schedules, rules):
        if rules == BRIEF:
            raise RunError("run.worker", "the worker is gone")
        return super().compare(task, schedules, rules)


def replaced(found, **fields):
    return SimpleNamespace(**{**vars(found), **fields})


def test_what_is_slower_than_the_disturbed_default_schedule_does_not_take_its_place():
    """It takes 0.5 at most, the candidates 1 to 2, undisturbed."""
    measurer = Disturbed(bias=lambda x: 0.05 if x < 0 else 1.0)
    measurer.alone = 0.5
    session, events, _ = run(n=1, measurer=measurer, trials=60)
    row = session.snapshot().rows[0]
    assert (row.trial, row.latency_ms, row.untuned_ms) == (0, pytest.approx(0.5, rel=0.01), row.latency_ms)
    assert [e.record.trial for e in events if e.kind == "best"] == [0]
    assert [c.winner for c in session.comparisons] == [0] * len(session.comparisons)


def test_a_best_that_was_disturbed_is_timed_again_at_the_end_though_nothing_is_near():
    measurer = Disturbed(bias=lambda x: 0.05 if x < 0 else 1.0)
    measurer.alone = 0.6
    session, _, _ = run(n=1, measurer=measurer, trials=60)
    row = session.snapshot().rows[0]
    assert (row.trial, row.latency_ms, row.sure) == (0, pytest.approx(0.5, rel=0.01), "compared")
    (line,) = session.comparisons
    assert (line.reason, line.trials[0], line.winner) == ("play-off", 0, 0)


@pytest.mark.parametrize(("faster", "factor"), [(False, 0.05), (False, 0.1), (True, 1.0)])
def test_at_the_end_the_best_has_to_win_against_a_default_schedule_that_nothing_was_compared_with(faster, factor):
    """Timed alone the default schedule seemed slow; a contest says what it takes: less, about as much, or more."""
    fastest = 1.0
    bias = lambda x: factor if x < 0 else fastest / latency(x)  # noqa: E731
    session, _, _ = run(n=1, measurer=NoBrief(bias=bias), trials=60)
    (line,) = [c for c in session.comparisons if c.reason == "play-off"]
    row = session.snapshot().rows[0]
    assert line.trials[0] == 0, "it is the one that has to be beaten"
    assert ((row.trial != 0), line.new_best) == (faster, faster)
    assert row.latency_ms <= row.untuned_ms
    assert row.confidence is None or (row.confidence > 0.9) == faster


def test_a_stopped_run_has_no_play_off():
    measurer = FakeMeasurer(delay=0.002)
    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=measurer, trials=100_000))
    session.events.subscribe(lambda e: session.stop() if e.kind == "round" else None)
    session.start().wait(60)
    assert not [c for c in session.comparisons if c.reason == "play-off"]


def test_rounds_are_in_the_log_with_the_terms_of_the_choice(tmp_path):
    log = tmp_path / "a.jsonl"
    session, _, _ = run(n=3, log=log, trials=90)
    rounds = load_log(log).rounds
    assert tuple(rounds) == session.rounds
    assert sum(r.trials for r in rounds) == 90
    assert [r.round for r in rounds] == list(range(len(rounds)))
    assert {r.reason for r in rounds[:3]} == {"has not been tried yet"}
    assert all(r.gain is not None and r.optimism is not None for r in rounds[3:])
    assert all(r.measure_s >= 0 and r.ask_s >= 0 and r.model == "fake-1" for r in rounds)
    assert rounds[-1].total_ms == pytest.approx(session.snapshot().total_ms, rel=0.2)


def test_a_session_says_why_and_explains():
    session, _, _ = run(n=2, trials=60)
    assert "Next: task" in session.why()
    text = session.explain(0)
    assert "best: trial" in text
    assert "against trial" in text
    assert "why it is where it is" in text
    table = session.table()
    assert {"spread", "confidence", "quality", "why"} <= set(table.columns)
    assert table["rounds"].sum() == len(session.rounds)
