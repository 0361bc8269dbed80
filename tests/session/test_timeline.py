"""The network in motion, in a session: what is recorded, its question, progress, cancelling, what is refused."""

from __future__ import annotations

import json
import threading

import pytest
from session.conftest import Mirror
from session.test_precision import network
from waiting import until

from workbench.errors import UsageError
from workbench.log import Record
from workbench.runtime.execution import recorded_run
from workbench.runtime.networks.memory_map import memory_map
from workbench.session.panels import timeline
from workbench.session.panels.timeline import _timeline_table
from workbench.session.state.network_runs import BETWEEN, REST, SAME_SCHEDULE
from workbench.widgets.static_view import static_html


def shown(s):
    return s.snapshot().slices["timeline"]


def finished(s):
    until(lambda: not shown(s)["step"])
    return shown(s)


@pytest.fixture
def plain(monkeypatch):
    """No roofs are measured, and few runs."""
    real = recorded_run.record_in_turns
    monkeypatch.setattr(
        recorded_run, "record_in_turns", lambda networks, **more: real(networks, runs=2, roofline=False)
    )


def test_runs_by_tasks_before_and_after_tuning(session, plain, monkeypatch):
    s = session(network())
    mirror = Mirror(s)
    task = s.state.infos[0]
    line = {
        "status": "ok",
        "target": str(s.state.target),
        "task_key": task.key,
        "latency_ms": 0.1,
        "trace": [],
        "task": task.name,
        "trial": 0,
    }
    monkeypatch.setattr(timeline, "fastest", lambda state: [Record.from_json(line)])
    assert shown(s)["runs"] == []
    s.run("record_timeline")
    found = finished(s)
    assert found["error"] is None
    assert [r["name"] for r in found["runs"]] == ["default", "best"]
    assert found["runs"][1]["untuned"] < found["runs"][0]["untuned"]
    for run in found["runs"]:
        assert run["calls_ms"] + run["gaps_ms"] == pytest.approx(run["sum_ms"], rel=1e-3)
    assert sum(r["share"][1] for r in found["rows"]) == pytest.approx(1.0, abs=1e-3)
    for k, run in enumerate(found["runs"]):
        assert sum(r["ms"][k] for r in found["rows"]) == pytest.approx(run["sum_ms"], rel=1e-3)
        assert run["whole_spread"] is not None
    assert [bool(run["change"]) for run in found["runs"]] == [False, True]
    assert (found["rows"][-1]["id"] == BETWEEN) == found["runs"][0]["has_gaps"]
    changes = {r["id"]: r["change"] for r in found["rows"] if r["id"] != BETWEEN}
    tuned = s.state.infos.index(task)
    assert changes.pop(tuned) == "no difference shows", "two runs tell nothing"
    assert set(changes.values()) <= {SAME_SCHEDULE}
    assert {r["id"] for r in found["rows"]} - {REST, BETWEEN} <= {t["id"] for t in s.snapshot().slices["tasks"]["rows"]}
    assert {"first", "last"} <= set(found["nodes"])
    answer = json.loads(json.dumps(ask(s, number=found["runs"][1]["number"]), allow_nan=False))
    calls = len(answer["names"])
    assert len(answer["stamps"]) == calls + 1
    assert all(len(answer[name]) == calls for name in ("task", "gaps", "ms", "share", "bytes", "gflops", "roof"))
    assert [bool(why) for why in answer["above"]] == [bool(share and share > 1.0) for share in answer["roof_share"]]
    assert answer["memory"]["names"] == [h.name for h in memory_map(s.state.runs.answer[1].plan)]
    assert s.flush(100)
    assert mirror.agrees(s)
    assert "best" in static_html(s.snapshot().slices, "timeline")
    rows = _timeline_table(s.snapshot().slices, ())
    assert {"default_ms", "best_ms", "best_share", "best_gap"} <= rows[0].keys()
    assert {"change", "far"} <= rows[0].keys()
    assert (rows[-1]["task"] == "between kernels") == found["runs"][0]["has_gaps"]


def ask(s, **args):
    """The value of the answer; raises what was refused."""
    told = []
    s.ask("timeline", args, told.append)
    until(lambda: told)
    assert told[0]["ok"], told[0]["error"]["code"]
    return told[0]["value"]


def test_what_cannot_be_recorded(session, plain):
    s = session()
    assert shown(s) is None
    with pytest.raises(UsageError) as told:
        s.run("record_timeline")
    assert told.value.code == "session.no_model"
    with pytest.raises(AssertionError, match=r"session\.arguments"):
        ask(s, number=-1)


def test_cancelled_between_two_steps(session, monkeypatch):
    gate, begun = threading.Event(), threading.Event()

    def slow(networks, **more):
        raise AssertionError("it was cancelled before")

    monkeypatch.setattr(recorded_run, "record_in_turns", slow)
    real = timeline._Recording.step

    def step(self, what, at, of):
        real(self, what, at, of)
        begun.set()
        assert gate.wait(100)

    monkeypatch.setattr(timeline._Recording, "step", step)
    s = session(network())
    s.run("record_timeline")
    assert begun.wait(100)
    with pytest.raises(UsageError) as told:
        s.run("record_timeline")
    assert told.value.code == "session.busy"
    s.run("cancel_timeline")
    assert "Cancelling" in shown(s)["step"]
    gate.set()
    assert finished(s)["error"] is None
    assert shown(s)["runs"] == []
