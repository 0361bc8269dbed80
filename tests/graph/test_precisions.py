"""Precisions side by side: times, errors and bytes of each kernel and of the network."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.errors import UsageError
from workbench.graph import Graph, Node, TensorType


def network(name="y"):
    rng = np.random.default_rng(0)
    shapes = {"w": (32, 16, 3, 3), "u": (32, 32, 3, 3), "v": (16, 32, 1, 1)}
    weights = {n: (0.1 * rng.standard_normal(s)).astype("f4") for n, s in shapes.items()}
    pads = {"pads": (1, 1, 1, 1)}
    nodes = [
        Node("first", "Conv", ("x", "w"), ("a",), pads), Node("relu", "Relu", ("a",), ("b",)),
        Node("second", "Conv", ("b", "u"), ("c",), pads), Node("relu2", "Relu", ("c",), ("d",)),
        Node("last", "Conv", ("d", "v"), (name,)),
    ]  # fmt: skip
    return Graph.make("net", nodes, {"x": TensorType((1, 16, 12, 12))}, (name,), weights)


@pytest.fixture(scope="module")
def table():
    return wb.compare_precisions(network(), seconds=0.2)


def test_every_precision_has_times_errors_and_bytes(table):
    assert {f"{p}_ms" for p in ("float32", "bfloat16", "int8")} < set(table.columns)
    assert "float32_error" not in table.columns
    whole = {r["precision"]: r for r in table.attrs["network"]}
    assert whole["float32"]["error"] == 0
    assert 0 < whole["bfloat16"]["error"] < whole["int8"]["error"] < 0.2
    emulated = "emulated" in whole["bfloat16"]["note"]
    bfloat16 = whole["float32" if emulated else "bfloat16"]["weights"]
    assert whole["int8"]["weights"] < bfloat16 == whole["bfloat16"]["weights"] <= whole["float32"]["weights"]
    assert emulated or bfloat16 < whole["float32"]["weights"]
    assert all(r["ms"] > 0 and r["bytes"] > 0 for r in whole.values())
    assert (table["float32_ms"].dropna() > 0).all()
    assert table["float32_bytes"].sum() == whole["float32"]["bytes"]
    assert table["bfloat16_error"].notna().any()
    assert table["int8_error"].notna().any()


def test_the_error_is_that_of_running_both(table):
    graph = network()
    samples = [{"x": np.random.default_rng(3).standard_normal((1, 16, 12, 12)).astype("f4")}]
    found = wb.compare_precisions(graph, samples, precisions=["bfloat16"], seconds=0.1)
    exact = wb.compile(graph).run(samples[0])["y"].astype("f8")
    rounded = wb.compile(graph, precision="bfloat16").run(samples[0])["y"].astype("f8")
    error = np.sqrt(((exact - rounded) ** 2).sum() / (exact**2).sum())
    assert found.attrs["network"][1]["error"] == pytest.approx(error, rel=1e-4)
    assert not found.attrs["random"]
    assert "random" not in repr(found)
    assert "int8_ms" not in found


def test_what_is_shown(table):
    for text in (repr(table), table._repr_html_()):
        assert "random numbers" in text
        assert all(p in text for p in ("float32", "bfloat16", "int8"))
    assert type(table[table["float32_ms"] > 0]).__name__ == "DataFrame"
    hostile = wb.compare_precisions(network("<img src=x>"), precisions=[], seconds=0.1)
    assert "<img" not in hostile._repr_html_()
    assert [r["precision"] for r in hostile.attrs["network"]] == ["float32"]


def test_a_precision_that_does_not_go_says_why():
    graph = Graph.make("sums", [Node("add", "Add", ("x", "x"), ("y",))], {"x": TensorType((8,))}, ("y",), {})
    found = wb.compare_precisions(graph, precisions=["int8"], seconds=0.1)
    _, row = found.attrs["network"]
    assert "model.nothing_to_quantise" in row["note"]
    assert len(str(found).splitlines()[0]) < 80  # a long note does not widen the table
    assert "nothing_to_quantise" in found._repr_html_()


def test_what_moves_a_result_of_bytes_is_part_of_the_product_that_makes_it():
    draw = np.random.default_rng(0)
    nodes = [Node("conv", "Conv", ("x", "w"), ("c",), {}), Node("softmax", "Softmax", ("c",), ("y",), {"axis": 1})]
    w = draw.standard_normal((64, 64, 3, 3)).astype(np.float32)
    graph = Graph.make("one", nodes, {"x": TensorType((1, 64, 28, 28))}, ("y",), {"w": w})
    found = wb.compare_precisions(graph, precisions=["int8"], seconds=0.1).set_index("kernel")["int8_bytes"]
    assert found["conv"] > 0
    assert np.isnan(found.get("c.Transpose", np.nan))


def test_an_unknown_precision_is_refused():
    with pytest.raises(UsageError) as told:
        wb.compare_precisions(network(), precisions=["float12"])
    assert told.value.code == "usage.precision"


def test_accuracy_of_random_inputs_says_so():
    table = wb.accuracy(network(), "bfloat16")
    assert table.attrs["random"]
    html = table._repr_html_()
    assert "8 random inputs" in html
    assert "output" in html
    low = wb.accuracy(network("<b>"), "bfloat16", bound=1e-9)
    assert "above the bound" in low._repr_html_()
    assert "&lt;b&gt;" in low._repr_html_()


def test_kernels_without_an_undisturbed_turn_have_no_time_and_say_so(monkeypatch):
    from dataclasses import replace

    from workbench.network import precisions
    from workbench.runtime.execution.alternating_runs import time_in_turns

    monkeypatch.setattr(
        precisions, "time_in_turns", lambda job: tuple(replace(t, rounds_ms=()) for t in time_in_turns(job))
    )
    found = wb.compare_precisions(network(), precisions=[], seconds=0.1)
    assert found["float32_ms"].isna().all()
    assert "disturbed every turn" in found.attrs["network"][0]["note"]
    assert "disturbed every turn" in found._repr_html_()
