"""Variants outlive the kernel: a file holds all of them, and whatever is wrong with it is told."""

from __future__ import annotations

import json
import shutil

import pytest
from waiting import until

from workbench import Schedule, Target, Task, workloads
from workbench.errors import UsageError
from workbench.schedule import Hole
from workbench.session.state import results as measuring
from workbench.session.state.results import Result
from workbench.widgets import Workbench

HERE = Target.host(threads=1)


def tasks():
    return [Task.of_func(workloads.matmul(n, 64, 64), HERE) for n in (64, 32)]


@pytest.fixture
def opened(monkeypatch):
    """Opens workbenches that measure without a compiler, and closes them."""
    made = []
    monkeypatch.setattr(measuring, "measure", lambda view, *_: Result("ok", 1.0 + len(view.trace), 0.02, 3.0))
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)

    def make(subject, **options):
        made.append(Workbench(subject, auto_measure=False, **options))
        return made[-1]

    yield make
    for w in made:
        w.close()


def worked_on(w):
    w.schedule.split("i", [None, 8])
    w.measure()
    w.undo()
    w.schedule.split("j", [None, 16])
    w.schedule.unroll("j.1")
    w.name(3, "wide").star(1).goto(2)
    w.open_task(1).schedule.split("k", [None, Hole("tk")])
    w.open_default().open_task(0)
    return w


def seen(w):
    """What there is of each task, without what is worked out anew."""
    out = []
    for task in (0, 1):
        w.open_task(task)
        names = ("id", "parent", "edge", "text", "name", "star", "by", "trial", "holes", "ms", "spread")
        rows = [{name: row[name] for name in names} for row in w.session.snapshot().slices["history"]["rows"]]
        out.append((rows, w.variants.at, [w.variants[row["id"]].to_json() for row in rows]))
    w.open_task(0)
    return out


def test_everything_comes_back_after_the_kernel_was_restarted(opened, tmp_path):
    path = tmp_path / "mine.json"
    first = worked_on(opened(tasks(), variants=path))
    before = seen(first)
    assert [len(rows) for rows, _, _ in before] == [4, 3]
    assert before[0][0][1]["ms"] == 2.0
    first.session.flush(100)
    text = path.read_text()
    first.close()
    assert path.read_text() == text, "it is written as it goes, not at the end: a kernel that dies has no end"
    again = opened(tasks(), variants=path)
    assert seen(again) == before
    assert again.task.key == first.task.key
    assert again.session.snapshot().slices["status"]["note"] is None
    again.undo()
    again.schedule.split("k", [None, 4])
    until(lambda: len(json.loads(path.read_text())["tasks"][0]["nodes"]) == 5)
    assert again.variants.at == 4, "numbers are not given twice"


def test_they_are_taken_into_what_is_there(opened, tmp_path):
    path = tmp_path / "mine.json"
    worked_on(opened(tasks())).save_variants(path)
    other = opened(tasks()[0])
    other.schedule.split("j", [None, 16])
    other.name(1, "mine").load_variants(path)
    rows = {row["text"]: row for row in other.session.snapshot().slices["history"]["rows"]}
    assert len(rows) == 4
    wide = next(row for row in rows.values() if row["name"] == "wide")
    assert (wide["parent"], rows["split('j', [None, 16])"]["name"]) == (1, "mine")
    note = other.session.snapshot().slices["status"]["note"]
    assert note["text"].startswith("Variants of mine.json: 1 of its tasks are not here")
    assert "constants “shared”: they stand beside" in note["text"], "a task alone is timed with warm caches"
    assert all(row["ms"] is None for row in rows.values())
    shared = Schedule(tasks()[0], HERE)
    opened(shared).load_variants(path)
    assert not shared.trace, "what is shared with other cells stays where it is"


def test_steps_that_are_not_legal_any_more_are_left_out_with_what_came_of_them(opened, tmp_path):
    path = tmp_path / "mine.json"
    worked_on(opened(tasks())).save_variants(path)
    value = json.loads(path.read_text())
    value["tasks"][0]["nodes"][2]["trace"][0]["args"]["loop"] = "nobody"
    path.write_text(json.dumps(value))
    w = opened(tasks())
    w.load_variants(path)
    assert list(w.variants) == [0, 1]
    assert "2 variants have steps that are not legal any more" in w.session.snapshot().slices["status"]["note"]["text"]


def nodes(**changes):
    node = {"id": 0, "parent": None, "edge": "start", "by": "hand", "label": "", "name": "", "star": False,
            "trial": None, "trace": []}  # fmt: skip
    return json.dumps({"kind": "variants", "tasks": [{"key": "x", "nodes": [{**node, **changes}]}]})


def at(place):
    value = json.loads(nodes())
    value["tasks"][0]["at"] = place
    return json.dumps(value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "variants.missing"), ("", "variants.file"), ("[]", "variants.file"), ("{}", "variants.file"),
        ("[" * 100_000, "variants.file"), ('{"kind": "variants", "tasks": 5}', "variants.file"),
        (nodes(id="0"), "variants.file"), (nodes(id=1), "variants.file"), (nodes(by="me"), "variants.file"),
        (nodes(trace={}), "variants.file"), (nodes(ms=-1), "variants.file"), (nodes(label=None), "variants.file"),
        (nodes(edge=[]), "variants.file"), (nodes(ms=float("inf")), "variants.file"),
        (nodes(ms=10**400), "variants.file"), (at([]), "variants.file"), (at("0"), "variants.file"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_refused_with_a_code(opened, tmp_path, text, code):
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError) as e:
        opened(tasks()[0]).load_variants(path)
    assert e.value.code == code
    if text is not None:
        with pytest.raises(UsageError) as e:
            opened(tasks()[0], variants=path)
        assert path.read_text() == text, "it may be something else of theirs"


def test_a_place_where_nothing_can_be_written_is_refused_at_once(opened, tmp_path):
    with pytest.raises(UsageError) as e:
        opened(tasks()[0], variants=tmp_path / "nowhere" / "mine.json")
    assert e.value.code == "variants.unwritable"


def test_a_file_that_cannot_be_written_any_more_is_told_and_ends_nothing(opened, tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    w = opened(tasks()[0], variants=folder / "mine.json")
    w.schedule.split("j", [None, 16])
    w.session.flush(100)
    shutil.rmtree(folder)
    w.schedule.unroll("j.1")
    until(lambda: (w.session.snapshot().slices["status"]["note"] or {}).get("code") == "variants.unwritable")
    assert w.variants.at == 2
