"""The benchmark of operators: its cases are models, its answers are compared, a case runs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from tiers import first

pytest.importorskip("onnxruntime")

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def cases(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from operators import CASES

    return {c.name: c for c in CASES}


def test_the_cases_are_many_and_each_has_its_network(cases):
    assert len(cases) >= 160
    assert all(c.where for c in cases.values())
    graphs = [onnx.parser.parse_graph(f"g () => () {{ {c.text} }}") for c in cases.values()]
    assert len({n.op_type for g in graphs for n in g.node}) >= 90


@pytest.mark.parametrize("part", first(range(8)))
def test_the_cases_are_models(cases, part):
    for case in list(cases.values())[part::8]:
        model, feeds = case.make()
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        known = {*feeds, *(t.name for t in model.graph.initializer), ""}
        for node in model.graph.node:
            assert set(node.input) <= known, case.name
            known |= set(node.output)
        assert set(case.operands) <= {n for node in model.graph.node for n in node.input}, case.name


def test_a_wrong_answer_is_told(cases, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from bench_operators import difference

    def wrong(case, got, want):
        np.savez(tmp_path / "got.npz", **got)
        np.savez(tmp_path / "want.npz", **want)
        return difference(cases[case], tmp_path / "got.npz", tmp_path / "want.npz")

    y = np.array([1.0, np.nan, np.inf, -3.0], np.float32)
    i = np.arange(4)
    assert not wrong("Exp of 1 M", {"y": y * np.float32(1 + 1e-6)}, {"y": y})
    assert "off by" in wrong("Exp of 1 M", {"y": y + np.float32(1e-2)}, {"y": y})
    assert "off by" in wrong("Exp of 1 M", {"y": np.nan_to_num(y)}, {"y": y})
    assert "shape" in wrong("Exp of 1 M", {"y": y[:3]}, {"y": y})
    assert "shape" in wrong("Exp of 1 M", {"z": y}, {"y": y})
    assert "1 of 4" in wrong("TopK 5 of 1x1000", {"i": i}, {"i": np.array([0, 1, 2, 9])})


def test_a_case_runs_and_who_is_absent_is_told(tmp_path):
    script = [sys.executable, str(BENCHMARKS / "bench_operators.py"), "--only", "^LayerNormalization 128"]
    options = ["--seconds", "0.02", "--rounds", "1", "--skip", "openvino", "--json", str(tmp_path / "found.json")]
    options += ["--python", f"torch={sys.executable}"]
    done = subprocess.run([*script, *options], capture_output=True, text=True, check=False, timeout=120)
    assert not done.returncode, done.stderr
    (row,) = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert not row["errors"]
    assert row["ms"]["ours"] > 0
    assert row["ms"]["onnxruntime"] > 0
    assert row["ours_facts"]["host"] == []
    assert f"absent: {'none' if find_spec('torch') else 'torch'}" in done.stdout
