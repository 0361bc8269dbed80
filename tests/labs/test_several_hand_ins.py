"""One student's work in several files, another's file in one's own folder, late work, marks of a class."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pandas
import pytest

from workbench import labs
from workbench.cli import main
from workbench.labs.grading.checking import settled
from workbench.labs.grading.class_report import class_report, points
from workbench.labs.progress.journal import canonical, first_seal, seal, signed

DUE = "2027-03-12T18:00+00:00"
COURSE = labs.LabFile(course="Schedules", key="key of the course")


def hand_in(folder, student, exercise, lab="tiling"):
    """Answer the questions of one exercise and hand in; without ``lab.json``, as it is collected."""
    folder.mkdir(parents=True)
    replace(COURSE, student=student).write(folder)
    opened = labs.open(lab, folder=folder)
    attempt = getattr(opened, exercise)
    for p in attempt.exercise.predictions:
        attempt.predict(**{p.name: p.answer(attempt.setting) if callable(p.answer) else p.answer})
    attempt.check()
    opened.hand_in()
    (folder / "lab.json").unlink()
    (folder / f"{lab}.progress.jsonl").unlink()
    return folder / f"{lab}.handin.json"


@pytest.fixture
def place(tmp_path):
    replace(COURSE, due={"tiling": DUE}).write(tmp_path)
    return tmp_path


def given(frame):
    return frame.groupby("student")["points"].sum().to_dict()


def test_of_two_machines_the_better_of_each_exercise_counts(place):
    hand_in(place / "ada" / "laptop", "ada", "traffic")
    again = hand_in(place / "ada" / "lab", "ada", "repair")
    shutil.copy(again, place / "ada" / "lab" / "tiling.handin (1).json")
    frame = class_report(place)
    assert given(frame) == {"ada": 5}
    assert len(frame) == len(labs.plans()["tiling"].exercises)
    assert frame["genuine"].all()
    assert "Handed in 3 times" in str(frame.attrs["notes"])


def test_another_s_file_in_one_s_own_folder_is_told_of_both(place):
    file = hand_in(place / "grace", "grace", "traffic")
    (place / "eve").mkdir()
    shutil.copy(file, place / "eve")
    hand_in(place / "emma", "emma", "traffic")
    frame = class_report(place)
    assert set(frame.attrs["doubts"]) == {"eve/tiling.handin.json", "grace/tiling.handin.json"}
    assert "as 'grace': eve, grace." in str(frame.attrs["doubts"])


def test_a_copy_is_seen_where_nobody_has_a_name(place, monkeypatch):
    file = hand_in(place / "grace", "", "traffic")
    (place / "eve").mkdir()
    shutil.copy(file, place / "eve")
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    hand_in(place / "emma", "", "traffic")
    assert set(class_report(place).attrs["doubts"]) == {"eve/tiling.handin.json", "grace/tiling.handin.json"}


def test_late_work_is_told_in_hours_and_costs_nothing(place, monkeypatch):
    due = pandas.Timestamp(DUE).timestamp()
    for name, hours in (("early", -1), ("late", 26)):
        monkeypatch.setattr("time.time", lambda hours=hours: due + hours * 3600)
        hand_in(place / name, name, "traffic")
    frame = class_report(place)
    assert frame.groupby("student")["late"].max().to_dict() == {"early": 0, "late": 26}
    assert given(frame) == {"early": 2, "late": 2}
    ((_, heads, rows),) = points(frame)
    assert (heads[-1], [row[-1] for row in rows]) == ("Late", ["", "26"])


@pytest.mark.parametrize("answer", [10**400, "many", "1e308 GiB"], ids=["long", "word", "large"])
def test_an_answer_that_cannot_be_one_ends_no_report(place, answer):
    file = hand_in(place / "ada", "ada", "traffic")
    hand_in(place / "grace", "grace", "traffic")
    data, before = json.loads(file.read_text()), first_seal(COURSE.key, "tiling", "ada", COURSE.course)
    for event in data["events"]:
        del event["seal"]
        if event["kind"] == "predict":
            event["data"]["answers"] = dict.fromkeys(event["data"]["answers"], answer)
        before = event["seal"] = seal(COURSE.key, before, event)
    del data["signature"]
    file.write_text(json.dumps({**data, "signature": signed(COURSE.key, canonical(data))}))
    frame = class_report(place)
    assert given(frame) == {"ada": 0, "grace": 2}
    assert frame.attrs["doubts"].keys() == {"ada/tiling.handin.json"}
    assert not frame.attrs["unread"]


def test_a_lab_says_until_when_it_is_handed_in(place):
    folder = place / "ada"
    folder.mkdir()
    replace(COURSE, due={"tiling": "2027-03-12T18:00"}).write(folder)
    lab = labs.open("tiling", folder=folder)
    assert str(lab.report()).endswith("Hand in with `lab.hand_in()`, until Friday, 2027-03-12, 18:00.")
    assert "18:00" in lab.report()._repr_html_()
    assert str(lab.hand_in()).endswith("Hand in this file, until Friday, 2027-03-12, 18:00.")


def test_marks_are_a_table_with_a_row_for_each_student(place, capfd):
    hand_in(place / "ada" / "1", "ada", "traffic")
    hand_in(place / "ada" / "2", "ada", "pitch", lab="loops")
    hand_in(place / "=1+1", "=1+1", "traffic")
    assert main(["labs", "report", str(place), "-o", str(place / "marks.csv")]) == 0
    assert "On trust" not in capfd.readouterr().out
    table = pandas.read_csv(place / "marks.csv")
    assert table.columns[:5].tolist() == ["student", "loops", "tiling", "points", "possible"]
    assert table["student"].tolist() == ["'=1+1", "ada"]
    assert table["points"].tolist() == [2, 5]
    assert table["loops"].isna().tolist() == [True, False]


def test_a_run_settles_points_that_are_on_trust(place):
    grade = labs.verify(hand_in(place / "ada", "ada", "pitch", lab="loops"))
    function = replace(grade.exercises[4], points=5.0, on_trust=2)
    trusted = replace(grade, exercises=(*grade.exercises[:4], function, *grade.exercises[5:]))
    ran = replace(grade, exercises=tuple(replace(e, points=3.0) for e in grade.exercises))
    told = settled(trusted, ran)
    assert (told.exercises[4].points, told.exercises[4].on_trust) == (3.0, 0)
    assert told.exercises[:4] == grade.exercises[:4]
    assert told.points == sum(e.points for e in grade.exercises[:4]) + 3
