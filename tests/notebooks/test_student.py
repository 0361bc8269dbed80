"""The tours as students take them: clicks first, cells that are run twice, a tuning run that is left on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from notebooks.tour import NEST, NETWORK, TUNE

from workbench import Schedule, Workbench, WorkbenchError, labs



class Student:
    """Runs code cells by their ids, in one name space; clicks are commands to the widgets that are there."""

    def __init__(self, tour: Path) -> None:
        cells = json.loads(tour.read_text(encoding="utf-8"))["cells"]
        self.cells = {c["id"]: "".join(c["source"]) for c in cells if c["cell_type"] == "code"}
        self.space: dict[str, Any] = {}
        self.clicks: list[str] = []

    def run(self, *ids: str) -> None:
        for name in ids:
            exec(compile(self.cells[name], name, "exec"), self.space)

    def __getitem__(self, name: str) -> Any:
        return self.space[name]

    @property
    def widgets(self) -> list[Workbench]:
        return list({id(w): w for w in self.space.values() if isinstance(w, Workbench)}.values())

    def click(self, rng: random.Random) -> None:
        """Press something in one of the widgets; a press that is refused is one, too."""
        widget = rng.choice(self.widgets)
        name = rng.choice(list(PRESSES))
        self.clicks.append(name)
        try:
            widget.session.run(name, **PRESSES[name](widget, rng))
        except WorkbenchError as error:
            self.clicks[-1] += f" refused: {error.code}"


def a_step(widget: Workbench, rng: random.Random) -> dict[str, Any]:
    assert widget.schedule is not None
    moves = [m for m in widget.schedule.moves(at=rng.choice(widget.schedule.loops).name) if m.legal]
    move = rng.choice(moves)
    return {"step": {"primitive": move.primitive, "args": move.args}}


def a_variant(widget: Workbench, rng: random.Random) -> dict[str, Any]:
    return {"step": int(rng.choice(list(widget.variants.frame().index)))}


STEPS = {"written": 0, "inlined": 2, "vectors": 6, "tile": 7, "finished": 10, "left": 5, "h": 10}
"""How many steps the schedules have that cells keep for later cells."""
PRESSES: dict[str, Any] = {
    "apply": a_step,
    "measure": lambda w, rng: {},
    "undo": lambda w, rng: {"n": rng.choice((1, 2, 5))},
    "redo": lambda w, rng: {},
    "goto": a_variant,
    "forget": lambda w, rng: {"node": a_variant(w, rng)["step"]},
    "open_default": lambda w, rng: {},
    "open_task": lambda w, rng: {"task": rng.randrange(len(w.tasks))},
    "open_trial": lambda w, rng: {"trial": rng.randrange(6)},
    "adopt": lambda w, rng: {},
    "tune": lambda w, rng: {"scope": rng.choice(("schedule", "task", "all")), "trials": rng.choice((4, 8, 500))},
    "pause": lambda w, rng: {},
    "resume": lambda w, rng: {},
    "stop": lambda w, rng: {},
    "cancel": lambda w, rng: {},
}


@pytest.fixture
def student(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_TOUR_SECONDS", "2")
    one = Student(request.param)
    yield one
    labs.end_runs()
    for widget in one.widgets:
        widget.close()


@pytest.mark.checks
@pytest.mark.parametrize("student", [NETWORK, NEST, TUNE], indirect=True, ids=lambda tour: tour.stem)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_whoever_clicks_first_has_every_cell_run_all_the_same(student, seed):
    """Three presses of anything before each cell, and some cells twice: they make what they make without them."""
    rng = random.Random(seed)
    for cell in student.cells:
        for _ in range(3 if student.widgets else 0):
            student.click(rng)
        student.run(*rng.choice(([cell], [cell], [cell, cell])))
        lengths = {name: len(s.trace) for name, s in student.space.items() if isinstance(s, Schedule)}
        assert {name: n for name, n in lengths.items() if name in STEPS}.items() <= STEPS.items(), student.clicks
    assert len([c for c in student.clicks if "refused" not in c]) > 5, "most of them did something"


@pytest.mark.parametrize("student", [NEST], indirect=True)
def test_the_exercise_leaves_the_next_cell_as_it_is(student):
    """The text says: try it in the widget first. And somebody presses *Tune*, and leaves the run on."""
    student.run("settings", "task", "slow")
    press = student["case"].session.run
    press("undo")
    press("apply", step={"primitive": "split", "args": {"loop": "o", "factors": [None, 16]}})
    press("apply", step={"primitive": "reorder", "args": {"loops": ["o.0", "w.1", "kh", "kw", "c", "o.1"]}})
    press("tune", scope="task", trials=500)
    student.run("slow-fix")
    left, mended = student["cure"].steps
    assert all(step.measured.ms > 0 for step in (left, mended))
    assert [str(step) for step in student["slow"].trace[-2:]] == ["unroll('w.1')", "parallel('n', 'h')"]
    assert student["case"].tuning.state == "done", "a run that is left on would take the cores"
    texts = student["case"].variants.frame()["text"].tolist()
    assert "split('o', [None, 16])" in texts, "what was tried stays"


@pytest.mark.parametrize("student", [TUNE], indirect=True)
def test_a_run_that_is_paused_and_a_cell_that_runs_twice(student):
    student.run("settings", "tune", "tune")  # the first one's log can be written to
    student["live"].session.run("pause")
    student.run("wait")
    assert student["session"].state == "done"
