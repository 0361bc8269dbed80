"""The tree of states: what hangs on what, whoever moved, and what is kept of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from session.conftest import Mirror, by_slice, matmul, split
from waiting import until

from workbench import Schedule, workloads
from workbench.errors import UsageError
from workbench.schedule import Hole
from workbench.session.state import history as kept
from workbench.session.state.history import Tree
from workbench.session.state.trial_origin import filling, origin

TASK = 0


def fresh() -> Schedule:
    return Schedule(workloads.matmul(64, 64, 64))


def grown(*branches: str) -> tuple[Tree, Schedule]:
    """A tree of splits: each letter of a branch is the next loop to split."""
    s = fresh()
    tree = Tree(TASK, s)
    for branch in branches:
        s.undo(99)
        for loop in branch:
            s.split(loop, [None, 8])
            tree.follow(s)
    return tree, s


def edges(tree: Tree) -> dict[int, int | None]:
    return {n.id: n.parent for n in tree.nodes.values()}


def row(s, id):
    return next(r for r in s.snapshot().slices["history"]["rows"] if r["id"] == id)


# ----- following the cursor


def test_a_step_after_undo_begins_a_branch_and_the_other_one_stays():
    tree, s = grown("ij", "ik")
    assert edges(tree) == {0: None, 1: 0, 2: 1, 3: 1}
    assert tree.path(tree.at) == (0, 1, 3)
    s.undo()
    tree.follow(s)
    assert list(tree.undone()) == [3], "redo goes where one came from"


def test_a_state_that_is_reached_again_is_the_same_node():
    tree, s = grown("ij")
    s.undo(2).split("i", [None, 8])
    assert tree.follow(s) == 1
    assert len(tree.nodes) == 3


def test_steps_that_nobody_looked_at_between_are_nodes_of_their_own():
    s = fresh()
    tree = Tree(TASK, s)
    for loop in "ijk":
        s.split(loop, [None, 8])
    s.undo()
    assert tree.follow(s) == 2
    assert edges(tree) == {0: None, 1: 0, 2: 1, 3: 2}
    assert list(tree.undone()) == [3], "what was undone before anybody looked can be taken again"
    assert [str(p) for p in tree.node(2).schedule.trace] == [str(p) for p in s.trace]


def test_several_steps_at_once_become_single_ones_when_somebody_takes_them():
    tree, s = grown("i")
    far = fresh()
    for loop in "ijk":
        far.split(loop, [None, 8])
    leap = tree.add(0, far, edge="steps", by="tuner", label="3 steps", trial=7)
    tree.visit(leap)
    assert tree.follow(s.go_to(far)) == leap
    assert (tree.at, tree.node(leap).parent, tree.node(leap).edge) == (leap, 0, "steps"), "a jump changes nothing"
    s.undo()
    assert tree.follow(s) == 3
    assert tree.node(3).by == "tuner", "a state on the tuner's way is the tuner's"
    assert (tree.node(leap).parent, tree.node(leap).edge) == (3, "step")
    assert tree.path(leap) == (0, 1, 3, leap)


def test_a_step_onto_a_state_that_was_opened_elsewhere_can_be_undone():
    tree, s = grown("i")
    far = fresh()
    far.split("i", [None, 8])
    far.split("j", [None, 8])
    leap = tree.add(0, far, edge="steps", by="tuner", label="2 steps")
    s.split("j", [None, 8])
    assert tree.follow(s) == leap
    assert tree.path(leap) == (0, 1, leap)


def test_a_branch_that_moves_below_what_came_of_it_makes_no_circle():
    tree, s = grown("i")
    far = fresh()
    far.split("i", [None, 8])
    far.split("j", [None, 8])
    far.split("k", [None, 8])
    leap = tree.add(1, far, edge="steps", by="tuner", label="2 steps")
    other = far.prefix(2)
    below = tree.add(leap, other, edge="fill", by="tuner", label="a smaller one")  # as a trial derived from a trial
    s.split("j", [None, 8])
    assert tree.follow(s) == below
    s.split("k", [None, 8])
    assert tree.follow(s) == leap
    assert tree.path(leap) == (0, 1, below, leap)
    assert sorted(tree.nodes) == [0, 1, leap, below]


def test_unfolding_shows_every_step():
    tree, s = grown("i")
    far = fresh()
    for loop in "ijk":
        far.split(loop, [None, 8])
    leap = tree.add(0, far, edge="steps", by="tuner", label="3 steps", trial=3)
    tree.unfold(leap)
    assert tree.path(leap) == (0, 1, 3, leap)
    assert {n.by for n in tree.nodes.values() if n.id in (3, leap)} == {"tuner"}
    assert tree.node(leap).trial == 3
    with pytest.raises(UsageError) as e:
        tree.unfold(leap)
    assert e.value.code == "session.unfold"
    for n in tree.nodes.values():
        assert n.schedule.func == Schedule.from_json(s.base, n.schedule.to_json()).func


def test_what_can_be_forgotten():
    tree, s = grown("ij", "k")
    for id, why in ((0, "began"), (1, "came of it"), (tree.at, "on show")):
        with pytest.raises(UsageError) as e:
            tree.forget(id)
        assert why in e.value.message
    tree.node(2).star = True
    with pytest.raises(UsageError) as e:
        tree.forget(2)
    assert "star" in e.value.message
    tree.node(2).star = False
    tree.forget(2)
    assert sorted(tree.nodes) == [0, 1, 3]
    s.undo(99).split("i", [None, 8])
    s.split("j", [None, 8])
    assert tree.follow(s) == 4, "numbers are not given twice"


# ----- where a trial belongs


def record(trace, **more):
    given = {"trial": 9, "parent": None, "mutation": None, "origin": "random", **more}
    return SimpleNamespace(trace=trace, **given)


def test_a_trial_hangs_on_what_it_was_derived_from_else_on_what_it_fills_else_on_its_way():
    tree, s = grown("i")
    s.split("j", [None, Hole("tj")])
    holes = tree.follow(s)
    filled = s.fill({"tj": 4})
    assert origin(tree, filled, record(filled.to_json()), {}) == (holes, "fill", "tj = 4")
    first = tree.add(holes, filled, edge="fill", by="tuner", label="tj = 4", trial=3)
    other = s.fill({"tj": 16})
    child = record(other.to_json(), parent="abc", mutation="tj 4 → 16")
    assert origin(tree, other, child, {3: "abc"}) == (first, "fill", "tj 4 → 16")
    assert origin(tree, other, child, {}) == (holes, "fill", "tj = 16"), "the parent is not open"
    far = fresh()
    far.split("i", [None, 8])
    far.split("k", [None, 4])
    far.unroll("k.1")
    assert origin(tree, far, record(far.to_json()), {}) == (1, "steps", "2 steps by the tuner")
    for given, said in (("manual", "2 steps by hand"), ("default", "default schedule")):
        assert origin(tree, far, record(far.to_json(), origin=given), {}) == (1, "steps", said)
    assert origin(tree, far.prefix(2), record(far.prefix(2).to_json()), {})[1] == "step"


def test_filling_says_which_numbers_were_put_in():
    s = fresh()
    s.split("j", [None, Hole("tj")])
    assert filling(s.to_json(), s.fill({"tj": 4}).to_json()) == {"tj": 4}
    other = fresh()
    other.split("i", [None, 4])
    assert filling(s.to_json(), other.to_json()) is None
    assert filling(s.to_json(), []) is None
    assert filling(s.to_json(), s.to_json()) == {}


# ----- a session


def test_names_stars_and_branches(session):
    s = session()
    mirror = Mirror(s)
    s.run("apply", step=split("i", None, 8))
    s.run("apply", step=split("j", None, 8))
    s.run("name", node=1, text="  rows \n of 8 ")
    s.run("star", node=2)
    s.run("star", node=1, on=True)
    assert (row(s, 1)["name"], row(s, 1)["star"], row(s, 2)["star"]) == ("rows of 8", True, True)
    s.run("star")  # the one on show, the other way round
    assert not row(s, 2)["star"]
    s.run("branch", node=1)
    history = s.snapshot().slices["history"]
    assert (history["at"], history["can_redo"], history["path"]) == (1, False, [0, 1])
    s.run("apply", step=split("k", None, 8))
    assert row(s, 3)["parent"] == 1
    s.run("forget", node=2)
    assert [r["id"] for r in s.snapshot().slices["history"]["rows"]] == [0, 1, 3]
    s.run("name", node=1, text="")
    assert row(s, 1)["name"] == ""
    assert s.flush(100)
    assert mirror.agrees(s)


def test_python_and_the_session_move_one_cursor(session):
    s = session()
    mine = s.schedule
    mine.split("i", [None, 8])
    mine.split("j", [None, 8])
    s.run("undo")
    assert [str(p) for p in mine.undone] == ["split('j', [None, 8])"], "and Python may take the step again"
    mine.redo()
    s.run("goto", step=1)
    s.run("apply", step=split("k", None, 8))
    s.run("goto", step=2)
    assert s.schedule is mine
    assert [p.loop for p in mine.trace] == ["i", "j"]
    s.run("goto", step=3)
    assert [p.loop for p in mine.trace] == ["i", "k"]


def test_tasks_have_trees_of_their_own(session):
    s = session([matmul(64), matmul(128)])
    s.run("open_task", task=0)
    s.run("apply", step=split("i", None, 8))
    s.run("open_task", task=1)
    assert len(s.snapshot().slices["history"]["rows"]) == 1
    s.run("open_task", task=0)
    assert s.snapshot().slices["history"]["at"] == 1


def test_too_many_variants_let_the_oldest_go_that_nobody_wants(session, fake, monkeypatch):
    monkeypatch.setattr(kept, "MOST", 4)
    s = session()
    factors = [2, 4, 8, 16, 32]
    for k, factor in enumerate(factors):
        s.run("undo")
        s.run("apply", step=split("i", None, factor))
        if k == 0:
            s.run("measure")
            s.flush(100)
        if k == 1:
            s.run("star")
    history = s.snapshot().slices["history"]
    assert [r["id"] for r in history["rows"]] == [0, 1, 2, 5], "measured, starred, on show; two others went"
    assert history["hidden"] == 2
    assert s.snapshot().slices["status"]["note"]["code"] == "session.forgotten"
    s.run("dismiss")
    s.run("undo")
    s.run("apply", step=split("j", None, 8))
    s.run("undo")
    s.run("apply", step=split("j", None, 4))
    assert s.snapshot().slices["status"]["note"] is None, "said once"


def test_the_best_is_named_where_there_are_two_to_compare(session, fake):
    s = session(auto_measure=True)
    fake.result = lambda view: kept.Result("ok", 4.0 - len(view.trace), 0.01, 1.0)
    for k, (loop, best) in enumerate({"i": None, "j": 2}.items(), 1):
        s.run("apply", step=split(loop, None, 8))
        until(lambda k=k: s.snapshot().slices["history"]["rows"][k]["status"] == "ok")
        assert s.snapshot().slices["history"]["best"] == best


def test_one_step_in_a_large_tree_takes_little_of_the_wire(session):
    s = session()
    cursor = s.schedule
    for factor in (2, 4, 8, 16):
        for loop, other in ("ij", "jk", "ki"):
            for inner in (2, 4, 8, 16, 32):
                cursor.undo(99)
                cursor.split(loop, [None, factor])
                cursor.split(other, [None, inner])
                s.run(lambda: None)
    assert len(s.state.tree.nodes) == 1 + 12 + 60
    s.run("goto", step=1)
    mirror = Mirror(s)
    mirror.messages.clear()
    s.run("apply", step=split("j", None, 64))
    assert s.flush(100)
    sizes = by_slice(mirror.messages)
    assert sizes["history"] <= 350, mirror.messages[-1]["ops"]["history"]
    assert mirror.agrees(s)


def test_undo_leaves_what_was_reached_by_several_steps_as_it_is(session):
    s = session()
    far = s.schedule.copy()
    for loop in "ijk":
        far.split(loop, [None, 8])
    s.run(lambda: s.state.tree.add(0, far, edge="steps", by="tuner", label="3 steps", trial=1))
    s.run("goto", step=1)
    s.run("undo")
    s.run(lambda: None)
    history = s.snapshot().slices["history"]
    assert [r["id"] for r in history["rows"]] == [0, 1]
    assert history["can_redo"]
    s.run("redo")
    assert s.schedule.func == far.func
