"""What every pass did to a graph, node by node, with a reason for each node."""

from __future__ import annotations

import json

from graph import small
from graph.nets import residual_net

from workbench.cli import main
from workbench.graph import explain, list_passes
from workbench.graph.passes import DEFAULT


def test_the_report_accounts_for_every_node():
    graph = residual_net()
    report = explain(graph)
    assert [p.name for p in report.passes] == list(DEFAULT)
    assert report.graph.history == graph.optimize().history
    nodes = {n.name for n in graph.nodes}
    for p in report.passes:
        assert p.nodes_after == p.nodes_before - p.count("removed") + p.count("added")
        nodes -= {c.node for c in p.changes if c.kind == "removed"}
        nodes |= {c.node for c in p.changes if c.kind == "added"}
        assert all(c.reason for c in p.changes)
    assert nodes == {n.name for n in report.graph.nodes}
    assert report.passes[-1].kernels == len(report.graph.groups) - 1  # the Reshape is a view


def test_a_pass_says_why_a_node_went():
    report = explain(residual_net(), ["fold_batch_norm"])
    (done,) = report.passes
    gone = {c.node: c for c in done.changes if c.kind == "removed"}
    assert set(gone) == {"n0", "n1"}
    assert gone["n0"].reason == "folded into the weights of Conv c0"
    changed = {c.node: c for c in done.changes if c.kind == "changed"}
    assert changed["c0"].before.startswith("t0 = Conv")
    assert changed["c0"].after.startswith("t1 = Conv")


def test_what_was_left_out_is_named():
    report = explain(residual_net(), without=["fuse", "simplify_views"])
    assert report.left_out == ("simplify_views", "fuse")
    assert len(report.graph.groups) == len(report.graph.nodes)


def test_as_text_as_json_and_in_a_notebook():
    report = explain(residual_net())
    text = str(report)
    assert text.startswith(f"residual: 20 -> {len(report.graph.nodes)} nodes in {report.passes[-1].kernels} kernels")
    assert "- t1 = BatchNormalization(" in text
    data = json.loads(json.dumps(report.to_json()))
    assert [p["name"] for p in data["passes"]] == list(DEFAULT)
    assert data["passes"][-1]["rules"]
    shown = report._repr_html_()
    assert "fold_batch_norm" in shown
    assert "BatchNormalization" in shown


def test_on_the_command_line(capsys):
    assert main(["passes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["passes"]
    assert [p["name"] for p in listed] == [p.name for p in list_passes()]
    assert main(["passes", "light_squeezenet", "--json", "--without", "fuse"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["left_out"] == ["fuse"]
    assert report["nodes_before"] > report["nodes_after"]


def test_nothing_to_do_is_said():
    report = explain(small.inner_value_is_an_output(), ["fold_batch_norm"])
    assert "nothing changed" in str(report)
    assert report.graph is report.before
