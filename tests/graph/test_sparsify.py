"""`wb.sparsify`: which products become sparse is measured, here by a clock of the test; what they compute is not."""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
from graph.checks import kept

import workbench as wb
from workbench.cli import main
from workbench.errors import ModelError, UsageError
from workbench.graph import Graph, Node, TensorType
from workbench.graph.onnx.writer import to_onnx
from workbench.network import sparsify as module


@pytest.fixture
def clock(monkeypatch):
    """Milliseconds of both kernels, as the test says."""
    times = {"dense": 2.0, "sparse": 1.0}

    def in_turns(runs, seconds):
        for run in runs.values():
            run()
        return {name: times[name] for name in runs}

    monkeypatch.setattr(module, "in_turns", in_turns)
    return times


def net(rng, batch=5):
    """Products in the forms that models have, with a bias, and one that cannot be cut into blocks."""
    shapes = {"w1": (40, 64), "w2": (32, 64), "w3": (32, 21), "b1": (64,), "b2": (32,)}
    constants = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    nodes = [
        Node("one", "MatMul", ("x", "w1"), ("a",)),
        Node("bias", "Add", ("a", "b1"), ("b",)),
        Node("relu", "Relu", ("b",), ("c",)),
        Node("two", "Gemm", ("c", "w2", "b2"), ("d",), {"transB": 1}),
        Node("three", "MatMul", ("d", "w3"), ("y",)),
        Node("scaled", "Gemm", ("d", "w3"), ("z",), {"alpha": 2.0}),
    ]
    return Graph.make("net", nodes, {"x": TensorType((batch, 40))}, ["y", "z"], constants)


@pytest.mark.parametrize(("block", "sparsity"), [((16, 1), 0.9), ((8, 4), 0.5), ((32, 2), 0.75)])
def test_the_largest_blocks_are_kept(clock, block, sparsity):
    graph = net(np.random.default_rng(1))
    done = wb.sparsify(graph, sparsity, block)
    width, rows = block
    for node, axis in (("one", 0), ("two", 1)):
        old, new = (g.constants[g.node(node).inputs[1]] for g in (graph, done))
        old, new = (w if axis == 0 else w.T for w in (old, new))
        for start in range(0, old.shape[1], width):
            strips = (w[:, start : start + width].reshape(-1, rows * width) for w in (old, new))
            before, after = strips
            alive = after.any(1)
            assert alive.sum() == round((1 - sparsity) * len(before))
            assert np.abs(before[alive]).sum(1).min() >= np.abs(before[~alive]).sum(1).max()
            np.testing.assert_array_equal(after[alive], before[alive])
    ops = [n.op for n in done.optimize().nodes]
    assert ops.count("SparseDense") == 2
    assert not kept(done)


def test_results_are_those_of_onnxruntime_on_what_is_written(clock, tmp_path):
    rng = np.random.default_rng(2)
    done = wb.sparsify(net(rng), 0.8, (16, 1))
    wb.save_onnx(done, tmp_path / "sparse.onnx")
    x = rng.standard_normal((5, 40)).astype(np.float32)
    session = ort_session.session(tmp_path / "sparse.onnx")
    for got, want in zip(wb.compile(done).run({"x": x}).values(), session.run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    read = wb.load_onnx(tmp_path / "sparse.onnx")  # blocks are known again
    assert [n.op for n in read.optimize().nodes].count("SparseDense") == 2
    for got, want in zip(wb.compile(read).run({"x": x}).values(), session.run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    again = wb.sparsify(read, None, (16, 1))  # zeros that are there are used
    assert [n.op for n in again.optimize().nodes].count("SparseDense") == 2


@pytest.mark.parametrize(
    "text", ['{"one": [7, 1]}', '{"one": [16]}', '{"one": [0, 1]}', '{"one": "ab", "bias": [1, 1]}', "[1]", "{", "3"]
)
def test_blocks_of_a_file_that_are_none_are_passed_over(text):
    model = to_onnx(net(np.random.default_rng(2)))
    model.metadata_props.add(key="workbench.sparse_blocks", value=text)
    assert "SparseDense" not in [n.op for n in wb.load_onnx(model).optimize().nodes]


def test_what_does_not_pay_stays_as_it_was(clock):
    clock["sparse"] = 1.95
    graph = net(np.random.default_rng(3))
    done = wb.sparsify(graph, 0.9)
    assert "SparseDense" not in [n.op for n in done.optimize().nodes]
    assert all(np.array_equal(done.constants[n], a) for n, a in graph.constants.items())
    assert "sparsify: one stays dense: 1.95 ms with 10 % of the blocks, 2 ms with all" in done.history


def test_every_product_has_a_reason(clock):
    done = wb.sparsify(net(np.random.default_rng(4)), 0.9, exclude="two")
    said = {line.split()[1]: line for line in done.history if line.startswith("sparsify")}
    assert set(said) == {"one", "two", "three"}
    assert "is sparse" in said["one"]
    assert said["two"].endswith("it is excluded")
    assert "not cut into blocks" in said["three"]
    none = wb.sparsify(net(np.random.default_rng(4)), None)
    assert any("no block of some strip" in line for line in none.history)


def test_a_weight_of_two_products_is_pruned_for_each(clock):
    w = np.random.default_rng(5).standard_normal((16, 16)).astype(np.float32)
    nodes = [Node("one", "MatMul", ("x", "w"), ("a",)), Node("two", "MatMul", ("a", "w"), ("y",))]
    graph = Graph.make("g", nodes, {"x": TensorType((2, 16))}, ["y"], {"w": w})
    done = wb.sparsify(graph, 0.5, exclude="two")
    assert np.count_nonzero(done.constants[done.node("one").inputs[1]]) == w.size // 2
    assert np.count_nonzero(done.constants[done.node("two").inputs[1]]) == w.size
    assert not kept(done)


def test_products_of_another_element_type_are_timed_for_themselves(monkeypatch):
    timed = []
    monkeypatch.setattr(module._Timed, "_times", lambda self, x, w: timed.append(x.dtype) or {"dense": 1, "sparse": 2})
    w = np.random.default_rng(6).standard_normal((16, 16))
    nodes = [Node("one", "MatMul", ("x", "w"), ("y",)), Node("two", "MatMul", ("x64", "w64"), ("z",)),
             Node("three", "MatMul", ("x", "w"), ("u",))]  # fmt: skip
    inputs = {"x": TensorType((2, 16)), "x64": TensorType((2, 16), "float64")}
    wb.sparsify(Graph.make("g", nodes, inputs, ["y", "z", "u"], {"w": w.astype(np.float32), "w64": w}), 0.5)
    assert timed == ["float32", "float64"]


def test_really_measured():
    """Nine tenths of the sums left out pay on any machine."""
    w = np.random.default_rng(6).standard_normal((512, 1024)).astype(np.float32)
    graph = Graph.make("g", [Node("n", "MatMul", ("x", "w"), ("y",))], {"x": TensorType((64, 512))}, ["y"], {"w": w})
    done = wb.sparsify(graph, 0.95, seconds=0.05)
    assert "n is sparse" in done.history[-1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"sparsity": 1.0}, "usage.sparsity"),
        ({"sparsity": -0.1}, "usage.sparsity"),
        ({"sparsity": "much"}, "usage.number"),
        ({"block": (16,)}, "usage.block"),
        ({"block": (0, 1)}, "usage.block"),
        ({"exclude": "tow"}, "usage.exclude"),
    ],
)
def test_arguments_that_are_refused(arguments, code):
    with pytest.raises(UsageError) as e:
        wb.sparsify(net(np.random.default_rng(0)), **arguments)
    assert e.value.code == code


def test_graphs_that_are_refused():
    relu = Graph.make("g", [Node("n", "Relu", ("x",), ("y",))], {"x": TensorType((2, 16))}, ["y"])
    with pytest.raises(ModelError) as e:
        wb.sparsify(relu)
    assert e.value.code == "model.nothing_to_sparsify"
    with pytest.raises(ModelError) as e:
        wb.sparsify(relu.optimize())
    assert e.value.code == "model.optimised"


def test_command_line(clock, tmp_path, capsys):
    (tmp_path / "m.onnx").write_bytes(to_onnx(net(np.random.default_rng(7))).SerializeToString())
    assert main(["sparsify", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "o.onnx"), "--sparsity", "0.8"]) == 0
    assert "one is sparse: 1 ms with 20 % of the blocks, 2 ms with all" in capsys.readouterr().out
    weights = wb.load_onnx(tmp_path / "o.onnx").constants
    assert min(np.count_nonzero(w) / w.size for w in weights.values()) == 0.2
