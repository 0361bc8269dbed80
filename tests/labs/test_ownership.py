"""Whose progress it is: names that come late, names that a grader takes away, work of somebody else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workbench import labs
from workbench.errors import InputError
from workbench.labs.progress.journal import canonical, signed

COURSE = labs.LabFile(course="Schedules", key="key of the course")
ADA = replace(COURSE, student="ada")


def traffic_done(folder):
    lab = labs.open("tiling", folder=folder)
    loads = 4 * lab.traffic.setting["n"] ** 3
    lab.traffic.predict(naive=f"{loads} B", tiled=f"{loads // 8} B").check()
    return lab


def test_a_name_that_is_written_after_a_first_look_is_taken(tmp_path):
    COURSE.write(tmp_path)
    labs.open("tiling", folder=tmp_path)
    ADA.write(tmp_path)
    assert traffic_done(tmp_path).student == "ada"
    assert labs.verify(tmp_path / "tiling.progress.jsonl").genuine


@pytest.mark.parametrize(("before", "after"), [("", "ada"), ("ada", "eve")])
def test_work_under_another_name_is_told_where_it_happens(tmp_path, before, after):
    replace(COURSE, student=before).write(tmp_path)
    traffic_done(tmp_path)
    replace(COURSE, student=after).write(tmp_path)
    with pytest.raises(InputError, match=f"that of {before or 'nobody'!r}".replace("'nobody'", "nobody")) as told:
        labs.open("tiling", folder=tmp_path)
    assert told.value.code == "lab.progress"
    assert after in told.value.message
    replace(COURSE, student=before).write(tmp_path)
    assert labs.open("tiling", folder=tmp_path).points == 2


@pytest.mark.parametrize("hub", ["", "lecturer"])
def test_a_grader_that_takes_the_name_away_changes_neither_sizes_nor_points(tmp_path, monkeypatch, hub):
    ADA.write(tmp_path)
    sizes = traffic_done(tmp_path).traffic.setting["n"]
    COURSE.write(tmp_path)  # what nbgrader does before it runs a submission
    monkeypatch.setenv("JUPYTERHUB_USER", hub)
    again = labs.open("tiling", folder=tmp_path)
    assert (again.student, again.traffic.setting["n"]) == ("ada", sizes)
    assert labs.judged(again, "traffic") == 2
    assert labs.verify(tmp_path / "tiling.progress.jsonl").student == "ada"


def test_the_hub_knows_who_has_no_name(tmp_path, monkeypatch):
    COURSE.write(tmp_path)
    monkeypatch.setenv("JUPYTERHUB_USER", "grace")
    lab = traffic_done(tmp_path)
    assert lab.student == "grace"
    lab.hand_in()
    monkeypatch.setenv("JUPYTERHUB_USER", "lecturer")
    for name in ("tiling.handin.json", "tiling.progress.jsonl"):
        grade = labs.verify(tmp_path / name)
        assert (grade.student, grade.faults) == ("grace", ())


def test_the_key_is_found_above_and_without_one_nobody_is_accused(tmp_path):
    work = tmp_path / "class" / "ada"
    work.mkdir(parents=True)
    ADA.write(work)
    traffic_done(work).hand_in()
    (work / "lab.json").unlink()
    told = labs.verify(work / "tiling.handin.json")
    assert told.faults == ("Seals cannot be checked: no lab.json with a key is beside it or above it.",)
    assert told.points == 2
    COURSE.write(work.parent)
    assert labs.verify(work / "tiling.handin.json").genuine
    assert labs.verify(work / "tiling.progress.jsonl").genuine


def test_lost_progress_is_taken_up_from_the_hand_in(tmp_path):
    ADA.write(tmp_path)
    traffic_done(tmp_path).hand_in()
    progress = tmp_path / "tiling.progress.jsonl"
    progress.unlink()
    again = labs.open("tiling", folder=tmp_path)
    assert again.points == 2
    again.hand_in()
    assert labs.verify(tmp_path / "tiling.handin.json").genuine
    assert labs.verify(progress).genuine
    progress.unlink()
    (tmp_path / "tiling.handin.json").write_text("{")
    with pytest.raises(InputError, match="no hand-in"):
        labs.open("tiling", folder=tmp_path)


def test_a_hand_in_of_another_lab_is_not_taken_up(tmp_path):
    ADA.write(tmp_path)
    traffic_done(tmp_path).hand_in()
    (tmp_path / "tiling.handin.json").rename(tmp_path / "vectors.handin.json")
    assert labs.open("vectors", folder=tmp_path).points == 0


def test_another_s_hand_in_is_not_taken_up(tmp_path):
    ADA.write(tmp_path)
    traffic_done(tmp_path).hand_in()
    (tmp_path / "tiling.progress.jsonl").unlink()
    replace(COURSE, student="eve").write(tmp_path)
    with pytest.raises(InputError, match="'ada'"):
        labs.open("tiling", folder=tmp_path)


def test_a_hand_in_of_another_edition_of_the_lab_says_so_and_nothing_else(tmp_path):
    ADA.write(tmp_path)
    traffic_done(tmp_path).hand_in()
    file = tmp_path / "tiling.handin.json"
    data = json.loads(file.read_text())
    del data["signature"]
    data["exercises"]["lanes"] = data["exercises"].pop("traffic")
    file.write_text(json.dumps({**data, "signature": signed(COURSE.key, canonical(data))}))
    (fault,) = labs.verify(file).faults
    assert "other exercises or points" in fault
