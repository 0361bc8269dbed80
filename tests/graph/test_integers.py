"""Quantised operators: every example with constants in several places, through all passes, compiled, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from graph.examples import cases

from workbench.graph import Graph, Node, TensorType, run_reference
from workbench.graph.opdef import registry
from workbench.graph.passes import run_pass
from workbench.network.compile import compile

NAMES = (
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearMatMul",
    "ConvInteger",
    "QLinearConv",
)
EXAMPLES = [pytest.param(n, c, id=f"{n}-{c.label}") for n in NAMES for c in cases(registry()[n])]


def net(name, case, const):
    """The example as a network, and what to feed it."""
    node = case.call(name).node
    given = {n: (i, a) for i, (n, a) in enumerate(zip(node.inputs, case.inputs, strict=True)) if n}
    feeds = {n: a for n, (i, a) in given.items() if i not in const}
    constants = {n: a for n, (i, a) in given.items() if i in const}
    types = {n: TensorType(a.shape, a.dtype.name) for n, a in feeds.items()}
    return Graph.make("g", [node], types, node.outputs, constants), feeds


def same(got, want):
    assert list(got) == list(want)
    for name, value in want.items():
        assert got[name].dtype == value.dtype
        np.testing.assert_array_equal(got[name], value, err_msg=name)


@pytest.mark.parametrize(("name", "case"), EXAMPLES)
@pytest.mark.parametrize("known", ["as given", "all but the first"])
def test_steps_and_kernels_compute_the_reference(name, case, known):
    graph, feeds = net(name, case, case.const if known == "as given" else range(1, len(case.inputs)))
    want = run_reference(graph, feeds)
    same(run_reference(run_pass(graph, "integer_products"), feeds), want)
    for without in ((), ("integer_products",)):
        same(dict(zip(graph.outputs, compile(graph, without=without).run(feeds).values(), strict=True)), want)


def ops(name, label, const):
    case = next(c for c in cases(registry()[name]) if c.label == label)
    graph = net(name, case, const)[0].optimize(without="layout")
    return [n.op for n in graph.nodes], len(graph.groups)


def test_constant_zero_points_leave_the_inner_loop_and_all_steps_are_one_kernel():
    every = range(1, 9)
    assert ops("QLinearConv", "channels", every) == (["ConvInteger", "Add", "Requantize"], 1)
    assert ops("QLinearMatMul", "signed", every) == (["MatMulInteger", "Add", "Requantize"], 1)
    assert ops("MatMulInteger", "batched", every) == (["MatMulInteger", "Add"], 1)
    # A zero point of the weights asks for the sums of the rows.
    assert ops("MatMulInteger", "zero points", every)[0] == ["MatMulInteger", "Cast", "ReduceSum", "Offset", "Add"]


def test_weights_around_128_become_bytes_with_sign():
    rng = np.random.default_rng(0)
    w, zero = rng.integers(0, 256, (6, 4)).astype(np.uint8), np.array(128, np.uint8)
    node = Node("m", "MatMulInteger", ("x", "w", "", "zero"), ("y",), {}, "", 10)
    g = Graph.make("g", [node], {"x": TensorType((3, 6), "uint8")}, ["y"], {"w": w, "zero": zero})
    out = run_pass(g, "integer_products")
    assert [n.op for n in out.nodes] == ["MatMulInteger"]
    assert out.constants[out.nodes[0].inputs[1]].dtype == np.int8
    feeds = {"x": rng.integers(0, 256, (3, 6)).astype(np.uint8)}
    same(run_reference(out, feeds), run_reference(g, feeds))


def test_scale_of_zeros_is_one():
    graph, _ = net("DynamicQuantizeLinear", cases(registry()["DynamicQuantizeLinear"])[0], ())
    y, scale, zero = compile(graph).run({"x0": np.zeros((3, 5), np.float32)}).values()
    assert (y.any(), scale, zero) == (False, 1, 0)


@pytest.mark.parametrize("pad", [0, 1])
def test_computed_zero_point_of_an_image(pad):
    """Of what is quantised as it comes: the sums of the weights are known, the zero point is not."""
    rng = np.random.default_rng(0)
    w = rng.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
    node = Node("c", "ConvInteger", ("x", "w", "zero"), ("y",), {"pads": (pad,) * 4}, "", 10)
    types = {"x": TensorType((1, 4, 3, 5), "uint8"), "zero": TensorType((), "uint8")}
    g = Graph.make("g", [node], types, ["y"], {"w": w})
    feeds = {"x": rng.integers(0, 256, (1, 4, 3, 5)).astype(np.uint8), "zero": np.array(77, np.uint8)}
    assert [n.op for n in run_pass(g, "integer_products").nodes] == ["ConvInteger", "Offset"]
    same(dict(compile(g).run(feeds)), run_reference(g, feeds))


def test_products_of_what_is_computed_lose_their_zero_points_too():
    rng = np.random.default_rng(0)
    names = ("a", "s", "za", "b", "s", "zb", "s", "za")
    node = Node("m", "QLinearMatMul", names, ("y",), {}, "", 10)
    for dtype, zero in (("uint8", 131), ("int8", -3)):
        types = {"a": TensorType((2, 3, 9), dtype), "b": TensorType((2, 9, 5), dtype)}
        constants = {"s": np.array(0.05, "f4"), "za": np.array(77, dtype), "zb": np.array(zero, dtype)}
        g = Graph.make("g", [node], types, ["y"], constants)
        feeds = {n: rng.integers(0, 256, t.shape).astype("u1").view(dtype) for n, t in types.items()}
        out = run_pass(g, "integer_products")
        assert all(len(n.inputs) == 2 for n in out.nodes if n.op == "MatMulInteger")
        same(dict(compile(g).run(feeds)), run_reference(g, feeds))
