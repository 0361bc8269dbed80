"""`wb.partition` and `wb.extern`: who computes what is measured, here by the test's own clock; the results are real."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import workbench as wb
from workbench.cli import main
from workbench.errors import ModelError, ShapeError, UsageError
from workbench.graph import Graph, Node, TensorType, run_reference
from workbench.graph.onnx.writer import to_onnx
from workbench.network import backends, turns
from workbench.network.partition import candidates
from workbench.network.partition import partition as module
from workbench.network.partition.cuts import pieces, subgraph
from workbench.runtime.networks.execution_plan import main_node


def net(seed=0, layers=6):
    """Layers in a chain, with a shortcut over two of them."""
    rng = np.random.default_rng(seed)
    constants = {f"w{k}": rng.standard_normal((12, 12)).astype(np.float32) / 4 for k in range(layers)}
    nodes, x = [], "x"
    for k in range(layers):
        nodes += [Node(f"mul{k}", "MatMul", (x, f"w{k}"), (f"a{k}",)), Node(f"relu{k}", "Relu", (f"a{k}",), (f"b{k}",))]
        x = f"b{k}"
        if k == 3:
            nodes.append(Node("short", "Add", (x, "b1"), ("s",)))
            x = "s"
    return Graph.make("chain", nodes, {"x": TensorType((5, 12))}, [x], constants)


FEEDS = {"x": np.random.default_rng(9).standard_normal((5, 12)).astype(np.float32)}


@pytest.fixture
def clock(monkeypatch):
    """Set what is measured: milliseconds of pieces by (number, backend), and of whole networks by their number."""
    found = {"pieces": {}, "whole": {}, "at": 0}

    def of_pieces(runs, seconds):
        for run in runs.values():
            run()
        found["at"] += 1
        return {name: found["pieces"].get((found["at"] - 1, name), 1.0 + (name != "workbench")) for name in runs}

    def of_whole(runs, seconds):
        for run in runs.values():
            run()
        return {name: found["whole"].get(int(name), 9.0) for name in runs}

    monkeypatch.setattr(candidates, "in_turns", of_pieces)
    monkeypatch.setattr(module, "in_turns", of_whole)
    return found


@pytest.fixture
def doubled():
    """A backend that is wrong."""

    @backends.partition_backend("doubled")
    def load(graph, threads, alone):
        return lambda *arrays: [
            2 * v for v in run_reference(graph, dict(zip(graph.inputs, arrays, strict=True))).values()
        ]

    yield "doubled"
    del backends.BACKENDS["doubled"]


def check(found, graph):
    want = run_reference(graph, FEEDS)
    for name, value in found.run(FEEDS).items():
        np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=1e-4)


def test_pieces_are_the_network_cut_where_few_tensors_cross():
    graph = net()
    for most in (1, 3, 100):
        cut = pieces(graph, {n.name: 1.0 for n in graph.nodes}, most)
        assert [n for part in cut for n in part] == list(graph.nodes)
        assert len(cut) <= most + 1
        values = dict(FEEDS)
        for k, part in enumerate(cut):
            one = subgraph(graph, part, f"{k}")
            assert len(one.outputs) <= 2
            values |= run_reference(one, {i: values[i] for i in one.inputs})
        want = run_reference(graph, FEEDS)
        np.testing.assert_allclose(values[graph.outputs[0]], want[graph.outputs[0]], rtol=1e-5, atol=1e-5)


def test_what_stands_before_a_costly_node_is_a_piece_of_its_own():
    graph = net()
    costs = {n.name: 1.0 for n in graph.nodes} | {"mul2": 100.0}
    assert [part[0].name for part in pieces(graph, costs, 2)] == ["mul0", "mul2", "relu2"]


def test_constants_that_are_nodes_cross_no_cut(clock):
    graph = net()
    made = [Node(f"constant{n}", "Constant", (), (n,), {"value": a}) for n, a in graph.constants.items()]
    told = Graph.make("told", [*made, *graph.nodes], graph.input_types(), graph.outputs, {})
    clock["pieces"] = {(1, "onnxruntime"): 0.1}
    clock["whole"] = {0: 5.0, 1: 6.0, 2: 4.0}
    found = wb.partition(told, threads=1, seconds=0.1, parts=3)
    assert found.way[1] == "onnxruntime"  # as of the network whose weights are no nodes
    assert len(found.pieces) > 2
    check(found, graph)
    only = Graph.make("only", made[:1], {}, [made[0].outputs[0]], {})
    assert wb.partition(only, threads=1, seconds=0.1).run({})["w0"].shape == (12, 12)


def test_a_mixture_that_is_measured_to_be_the_fastest(clock):
    graph = net()
    clock["pieces"] = {(1, "onnxruntime"): 0.1}
    clock["whole"] = {0: 5.0, 1: 6.0, 2: 4.0}  # ours, onnxruntime, the first mixture
    found = wb.partition(graph, threads=1, seconds=0.1, parts=3)
    assert found.way[1] == "onnxruntime"
    assert {"workbench", "onnxruntime"} == set(found.way)
    assert found.times == {"workbench": 5.0, "onnxruntime": 6.0, "parts": 4.0}
    ops = [n.op for n in found.graph.nodes]
    assert ops.count("Extern") == 1
    check(found, graph)
    table = found.explain()
    assert list(table["backend"]) == list(found.way)
    assert table["nodes"].sum() == len(graph.nodes)
    assert "parts 4 ms" in repr(found)
    assert "onnxruntime_ms" in found._repr_html_()


@pytest.mark.parametrize(
    ("whole", "backend"), [({0: 3.0, 1: 6.0, 2: 4.0}, "workbench"), ({0: 6.0, 1: 3.0}, "onnxruntime")]
)
def test_one_runtime_alone_where_no_mixture_is_faster(clock, whole, backend):
    graph = net(1)
    clock["pieces"] = {(1, "onnxruntime"): 0.1}
    clock["whole"] = whole
    found = wb.partition(graph, threads=1, seconds=0.1, parts=3)
    assert set(found.way) == {backend}
    check(found, graph)
    if backend == "workbench":
        assert "not the network with the change" in found.explain()["reason"][1]


def test_crossing_has_to_pay(clock):
    clock["pieces"] = {(k, "onnxruntime"): 0.99 for k in (0, 2)}
    found = [candidates.Piece((), {"workbench": 1.0, "onnxruntime": t}) for t in (0.99, 1.5, 0.99)]
    ways = candidates.assignments(found, ("onnxruntime",))
    assert ways[0] == ("workbench",) * 3
    assert ("onnxruntime", "workbench", "onnxruntime") in ways  # it counts in the whole
    assert candidates._cheapest(found, ("workbench", "onnxruntime"), 0.3) == ("workbench",) * 3


def test_wrong_results_are_not_taken(clock, doubled):
    graph = net(2)
    clock["pieces"] = {(k, doubled): 0.0 for k in range(9)}
    found = wb.partition(graph, [doubled], threads=1, seconds=0.1, parts=3)
    assert set(found.way) == {"workbench"}
    assert "not doubled: by up to" in found.explain()["reason"][0]
    check(found, graph)


def test_really_measured():
    graph = net(3)
    found = wb.partition(graph, threads=1, seconds=0.2, parts=2)
    assert {"workbench", "onnxruntime"} <= set(found.times)
    check(found, graph)


@pytest.mark.parametrize("fault", [1, "raises"])
def test_a_runtime_that_fails_alone_alone_is_left_out_with_its_reason(clock, fault):
    @backends.partition_backend("alone")
    def load(graph, threads, alone):
        if alone and fault == "raises":
            raise RuntimeError("no memory")
        return lambda *arrays: [
            v + alone * 1 for v in run_reference(graph, dict(zip(graph.inputs, arrays, strict=True))).values()
        ]

    try:
        clock["pieces"] = {(k, "alone"): 0.1 for k in range(9)}
        found = wb.partition(net(5), ["alone"], threads=1, seconds=0.1, parts=3)
    finally:
        del backends.BACKENDS["alone"]
    assert set(found.way) == {"workbench"}
    said = "it refuses them: no memory" if fault == "raises" else "by up to 1"
    assert f"not alone: all together, {said}" in found.explain()["reason"][0]


def test_inputs_of_a_runtime_alone_are_checked(clock):
    clock["whole"] = {0: 6.0, 1: 3.0}
    nodes = [Node("a", "Mul", ("x", "s"), ("y",)), Node("b", "Relu", ("s",), ("z",))]
    graph = Graph.make("g", nodes, {"x": TensorType((3,)), "s": TensorType(())}, ["y", "z"])
    found = wb.partition(graph, threads=1, seconds=0.1, parts=1)
    assert found.alone is not None
    x, s = np.arange(3, dtype=np.float32), np.float32(2)
    got = found.run({"x": x, "s": np.array(s)})
    np.testing.assert_array_equal(got["y"], 2 * x)
    assert got["z"].shape == ()
    for wrong, code in (({"x": x}, "shape.count"), ({"x": x, "s": s, "t": s}, "shape.name"),
                        ({"x": x.astype(np.float64), "s": s}, "shape.dtype")):  # fmt: skip
        with pytest.raises(ShapeError) as refused:
            found.run(wrong)
        assert refused.value.code == code


def test_integers_and_given_inputs(clock):
    nodes = [Node("g", "Gather", ("t", "i"), ("a",), {"axis": 0}), Node("r", "Relu", ("a",), ("y",))]
    t = np.arange(12, dtype=np.float32).reshape(4, 3)
    graph = Graph.make("g", nodes, {"i": TensorType((2,), "int64")}, ["y"], {"t": t})
    found = wb.partition(graph, threads=1, seconds=0.1, parts=2, inputs={"i": [3, 1]})
    np.testing.assert_array_equal(found.run({"i": np.array([3, 1])})["y"], t[[3, 1]])
    with pytest.raises(UsageError) as e:
        wb.partition(graph, inputs={"j": 1})
    assert e.value.code == "usage.input"


def test_a_runtime_that_is_missing_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UsageError) as e:
        wb.partition(net(), threads=1, seconds=0.1)
    assert (e.value.code, e.value.hint) == ("usage.backend_missing", "pip install onnxruntime")


def test_a_turn_begins_when_others_sleep_and_has_several_runs(monkeypatch):
    found = []
    monkeypatch.setattr(turns, "settle", lambda: found.append("settle"))
    monkeypatch.setattr(turns, "_TURN", 0.0)
    times = turns.in_turns({"a": lambda: found.append("a"), "b": lambda: found.append("b")}, 0.0)
    assert set(times) == {"a", "b"}
    assert found[:8] == ["settle", "a", "a", "a", "settle", "b", "b", "b"]


def test_what_is_refused():
    with pytest.raises(UsageError) as e:
        wb.partition(net(), ["onnxruntim"])
    assert e.value.code == "usage.backend"
    with pytest.raises(ModelError) as m:
        wb.partition(net().optimize())
    assert m.value.code == "model.optimised"
    with pytest.raises(UsageError, match="shape"):
        wb.partition(net(), inputs={next(iter(net().inputs)): 1.0})
    with pytest.raises(ModelError) as m:
        wb.extern(net().optimize(), net().nodes[0].name, lambda *x: x[0])
    assert m.value.code == "model.optimised"
    assert main_node("a:b: conv: 3x3", {"a:b"}) == "a:b"
    assert main_node("a:b: conv", {"a"}) is None


def test_onnxruntime_is_loaded_only_when_asked_for():
    code = "import sys, workbench as wb; wb.partition, wb.extern; assert 'onnxruntime' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_command_line(clock, tmp_path, capsys):
    (tmp_path / "m.onnx").write_bytes(to_onnx(net()).SerializeToString())
    assert main(["partition", str(tmp_path / "m.onnx"), "--threads", "1", "--parts", "3"]) == 0
    out = capsys.readouterr().out
    assert "workbench_ms" in out
    assert "mul0" in out


# ---- functions of a user ----


def test_a_function_of_python_computes_a_node():
    graph, calls = net(4), []

    def product(a, b):
        calls.append(a.shape)
        return a @ b

    done = wb.extern(graph, "mul2", product)
    exe = wb.compile(done, threads=1)
    calls.clear()
    got = exe.run(FEEDS)
    np.testing.assert_allclose(got["b5"], run_reference(graph, FEEDS)["b5"], rtol=1e-4, atol=1e-4)
    assert calls == [(5, 12)]
    assert any("product computes it" in str(getattr(c, "reason", "")) for c in exe.plan.calls)


def test_a_tensor_that_is_read_twice_has_one_value():
    graph = Graph.make("g", [Node("n", "Mul", ("x", "x"), ("y",))], {"x": TensorType((4,))}, ["y"])
    exe = wb.compile(wb.extern(graph, "n", lambda a, b: a * b), threads=1)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(exe.run(x)["y"], x * x)


def test_results_that_are_lists():
    graph = Graph.make("g", [Node("n", "Neg", ("x",), ("y",))], {"x": TensorType((2,), "int64")}, ["y"])
    exe = wb.compile(wb.extern(graph, "n", lambda a: ([-int(v) for v in a],)), threads=1)
    np.testing.assert_array_equal(exe.run(np.array([3, -4]))["y"], [-3, 4])
    with pytest.raises(UsageError) as refused:
        wb.extern(graph, "n", lambda a: ([0.5, 1.5],))
    assert refused.value.code == "usage.extern"


def test_a_function_of_c_computes_a_node():
    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p))
    def relu(table):
        x, y = (np.ctypeslib.as_array(ctypes.cast(table[k], ctypes.POINTER(ctypes.c_float)), (60,)) for k in (0, 1))
        np.maximum(x, 0, out=y)

    graph = net(5)
    done = wb.extern(graph, "relu3", relu, name="relu of C")
    got = wb.compile(done, threads=1).run(FEEDS)
    np.testing.assert_allclose(got["b5"], run_reference(graph, FEEDS)["b5"], rtol=1e-4, atol=1e-4)
    assert "relu of C computes relu3" in done.history[-1]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a, b: a @ b + 1, "are not those of the node"),
        (lambda a, b: (a @ b).astype(np.float64), "float64"),
        (lambda a, b: (a, b), "not float32"),
        ("f", "has to be a function"),
    ],
)
def test_functions_that_are_wrong_are_refused(function, text):
    with pytest.raises(UsageError, match=text) as e:
        wb.extern(net(), "mul0", function)
    assert e.value.code == "usage.extern"


def test_nodes_that_there_are_not():
    with pytest.raises(ModelError) as e:
        wb.extern(net(), "mul", lambda a, b: a @ b)
    assert e.value.code == "model.unknown_node"
