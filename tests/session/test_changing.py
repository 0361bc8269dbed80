"""Other arguments in an earlier step: what the later steps make of it, and what a session shows."""

from __future__ import annotations

import random

import pytest
from property.randoms import propose, random_schedule
from session.conftest import Mirror, split
from waiting import until

from workbench import Schedule, workloads
from workbench.analysis import estimate
from workbench.errors import ScheduleError, UsageError, WorkbenchError
from workbench.session.schedule_view.edit_step import changed
from workbench.widgets import Workbench


def test_a_random_step_changed_is_the_edited_trace_replayed():
    rng, cut, whole = random.Random(7), 0, 0
    while cut < 3 or whole < 6:
        s = random_schedule(rng).schedule
        k = rng.randrange(len(s.trace))
        new = propose(rng, s.prefix(k).func, s.trace[k].name)
        if new is None or new == s.trace[k]:
            continue
        by_hand, failed = s.prefix(0), None
        for at, step in enumerate((*s.trace[:k], new, *s.trace[k + 1 :])):
            try:
                by_hand.apply(step)
            except WorkbenchError as error:
                failed = at, error.code
                break
        before = s.trace
        if failed is not None and failed[0] == k:
            with pytest.raises(WorkbenchError) as e:
                changed(s, k + 1, new.args)
            assert e.value.code == failed[1]
            continue
        found = changed(s, k + 1, new.args)
        assert (found.schedule.func, found.schedule.trace) == (by_hand.func, by_hand.trace)
        assert (found.failed_at, found.ok) == ((failed or (None,))[0], failed is None)
        if failed is not None:
            assert found.steps[failed[0]].code == failed[1]
            assert all(step.ok is None for step in found.steps[failed[0] + 1 :])
        assert len(found.steps) == len(before)
        assert s.trace == before
        cut, whole = cut + (failed is not None), whole + (failed is None)


def test_one_argument_is_given_and_the_others_stay():
    s = Schedule(workloads.matmul(64, 64, 60))
    s.split("j", [None, 16], tail="guard")
    s.unroll("j.1")
    step = changed(s, 1, {"factors": [None, 8]}).schedule.trace[0]
    assert step.args == s.trace[0].args | {"factors": (None, 8)}
    assert changed(s, 1, {"factors": [None, 16]}).schedule.trace == s.trace


@pytest.fixture
def steps(session):
    s = session()
    for step in (split("i", None, 8), split("j", None, 16), {"primitive": "unroll", "args": {"loop": "i.1"}}):
        s.run("apply", step=step)
    return s


def test_a_session_shows_it_as_a_branch_from_before_the_step(steps):
    mirror = Mirror(steps)
    steps.run("change", step=2, args={"factors": [None, 32]})
    history = steps.snapshot().slices["history"]
    row = history["rows"][-1]
    assert (row["id"], row["parent"], row["edge"], row["steps"]) == (history["at"], 1, "replay", 2)
    assert row["text"] == "v3 with split(j, rest × 32)"
    assert [str(p) for p in steps.schedule.trace] == [
        "split('i', [None, 8])",
        "split('j', [None, 32])",
        "unroll('i.1')",
    ]
    note = steps.snapshot().slices["status"]["note"]
    assert (note["level"], note["text"]) == ("info", "v3 with split(j, rest × 32), and its 1 later step")
    steps.run("undo")
    assert steps.snapshot().slices["history"]["at"] == 1
    steps.run("change", node=3, step=3, args={"loop": "j.1"})
    row = steps.snapshot().slices["history"]["rows"][-1]
    assert (row["parent"], row["edge"], row["text"]) == (2, "step", "unroll('j.1')"), "the last step of another variant"
    assert steps.flush(100)
    assert mirror.agrees(steps)


def test_a_later_step_that_is_not_legal_any_more_is_named(steps):
    steps.run("apply", step=split("j.1", None, 4))
    steps.run("change", step=2, args={"factors": [None, 2]})
    slices = steps.snapshot().slices
    assert [p.name for p in steps.schedule.trace] == ["split", "split", "unroll"], "up to it all are kept"
    note = slices["status"]["note"]
    assert (note["level"], note["code"], note["where"], note["replay"]["failed_at"]) == (
        "warn",
        "split.divides",
        ["j.1"],
        3,
    )
    assert note["text"].startswith("Step 4 of v4, split('j.1', [None, 4]), is not legal after split(j, rest × 2): ")


@pytest.mark.parametrize(
    ("step", "args", "code", "kind"),
    [
        (0, {}, "session.step", UsageError),
        (4, {}, "session.step", UsageError),
        ("2", {}, "session.step", UsageError),
        (2, [8], "session.arguments", UsageError),
        (2, {"width": 8}, "primitive.argument", UsageError),
        (2, {"factors": 0.5}, "primitive.argument", UsageError),
        (2, {"factors": [None, {"x": 1}]}, "trace.step", ScheduleError),
        (2, {"factors": [None, 7]}, "split.divides", ScheduleError),
        (2, {"loop": "z"}, "loop.unknown", ScheduleError),
    ],
)
def test_what_cannot_be_changed_changes_nothing(steps, step, args, code, kind):
    before, trace = steps.snapshot().slices["history"], steps.schedule.trace
    with pytest.raises(kind) as e:
        steps.run("change", step=step, args=args)
    assert e.value.code == code
    assert steps.schedule.trace == trace
    assert steps.snapshot().slices["history"] == before


def test_a_preview_of_a_change_is_of_the_whole_schedule(steps):
    steps.run("apply", step=split("j.1", None, 4))

    def preview(factor):
        step = {"primitive": "split", "args": {"loop": "j", "factors": [None, factor]}}
        asked = {"step": step, "change": {"node": 4, "step": 2}}
        told = []
        steps.ask("preview", asked, told.append)
        until(lambda: told)
        return told[0]

    whole = preview(32)["value"]
    assert [one["ok"] for one in whole["later"]] == [True, True]
    assert {"j.1.0", "j.1.1"} <= set(whole["order"]), "the later steps are in it, too"
    cut = preview(2)["value"]
    assert [one["ok"] for one in cut["later"]] == [True, False]
    assert "j.1.1" not in cut["order"]
    assert cut["later"][1]["text"].startswith("split('j.1'")
    assert cut["later"][1]["reason"]
    refused = preview(7)["value"]
    assert (refused["verdict"]["legal"], refused["verdict"]["code"]) == (False, "split.divides")
    changed_to = steps.state.variant(4).schedule
    known = estimate(changed_to, steps.state.target, peak_gflops=steps.state.peak, constants=steps.state.constants)
    assert whole["before"] == known.to_json()
    told = []
    steps.ask("preview", {"step": split("j", None, 2), "change": 3}, told.append)
    until(lambda: told)
    assert told[0]["error"]["code"] == "session.arguments"


def test_in_python_the_outcome_is_a_value(steps):
    w = Workbench(steps)
    found = w.change(1, factors=[4, 16])
    assert found.ok
    assert w.schedule.func == found.schedule.func
    found.schedule.undo()
    assert len(w.variants[w.variants.at].trace) == 3, "what is given away is a copy"
    with pytest.raises(UsageError) as e:
        w.change(9)
    assert (e.value.code, e.value.hint) == ("session.step", "steps go from 1 to 3")
    w.close()


def test_a_form_is_told_the_step_and_the_row_that_it_was_about(steps):
    steps.run("apply", step={"primitive": "cache_read", "args": {"block": "C", "buffer": "A"}})
    told = {}
    for node in (2, 4, 0):
        steps.ask("step", {"node": node}, lambda answer, node=node: told.update({node: answer}))
        assert steps.flush(100), "a newer question takes the place of one that waits"
    assert told[2]["value"] == {"row": "j", "place": 2, "step": split("j", None, 16)}
    assert (told[4]["value"]["row"], told[4]["value"]["place"]) == ("stmt:C", 4)
    assert told[0]["error"]["code"] == "session.step", "the program as it was written"
