"""Every lab's notebooks, run as a grader runs them: untouched ones are not attempted, solved ones have every point.

The default tests run one lab; ``checks`` has all of them, and other students' sizes.
"""

from __future__ import annotations

import json

import nbformat
import pytest
import tiers

from workbench.cli import main
from workbench.errors import InputError
from workbench.labs import LabFile, plans
from workbench.labs.grading.checking import check_notebook, lab_of
from workbench.labs.handing_out import Handout, hand_out

PLANS = sorted(plans().values(), key=lambda plan: plan.name != "tiling")

each = pytest.mark.parametrize("plan", tiers.first(PLANS, 1), ids=lambda plan: plan.name)
every = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)


def handed_out(folder, plan, kind="student", **about):
    hand_out(Handout(kind, LabFile(**about)), folder, [plan.name])
    return folder / f"{plan.file_name}.ipynb"


@each
def test_the_instructor_s_edition_has_every_point(tmp_path, plan):
    found = check_notebook(handed_out(tmp_path, plan, "instructor"))
    assert [str(fault) for fault in found.faults] == []
    assert found.grade.genuine, found.grade.faults
    assert {e.name: e.points for e in found.grade.exercises} == {e.name: e.points for e in plan.exercises}
    assert {e.state for e in found.grade.exercises} == {"solved"}
    assert found.seconds < 300


@pytest.mark.checks
@every
def test_the_student_s_edition_as_nobody_has_touched_it(tmp_path, plan):
    found = check_notebook(handed_out(tmp_path, plan))
    assert [str(fault) for fault in found.faults] == []
    assert found.grade.genuine, found.grade.faults
    assert {e.state for e in found.grade.exercises} == {"not attempted"}
    assert found.grade.points == 0


@pytest.mark.slow
@every
@pytest.mark.parametrize("student", ["ada", "grace", "konrad"])
def test_the_solutions_are_right_for_other_students_sizes(tmp_path, plan, student):
    found = check_notebook(handed_out(tmp_path, plan, "instructor", student=student))
    assert found.grade.points == plan.points, (found.grade, found.faults)


# -------------------------------------------------------------------------------------------------- the command itself


def solve(path, *exercises, more=""):
    """Fill in what the instructor's edition has for some exercises."""
    notebook = nbformat.read(path, 4)
    solutions = {c.id: c.source for c in nbformat.read(path.parent.parent / "i" / path.name, 4).cells}
    for cell in notebook.cells:
        if cell.id.rpartition("-")[0] in exercises:
            cell.source = solutions[cell.id]
    notebook.cells[-1].source += more
    nbformat.write(notebook, path)


@pytest.mark.checks
def test_a_notebook_in_part_done_beside_one_that_is_none(tmp_path, capfd):
    plan = plans()["tiling"]
    handed_out(tmp_path / "i", plan, "instructor")
    path = handed_out(tmp_path / "s", plan, student="ada", key="k", settings={"solutions": False})
    solve(path, "levels", more="\n1 / 0")
    other = tmp_path / "other.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), other)
    before = {p: p.read_bytes() for p in path.parent.iterdir()}
    assert main(["labs", "check", str(path), str(other), "--json"]) == 3
    first, second = json.loads(capfd.readouterr().out)["notebooks"]
    points = {e.name: e.points for e in plan.exercises}
    assert (first["student"], first["points"], first["possible"]) == ("ada", points["levels"], plan.points)
    assert {e["name"]: e["state"] for e in first["exercises"]}["traffic"] == "not attempted"
    assert first["doubts"] == []
    assert [fault["cell"].partition(" ")[0] for fault in first["faults"]] == ["report"]
    assert second["points"] == second["possible"] == 0
    assert "[lab.notebook]" in second["faults"][0]["text"]
    assert {p: p.read_bytes() for p in path.parent.iterdir()} == before


@pytest.mark.checks
def test_what_was_done_before_counts_and_an_edit_is_seen(tmp_path):
    """Steps that were clicked are in the progress alone; a solution that was looked at is there as well."""
    from workbench.labs import open as open_lab

    plan = plans()["tiling"]
    handed_out(tmp_path / "i", plan, "instructor")
    path = handed_out(tmp_path / "s", plan, student="ada", key="k")
    lab = open_lab("tiling", folder=path.parent)
    lab.levels.solution().apply()
    lab.levels.check()
    right = {p.name: p.answer for p in lab.traffic.exercise.predictions}
    lab.traffic.predict(**{n: a if not callable(a) else a(lab.traffic.setting) for n, a in right.items()})
    lab.traffic.check()
    solve(path, "levels")
    found = check_notebook(path)
    points = {e.name: e.points for e in found.grade.exercises}
    assert points["levels"] == 0, "its solution was looked at before"
    assert points["traffic"] > 0, "the notebook's cells do not say so, the progress does"
    assert found.grade.genuine
    progress = path.parent / "tiling.progress.jsonl"
    lines = progress.read_text().splitlines()
    progress.write_text("\n".join(line for line in lines if '"kind":"solution"' not in line) + "\n")
    assert not check_notebook(path).grade.genuine
    course = LabFile(course="another", key="other")
    assert not check_notebook(path, course=course).grade.genuine


def test_which_lab_a_notebook_is_of(tmp_path):
    path = handed_out(tmp_path, plans()["tiling"])
    assert lab_of(path).name == "tiling"
    assert lab_of(path.rename(tmp_path / "mine.ipynb")).name == "tiling"
    for metadata, name, known in (({}, "02_tiling", True), ({"workbench": {"lab": "x"}}, "02_tiling", False),
                                  ({"workbench": 3}, "b", False)):  # fmt: skip
        other = tmp_path / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(metadata=metadata), other)
        if known:
            assert lab_of(other).name == "tiling"
        else:
            with pytest.raises(InputError, match="no lab"):
                lab_of(other)


@pytest.mark.parametrize("course", ["{}/nowhere/lab.json", "{}"])
def test_a_course_without_its_file(tmp_path, capfd, course):
    assert main(["labs", "check", "x.ipynb", "--course", course.format(tmp_path), "--json"]) == 3
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "lab.file"
