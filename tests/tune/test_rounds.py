"""A round: what is proposed, measured and compared."""

from types import SimpleNamespace
from typing import ClassVar

from tune.fakes import FakeContext, FakeMeasurer, FakeSchedule, FakeSearch, FakeSpace, tasks

from workbench.errors import ScheduleError
from workbench.runtime.results.measure_options import BRIEF, ContestRules
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.task_state import PLAY_OFF


class Picky(FakeSpace):
    """Cannot make every third schedule."""

    def schedule(self, candidate):
        x = candidate.row["x"]
        if x % 3 == 0:
            raise ScheduleError("schedule.factor", f"{x} divides nothing")
        return FakeSchedule(x)


class Listening(FakeSearch):
    """Knows what it was told."""

    heard: ClassVar = []

    def tell(self, results):
        super().tell(results)
        self.heard += [(candidate.row["x"], done.status) for candidate, done in results]


class ListeningToolbox(FakeContext):
    def search(self, task, space, seed):
        return Listening(seed, self.size)


class PickyToolbox(ListeningToolbox):
    def space(self, task):
        return Picky()


class Lazy(FakeMeasurer):
    """Asks for the schedules one by one, and notes the rules of the contests."""

    def __init__(self):
        super().__init__()
        self.kinds, self.rules, self.competitors = set(), [], []

    def measure(self, task, schedules, best_ms):
        self.kinds.add(isinstance(schedules, list | tuple))
        return super().measure(task, schedules, best_ms)

    def compare(self, task, schedules, rules):
        self.rules.append(rules)
        self.competitors.append([s.x for s in schedules])
        return super().compare(task, schedules, rules)


def run(measurer, context=None, trials=60):
    session = TuningSession(
        RunPlan(
            tasks(2), context=context or FakeContext(), measurer=measurer, trials=trials, options=TuneOptions(batch=8)
        )
    )
    session.start().wait(60)
    return session


def test_schedules_are_made_as_the_builders_ask_for_them_and_one_that_cannot_be_is_a_failed_trial():
    measurer = Lazy()
    Listening.heard.clear()
    session = run(measurer, PickyToolbox())
    assert measurer.kinds == {False}
    assert len(session.records) == 60
    assert sorted(r.trial for r in session.records) == list(range(60))
    for record in session.records:
        if record.row.get("x", 1) % 3 == 0:
            assert record.status == "build_error"
            assert "divides nothing" in record.error
        else:
            assert record.ok
    told = sorted((r.row["x"], r.status) for r in session.records if r.row)
    assert sorted(Listening.heard) == told  # a search that is restored from the log would know the same


def test_what_was_proposed_and_never_tried_goes_back_to_the_search():
    class GivesUp(FakeMeasurer):
        """Measures two of the first batch, as a runner that somebody has cancelled."""

        def measure(self, task, schedules, best_ms):
            for k, found in enumerate(super().measure(task, schedules, best_ms)):
                if self.count <= 4 and k == 2:
                    return
                yield found

    Listening.heard.clear()
    session = run(GivesUp(), ListeningToolbox(), trials=30)
    back = [x for x, status in Listening.heard if status == "cancelled"]
    assert len(back) >= 5
    assert len(session.records) == 30
    tried = [(r.task_key, r.row["x"]) for r in session.records if r.row]
    assert len(tried) == len(set(tried))
    assert sorted(x for x, status in Listening.heard if status != "cancelled") == sorted(x for _, x in tried)


def test_comparisons_are_brief_during_the_run_and_long_at_its_end():
    measurer = Lazy()
    session = run(measurer)
    assert [line.reason == PLAY_OFF for line in session.comparisons] == [rules != BRIEF for rules in measurer.rules]
    assert set(measurer.rules) == {BRIEF, ContestRules()}


def test_only_challengers_near_the_fastest_one_take_part(monkeypatch):
    measurer = Lazy()
    state = SimpleNamespace(pending={3: 1.0, 5: 1.04, 7: 1.2}, champion=0)
    state.challengers = lambda most: sorted(state.pending, key=state.pending.get)[:most]
    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=measurer, trials=4))
    rounds, asked = session._loop.rounds, []
    monkeypatch.setattr(rounds, "_scheduler", SimpleNamespace(states=[state]))
    monkeypatch.setattr(rounds, "_contest", lambda index, trials, reason, rules: asked.append((trials, rules)))
    rounds._confirm(0)
    assert asked == [([0, 3, 5], BRIEF)]
    session.cancel()
