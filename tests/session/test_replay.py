"""The steps of a schedule on another computation: what fits, what does not, and what a session makes of it."""

from __future__ import annotations

import json

import pytest
from session.conftest import Mirror, matmul, split

from workbench import Schedule, Target, Task, workloads
from workbench.errors import UsageError
from workbench.session.variants.transfer import replay


def original() -> Schedule:
    s = Schedule(workloads.matmul(64, 64, 64))
    s.split("j", [None, 16])
    s.split("i", [None, 64])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.vectorize("j.1")
    return s


def test_where_every_step_fits_the_result_is_what_one_would_have_built():
    s, func = original(), workloads.matmul(128, 32, 48)
    before = s.func
    there = replay(s, func)
    assert there.ok
    assert all(step.ok for step in there.steps)
    by_hand = Schedule(func)
    by_hand.split("j", [None, 16])
    by_hand.split("i", [None, 64])
    by_hand.reorder("i.0", "j.0", "k", "i.1", "j.1")
    by_hand.vectorize("j.1")
    assert there.schedule.func == by_hand.func
    assert s.func is before


def test_it_ends_before_the_first_step_that_does_not_fit():
    there = replay(original(), workloads.matmul(32, 32, 48))
    assert [step.ok for step in there.steps] == [True, False, None, None]
    assert there.failed_at == 1
    bad = there.steps[1]
    assert (bad.code, bad.where) == ("split.divides", ("i",))
    assert bad.hint
    assert len(there.schedule.trace) == 1
    assert "x split('i', [None, 64])" in str(there)


def test_steps_that_do_not_fit_can_be_left_out():
    there = replay(original(), workloads.matmul(32, 32, 48), skip=True)
    assert [step.ok for step in there.steps] == [True, False, False, False], "what names i.0 does not fit either"
    assert there.steps[3].code == "vectorize.innermost"
    assert [p.name for p in there.schedule.trace] == ["split"]


def test_onto_another_kind_of_task_names_are_missing():
    there = replay(original(), workloads.conv2d_nhwc(8, 8, 4, 4), skip=True)
    assert not any(step.ok for step in there.steps)
    assert {step.code for step in there.steps} == {"loop.unknown"}
    assert there.schedule.trace == ()
    assert json.loads(json.dumps(there.to_json()))["failed_at"] == 0


def test_open_numbers_stay_open():
    s = Schedule(workloads.matmul(64, 64, 64))
    s.apply(Schedule.from_json(s.base, [split("j", None, {"hole": "tj"})]).trace[0])
    there = replay(s, workloads.matmul(48, 48, 48))
    assert [h.name for h in there.schedule.holes] == [h.name for h in s.holes]


def test_in_a_session_the_other_task_is_shown_with_a_branch(session):
    s = session([matmul(64), matmul(128)])
    mirror = Mirror(s)
    s.run("open_task", task=0)
    for loop in "ij":
        s.run("apply", step=split(loop, None, 8))
    s.run("replay", node=2, task=1)
    slices = s.snapshot().slices
    assert slices["head"]["task"] == 1
    _, row = slices["history"]["rows"]
    assert (row["edge"], row["steps"], row["parent"], row["by"]) == ("replay", 2, 0, "hand")
    assert row["text"] == f"v2 of {s.tasks[0].name}"
    note = slices["status"]["note"]
    assert (note["level"], note["replay"]["failed_at"]) == ("info", None)
    s.run("unfold", node=1)
    assert [r["edge"] for r in s.snapshot().slices["history"]["rows"]] == ["start", "step", "step"]
    s.run("open_task", task=0)
    assert s.snapshot().slices["history"]["at"] == 2, "where one came from is as it was"
    s.run("replay", node=1, task=1)
    assert s.snapshot().slices["history"]["at"] == 2, "the state is there already"
    assert s.flush(100)
    assert mirror.agrees(s)


def test_a_task_without_a_program_cannot_be_replayed_onto(session):
    s = session([matmul(64), matmul(128)])
    with pytest.raises(UsageError):
        s.run("replay", node=0, task=7)
    with pytest.raises(UsageError) as e:
        s.run("replay", node=5, task=1)
    assert e.value.code == "session.variant"


def test_a_task_that_is_made_known_twice_is_one(session):
    s = session()
    other = Task.of_func(workloads.matmul(16, 16, 16), Target.host(threads=1))
    seen = []
    s.run(lambda: seen.extend([s.state.add_task(other), s.state.add_task(other)]))
    assert seen == [1, 1]
    assert [r["id"] for r in s.snapshot().slices["tasks"]["rows"]] == [0, 1]
