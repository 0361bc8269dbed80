"""Progress and hand-ins: kept, restored, signed; and whatever is edited in them is seen."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import labs
from workbench.errors import InputError, UsageError
from workbench.labs.progress.journal import Event, Journal, canonical, first_seal, seal, signed

KEY = "a key of the course"
OPTIONS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def tile_rows(s, rows=8):
    _, i1 = s.split("i", [None, rows])
    s.reorder("i.0", "j", "k", i1)
    s.unroll(i1)


@pytest.fixture
def folder(tmp_path, no_clock):
    """Ada solves one exercise at the second attempt, looks at the solution of another and leaves the third."""
    labs.LabFile(student="Ada", course="HPC", key=KEY).write(tmp_path)
    lab = labs.open("tiling", folder=tmp_path)
    n = lab.traffic.setting["n"]
    right = n**3 * 4 / 2**20
    lab.traffic.predict(naive=f"{n * n * 4} bytes").check()
    lab.traffic.predict(naive=right, tiled=f"{right / 8} MiB").hint()
    tile_rows(lab.traffic.schedule)
    assert lab.traffic.check().solved
    lab.levels.solution().apply().check()
    assert "3 of 26 points" in str(lab.hand_in())
    return tmp_path


def test_what_is_handed_in_is_judged_as_it_was(folder):
    grade = labs.verify(folder / "tiling.handin.json")
    assert grade.genuine, grade.faults
    assert (grade.student, grade.course, grade.points, grade.possible) == ("Ada", "HPC", 3, 26)
    states = {e.name: (e.state, e.points, e.attempts, e.hints, e.solution) for e in grade.exercises}
    assert states == {
        "traffic": ("solved", 3, 2, 1, False),
        "levels": ("solution shown", 0, 1, 0, True),
        **dict.fromkeys(("tile", "edges", "repair", "fewest"), ("not attempted", 0, 0, 0, False)),
    }
    assert next(e.slips for e in grade.exercises if e.name == "traffic") == ("naive[0]",)
    assert json.loads(json.dumps(grade.to_json()))["genuine"]
    assert "solution shown" in grade._repr_html_()


def test_the_progress_file_gives_the_same_grade(folder):
    progress, handed_in = (labs.verify(folder / f"tiling.{kind}") for kind in ("progress.jsonl", "handin.json"))
    assert progress == handed_in


def test_a_lab_that_is_opened_again_goes_on(folder):
    lab = labs.open("tiling", folder=folder)
    assert (lab.traffic.state, lab.traffic.points, lab.levels.state) == ("solved", 3, "solution shown")
    assert "tiled = " in repr(lab.traffic)
    assert "Hint 2" in str(lab.traffic.hint())
    lab.traffic.predict(naive=1).check()
    assert lab.traffic.points == 3, "the best check counts"
    lab.hand_in()
    assert labs.verify(folder / "tiling.handin.json").genuine


def test_two_notebooks_write_one_chain(folder):
    one, other = (labs.open("tiling", folder=folder) for _ in range(2))
    for lab in (one, other, one):
        lab.edges.hint()
    one.hand_in()
    assert labs.verify(folder / "tiling.handin.json").genuine


def test_without_a_lab_file_nothing_is_written(tmp_path):
    lab = labs.open("tiling", folder=tmp_path)
    lab.traffic.predict(naive=3).check()
    assert not [*tmp_path.iterdir()]
    lab.hand_in()
    assert [p.name for p in tmp_path.iterdir()] == ["tiling.handin.json"]
    assert labs.verify(tmp_path / "tiling.handin.json").genuine


def test_hints_cost_what_the_settings_say(tmp_path, no_clock):
    labs.LabFile(student="Bo", settings={"hint_cost": 0.5, "solutions": False}).write(tmp_path)
    lab = labs.open("tiling", folder=tmp_path)
    lab.traffic.hint(2)
    tile_rows(lab.traffic.schedule)
    lab.traffic.check()
    assert lab.traffic.points == 0, "a point for the nest, less two hints of half a point"
    right = lab.traffic.setting["n"] ** 3 * 4 / 2**20
    lab.traffic.predict(naive=right, tiled=right / 8).check()
    lab.traffic.hint(3)
    assert lab.traffic.points == 2, "hints after the best check cost nothing"
    with pytest.raises(UsageError) as caught:
        lab.traffic.solution()
    assert caught.value.code == "lab.mode"
    lab.hand_in()
    grade = labs.verify(tmp_path / "tiling.handin.json")
    assert (grade.genuine, grade.points) == (True, 2)


def test_sizes_follow_from_the_name(tmp_path):
    sizes = set()
    for name in ("Ada", "Bo", "Cy", "Di", "Ed", "Flo"):
        labs.LabFile(student=name).write(tmp_path)
        lab = labs.open("tiling", folder=tmp_path / ".")
        assert lab.tile.setting == lab.repair.setting
        sizes.add(lab.traffic.setting["n"])
        (tmp_path / "tiling.progress.jsonl").unlink()
    assert sizes == {384, 448, 512}


# ------------------------------------------------------------------------------------------------------- what is edited


def leaves(data, path=()):
    """Paths of everything that is no list or object, and of what is empty."""
    if isinstance(data, dict | list) and data:
        for name, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, name))
    else:
        yield path


def put(data, path, value):
    for name in path[:-1]:
        data = data[name]
    data[path[-1]] = value


def get(data, path):
    for name in path:
        data = data[name]
    return data


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else 7


def resigned(data, key=KEY):
    body = {name: value for name, value in data.items() if name != "signature"}
    return {**body, "signature": signed(key, canonical(body))}


def resealed(data, key=KEY):
    """What who knows the key can do: every event and the whole are sealed anew."""
    before = first_seal(key, data["lab"], data["student"], data["course"])
    for line in data["events"]:
        body = {name: value for name, value in line.items() if name != "seal"}
        before = line["seal"] = seal(key, before, body)
    return resigned(data, key)


def judged(folder, data):
    path = folder / "edited.handin.json"
    path.write_text(json.dumps(data))
    return labs.verify(path)


def test_every_edit_is_seen(folder):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    paths = [path for path in leaves(whole) if path not in [("format",), ("lab",)]]
    assert len(paths) > 100
    for path in paths:
        edited = copy.deepcopy(whole)
        put(edited, path, other(get(whole, path)))
        assert not judged(folder, edited).genuine, path


def test_every_edit_that_is_signed_again_is_seen(folder):
    """Only what nothing depends on can be said otherwise: when it was made, and by which version."""
    whole = json.loads((folder / "tiling.handin.json").read_text())
    free = {("format",), ("lab",), ("made",), ("version",), ("signature",)}
    for path in leaves(whole):
        if path in free:
            continue
        edited = copy.deepcopy(whole)
        put(edited, path, other(get(whole, path)))
        assert not judged(folder, resigned(edited)).genuine, path


@pytest.mark.parametrize("change", ["remove", "move", "repeat", "damage"])
def test_events_cannot_be_taken_out_or_moved(folder, change):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    hint = next(k for k, line in enumerate(whole["events"]) if line["kind"] == "hint")
    line = whole["events"].pop(hint)
    if change != "remove":
        where = {"move": hint + 1, "repeat": hint, "damage": hint}[change]
        whole["events"][where:where] = {"move": [line], "repeat": [line, line], "damage": ["hint"]}[change]
    assert not judged(folder, resigned(whole)).genuine


def test_a_seal_of_half_a_character_is_seen(folder):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    whole["events"][0]["seal"] = "\ud800"
    assert not judged(folder, resigned(whole)).genuine


def test_points_that_the_work_does_not_give_are_not_given_even_with_the_key(folder):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    check = next(e for e in reversed(whole["events"]) if e["kind"] == "check" and e["exercise"] == "traffic")
    check["data"]["work"] = check["data"]["work"][:1]  # the split alone shares no load
    grade = judged(folder, resealed(whole))
    assert grade.points == 2
    assert any("Check 2 is said to be worth 3 points, and is worth 2" in fault for fault in grade.faults)


@pytest.mark.parametrize("name", ["Ada\nBob: 11 of 11 points", "\x1b[2J", "x" * 5000])
def test_a_name_that_cannot_stand_in_a_report(folder, name):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    with pytest.raises(InputError):
        judged(folder, resigned({**whole, "student": name}))


def test_somebody_elses_hand_in_is_not_ones_own(folder):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    grade = judged(folder, resigned({**whole, "student": "Bob"}))
    assert any("was changed" in fault for fault in grade.faults)


@OPTIONS
@given(data=st.data())
def test_steps_that_are_edited_at_random_are_judged_as_they_are(data, folder):
    """Who knows the key can write any steps: points are those of the nest that the steps make, or none."""
    whole = json.loads((folder / "tiling.handin.json").read_text())
    check = next(e for e in reversed(whole["events"]) if e["kind"] == "check" and e["exercise"] == "traffic")
    work = check["data"]["work"]
    path = data.draw(st.sampled_from([*leaves(work)]))
    put(
        work,
        path,
        data.draw(st.sampled_from([None, 1, 2, 4, 8, 16, 3, "i", "j", "i.1", "x", "", -1, 2.5, "vectorize"])),
    )
    grade = judged(folder, resealed(whole))
    n = labs.open("tiling", folder=folder).traffic.setting["n"]
    target = wb.Target(grade.target)
    try:
        func = wb.Schedule.from_json(wb.workloads.matmul(n, n, n), work, target).func
        loads = labs.count(func, target.lanes("float32")).loaded["B"]
    except wb.WorkbenchError:
        loads = n**3 * 4
    reached = loads <= n**3 * 4 / 8
    assert next(e.points for e in grade.exercises if e.name == "traffic") == 2 + reached
    assert reached or not grade.genuine


@OPTIONS
@given(
    st.binary(max_size=200) | st.dictionaries(st.text(max_size=9), st.integers()).map(lambda d: json.dumps(d).encode())
)
def test_any_file_is_a_hand_in_or_refused(folder, content):
    path = folder / "any.handin.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        labs.verify(path)
    assert caught.value.code == "lab.hand_in"


@OPTIONS
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x)
    ),
    st.sampled_from(["events", "exercises", "settings", "points", "target", "course"]),
)
def test_any_contents_are_judged_or_refused(folder, value, name):
    whole = json.loads((folder / "tiling.handin.json").read_text())
    try:
        grade = judged(folder, resigned({**whole, name: value}))
    except InputError:
        return
    assert not grade.genuine or value == whole[name]


def test_half_a_line_is_a_fault_and_ends_nothing(folder):
    path = folder / "tiling.progress.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    lab = labs.open("tiling", folder=folder)
    lab.traffic.hint()
    assert any("cannot be read" in fault for fault in labs.verify(path).faults)
    assert len(Journal(path, KEY, first_seal(KEY, "tiling", "Ada", "HPC")).events) >= 8


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(InputError) as caught:
        labs.read_hand_in(tmp_path / "none.json")
    assert caught.value.code == "lab.hand_in"
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError) as caught:
        labs.verify(tmp_path / "empty.jsonl")
    assert caught.value.code == "lab.progress"
    for content in ("[]", '{"student": 3}', '{"settings": {"hints": false}}', '{"settings": {"advice": 0}}', "{"):
        (tmp_path / "lab.json").write_text(content)
        with pytest.raises(InputError) as caught:
            labs.open("tiling", folder=tmp_path)
        assert caught.value.code == "lab.file"
    (tmp_path / "lab.json").unlink()
    (tmp_path / "lab.json").mkdir()
    with pytest.raises(InputError, match=r"lab\.json"):
        labs.open("tiling", folder=tmp_path)


def test_an_event_is_in_the_file_when_it_has_happened(tmp_path):
    journal = Journal(tmp_path / "x.jsonl", "", "")
    journal.append(Event("hint", "traffic", {"number": 1}))
    assert len((tmp_path / "x.jsonl").read_text().splitlines()) == 1
    with pytest.raises(InputError) as caught:
        Journal(tmp_path, "", "").append(Event("solution", "traffic"))
    assert caught.value.code == "lab.progress"


def test_a_lab_that_there_is_not():
    with pytest.raises(UsageError) as caught:
        labs.open("tilling")
    assert caught.value.code == "lab.unknown"
    assert "tiling" in caught.value.hint


ACTIONS = st.lists(
    st.sampled_from(
        [
            "right",
            "wrong",
            "half",
            "take back",
            "hint",
            "solution",
            "check",
            "steps",
            "few",
            "undo",
            "reset",
            "rebound",
            "open",
        ]
    ),
    max_size=12,
)


@OPTIONS
@given(actions=ACTIONS, cost=st.sampled_from([0.0, 0.25, 2.0]))
def test_whatever_a_student_does_is_judged_the_same_again(actions, cost, tmp_path_factory, no_clock):
    """The points that the student saw are those that the lecturer's replay gives, and nothing looks like an edit."""
    folder = tmp_path_factory.mktemp("student")
    labs.LabFile(student="Cy", key=KEY, settings={"hint_cost": cost}).write(folder)
    lab = labs.open("tiling", folder=folder)
    n, seen = lab.traffic.setting["n"], 0.0
    right = n**3 * 4 / 2**20
    for action in actions:
        one = lab.traffic
        if action in ("right", "wrong", "half", "take back"):
            naive, tiled = {"right": (right, right / 8), "wrong": ("3 GB", 2), "half": (right, 2)}.get(
                action, (None, None)
            )
            one.predict(naive=naive, tiled=tiled)
        elif action in ("hint", "solution", "check", "reset"):
            getattr(one, action)()
        elif action in ("steps", "few"):
            tile_rows(one.reset().schedule, 8 if action == "steps" else 2)
        elif action == "undo" and one.schedule.trace:
            one.schedule.undo()
        elif action == "rebound":
            s = wb.Schedule(wb.workloads.matmul(n, n, n), lab.target)
            tile_rows(s, 16)
            one.check(s)
        elif action == "open":
            lab = labs.open("tiling", folder=folder)
        assert lab.points >= seen, "points are never taken away"
        seen = lab.points
    lab.hand_in()
    grade = labs.verify(folder / "tiling.handin.json")
    assert grade.genuine, grade.faults
    assert grade.points == seen
    assert [(e.name, e.state, e.attempts) for e in grade.exercises] == [
        (a.exercise.name, a.state, a.attempts) for a in lab
    ]
