"""The model as a drawing and what the passes did to it, as questions; the slice says only that there is one."""

from __future__ import annotations

import json
import threading

import pytest
from graph.conftest import light_path

import workbench as wb
from workbench.analysis import network
from workbench.session.core.identity_cache import IdentityCache
from workbench.session.state import model_drawings as drawings


def asked(s, q, **args):
    """The answer to a question."""
    answers, came = [], threading.Event()
    s.ask(q, args, lambda message: (answers.append(message), came.set()))
    assert came.wait(60)
    return answers[0]


def value(s, q, **args):
    answer = asked(s, q, **args)
    assert answer["ok"], answer
    return answer["value"]


def kernels(graph):
    """Groups that compute or copy something: what only gives a tensor another shape is no kernel."""
    ops = {n.name: n.op for n in graph.nodes}
    views = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
    return sum(not {ops[name] for name in g.nodes} <= views for g in graph.groups)


@pytest.fixture(scope="module")
def squeezenet():
    s = wb.Session(light_path("squeezenet"), auto_measure=False)
    yield s
    s.close()


def test_the_slice_says_that_there_is_a_model(squeezenet, session):
    about = squeezenet.snapshot().slices["graph"]
    graph = squeezenet.state.opened.graph
    assert about == {"key": about["key"], "nodes": len(graph.nodes), "kernels": kernels(graph), "source": True}
    assert len(json.dumps(about)) < 120
    assert session().snapshot().slices["graph"] is None


def test_the_drawing_has_a_node_for_every_task(squeezenet):
    slices = squeezenet.snapshot().slices
    drawn = value(squeezenet, "graph", level="kernels", expanded=[])
    assert drawn["key"] == slices["graph"]["key"]
    assert set(drawn["task"]) - {None} == {r["id"] for r in slices["tasks"]["rows"]}
    assert drawn == network(squeezenet.state.opened.graph, squeezenet.tasks).columns()


def test_two_clicks_lead_from_a_node_to_its_schedule(squeezenet):
    drawn = value(squeezenet, "graph")
    task = next(t for t in drawn["task"] if t is not None)
    squeezenet.run("open_task", task=task)
    assert squeezenet.snapshot().slices["head"]["task"] == task
    assert squeezenet.snapshot().slices["nest"]["rows"]


def test_a_drawing_is_made_once(squeezenet, monkeypatch):
    made = []
    real = drawings.Drawings._draw

    def once(self, made_of, make):
        return real(self, made_of, lambda: made.append(made_of) or make())

    monkeypatch.setattr(drawings.Drawings, "_draw", once)
    squeezenet.state.drawings._drawn = IdentityCache(2)
    for level in ("kernels", "nodes", "kernels", "nodes"):
        value(squeezenet, "graph", level=level)
    assert len(made) == 2
    value(squeezenet, "graph", level="kernels", expanded=["fold:none:1"])
    value(squeezenet, "graph", level="nodes")
    assert len(made) == 3
    value(squeezenet, "graph", level="kernels")  # looked at longest ago
    assert len(made) == 4


def test_passes_and_both_sides_of_each(squeezenet):
    found = value(squeezenet, "passes")
    report = squeezenet.state.drawings.report()
    assert found["why"] == ""
    assert [(p["name"], p["before"], p["after"]) for p in found["passes"]] == [
        (p.name, p.nodes_before, p.nodes_after) for p in report.passes
    ]
    fuse = [p["name"] for p in found["passes"]].index("fuse")
    assert found["passes"][fuse]["kernels"] == kernels(report.graph) > 0
    changed = next(k for k, p in enumerate(found["passes"]) if p["removed"])
    before = value(squeezenet, "graph", **{"pass": changed, "side": "before"})
    assert sum(m["mark"] == "removed" for m in before["marks"]) == found["passes"][changed]["removed"]
    after = value(squeezenet, "graph", **{"pass": changed, "side": "after"})
    assert {"removed"} & {m["mark"] for m in after["marks"]} == set()


@pytest.mark.parametrize("options", [{}, {"without": "fuse"}, {"without": "layout"}])
def test_a_model_that_is_given_optimised_shows_the_passes_that_ran(session, options):
    graph = wb.load_onnx(light_path("squeezenet"))
    s = session(graph.optimize(**options))
    assert s.snapshot().slices["graph"]["source"] is True
    report = graph.explain(**options)
    assert [(p["name"], p["before"], p["after"]) for p in value(s, "passes")["passes"]] == [
        (p.name, p.nodes_before, p.nodes_after) for p in report.passes
    ]


def test_a_model_that_was_changed_after_its_passes_has_none_to_show(session):
    s = session(wb.load_onnx(light_path("squeezenet")).optimize().replace(name="another"))
    assert s.snapshot().slices["graph"]["source"] is False
    found = value(s, "passes")
    assert found["passes"] == []
    assert "optimize()" in found["why"]
    assert asked(s, "graph", **{"pass": 0})["error"]["code"] == "graph.optimised"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"level": "loops"}, "usage.level"),
        ({"expanded": "all"}, "session.arguments"),
        ({"pass": 99}, "usage.pass"),
        ({"pass": 0, "side": "inside"}, "usage.side"),
    ],
)
def test_what_cannot_be_drawn_is_told(squeezenet, args, code):
    assert asked(squeezenet, "graph", **args)["error"]["code"] == code


def test_without_a_model_there_is_nothing_to_draw(session):
    assert asked(session(), "graph")["error"]["code"] == "session.no_model"


def test_commands_are_answered_while_a_drawing_is_worked_out(squeezenet, monkeypatch):
    begun, gate = threading.Event(), threading.Event()

    def slow(self, level, expanded):
        begun.set()
        assert gate.wait(20)
        return {}

    monkeypatch.setattr(drawings.Drawings, "network", slow)
    answers = []
    squeezenet.ask("graph", {}, answers.append)
    assert begun.wait(20)
    squeezenet.run("open_task", task=1)
    assert answers == []
    gate.set()
    while not answers:
        squeezenet.flush(1)
    assert answers == [{"ok": True, "value": {}}]
