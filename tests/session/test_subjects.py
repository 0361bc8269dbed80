"""What a session can be opened on."""

from __future__ import annotations

import json

import pandas
import pytest
from session.conftest import Mirror, matmul, split

from workbench import Schedule, Session, Target, load_onnx, read_log, tune, workloads
from workbench.errors import LogError, ModelError, UsageError
from workbench.model_files.model_path import find_model
from workbench.session.state.trial_origin import BY
from workbench.target import Target as TargetType


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A small log of two matrix products."""
    path = tmp_path_factory.mktemp("log") / "two.tunelog.jsonl"
    tune([matmul(64), matmul(128)], trials=12, log=path).wait(120)
    return path


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: matmul(), "task"),
        (lambda: workloads.matmul(64, 64, 64), "task"),
        (lambda: [matmul(64), matmul(128)], "model"),
        (lambda: (t for t in [matmul(64)]), "task"),
        (lambda: Schedule(workloads.matmul(64, 64, 64)), "schedule"),
        (lambda: tune([matmul(64)], trials=2, start=False), "tuning"),
        (lambda: load_onnx(find_model("light_squeezenet")), "model"),
        (lambda: "light_squeezenet", "model"),
        (lambda: find_model("light_squeezenet"), "model"),
    ],
)
def test_subjects(session, make, kind):
    s = session(make())
    mirror = Mirror(s)
    slices = s.snapshot().slices
    assert slices["meta"]["kind"] == kind
    assert slices["meta"]["title"]
    assert slices["nest"]["rows"]
    assert len(slices["tasks"]["rows"]) == len(s.tasks)
    json.dumps(dict(slices), allow_nan=False)
    s.run("apply", step=split(s.snapshot().slices["selection"]["id"], None, 1))
    assert s.flush(100)
    assert mirror.agrees(s)


@pytest.mark.parametrize(
    "subject", [None, 3, [], [1], {"a": 1}, object(), b"x", pandas.DataFrame({"a": [1]}), Target, lambda: 1]
)
def test_anything_else_is_refused_in_words(subject):
    with pytest.raises(UsageError) as e:
        Session(subject)
    assert e.value.code == "workbench.subject"
    assert "Schedule" in e.value.hint


def test_wrong_files_and_arguments(tmp_path):
    with pytest.raises(ModelError):
        Session(str(tmp_path / "none.onnx"))
    with pytest.raises(LogError):
        Session(tmp_path / "none.tunelog.jsonl")
    with pytest.raises(UsageError):
        Session(matmul(), target="llvm")
    with pytest.raises(UsageError):
        Session(matmul(), log=3)


def test_a_model_shows_its_graph_and_its_tasks(session):
    s = session("light_squeezenet")
    graph, tasks = s.snapshot().slices["graph"], s.snapshot().slices["tasks"]
    assert graph["kernels"] >= sum(r["weight"] for r in tasks["rows"])
    s.run("open_task", task=2)
    assert s.snapshot().slices["head"]["name"] == tasks["rows"][2]["name"]
    assert s.task is s.tasks[2]


@pytest.mark.parametrize("how", ["path", "table"])
def test_a_log_is_read_only_and_says_what_it_lacks(session, log, how):
    s = session(log if how == "path" else read_log(log))
    slices = s.snapshot().slices
    assert slices["meta"]["kind"] == "log"
    assert slices["nest"] is slices["palette"] is None
    assert slices["status"]["note"]["code"] == "log.no_program"
    assert "model" in slices["status"]["note"]["hint"]
    assert sum(r["trials"] for r in slices["tasks"]["rows"]) == 12
    assert all(r["ms"] > 0 and r["spark"][-1] == r["ms"] for r in slices["tasks"]["rows"])
    for cmd, args in (
        ("apply", {"step": split("i", 2, 2)}),
        ("measure", {}),
        ("adopt", {}),
        ("tune", {}),
        ("undo", {}),
    ):
        with pytest.raises(UsageError) as e:
            s.run(cmd, **args)
        assert e.value.code == "session.no_program"
    s.run("open_task", task=0)
    s.run("dismiss")
    assert s.snapshot().slices["status"]["note"] is None
    assert len(s.state.stats.records) == 12
    assert s.state.infos[s.state.index].key == slices["tasks"]["rows"][0]["key"]


def test_a_model_with_its_log_can_adopt_at_once(session, log):
    s = session([matmul(64), matmul(128)], log=log)
    s.run("open_task", task=0)
    before = s.schedule
    assert s.snapshot().slices["tuning"]["best_ready"]
    by = BY.get(s.state.best(0).record.origin, "tuner")
    assert s.snapshot().slices["head"]["best_by"] == by
    s.run("adopt", task=0)
    history = s.snapshot().slices["history"]
    root, best = history["rows"]
    assert (root["by"], best["by"], best["parent"], best["edge"]) == ("hand", by, 0, "steps")
    assert best["steps"] == len(s.schedule.trace) > 1
    assert history["at"] == best["id"] == 1
    assert s.snapshot().slices["head"]["ms"] == s.snapshot().slices["head"]["best_ms"]
    tuning, best = s.snapshot().slices["tuning"], s.state.best(0).record
    assert (tuning["best_ready"], tuning["best_why"]) == (False, f"trial {best.trial} is already open")
    s.run("undo")
    assert not s.schedule.trace
    s.run("apply", step=split("k", None, 4))
    row = s.snapshot().slices["history"]["rows"][-1]
    assert (row["by"], row["parent"], row["edge"]) == ("hand", 0, "step")
    s.run("adopt", task=0)
    assert s.snapshot().slices["history"]["at"] == 1, "the branch is there already"
    assert s.schedule is before


def test_a_log_of_another_model_is_refused(log):
    with pytest.raises(LogError) as e:
        Session(matmul(32), log=log)
    assert e.value.code == "log.other_model"


def test_the_target_in_words(session):
    s = session(matmul(), target=TargetType("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=2))
    assert s.snapshot().slices["meta"]["target"] == "x86-64 · 2 threads · AVX2"


def test_a_table_without_rows_is_said_to_be_empty(session, log):
    table = read_log(log)
    note = session(table[table.latency_ms < 0]).snapshot().slices["status"]["note"]
    assert note["code"] == "log.empty"
    assert note["hint"]
