"""The tour as a student takes it: clicks first, then runs the cells; and runs a cell twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TOUR = Path(__file__).parents[2] / "notebooks" / "01_tour.ipynb"


class Student:
    """Runs code cells by their ids, in one name space; clicks are steps on the schedules that the widgets show."""

    def __init__(self) -> None:
        cells = json.loads(TOUR.read_text(encoding="utf-8"))["cells"]
        self.cells = {c["id"]: "".join(c["source"]) for c in cells if c["cell_type"] == "code"}
        self.space: dict[str, Any] = {}

    def run(self, *ids: str) -> None:
        for name in ids:
            exec(compile(self.cells[name], name, "exec"), self.space)

    def __getitem__(self, name: str) -> Any:
        return self.space[name]


def click(widget: Any, primitive: str, **args: Any) -> None:
    widget.session.run("apply", step={"primitive": primitive, "args": args})


@pytest.fixture
def student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Student()


@pytest.mark.checks
def test_whoever_clicks_first_has_the_cells_run_all_the_same(student):
    student.run("settings", "model", "task", "hand-widget")
    hand = student["hand"]
    click(hand, "split", loop="w", factors=[None, 5])
    click(hand, "vectorize", loop="relu_c")
    student.run("step-0")
    click(hand, "split", loop="o", factors=[None, 8])
    student.run("step-1")
    hand.undo(2)
    click(hand, "parallel", loops=["n"])
    student.run("step-2", "step-3", "step-3")
    click(hand, "unroll", loop="kw")
    student.run("step-4", "variants", "differ")
    assert len(student["steps"].steps) == 5
    assert hand.variants.frame()["name"].tolist().count("tile in registers, all threads") == 1
    assert [str(step) for step in student["s"].trace[:2]] == ["compute_inline('pad')", "compute_inline('bias_add')"]
    tried = hand.variants.frame()["text"].tolist()
    assert "unroll('kw')" in tried, "what was tried stays"


def test_the_exercise_leaves_the_next_cell_as_it_is(student):
    """Section 5 says: try it in the widget first."""
    student.run("settings", "model", "task", "slow")
    student["case"].undo()
    click(student["case"], "split", loop="o", factors=[None, 16])
    click(student["case"], "reorder", loops=["o.0", "w.1", "kh", "kw", "c", "o.1"])
    student.run("slow-fix")
    left, mended = student["cure"].steps
    assert all(step.measured.ms > 0 for step in (left, mended))
