"""The precisions of a model side by side, in a session: progress, the answer by tasks, cancelling, what is refused."""

from __future__ import annotations

import json
import threading

import numpy as np
import pandas
import pytest
from session.conftest import Mirror
from session.test_precision import network
from waiting import until

import workbench as wb
from workbench.errors import ModelError, UsageError
from workbench.graph import Graph, Node, TensorType
from workbench.network import precisions
from workbench.session.panels.precision import _precision_table
from workbench.session.state.precision_check import REST, TOO_LARGE, answer_of
from workbench.widgets.static_view import static_html


def shown(s):
    return s.snapshot().slices["precision"]


def finished(s):
    until(lambda: not shown(s)["step"])
    return shown(s)


def test_an_answer_by_tasks(session, monkeypatch):
    real = precisions.time_in_turns
    monkeypatch.setattr(precisions, "time_in_turns", lambda job: real(precisions.NetworkJob(job.plans, 0.05)))
    s = session(network())
    mirror = Mirror(s)
    assert shown(s) == {"step": "", "at": 0, "of": 0, "error": None, "answer": None}
    s.run("compare_precisions")
    with pytest.raises(UsageError) as told:
        s.run("compare_precisions")
    assert told.value.code == "session.busy"
    found = finished(s)
    assert found["error"] is None
    answer = found["answer"]
    assert answer["made"] == ["float32", "bfloat16", "int8"]
    assert answer["random"]
    whole = {r["precision"]: r for r in answer["precisions"]}
    assert 0 < whole["bfloat16"]["error"] < whole["int8"]["error"] < 1
    tasks = [r for r in answer["rows"] if r["id"] != REST]
    assert [r["id"] for r in tasks] == [t["id"] for t in s.snapshot().slices["tasks"]["rows"]]
    assert sum(r["bytes"][0] or 0 for r in answer["rows"]) == whole["float32"]["bytes"]
    for row in tasks:
        assert row["error"][0] is None
        assert 0 < row["error"][1] < row["error"][2]
    names = {n.name for n in s.state.opened.graph.nodes}
    assert set(answer["nodes"]["bfloat16"]) <= names
    assert answer["nodes"]["bfloat16"]["last"] == pytest.approx(whole["bfloat16"]["error"])
    assert s.flush(100)
    assert mirror.agrees(s)
    steps = {m["ops"]["precision"]["~"]["rest"].get("step") for m in mirror.messages
             if "~" in m.get("ops", {}).get("precision", {})}  # fmt: skip
    assert "Compiling int8" in steps or "Timing all of them in turns" in steps
    page = static_html(s.snapshot().slices, "precision")
    assert "bfloat16" in page
    assert "random numbers" in page
    rows = _precision_table(s.snapshot().slices, ())
    assert rows[0]["task"] == s.snapshot().slices["tasks"]["rows"][0]["name"]
    assert {"float32_ms", "int8_error", "bfloat16_bytes"} <= rows[0].keys()


@pytest.fixture
def slow(monkeypatch):
    """A comparison that takes two steps, and waits before the second."""
    gate, begun = threading.Event(), threading.Event()

    def compare(graph, samples=None, *, target, progress):
        progress("First", 1, 2)
        begun.set()
        assert gate.wait(100)
        progress("Second", 2, 2)
        raise ModelError("model.unsupported_op", "There is an operator too many", ("n",), "leave it out")

    monkeypatch.setattr(precisions, "compare_precisions", compare)
    yield gate, begun
    gate.set()


def test_it_ends_after_the_step_when_cancelled(session, slow):
    gate, begun = slow
    s = session(network())
    s.run("compare_precisions")
    assert begun.wait(100)
    until(lambda: shown(s)["step"] == "First")
    s.run("cancel_precisions")
    assert "Cancelling" in shown(s)["step"]
    gate.set()
    assert finished(s)["error"] is None
    s.run("cancel_precisions")  # of nothing


def test_why_there_is_no_answer(session, slow):
    slow[0].set()
    s = session(network())
    s.run("compare_precisions")
    error = finished(s)["error"]
    assert (error["code"], error["hint"]) == ("model.unsupported_op", "leave it out")
    assert static_html(s.snapshot().slices, "precision")


def test_a_session_that_closes_does_not_wait(session, slow):
    gate, begun = slow
    s = session(network())
    s.run("compare_precisions")
    assert begun.wait(100)
    s.close()
    gate.set()


def test_what_cannot_be_compared(session):
    s = session()
    assert shown(s) is None
    assert "precision" not in s.snapshot().slices["meta"]["panels"]
    with pytest.raises(UsageError) as told:
        s.run("compare_precisions")
    assert told.value.code == "session.no_model"
    optimised = network().optimize()
    s = session(optimised.with_outputs(optimised.outputs))
    if s.state.opened.graph.origin is None:
        with pytest.raises(UsageError) as told:
            s.run("compare_precisions")
        assert told.value.code == "graph.optimised"


def test_a_node_has_the_error_of_no_later_one():
    graph = Graph.make("net", [Node("fold", "Reshape", ("x", "s"), ("y.2d",)), Node("last", "Relu", ("y.2d",), ("y",)),
                               Node("move", "Transpose", ("y",), ("y.moved",))],
                       {"x": TensorType((2, 3))}, ("y.moved",), {"s": np.array([3, 2])})  # fmt: skip
    table = pandas.DataFrame({"tensor": ["y"], "relative": [0.5]})
    assert precisions._node_errors(graph, table) == {"last": 0.5, "move": 0.5}


def test_numbers_that_are_none_travel():
    graph = network().optimize()
    table = wb.network.precisions.Precisions(
        [{"kernel": "last", "float32_ms": np.nan, "int8_ms": 1.0, "float32_bytes": 8, "int8_bytes": 2.0,
          "int8_error": np.inf},
         {"kernel": "odd", "float32_ms": 2.0, "int8_ms": np.nan, "float32_bytes": 4, "int8_bytes": np.nan,
          "int8_error": np.nan}]
    )  # fmt: skip
    table.attrs.update(
        network=[{"precision": "float32", "ms": np.nan, "error": 0.0, "first_above": "", "bytes": 12, "weights": 1,
                  "note": ""}, {"precision": "int8", "ms": 1.0, "error": np.inf, "first_above": "u", "bytes": 2,
                  "weights": 1, "note": ""}, {"precision": "bfloat16", "note": "no"}],
        nodes={"int8": {"last": np.inf, "first": np.nan}}, random=False, bound=0.1,
    )  # fmt: skip
    found = json.loads(json.dumps(answer_of(table, graph, [["last"]]), allow_nan=False))
    assert found["made"] == ["float32", "int8"]
    assert found["rows"] == [
        {"id": 0, "kernels": 1, "ms": [None, 1.0], "bytes": [8, 2], "error": [None, TOO_LARGE]},
        {"id": REST, "kernels": 1, "ms": [2.0, None], "bytes": [4, None], "error": [None, None]},
    ]
    assert found["nodes"] == {"int8": {"last": TOO_LARGE, "first": None}}
    assert found["precisions"][2] == {
        "precision": "bfloat16", "ms": None, "error": None, "first_above": "", "bytes": None, "weights": None,
        "note": "no",
    }  # fmt: skip
