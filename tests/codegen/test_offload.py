"""Quantised networks on the accelerator: which products it computes, and that the sums are NumPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.errors import LogError, ModelError, TargetError, WorkbenchError
from workbench.graph import Graph, Node, TensorType, run_reference
from workbench.graph.offloading import offloading
from workbench.graph.tasks import groups_alone
from workbench.target import Target

VTA = Target("vta")
rng = np.random.default_rng(5)


def conv(name: str, x: str, y: str, kernel: int, stride: int = 1, pads: int | None = None) -> Node:
    around = kernel // 2 if pads is None else pads
    attrs = {"kernel_shape": (kernel,) * 2, "strides": (stride,) * 2, "pads": (around,) * 4}
    return Node(name, "Conv", (x, f"{name}.w"), (y,), attrs)


def network() -> Graph:
    """Image of 3 channels -> 16 -> 32 with steps of 2 -> 48 -> their mean -> 16 classes; a branch of 1x1 beside."""
    shapes = {
        "first.w": (16, 3, 3, 3), "second.w": (32, 16, 3, 3), "beside.w": (32, 16, 1, 1), "third.w": (48, 32, 3, 3),
        "classes.w": (48, 16),
    }  # fmt: skip
    nodes = [
        conv("first", "x", "a", 3), Node("relu1", "Relu", ("a",), ("b",)),
        conv("second", "b", "c", 3, 2), conv("beside", "b", "d", 1, 2),
        Node("both", "Add", ("c", "d"), ("e",)), Node("relu2", "Relu", ("e",), ("f",)),
        conv("third", "f", "g", 3), Node("mean", "GlobalAveragePool", ("g",), ("h",)),
        Node("flat", "Flatten", ("h",), ("i",)), Node("classes", "MatMul", ("i", "classes.w"), ("y",)),
    ]  # fmt: skip
    weights = {n: (rng.standard_normal(s) / np.prod(s[1:]) ** 0.5).astype("float32") for n, s in shapes.items()}
    return Graph.make("small", nodes, {"x": TensorType((1, 3, 12, 10))}, ("y",), weights)


@pytest.fixture(scope="module")
def quantised() -> Graph:
    graph = network()
    samples = [{"x": rng.standard_normal((1, 3, 12, 10)).astype("float32")} for _ in range(3)]
    return wb.quantize(graph, samples, activations="int8")


def sums_equal_numpy(graph: Graph, target: Target, inputs: dict[str, np.ndarray]) -> int:
    """Every layer for the numbers that it gets in the network; returns how many there are."""
    mixed, found = wb.offload(graph, target), offloading(graph, target)
    layers = {n.name: n for n in mixed.graph.nodes if n.op == "Extern"}
    assert set(layers) == {layer.name for layer in mixed.layers}
    watched = [n.outputs[0] for n in found.nodes] + [n.inputs[0] for n in found.nodes]
    values = run_reference(found.graph.with_outputs(tuple(dict.fromkeys(watched))), inputs)
    for n in found.nodes:
        run = layers[n.name].attrs["implementation"].function
        (got,) = run(values[n.inputs[0]], found.graph.constants[n.inputs[1]])
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, values[n.outputs[0]])
    return len(layers)


def test_a_network_runs_with_its_products_there(quantised: Graph) -> None:
    mixed, x = wb.offload(quantised), {"x": rng.standard_normal((1, 3, 12, 10)).astype("float32")}
    np.testing.assert_array_equal(mixed.run(x)["y"], wb.compile(quantised).run(x)["y"])
    assert sums_equal_numpy(quantised, VTA, x) == 4
    table = mixed.explain()
    there = table[table.device == "vta"]
    assert len(there) == 4
    assert there.cycles.sum() == mixed.cycles == sum(layer.run.cycles for layer in mixed.layers)
    assert there.utilisation.between(0.01, 1).all()
    (why,) = [r for r in table[table.device != "vta"].reason if r]
    assert why == "3 inputs and 16 outputs are no multiples of 16 and 16"
    assert "4 of 5 products on vta" in repr(mixed)
    assert "3 inputs" in mixed._repr_html_()


def test_tasks_are_the_products_and_the_log_is_used(quantised: Graph, tmp_path: Path) -> None:
    log = str(tmp_path / "small.tunelog.jsonl")
    tasks = wb.extract_tasks(quantised, VTA)
    assert [t.weight for t in tasks] == [1, 1, 1, 1]
    session = wb.tune(quantised, target="vta", trials=6, log=log, seed=0)
    session.wait()
    known = {r.task_key for r in session.records if r.status == "ok"}
    plain, tuned = wb.offload(quantised), wb.offload(quantised, log=log)
    assert sum(layer.tuned for layer in tuned.layers) == len(known) > 0
    assert not any(layer.tuned for layer in plain.layers)
    x = {"x": rng.standard_normal((1, 3, 12, 10)).astype("float32")}
    np.testing.assert_array_equal(tuned.run(x)["y"], plain.run(x)["y"])
    other = str(tmp_path / "other.tunelog.jsonl")
    wb.tune(
        wb.workloads.matmul_int8(16, 16, 16, signed=True, constant_b=True), target="vta", trials=1, log=other
    ).wait()
    with pytest.raises(LogError):
        wb.offload(quantised, log=other)


def test_another_design_computes_other_products(quantised: Graph) -> None:
    x = {"x": rng.standard_normal((1, 3, 12, 10)).astype("float32")}
    with pytest.raises(TargetError, match="no multiples of 32 and 32"):
        wb.offload(quantised, "vta -gemm=1x32x32")
    assert sums_equal_numpy(quantised, Target("vta -gemm=1x8x8 -inp=2K -wgt=8K -acc=4K"), x) == 4
    tiny = wb.offload(quantised, "vta -inp=64 -wgt=256 -acc=64")
    assert len(tiny.layers) + len(tiny.refused) == 5
    np.testing.assert_array_equal(tiny.run(x)["y"], wb.compile(quantised).run(x)["y"])


@pytest.mark.parametrize("fill", [0, -7])
@pytest.mark.parametrize(("kernel", "stride", "pads"), [(3, 1, 1), (3, 2, 1), (5, 1, 2), (1, 1, 0), (3, 1, 0)])
def test_frames_of_any_number(fill: int, kernel: int, stride: int, pads: int) -> None:
    node = conv("c", "x", "y", kernel, stride, pads)
    node = Node("c", "ConvInteger", ("x", "c.w", "zero"), ("y",), node.attrs)
    weights = {"c.w": rng.integers(-128, 128, (16, 16, kernel, kernel)).astype("int8"), "zero": np.array(fill, "int8")}
    graph = Graph.make("one", [node], {"x": TensorType((2, 16, 7, 9), "int8")}, ("y",), weights)
    x = {"x": rng.integers(-128, 128, (2, 16, 7, 9)).astype("int8")}
    assert sums_equal_numpy(graph, VTA, x) == 1
    np.testing.assert_array_equal(wb.offload(graph).run(x)["y"], run_reference(graph, x)["y"])


def test_products_of_matrices_of_several_dimensions() -> None:
    weights = {"w": rng.integers(-128, 128, (32, 48)).astype("int8")}
    node = Node("m", "MatMulInteger", ("x", "w"), ("y",))
    graph = Graph.make("one", [node], {"x": TensorType((2, 6, 32), "int8")}, ("y",), weights)
    x = {"x": rng.integers(-128, 128, (2, 6, 32)).astype("int8")}
    np.testing.assert_array_equal(wb.offload(graph).run(x)["y"], run_reference(graph, x)["y"])


def test_what_stays_here_says_why(quantised: Graph) -> None:
    with pytest.raises(TargetError, match="float32") as error:
        wb.offload(network())
    assert error.value.code == "target.tasks"
    assert "quantize" in str(error.value.hint)
    unsigned = wb.quantize(network(), [{"x": np.ones((1, 3, 12, 10), "float32") * k} for k in (-1, 2)])
    with pytest.raises(TargetError, match="activations='int8'"):
        wb.offload(unsigned)
    with pytest.raises(TargetError) as error:
        wb.offload(quantised, "c")
    assert error.value.code == "target.network"
    with pytest.raises(ModelError) as model:
        wb.offload(quantised.optimize())
    assert model.value.code == "model.optimised"
    with pytest.raises(WorkbenchError) as whole:
        wb.compile(quantised, target="vta")
    assert "wb.offload" in str(whole.value.hint)
    assert {t.key for t in wb.extract_tasks(quantised.optimize(), VTA)} == {
        g.key for f in [offloading(quantised, VTA)] for g in groups_alone(f.graph, f.nodes)
    }


@pytest.mark.slow
def test_resnet_18_runs_with_all_but_its_first_and_last_products_there() -> None:
    graph = wb.zoo.get_network("resnet-18", size=64)
    (name,) = graph.inputs
    x = {name: rng.standard_normal(graph.types[name].shape).astype("float32")}
    ready = wb.quantize(graph, [x], activations="int8")
    mixed = wb.offload(ready)
    assert len(mixed.layers) == 20
    sizes = {why.partition(" are no")[0] for why in mixed.refused.values()}
    assert sizes == {"3 inputs and 64 outputs", "512 inputs and 1000 outputs"}
    np.testing.assert_array_equal(*(run(x)[graph.outputs[0]] for run in (mixed.run, wb.compile(ready).run)))
    assert sums_equal_numpy(ready, VTA, x) == len(mixed.layers)
