"""``workbench labs list`` and ``new``: what is listed, what is written, what is kept, what is refused."""

from __future__ import annotations

import json

import nbformat
import pytest

from workbench import exercise_mode
from workbench.cli import main
from workbench.labs import LabFile, handing_out, plans
from workbench.labs.sources.names import checked
from workbench.target import Target

PLANS = list(plans().values())


def told(capfd, *words):
    code = main(["labs", *map(str, words), "--json"])
    return code, json.loads(capfd.readouterr().out)


def test_every_lab_is_listed_with_its_points(capfd):
    code, data = told(capfd, "list")
    assert code == 0
    assert [lab["name"] for lab in data["labs"]] == [plan.name for plan in PLANS]
    tiling = next(lab for lab in data["labs"] if lab["name"] == "tiling")
    assert tiling["notebook"] == "02_tiling.ipynb"
    assert tiling["points"] == plans()["tiling"].points > 0
    assert main(["labs", "list"]) == 0
    assert "Tiling by hand" in capfd.readouterr().out


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_every_lab_has_a_source_that_shows_and_checks_its_exercises(plan):
    cells = handing_out.source(plan)
    assert len(checked(plan, cells)) == len(plan.exercises)
    assert any(f'labs.open("{plan.name}"' in cell.text for cell in cells if cell.code)


def test_both_editions_have_the_same_names_and_the_student_s_no_solution(tmp_path, capfd):
    written = {}
    for edition in ("student", "instructor"):
        _, data = told(capfd, "new", tmp_path / edition, "tiling", f"--{edition}")
        assert data["edition"] == edition
        path = tmp_path / edition / "02_tiling.ipynb"
        assert str(path) in data["written"]
        written[edition] = nbformat.read(path, 4)
        nbformat.validate(written[edition])
    cells = {edition: {c.id: c.source for c in nb.cells} for edition, nb in written.items()}
    assert "None" in cells["student"]["traffic-predict"]
    assert "None" not in cells["instructor"]["traffic-predict"]
    assert cells["student"]["traffic-check"] == cells["instructor"]["traffic-check"]


def test_nothing_is_written_over(tmp_path, capfd):
    told(capfd, "new", tmp_path, "tiling")
    path = tmp_path / "02_tiling.ipynb"
    assert main(["labs", "new", str(tmp_path), "tiling"]) == 0
    assert f"kept {path}\n" in capfd.readouterr().err
    path.write_text("my own work")
    assert main(["labs", "new", str(tmp_path), "tiling"]) == 0
    assert f"kept {path}; it differs" in capfd.readouterr().err
    assert path.read_text() == "my own work"


def test_a_sheet_and_slides_need_nothing_executed(tmp_path, capfd):
    told(capfd, "new", tmp_path / "s", "tiling", "--sheet", "--slides")
    told(capfd, "new", tmp_path / "i", "tiling", "--sheet", "--slides", "--instructor")
    student, instructor = ((tmp_path / name / "02_tiling.sheet.html").read_text() for name in "si")
    for page in (student, instructor):
        assert "@page { size: A4" in page
        assert "<script" not in page
        assert "http" not in page.replace("http-equiv", "")
        assert "How often is B loaded?" in page
    assert '<span class="room">' in student
    assert "512 MiB" not in student
    assert "512 MiB" in instructor
    slides, notes = ((tmp_path / name / "02_tiling.slides.html").read_text() for name in "si")
    for page in (slides, notes):
        assert page.count("<section") == page.count("</section") > 5
        assert "http" not in page.replace("http-equiv", "")
        assert "How often is B loaded?" in page
    assert 'class="notes' not in slides
    assert "512 MiB" not in slides
    before, _, after = notes.partition("512 MiB")
    assert before.rfind('<div class="notes') > before.rfind("</section>"), "an answer is shown by a key only"
    assert after


def test_a_sheet_has_the_sizes_of_who_is_named_and_opens_no_lab(tmp_path, capfd, monkeypatch):
    """Where the command runs, somebody else's lab.json may lie."""
    monkeypatch.chdir(tmp_path)
    LabFile(student="somebody else", key="k").write(tmp_path)
    sizes = {}
    for name in ("ada", "grace", "konrad", "mary"):
        told(capfd, "new", name, "tiling", "--sheet", "--name", name, "--instructor")
        page = (tmp_path / name / "02_tiling.sheet.html").read_text()
        sizes[name] = plans()["tiling"].exercises[0].setting_of(name, Target.host(threads=1))["n"]
        assert f"<b>{sizes[name] ** 3 * 4 / 2**20:g} MiB</b>" in page
    assert len({*sizes.values()}) > 1
    assert {path.name for path in tmp_path.iterdir()} == {*sizes, "lab.json"}
    assert not exercise_mode.why_off("advice")


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["new", "{}", "tilling"], 2, "lab.unknown"),
        (["new", "{}/file"], 3, "lab.not_a_folder"),
        (["new", "{}/file/below"], 3, "lab.unwritable"),
        (["new", "{}", "--student", "--otter"], 2, "usage.arguments"),
        (["new", "{}", "--sheet", "tiling"], 2, "usage.option"),
        (["nwe", "{}"], 2, "usage.arguments"),
    ],
)
def test_what_cannot_be_written_is_told(tmp_path, capfd, words, code, name):
    (tmp_path / "file").write_text("")
    found, data = told(capfd, *(word.format(tmp_path) for word in words))
    assert (found, data["error"]["code"]) == (code, name)


@pytest.mark.parametrize("grader", ["nbgrader", "otter"])
def test_an_assignment_gives_every_point_and_no_answer_of_the_lecturer(tmp_path, capfd, grader):
    """What the tools make of it: `test_graders`, with the tools."""
    _, data = told(capfd, "new", tmp_path, "tiling", f"--{grader}")
    (path,) = (path for path in data["written"] if path.endswith(".ipynb"))
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert text.count("BEGIN SOLUTION") == text.count("END SOLUTION") == 12
    assert not any(cell.metadata.get("tags") for cell in notebook.cells)
    points = plans()["tiling"].points
    if grader == "nbgrader":
        marks = [cell.metadata.nbgrader for cell in notebook.cells if cell.cell_type == "code"]
        assert sum(mark.get("points", 0) for mark in marks) == points
        assert all(mark.locked != mark.solution for mark in marks)
    else:
        assert sum("labs.judged(lab, " in cell.source for cell in notebook.cells) == points
