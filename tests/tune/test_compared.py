"""The outcome of every comparison reaches the search of its task, also when a session is resumed."""

from __future__ import annotations

import dataclasses

from tune.fakes import FakeContext, FakeMeasurer, tasks

from workbench.log import load_log
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession


class Remembering(FakeContext):
    """Keeps the searches that it made."""

    def __init__(self):
        super().__init__()
        self.made = {}

    def search(self, task, space, seed):
        self.made[task.key] = search = super().search(task, space, seed)
        return search


def run(log, trials, **kwargs):
    box = Remembering()
    TuningSession(
        RunPlan(tasks(2), context=box, measurer=FakeMeasurer(), log=log, trials=trials, **kwargs)
    ).start().wait(60)
    return box.made


def outcomes(log):
    """What the log says: task -> (key of the winner, keys of the others) in order."""
    content = load_log(log)
    keys = {r.trial: r.key for r in content.records}
    out = {}
    for c in content.comparisons:
        others = [keys[t] for t in c.trials if t != c.winner]
        out.setdefault(c.task_key, []).append((keys[c.winner], others))
    return out


def test_searches_hear_of_comparisons_as_they_happen_and_after_a_resume(tmp_path):
    log = tmp_path / "a.jsonl"
    made = run(log, 40)
    first = outcomes(log)
    assert first
    assert {k: s.outcomes for k, s in made.items() if hasattr(s, "outcomes")} == first
    made = run(log, 60, resume=True)
    assert {k: s.outcomes for k, s in made.items() if hasattr(s, "outcomes")} == outcomes(log)


def test_a_task_that_comes_under_another_name_keeps_that_of_its_log(tmp_path):
    log, (task,) = tmp_path / "a.jsonl", tasks(1)
    for trials, given in ((4, task), (8, dataclasses.replace(task, name="a schedule of mine", weight=7))):
        session = TuningSession(
            RunPlan([given], context=FakeContext(), measurer=FakeMeasurer(), log=log, trials=trials, resume=True)
        )
        assert session.start().wait(60)
        assert (session.tasks[0].name, session.tasks[0].weight) == (task.name, task.weight)
    content = load_log(log)
    assert len(content.records) == 8
    assert {line.task for line in (*content.records, *content.comparisons, *content.rounds)} == {task.name}
