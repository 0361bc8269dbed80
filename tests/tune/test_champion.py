"""Whom a run takes for the best of a task is the best by its log: one rule, in state, table, curve and database."""

from __future__ import annotations

import dataclasses

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tune.fakes import FakeContext, FakeMeasurer, tasks
from tune.random_logs import ranked

from workbench.analysis import best_so_far
from workbench.log import Comparison, Database, Record, TaskLedger, load_log
from workbench.log.reader import read_log
from workbench.tune.constants import Comparisons
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.run_state import Budget, RunState
from workbench.tune.state.task_scheduler import GradientScheduler

(TASK,) = tasks(1)
MS = st.sampled_from([0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.3])


@st.composite
def rounds(draw):
    """Trials of a round, then what is compared, if anything is: who wins, and how long everybody took."""
    trials = draw(st.lists(st.none() | MS, min_size=1, max_size=5))
    kind = draw(st.sampled_from(["new best", "new best", "play-off", ""]))
    return (
        trials,
        draw(st.sampled_from([True, True, None, False])),
        kind,
        draw(st.integers(0, 3)),
        draw(st.tuples(*[MS] * 4)),
    )


def trial(number, ms, round_):
    return Record(
        task_key=TASK.key, task=TASK.name, trial=number, status="ok" if ms else "run_error", target="llvm",
        round=round_, latency_ms=ms, timestamp=1.0 + number,
    )  # fmt: skip


def contest(state, kind, winner, times, at):
    """The line of a contest as a round or the end of a run holds it; None when there is nobody to compare."""
    rivals = state.challengers(Comparisons.CHALLENGERS)
    if kind == "play-off":
        rivals += [t for t in state.rivals(Comparisons.FINALISTS - 1) if t not in rivals]
    trials = [state.champion, *rivals[: Comparisons.CHALLENGERS]]
    if not kind or len(trials) < 2:
        return None
    times = times[: len(trials)]
    return Comparison(
        task_key=TASK.key, task=TASK.name, trials=tuple(trials), costs_ms=tuple((ms, ms, ms) for ms in times),
        latency_ms=times, ratio=0.9, confidence=0.99, winner=trials[winner % len(trials)], reason=kind, timestamp=at,
    )  # fmt: skip


class Run:
    """A run that is played: real states, made-up trials and comparisons."""

    def __init__(self):
        self.scheduler = GradientScheduler([TASK], confirm=True)
        self.run_state = RunState([TASK], self.scheduler, Budget(), 0.1)
        self.state = self.scheduler.states[0]
        self.stats = TaskLedger()

    def take(self, line):
        self.run_state.take(line)
        self.stats.take(line)
        self.check()

    def order(self):
        return [b.record.trial for b in ranked(self.run_state.records, self.run_state.comparisons)]

    def check(self):
        """But for trials that nobody could compare yet, the champion is the first."""
        compared = {t for line in self.run_state.comparisons for t in line.trials}
        order = self.order()
        settled = [t for t in order if t in compared or t not in self.state.pending]
        assert settled[:1] == [self.state.champion][: len(order)]
        assert [self.stats.best.record.trial if self.stats.best else None] == (order[:1] or [None])

    def play(self, plan):
        number = 0
        for k, (trials, confirm, kind, winner, times) in enumerate(plan):
            self.scheduler.confirm = confirm
            for ms in trials:
                self.take(trial(number, ms, k))
                number += 1
            line = contest(self.state, kind, winner, times, at=1.5 + number)
            if line is not None:
                self.take(line)
                assert self.order()[0] == self.state.champion
        if self.state.champion >= 0:
            self.state.settle()
            assert self.order()[0] == self.state.champion
            assert best_so_far(self.run_state.lines, TASK.key).best_ms[-1] == self.stats.best.ms == self.state.best_ms


FLAT = (1.0,) * 4


@settings(max_examples=60, deadline=None)
@given(st.lists(rounds(), max_size=6))
@example([([1.0, 1.05, 1.1], True, "play-off", 2, FLAT)])  # 1.05 stands between the best and the one that beat it
@example([([1.0, 0.7, 0.8, 0.9, 0.95], True, "new best", 0, FLAT)])  # the fourth challenger has to wait
@example([([1.0, 0.8], True, "new best", 0, (1.0, 0.9, 1.0, 1.0)), ([0.95], False, "", 0, FLAT)])
def test_the_champion_of_a_run_is_the_best_by_its_log(plan):
    Run().play(plan)


def test_a_winner_takes_the_place_of_what_it_beat():
    """A best of 1.0 ms loses to a rival of 1.1 ms; 1.05 ms, which never ran beside the two, comes after both."""
    records = [trial(0, 1.0, 0), trial(1, 1.05, 0), trial(2, 1.1, 0)]
    line = Comparison(task_key=TASK.key, task=TASK.name, trials=(0, 2), latency_ms=(1.2, 1.15), winner=2, timestamp=9.0)
    assert [b.record.trial for b in ranked(records, [line])] == [2, 1, 0], "1.0 ms did not hold, and 1.05 ms is more"
    assert Database(records, [line]).best(TASK.key).trial == 2
    # Also beside another log, whose trials have the same numbers.
    both = Database([dataclasses.replace(r, key=f"a{r.trial}") for r in records], [line])
    both.update(Database([dataclasses.replace(trial(k, ms, 0), key=f"b{k}") for k, ms in enumerate([1.02, 0.99])]))
    assert [r.latency_ms for r in both.top(TASK.key, 9)] == [0.99, 1.1, 1.02, 1.05, 1.0]


def test_a_session_and_its_log_name_the_same_best(tmp_path):
    """Contests turn what trials say upside down: what seemed slow is fast."""
    log = tmp_path / "a.jsonl"
    measurer = FakeMeasurer(bias=lambda x: 1.0 if x < 0 else 3.0 - (x % 7) / 3)
    session = TuningSession(RunPlan(tasks(2), context=FakeContext(), measurer=measurer, log=log, trials=60))
    assert session.start().wait(60)
    database, frame = Database.load(log), read_log(log)
    assert session.frame()["rank"].equals(frame["rank"])
    for index, task in enumerate(tasks(2)):
        champion = session.snapshot().rows[index].trial
        assert database.best(task.key).trial == champion
        first = frame[(frame["task_key"] == task.key) & (frame["rank"] == 1)]
        assert first["trial"].tolist() == [champion]
    assert any(c.new_best for c in load_log(log).comparisons)
