"""What a user has written raises: the task is given up, the others go on, and it is said whose fault it is."""

from __future__ import annotations

import threading
import warnings

import pytest
from tune.fakes import FakeContext, FakeMeasurer, FakeSearch, tasks

from workbench.errors import TuneError, WorkbenchError
from workbench.tune.constants import Faults
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession


class Faulty(FakeContext):
    """A part of some tasks raises: `wrong` maps (part, key of the task) to how often."""

    def __init__(self, wrong):
        super().__init__()
        self.wrong = dict(wrong)

    def fail(self, part, task):
        left = self.wrong.get((part, task.key), 0)
        if left:
            self.wrong[part, task.key] = left - 1
            if part == "space":
                raise TuneError("space.rule", "The sketch rule 'mine' fails: KeyError: 'k'", ("mine",))
            raise ZeroDivisionError("division by zero")

    def space(self, task):
        self.fail("space", task)
        return super().space(task)

    def default(self, task):
        self.fail("default", task)
        return super().default(task)

    def seeds(self, task, space):
        self.fail("seeds", task)
        return super().seeds(task, space)

    def search(self, task, space, seed):
        self.fail("search", task)
        box = self

        class Search(FakeSearch):
            def ask(self, n):
                box.fail("ask", task)
                return super().ask(n)

            def tell(self, results):
                box.fail("tell", task)
                super().tell(results)

            def compared(self, winner, losers):
                box.fail("compared", task)
                super().compared(winner, losers)

        return Search(seed, self.size)


def run(wrong, trials=60, **kwargs):
    session = TuningSession(RunPlan(tasks(3), context=Faulty(wrong), measurer=FakeMeasurer(), trials=trials, **kwargs))
    told = []
    session.events.subscribe(lambda e: told.append(e) if e.kind == "warning" else None)
    return session.start(), told


@pytest.mark.parametrize("part", ["space", "search", "ask", "tell", "compared"])
def test_a_task_whose_part_fails_is_given_up_and_the_others_go_on(part):
    session, told = run({(part, "key1"): 10**6})
    assert session.wait(30)
    assert session.state == "done"
    assert len(session.records) == 60
    states = list(session.table()["state"])
    assert states[1] == "given up"
    assert "given up" not in (states[0], states[2])
    about = [e for e in told if e.task == "conv1 3x3" and "[" in e.message]
    assert len(about) == Faults.TASK
    name = "The sketch rule 'mine' fails" if part == "space" else "The search failed: ZeroDivisionError"
    assert all(name in e.message for e in about)
    assert name in session.table()["why"][1]
    assert name in session.explain(1)


@pytest.mark.parametrize("part", ["space", "ask", "tell", "compared", "default", "seeds"])
def test_what_fails_once_is_tried_again(part):
    session, told = run({(part, "key1"): 1}, options=TuneOptions(scheduler="round-robin"))
    assert session.wait(30)
    assert len(session.records) == 60
    assert "given up" not in set(session.table()["state"])
    assert {r.task_key for r in session.records} == {"key0", "key1", "key2"}
    if part == "default":
        failed = [r for r in session.records if not r.ok]
        assert [(r.task_key, r.origin) for r in failed] == [("key1", "default")]
        assert "ZeroDivisionError" in failed[0].error
    else:
        assert any(e.task == "conv1 3x3" for e in told)


def test_who_asks_for_more_of_a_task_that_was_given_up_is_told_why():
    session, told = run({("space", "key1"): 10**6}, trials=10**6)
    refused = []

    def ask(event):
        if event.kind == "warning" and "given up" in event.message:
            for name, args in (("budget", {"more": 5}), ("add", {"variant": 0, "row": {"x": 1}})):
                with pytest.raises(WorkbenchError) as caught:
                    session.steer(name, task=1, **args)
                refused.append(caught.value.code)
            session.stop()

    session.events.subscribe(ask)
    if any("given up" in e.message for e in told):
        ask(told[-1])
    assert session.wait(30)
    assert refused[-2:] in (["steer.task", "steer.task"], ["steer.task", "space.rule"])


def test_when_no_task_can_go_on_the_run_says_whose_fault_it_is():
    session, _ = run({("space", f"key{k}"): 10**6 for k in range(3)})
    with pytest.raises(TuneError) as caught:
        session.wait(30)
    assert (caught.value.code, caught.value.where) == ("space.rule", ("mine",))
    assert isinstance(caught.value.__cause__, TuneError)
    assert session.state == "failed"


def test_a_task_that_was_given_up_is_tried_again_by_the_next_run(tmp_path):
    log = tmp_path / "a.jsonl"
    run({("space", "key1"): 10**6}, log=log)[0].wait(30)
    again, _ = run({}, trials=90, log=log, resume=True)
    assert again.wait(30)
    assert any(r.task_key == "key1" for r in again.records)
    assert "given up" not in set(again.table()["state"])


# ---- subscribers ----


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_callback_may_even_leave():
    def leave(event):
        raise SystemExit(3)

    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=FakeMeasurer(), trials=12))
    session.events.subscribe(leave)
    assert session.start().wait(30)
    assert (session.state, len(session.records)) == ("done", 12)


def test_a_callback_that_raises_ends_nothing_where_warnings_are_errors():
    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=FakeMeasurer(), trials=12))
    told = []
    session.events.subscribe(lambda e: 1 / 0)
    session.events.subscribe(lambda e: told.append(e.message) if e.kind == "warning" else None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.start().wait(30)
    assert session.state == "done"
    assert any("not called again" in text for text in told)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_callback_cannot_wait_for_the_end_that_waits_for_it():
    caught = []

    def wait(event):
        try:
            session.wait()
        except Exception as error:
            caught.append((error.code, threading.current_thread().name))
            raise

    session = TuningSession(RunPlan(tasks(1), context=FakeContext(), measurer=FakeMeasurer(), trials=12))
    session.events.subscribe(lambda e: wait(e) if e.kind == "trial" else None)
    assert session.start().wait(30)
    assert caught == [("usage.wait", "workbench-tuning")]
