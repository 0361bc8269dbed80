"""Labs in the hands of nbgrader and Otter-Grader: made, released, handed in and graded by the tools themselves.

The tools have many requirements of their own, so they are looked for in environments of their own: folders of programs
in ``WORKBENCH_GRADERS``, separated as in ``PATH``, which has the last word.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from workbench.cli import main
from workbench.cli.commands.lab import _kernel_of_this_python
from workbench.labs import plans
from workbench.labs.handing_out import source

ROOT = Path(__file__).resolve().parents[2]
PLAN = plans()["tiling"]
NAME = PLAN.file_name
SOLUTIONS = {cell.name: cell.text for cell in source(PLAN) if "solution" in cell.tags}
POINTS = {exercise.name: exercise.points for exercise in PLAN.exercises}
SOLVED = "levels"
"""The exercise that is solved in what is handed in in part."""

FORGED = json.dumps({
    "kind": "check", "exercise": SOLVED, "at": 1.0, "seal": "0" * 64,
    "data": {"points": POINTS[SOLVED], "reached": 2, "state": "solved", "slips": [], "work": None},
}) + "\n"  # fmt: skip
"""An event that never happened, as progress beside a notebook."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def tool(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("WORKBENCH_GRADERS", ""), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"{name} is not installed; WORKBENCH_GRADERS names the folder of its program")
    return found


def call(*command: object, folder: Path, **environment: str) -> str:
    path = os.pathsep.join([str(Path(str(command[0])).parent), os.environ["PATH"]])  # they call programs beside them
    environment = {**os.environ, "PATH": path, **environment}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def solved(released: Path, to: Path, exercises: set[str], cheat: str = "") -> None:
    """Write what a student hands in: some exercises solved, and the last line of what is locked replaced."""
    notebook = json.loads(released.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        name = cell.get("id", "")
        if name in SOLUTIONS and name.rpartition("-")[0] in exercises:
            cell["source"] = SOLUTIONS[name]
        elif name.endswith("-points") and cheat:
            cell["source"] = cheat
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(notebook), encoding="utf-8")


def tampered(path: Path) -> None:
    """Let every test in the notebook hold, and an exercise say that it has all points."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"]["otter"]["tests"] = {}
    for cell in notebook["cells"]:
        if cell.get("id") == f"{SOLVED}-do":
            cell["source"] = (
                f"lab.{SOLVED}._standing.points = {POINTS[SOLVED]}\nlab.{SOLVED}._standing.found = 'solved'"
            )
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_nbgrader_makes_releases_and_grades(tmp_path):
    nbgrader = tool("nbgrader")
    assert main(["labs", "new", str(tmp_path), PLAN.name, "--nbgrader"]) == 0
    with _kernel_of_this_python() as environment:
        kernel = {"JUPYTER_PATH": environment["JUPYTER_PATH"]}
        call(nbgrader, "generate_assignment", NAME, folder=tmp_path, **kernel)
        released = tmp_path / "release" / NAME / f"{NAME}.ipynb"
        text = released.read_text(encoding="utf-8")
        assert not any(json.dumps(one)[1:-1] in text for one in SOLUTIONS.values())
        for student, exercises, cheat in (
            ("full", {*POINTS}, ""), ("part", {SOLVED}, ""), ("nothing", set(), ""), ("tampered", {SOLVED}, "4.0"),
            ("forged", set(), ""),
        ):  # fmt: skip
            folder = tmp_path / "submitted" / student / NAME
            solved(released, folder / f"{NAME}.ipynb", exercises, cheat)
            for file in released.parent.glob("*.json"):
                shutil.copy(file, folder)
        (folder / f"{PLAN.name}.progress.jsonl").write_text(FORGED)
        said = call(nbgrader, "autograde", NAME, folder=tmp_path, **kernel)
    assert "has changed" in said.lower() or "tampered" in said
    call(nbgrader, "export", folder=tmp_path)
    with (tmp_path / "grades.csv").open(encoding="utf-8") as file:
        found = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    whole = PLAN.points
    part = POINTS[SOLVED]
    assert found == {
        "full": (whole, whole), "part": (part, whole), "nothing": (0, whole), "tampered": (part, whole),
        "forged": (0, whole),
    }  # fmt: skip


def test_otter_makes_releases_and_grades(tmp_path):
    otter = tool("otter")
    assert main(["labs", "new", str(tmp_path), PLAN.name, "--otter"]) == 0
    # The kernel is that of Otter's environment, which has to find the workbench and what it needs.
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), sysconfig.get_paths()["purelib"]])}
    folder = tmp_path / NAME
    call(otter, "assign", f"{NAME}.ipynb", "dist", folder=folder, **environment)
    released = folder / "dist" / "student" / f"{NAME}.ipynb"
    text = released.read_text(encoding="utf-8")
    assert not any(json.dumps(one)[1:-1] in text for one in SOLUTIONS.values())
    (autograder,) = (folder / "dist" / "autograder").glob("*.zip")
    found = {}
    for student, exercises in (("full", {*POINTS}), ("part", {SOLVED}), ("tampered", set())):
        out = tmp_path / student
        solved(released, out / f"{NAME}.ipynb", exercises)
        if student == "tampered":
            tampered(out / f"{NAME}.ipynb")
        call(otter, "run", "-a", autograder, "-o", out, out / f"{NAME}.ipynb", folder=tmp_path, **environment)
        tests = json.loads((out / "results.json").read_text(encoding="utf-8"))["tests"]
        found[student] = {one["name"]: (one["score"], one["max_score"]) for one in tests if one.get("max_score")}
    for student, exercises in (("full", {*POINTS}), ("part", {SOLVED}), ("tampered", set())):
        assert found[student] == {name: (most * (name in exercises), most) for name, most in POINTS.items()}
