"""Sums over edges, and products with sparse matrices: kernels against NumPy, networks against onnxruntime."""

from __future__ import annotations

import itertools

import numpy as np
import ort_session
import pytest
from graph.checks import kept

import workbench as wb
from workbench.graph import Graph, Node, TensorType
from workbench.graph.evaluation import evaluate
from workbench.graph.node_steps import OWN
from workbench.graph.onnx.writer import to_onnx
from workbench.graph.type_inference import make_call
from workbench.runtime.networks.execution_plan import CallPlan


def one(op, inputs, outputs=("y",), constants=(), **attrs):
    """A network of one of our own operators."""
    node = Node("n", op, tuple(inputs), outputs, attrs, OWN)
    types = {n: TensorType(a.shape, a.dtype.name) for n, a in inputs.items() if n not in constants}
    return Graph.make("one", [node], types, list(outputs), {n: inputs[n] for n in constants})


def ran(graph, inputs, threads=1):
    exe = wb.compile(graph, threads=threads)
    assert all(isinstance(c, CallPlan) for c in exe.plan.calls)
    return exe.run({n: inputs[n] for n in graph.inputs})


def reference(graph, inputs):
    (node,) = graph.nodes
    call = make_call(node, graph.types, graph.constants)
    return dict(zip(node.outputs, evaluate(call, *(inputs[i] for i in node.inputs)), strict=True))


def bits(arrays):
    return [a.tobytes() for a in arrays.values()]


@pytest.mark.parametrize("seed", range(6))
def test_edges_are_sorted_by_row(seed):
    rng = np.random.default_rng(seed)
    rows, count = int(rng.integers(1, 40)), int(rng.integers(1, 300))
    places = rng.integers(-rows - 2, rows + 2, (count, 1)).astype(rng.choice(["int32", "int64"]))
    inputs = {"places": places}
    graph = one("EdgeOrder", inputs, ("first", "order"), rows=rows)
    got = ran(graph, inputs, threads=1 + seed % 3)
    assert bits(got) == bits(reference(graph, inputs))
    want = [[e for e, p in enumerate(places[:, 0]) if p in (r, r - rows)] for r in range(rows)]
    first, order = got["first"], got["order"]
    assert [list(order[a:b]) for a, b in itertools.pairwise(first)] == want
    assert not order[first[-1] :].any()


@pytest.mark.parametrize("seed", range(12))
def test_a_sparse_product_is_the_dense_one(seed):
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(["float32", "float64", "int32", "int64"]))
    rows, known, width = (int(n) for n in rng.integers(1, [40, 30, 300]))
    degrees = np.minimum((rng.pareto(1.0, rows) * 2).astype(int), 200)  # few have most of the entries
    degrees[rng.integers(rows)] += 1
    first = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    columns = rng.integers(-known, known, first[-1])
    values = rng.integers(-4, 5, first[-1]).astype(dtype)
    shape = (known, width) if seed % 3 else (known, 3, 5)
    inputs = {"x": rng.integers(-9, 9, shape).astype(dtype), "first": first, "columns": columns}
    inputs |= {"values": values} if seed % 2 else {}
    matrix = np.zeros((rows, known), dtype)
    np.add.at(matrix, (np.repeat(np.arange(rows), degrees), columns), values if seed % 2 else np.ones(1, dtype))
    want = np.tensordot(matrix, inputs["x"], 1)
    graph = one("SparseProduct", inputs)
    for threads in (1, 3):
        np.testing.assert_array_equal(ran(graph, inputs, threads)["y"], want)
    np.testing.assert_array_equal(reference(graph, inputs)["y"], want)


@pytest.mark.parametrize("seed", range(6))
def test_block_sparse_weights_are_the_dense_ones(seed):
    rng = np.random.default_rng(seed)
    width, rows = ((16, 1), (8, 4), (5, 3), (1, 1), (32, 1), (16, 16))[seed]
    strips, count, batch = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 20))
    inner = rows * int(rng.integers(count, 9))
    starts = np.stack([rng.permutation(inner // rows)[:count] * rows for _ in range(strips)]).astype(np.int32)
    w = rng.standard_normal((strips, count, rows, width)).astype(np.float32)
    whole = np.zeros((inner, strips, width), np.float32)
    for strip, at in enumerate(starts):
        for b, start in enumerate(at):
            whole[start : start + rows, strip] = w[strip, b]
    x = rng.standard_normal((2, batch, inner) if seed % 2 else (batch, inner)).astype(np.float32)
    inputs = {"x": x, "starts": starts, "w": w}
    graph = one("SparseDense", inputs, constants=("starts", "w"))
    want = x @ whole.reshape(inner, -1)
    np.testing.assert_allclose(ran(graph, inputs)["y"], want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(reference(graph, inputs)["y"], want, rtol=1e-4, atol=1e-4)


# ---- the pass ----


def messages(rng, op="ScatterND", weigh="", given=True, edges=200, dtype="float32", zeros=0.0):
    """Rows gathered, weighed and added up, in the forms that exporters write."""
    nodes, width = (int(n) for n in rng.integers(2, [30, 40]))
    arrays = {
        "x": rng.integers(-5, 6, (nodes + 3, width)).astype(dtype),
        "start": rng.integers(-nodes, nodes, edges),
        "end": rng.integers(-nodes, nodes, (edges, 1)),
        "w": rng.integers(-3, 4, (edges, 1)).astype(dtype),
        "zeros": np.full((nodes, width), zeros, dtype),
        "size": np.array([edges, width]),
    }
    made = [Node("gather", "Gather", ("x", "start"), ("rows",), {"axis": 0})]
    rows = "rows"
    if weigh:
        made.append(Node("weigh", "Mul", ("w", "rows") if weigh == "left" else ("rows", "w"), ("weighed",)))
        rows = "weighed"
    if op == "ScatterND":
        made.append(Node("add", op, ("zeros", "end", rows), ("y",), {"reduction": "add"}))
    else:
        made.append(Node("expand", "Expand", ("end", "size"), ("ends",)))
        made.append(Node("add", op, ("zeros", "ends", rows), ("y",), {"axis": 0, "reduction": "add"}))
    names = ["x", *(("start", "end") if given else ()), *(("w",) if weigh and given else ())]
    used = {i for n in made for i in n.inputs}
    constants = {n: a for n, a in arrays.items() if n not in names and n in used}
    types = {n: TensorType(arrays[n].shape, arrays[n].dtype.name) for n in names}
    return Graph.make("messages", made, types, ["y"], constants), {n: arrays[n] for n in names}


def by_onnxruntime(graph, feeds):
    session = ort_session.session(to_onnx(graph), threads=1)  # its ScatterND with more loses some of the sums
    return session.run(None, feeds)[0]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("weigh", ["", "left", "right"])
@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_message_passing_is_one_product(op, weigh, given):
    graph, feeds = messages(np.random.default_rng(len(op + weigh)), op, weigh, given)
    optimised = graph.optimize()
    ops = [n.op for n in optimised.nodes]
    assert ops.count("SparseProduct") == 1
    assert not {"ScatterND", "ScatterElements", "Mul", "Expand"} & set(ops)
    assert ("EdgeOrder" in ops) is given  # what is constant is sorted ahead of time
    want = by_onnxruntime(graph, feeds)
    results = [wb.compile(graph, threads=t).run(feeds)["y"] for t in (1, 2, 4)]
    np.testing.assert_array_equal(results[0], want)  # small whole numbers: exact in any order
    assert len({r.tobytes() for r in results}) == 1


def test_sums_do_not_depend_on_threads_or_runs():
    rng = np.random.default_rng(3)
    graph, feeds = messages(rng, weigh="right", edges=40_000)
    feeds |= {n: rng.standard_normal(feeds[n].shape).astype(np.float32) for n in ("x", "w")}
    results = [wb.compile(graph, threads=t).run(feeds)["y"].tobytes() for t in (1, 2, 5) for _ in range(3)]
    assert len(set(results)) == 1


@pytest.mark.parametrize(
    "graph",
    [
        messages(np.random.default_rng(0), zeros=1.0)[0],
        messages(np.random.default_rng(0), edges=8)[0],
        messages(np.random.default_rng(0), dtype="float16")[0],
        messages(np.random.default_rng(0), "ScatterElements", zeros=1.0)[0],
    ],
)
def test_others_stay_as_they_are(graph):
    assert "SparseProduct" not in [n.op for n in graph.optimize().nodes]


def test_layers_share_what_sorts_the_edges():
    graph, feeds = messages(np.random.default_rng(5))
    second = [
        Node("again", "Gather", ("twice", "start"), ("rows2",), {"axis": 0}),
        Node("add2", "ScatterND", ("zeros", "end", "rows2"), ("y2",), {"reduction": "add"}),
    ]
    scaled = Node("twice", "Add", ("y", "y"), ("twice",))
    both = Graph.make("two", [*graph.nodes, scaled, *second], graph.input_types(), ["y2"], graph.constants)
    assert not kept(both)
    ops = [n.op for n in both.optimize().nodes]
    assert (ops.count("EdgeOrder"), ops.count("SparseProduct")) == (1, 2)
    np.testing.assert_array_equal(wb.compile(both).run(feeds)["y2"], by_onnxruntime(both, feeds))


@pytest.mark.parametrize(("density", "sparse"), [(0.01, True), (0.2, False), (0.0, False)])
def test_a_constant_matrix_of_zeros(density, sparse):
    rng = np.random.default_rng(7)
    a = np.where(rng.random((150, 130)) < density, rng.integers(-3, 4, (150, 130)), 0).astype(np.float32)
    node = Node("n", "MatMul", ("a", "x"), ("y",))
    graph = Graph.make("g", [node], {"x": TensorType((130, 20))}, ["y"], {"a": a})
    assert ("SparseProduct" in [n.op for n in graph.optimize().nodes]) is sparse
    x = rng.standard_normal((130, 20)).astype(np.float32)
    np.testing.assert_allclose(wb.compile(graph).run({"x": x})["y"], a @ x, rtol=1e-4, atol=1e-4)
