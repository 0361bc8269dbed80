"""A precision of a model that is opened or tuned: one option with one meaning; peaks of what its tasks multiply."""

from __future__ import annotations

from contextlib import closing

import pytest

import workbench as wb
from workbench import Target, workloads
from workbench.errors import UsageError
from workbench.graph import Graph, Node, TensorType
from workbench.session import Session

TARGET = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -threads=1")


def network(n=32):
    import numpy as np

    weights = {"w": np.random.default_rng(0).standard_normal((n, n)).astype("f4")}
    nodes = [Node("first", "MatMul", ("x", "w"), ("y",)), Node("last", "MatMul", ("y", "w"), ("u",))]
    return Graph.make("net", nodes, {"x": TensorType((n, n))}, ("u",), weights)


def test_tasks_of_a_session_are_those_that_compiling_needs():
    keys = {t.key for t in wb.extract_tasks(network().optimize(precision="bfloat16"), TARGET)}
    with closing(Session(network(), target=TARGET, precision="bfloat16")) as s:
        assert {t.key for t in s.tasks} == keys
    here = {t.key for t in wb.extract_tasks(network().optimize(precision="bfloat16"))}
    tuning = wb.tune(network(), precision="bfloat16", target=Target.host(), trials=1, start=False)
    assert {t.key for t in tuning.tasks} == here


def test_what_has_its_types_already_refuses_a_precision():
    func = workloads.matmul(8, 8, 8)
    with pytest.raises(UsageError) as told:
        wb.tune(func, precision="bfloat16", start=False)
    assert told.value.code == "usage.precision"
    with pytest.raises(UsageError) as told:
        Session(func, precision="bfloat16")
    assert told.value.code == "usage.option"
    with pytest.raises(UsageError) as told:
        Session(network(), precision="float12")
    assert told.value.code == "usage.precision"
    with pytest.raises(UsageError) as told:
        wb.tune(network().optimize(), precision="bfloat16", start=False)
    assert told.value.code == "usage.precision"


def test_a_task_is_compared_with_the_peak_of_what_it_multiplies(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    monkeypatch.setattr(Target, "stored_peaks", lambda self, threads: {"bfloat16": 1000.0})
    with closing(Session(network(), target=TARGET, precision="bfloat16")) as s:
        slices = s.snapshot().slices
        assert slices["meta"]["peaks"] == {"bfloat16": 1000.0}
        assert slices["meta"]["peak_gflops"] == 100.0
        row = next(r for r in slices["tasks"]["rows"] if "matmul" in r["name"])
        assert row["product"] == "bfloat16"
        assert s.state.peak_for(row["id"]) == 1000.0
        s.run("open_task", task=row["id"])
        assert s.snapshot().slices["head"]["product"] == "bfloat16"
    with closing(Session(network(), target=TARGET)) as s:
        assert "product" not in s.snapshot().slices["tasks"]["rows"][0]
        assert s.state.peak_for(0) == 100.0
