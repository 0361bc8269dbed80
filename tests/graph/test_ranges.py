"""What a pass may not do because a number would not survive it, or a shape."""

import numpy as np
import pytest

from workbench.errors import ModelError
from workbench.graph import Graph, Node, TensorType, run_reference

H, F = np.float16, np.float32


def full(value, *shape, dtype=F):
    return np.full(shape, value, dtype)


ROWS = np.arange(24, dtype=F).reshape(3, 8)
CASES = {
    "a scale before a narrow product": (
        [("Mul", ("q", "s"), "a", {}), ("MatMul", ("a", "k"), "y", {})],
        {"q": full(30, 4, 64, dtype=H), "k": full(40, 64, 4, dtype=H)}, {"s": np.array(0.125, H)}),
    "a factor that narrow weights cannot take": (
        [("MatMul", ("x", "w"), "a", {}), ("Mul", ("a", "s"), "y", {})],
        {"x": full(1e-3, 4, 64, dtype=H)}, {"w": full(100, 64, 4, dtype=H), "s": np.array(1000, H)}),
    "a factor that no weights can take": (
        [("MatMul", ("x", "w"), "a", {}), ("Div", ("a", "s"), "y", {})],
        {"x": full(0, 4, 4)}, {"w": full(1, 4, 4), "s": np.array(1e-40, F)}),
    "a channel's factor that narrow weights cannot take": (
        [("Conv", ("x", "w"), "a", {}), ("Mul", ("a", "s"), "y", {})],
        {"x": full(1e-3, 1, 2, 3, 3, dtype=H)},
        {"w": full(100, 2, 2, 1, 1, dtype=H), "s": full(1000, 2, 1, 1, dtype=H)}),
    "a limit that is infinite": (
        [("Max", ("x", "i"), "a", {}), ("Relu", ("a",), "y", {})], {"x": ROWS}, {"i": np.array(np.inf, F)}),
    "a whole number that a double rounds": (
        [("Cast", ("x",), "a", {"to": 11}), ("Cast", ("a",), "b", {"to": 7}), ("Sub", ("b", "c"), "y", {})],
        {"x": np.array([2**53 + 1])}, {"c": np.array([2**53])}),
    "a bias of more dimensions": (
        [("MatMul", ("x", "w"), "a", {}), ("Add", ("a", "b"), "y", {})],
        {"x": ROWS}, {"w": full(1, 8, 4), "b": full(2, 1, 1, 4)}),
    "an epsilon of more dimensions": (
        [("ReduceMean", ("x", "ax"), "m", {}), ("Sub", ("x", "m"), "c", {}), ("Mul", ("c", "c"), "q", {}),
         ("ReduceMean", ("q", "ax"), "v", {}), ("Add", ("v", "e"), "p", {}), ("Sqrt", ("p",), "d", {}),
         ("Div", ("c", "d"), "y", {})],
        {"x": ROWS}, {"ax": np.array([-1]), "e": full(1e-5, 1, 1, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_outputs_keep_their_values_and_types(case):
    steps, feeds, constants = CASES[case]
    nodes = [Node(f"n{k}", op, ins, (out,), attrs, "", 18) for k, (op, ins, out, attrs) in enumerate(steps)]
    inputs = {n: TensorType(a.shape, a.dtype.name) for n, a in feeds.items()}
    graph = Graph.make("g", nodes, inputs, ["y"], constants)
    after = graph.optimize()
    assert after.type("y") == graph.type("y")
    with np.errstate(all="ignore"):
        want, got = (run_reference(g, feeds)["y"] for g in (graph, after))
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_unknown_activations_are_refused(op):
    gates, n = {"LSTM": 4, "GRU": 3, "RNN": 1}[op], {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
    attrs = {"activations": ("Mish",) * n}
    kinds = {"x": TensorType((2, 1, 3)), "w": TensorType((1, gates * 4, 3)), "r": TensorType((1, gates * 4, 4))}
    with pytest.raises(ModelError, match="activation") as e:
        Graph.make("g", [Node("n", op, ("x", "w", "r"), ("y",), {"hidden_size": 4, **attrs}, "", 14)], kinds, ["y"])
    assert e.value.code == "model.unsupported_attr"


@pytest.mark.parametrize(("at", "shape"), [(2, (2,)), (3, (2,)), (3, (4,))])
def test_zero_points_of_a_wrong_length_are_refused(at, shape):
    kinds = {"a": TensorType((4, 4), "uint8"), "b": TensorType((4, 3), "uint8")}
    kinds |= {
        "za": TensorType(shape if at == 2 else (1,), "uint8"),
        "zb": TensorType(shape if at == 3 else (1,), "uint8"),
    }
    with pytest.raises(ModelError) as e:
        Graph.make("g", [Node("n", "MatMulInteger", ("a", "b", "za", "zb"), ("y",), {}, "", 10)], kinds, ["y"])
    assert e.value.code == "model.shape_mismatch"
