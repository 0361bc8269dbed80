"""A model for ranges of lengths, in a session: which kernels run which of them, against kernels of one length."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_padding import INT, model_of, node
from session.conftest import Mirror
from waiting import until

import workbench as wb
from workbench.errors import UsageError
from workbench.network import dynamic_table
from workbench.session.panels.lengths import _lengths_table
from workbench.widgets.export import made
from workbench.widgets.static_view import static_html

pytest.importorskip("onnx")


def ranged(*nodes):
    constants = {"w": np.full((4, 4), 0.5, np.float32), "last": INT([[-1] * 4])}
    used = {i for n in nodes for i in n.input}
    model = model_of(nodes, {"x": ["n", 4]}, {k: a for k, a in constants.items() if k in used})
    return wb.load_onnx(model, dynamic={"n": range(15, 19)})


def shown(s):
    return s.snapshot().slices["lengths"]


def finished(s):
    until(lambda: not shown(s)["step"])
    return shown(s)


def test_a_table_of_kernels_and_what_they_cost(session, monkeypatch):
    monkeypatch.setattr(dynamic_table, "milliseconds", lambda executable: executable.inputs[0].shape[0] / 10)
    s = session(ranged(node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])))
    mirror = Mirror(s)
    assert "lengths" in s.snapshot().slices["meta"]["panels"]
    assert shown(s)["ranges"] == [{"name": "n", "least": 15, "most": 18}]
    assert shown(s)["answer"] is None
    s.run("compare_lengths")
    with pytest.raises(UsageError) as told:
        s.run("compare_lengths")
    assert told.value.code == "session.busy"
    found = finished(s)
    assert found["error"] is None
    rows = found["answer"]["rows"]
    assert [(r["least"], r["most"]) for r in rows] == [([15], [15]), ([16], [16]), ([17], [18])]
    for row in rows:
        assert row["ms"] == pytest.approx(row["kernels"][0] / 10)
        assert row["fixed_ms"] == pytest.approx(row["least"][0] / 10)
    assert s.flush(100)
    assert mirror.agrees(s)
    page = static_html(s.snapshot().slices, "lengths")
    assert "17…18" in page
    table = _lengths_table(s.snapshot().slices, ())
    assert [r["n"] for r in table] == ["15", "16", "17…18"]
    assert table[2]["fixed_ms"] == pytest.approx(1.7)


@pytest.mark.filterwarnings("ignore::workbench.errors.ModelWarning")
def test_why_no_kernels_are_shared(session):
    s = session(ranged(node("GatherElements", ["x", "last"], ["y"], name="end")))
    s.run("compare_lengths")
    answer = finished(s)["answer"]
    assert answer["rows"] == []
    assert "there is no rule" in answer["reason"]
    assert "there is no rule" in static_html(s.snapshot().slices, "lengths")


def test_a_model_of_one_length_has_no_such_panel(session):
    s = session()
    assert shown(s) is None
    assert "lengths" not in s.snapshot().slices["meta"]["panels"]
    with pytest.raises(UsageError) as told:
        s.run("compare_lengths")
    assert told.value.code == "session.no_model"
    s.run("cancel_lengths")  # of nothing
    assert _lengths_table(s.snapshot().slices, ()) == []


def test_a_file_is_opened_with_its_lengths(session, tmp_path):
    path = tmp_path / "m.onnx"
    onnx = pytest.importorskip("onnx")
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])]
    onnx.save(model_of(nodes, {"x": ["n", 4]}, {"w": np.full((4, 4), 0.5, np.float32)}), path)
    s = session(str(path), dynamic={"n": range(15, 19)})
    assert shown(s)["ranges"] == [{"name": "n", "least": 15, "most": 18}]
    script = made(s, {"what": "network"}).text
    assert "dynamic={'n': range(15, 19)})" in script
    filled = wb.Session(str(path), dynamic={"n": (15, 17)}, fill_weights=3)
    try:
        graph = filled.state.opened.graph
        assert graph.dynamic == {"n": (15, 17)}
        assert graph.types["x"].shape == (17, 4)
    finally:
        filled.close()
    with pytest.raises(UsageError) as told:
        session(str(path), dynamic={"k": range(15, 19)})
    assert told.value.code == "usage.dynamic"
