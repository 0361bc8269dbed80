"""Steps in few letters: what tells two of them apart stands first."""

from __future__ import annotations

from workbench import Schedule, workloads
from workbench.advice.step_text import short
from workbench.schedule import Hole
from workbench.session.state.history import History


def test_steps_are_said_in_few_letters() -> None:
    s = Schedule(workloads.matmul(64, 64, 64))
    s.split("i", [None, 4, 8])
    s.reorder("k", "i.2", "j")
    s.split("j", [None, Hole("n")])
    s.split("k", [None, 7], tail="guard")
    s.vectorize("j.1")
    assert [short(step) for step in s.trace] == [
        "split i → 4 × 8", "reorder k i.2 j", "split j → ?n", "split k → 7 guard", "vectorize j.1",
    ]  # fmt: skip


def test_rows_of_the_tree_have_them_where_one_step_led_there() -> None:
    s = Schedule(workloads.matmul(64, 64, 64))
    kept = History()
    tree = kept.tree(0, s)
    s.split("i", [None, 8])
    tree.follow(s)
    assert [row.get("short") for row in kept.rows(tree, {})] == [None, "split i → 8"]
