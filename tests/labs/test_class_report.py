"""A class of five: who is good, who guesses, who looks at solutions, who edits, who hands in nothing."""

from __future__ import annotations

import json

import pytest

from workbench import labs
from workbench.cli import main
from workbench.errors import InputError, UsageError
from workbench.labs.grading.class_page import report_page
from workbench.labs.grading.class_report import class_report, first_wrong, misconceptions, where_stuck
from workbench.labs.grading.judging_anew import of_this_run
from workbench.labs.handing_out import Handout, hand_out
from workbench.labs.progress.verification import ExerciseGrade, Grade

COURSE = labs.LabFile(course="Schedules", key="key of the course", settings={"hint_cost": 0.5})
PLAN = labs.plans()["tiling"]
POINTS = {e.name: e.points for e in PLAN.exercises}


def folder_of(place, student, settings=None):
    folder = place / student
    hand_out(Handout("student", COURSE), folder, ["tiling"])
    file = labs.LabFile(student=student, course=COURSE.course, key=COURSE.key, settings=settings or COURSE.settings)
    file.write(folder)
    return folder, labs.open("tiling", folder=folder)


def solve(attempt):
    """Do it right, without asking for the solution."""
    for p in attempt.exercise.predictions:
        attempt.predict(**{p.name: p.answer(attempt.setting) if callable(p.answer) else p.answer})
    attempt.exercise.work.solve(attempt.schedule, attempt.setting)
    attempt.check()


def guess(attempt):
    """Answer as the first misconception of each question."""
    for p in attempt.exercise.predictions:
        says = p.misconceptions[0].says
        attempt.predict(**{p.name: says(attempt.setting) if callable(says) else says})
    attempt.check()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("term") / ".hidden above" / "class"
    place.mkdir(parents=True)
    COURSE.write(place)
    _, good = folder_of(place, "ada")
    for attempt in good:
        solve(attempt)
    good.hand_in()
    _, guessing = folder_of(place, "blaise")
    guess(guessing.traffic)
    guessing.traffic.hint()
    guessing.traffic.hint()
    solve(guessing.traffic)  # and handed in nothing, but the progress is there
    folder, sly = folder_of(place, "sly")
    solve(sly.levels)
    sly.hand_in()
    file = folder / "tiling.handin.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "points": 11}))
    _, looking = folder_of(place, "<b>eve</b>", settings={"solutions": True})
    looking.levels.solution().apply()
    looking.levels.check()
    looking.hand_in()
    (place / "nobody").mkdir()
    hand_out(Handout("student", COURSE), place / "nobody", ["tiling"])
    (place / "broken").mkdir()
    (place / "broken" / "tiling.handin.json").write_text("{")
    (place / "ada" / ".ipynb_checkpoints").mkdir()
    (place / "ada" / ".ipynb_checkpoints" / "02_tiling.ipynb").write_text("{}")
    return place


@pytest.fixture(scope="module")
def frame(place):
    return class_report(place)


def test_points_are_judged_anew_and_what_is_doubtful_stands_first(frame):
    assert list(frame.columns)[:3] == ["student", "lab", "exercise"]
    sums = frame.groupby("student")["points"].sum().to_dict()
    costs = 2 * COURSE.settings["hint_cost"]
    assert sums == {
        "ada": PLAN.points, "blaise": POINTS["traffic"] - costs, "sly": POINTS["levels"], "<b>eve</b>": 0,
    }  # fmt: skip
    doubtful = {"sly/tiling.handin.json", "<b>eve</b>/tiling.handin.json"}
    assert frame.attrs["doubts"].keys() == doubtful
    assert set(frame["file"][: 2 * len(POINTS)]) == doubtful
    assert "settings" in " ".join(frame.attrs["doubts"]["<b>eve</b>/tiling.handin.json"])
    assert frame.attrs["unread"].keys() == {"broken/tiling.handin.json", "nobody/02_tiling.ipynb"}
    assert "2 hand-ins to look at first" in frame.attrs["finding"]


def test_where_students_got_stuck(frame):
    stuck = where_stuck(frame).set_index("exercise")
    assert stuck.index[0] == "tile"
    assert stuck.loc["tile", ["students", "begun", "solved"]].tolist() == [4, 1, 1]
    assert stuck.loc["traffic", ["solved", "hints"]].tolist() == [2, 2]
    assert stuck.loc["levels", ["solved", "solutions"]].tolist() == [2, 1]


def test_misconceptions_and_first_wrong_answers(frame):
    traffic = next(e for e in PLAN.exercises if e.name == "traffic")
    found = misconceptions(frame)
    assert set(found["question"]) == {p.name for p in traffic.predictions}
    assert set(found["students"]) == {1}
    assert found["hint"].str.len().gt(10).all()
    wrong = first_wrong(frame)
    assert set(wrong["question"]) == {p.name for p in traffic.predictions}
    assert wrong["answer"].str.contains("MiB").all()


def test_the_page_is_escaped_and_whole(place, tmp_path, capfd):
    out = tmp_path / "class.html"
    assert main(["labs", "report", str(place), "-o", str(out), "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert {row["student"] for row in data["rows"]} == {"ada", "blaise", "sly", "<b>eve</b>"}
    page = out.read_text()
    assert page.index("To look at first") < page.index("Points: 2") < page.index("Where students got stuck")
    assert "<b>eve" not in page
    assert "&lt;b&gt;eve" in page
    assert "http" not in page.replace("http-equiv", "")
    assert main(["labs", "report", str(place)]) == 0
    assert "To look at first:" in capfd.readouterr().out


def test_a_class_without_hand_ins(tmp_path, capfd):
    frame = class_report(tmp_path)
    assert len(frame) == 0
    assert frame.attrs["finding"] == "There is no hand-in."
    assert "no hand-in" in report_page(frame, "x")
    assert main(["labs", "report", str(tmp_path), "--json"]) == 0
    with pytest.raises(InputError, match="no folder"):
        class_report(tmp_path / "nowhere")
    assert main(["labs", "report", str(tmp_path), "-o", "x.pdf", "--json"]) == 2
    assert main(["labs", "report", str(tmp_path), "-o", str(tmp_path / "no" / "x.html"), "--json"]) == 3


def test_lines_that_are_no_events_give_no_points():
    plan = labs.plans()["templates"]
    name = plan.exercises[0].name
    check = {"kind": "check", "exercise": name, "at": 1.0, "seal": "x",
             "data": {"points": 2, "reached": 2, "state": "not yet", "slips": []}}  # fmt: skip
    whole = ExerciseGrade(name, "", "solved", 5, 5, 1, 0, False, (), 0, 0)
    grade = Grade(plan.name, "", "", "", 5, 5, (whole,), ())
    odd = [None, {**check, "exercise": []}, {**check, "data": {}}, {**check, "data": {**check["data"], "points": "5"}}]
    assert of_this_run(plan, grade, odd).points == 0
    assert of_this_run(plan, grade, [*odd, check]).points == 2


def test_points_for_another_grader_are_judged_anew(tmp_path):
    folder, lab = folder_of(tmp_path, "ada")
    solve(lab.levels)
    lab.traffic._standing.points = 3.0
    assert {name: labs.judged(lab, name) for name in POINTS} == dict.fromkeys(POINTS, 0) | {"levels": POINTS["levels"]}
    alone = labs.open("tiling", folder=tmp_path / "nowhere")
    solve(alone.levels)
    assert labs.judged(alone, "levels") == POINTS["levels"]
    with pytest.raises(UsageError, match="levels"):
        labs.judged(lab, "level")
    progress = folder / "tiling.progress.jsonl"
    lines = progress.read_text().splitlines()
    progress.write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="was edited") as caught:
        labs.judged(labs.open("tiling", folder=folder), "levels")
    assert caught.value.code == "lab.progress"
