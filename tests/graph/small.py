"""Networks of a few nodes, one for each thing that a pass could get wrong."""

from __future__ import annotations

import numpy as np
from graph.nets import conv, norm_constants

from workbench.graph import Graph, Node, TensorType


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def net(nodes, constants=None, shape=(1, 4, 6, 6), outputs=("y",), **inputs) -> Graph:
    """Graph with the input x, and others by name."""
    given = {"x": TensorType(shape)} | {n: TensorType(s) for n, s in inputs.items()}
    return Graph.make("g", nodes, given, outputs, constants or {})


def inner_value_is_an_output() -> Graph:
    nodes = [
        Node("m", "MatMul", ("x", "w"), ("t",)),
        Node("r", "Relu", ("t",), ("u",)),
        Node("s", "Sigmoid", ("u",), ("y",)),
    ]
    return net(nodes, {"w": weights(4, 5)}, (3, 4), ("t", "u", "y"))


def scaled_before_padding() -> Graph:
    nodes = [Node("m", "Mul", ("x", "k"), ("t",)), Node("a", "Add", ("t", "h"), ("u",)),
             conv("c", "u", "w", "y", pads=(1, 1, 1, 1))]  # fmt: skip
    return net(nodes, {"w": weights(5, 4, 3, 3), "k": weights(4, 1, 1, seed=1), "h": weights(4, 1, 1, seed=2)})


def small_variances() -> Graph:
    constants = norm_constants(np.random.default_rng(0), "n", 5)
    constants["n.var"] = np.full(5, 1e-3, "f4")
    node = Node("n", "BatchNormalization", ("t", *(f"n.{p}" for p in ("scale", "bias", "mean", "var"))), ("y",),
                {"epsilon": 0.01})  # fmt: skip
    return net([conv("c", "x", "w", "t"), node], {"w": weights(5, 4, 3, 3), **constants})


def differences() -> Graph:
    """Subtractions and quotients whose constant stands on the one side and on the other."""
    nodes = [
        conv("c", "x", "w", "s"),
        Node("e", "Sub", ("s", "k"), ("t",)),
        Node("a", "Sub", ("k", "t"), ("u",)),
        Node("b", "Sub", ("u", "k"), ("v",)),
        Node("d", "Div", ("k", "v"), ("y",)),
    ]
    return net(nodes, {"w": weights(5, 4, 1, 1), "k": np.full((5, 1, 1), 40.0, "f4")})


def by_rows() -> Graph:
    """A factor for each row of an image, not for each channel."""
    return net([conv("c", "x", "w", "t"), Node("m", "Mul", ("t", "k"), ("y",))],
               {"w": weights(6, 4, 1, 1), "k": weights(6, 1, seed=3)})  # fmt: skip


def pads_of_all_sides() -> Graph:
    return net([Node("p", "Pad", ("x",), ("t",), {"pads": (0, 0, 1, 0, 0, 0, 2, 3), "value": 0.0}, "", 9),
                conv("c", "t", "w", "y", strides=(2, 1))], {"w": weights(5, 4, 3, 2)})  # fmt: skip


def padding_with_ones() -> Graph:
    return net([Node("p", "Pad", ("x",), ("t",), {"pads": (0, 0, 1, 0, 0, 0, 2, 3), "value": 1.0}, "", 9),
                conv("c", "t", "w", "y")], {"w": weights(5, 4, 3, 2)})  # fmt: skip


def averages_of_padding() -> Graph:
    return net([Node("p", "Pad", ("x",), ("t",), {"pads": (0, 0, 1, 0, 0, 0, 1, 1), "value": 0.0}, "", 9),
                Node("a", "AveragePool", ("t",), ("y",), {"kernel_shape": (2, 2)}, "", 12)])  # fmt: skip


def twins_but_for_an_attribute() -> Graph:
    nodes = [Node(n, "LeakyRelu", ("x",), (n,), {"alpha": a}) for n, a in (("p", 0.1), ("q", 0.2), ("r", 0.2))]
    return net([*nodes, Node("c", "Concat", ("p", "q", "r"), ("y",), {"axis": 1})])


def operands_in_both_orders() -> Graph:
    nodes = [Node("a", "Sub", ("x", "z"), ("a",)), Node("b", "Sub", ("z", "x"), ("b",)),
             Node("c", "Concat", ("a", "b"), ("y",), {"axis": 1})]  # fmt: skip
    return net(nodes, z=(1, 4, 6, 6))


def gemm_with_everything() -> Graph:
    attrs = {"transB": 1, "alpha": 0.5, "beta": 2.0}
    return net([Node("g", "Gemm", ("x", "w", "b"), ("y",), attrs)], {"w": weights(4, 4), "b": weights(4)}, (3, 4))


def gemm_with_a_column() -> Graph:
    return net([Node("g", "Gemm", ("x", "w", "b"), ("y",))], {"w": weights(4, 3), "b": weights(3, 1)}, (3, 4))


def softmax_of_several_axes() -> Graph:
    return net([Node("s", "Softmax", ("x",), ("y",), {"axis": 2}, "", 9)], shape=(2, 3, 4, 5))


def parts_of_a_split() -> Graph:
    nodes = [Node("s", "Split", ("x", "n"), ("a", "b"), {"axis": 1}, "", 13), Node("r", "Relu", ("a",), ("y",)),
             Node("t", "Sigmoid", ("b",), ("z",))]  # fmt: skip
    return net(nodes, {"n": np.array([1, 3])}, outputs=("y", "z"))


def average_of_a_part() -> Graph:
    attrs = {"kernel_shape": (6, 5), "strides": (1, 2)}
    return net([Node("p", "AveragePool", ("x",), ("y",), attrs, "", 12)])


def chain_of_moves() -> Graph:
    nodes = [
        Node("a", "Transpose", ("x",), ("a",), {"perm": (0, 2, 3, 1)}),
        Node("b", "Transpose", ("a",), ("b",), {"perm": (0, 2, 1, 3)}),
        Node("c", "Relu", ("b",), ("y",)),
    ]
    return net(nodes, shape=(2, 3, 4, 5))


def two_limits() -> Graph:
    nodes = [Node("a", "Clip", ("x",), ("t",), {"min": -0.5, "max": 0.5}, "", 6),
             Node("b", "Clip", ("t",), ("y",), {"min": -0.2, "max": 0.9}, "", 6)]  # fmt: skip
    return net(nodes)


def mirrored() -> Graph:
    """A slice that turns an axis round has the shape of what it reads."""
    attrs = {"starts": (5,), "ends": (-9,), "axes": (2,), "steps": (-1,)}
    return net([Node("r", "Relu", ("x",), ("t",)), Node("s", "Slice", ("t", "b", "e", "a", "k"), ("y",))],
               {"b": np.array(attrs["starts"]), "e": np.array(attrs["ends"]), "a": np.array(attrs["axes"]),
                "k": np.array(attrs["steps"])})  # fmt: skip


def narrowing() -> Graph:
    nodes = [Node("r", "Relu", ("x",), ("s",)), Node("a", "Cast", ("s",), ("t",), {"to": 6})]
    return net([*nodes, Node("b", "Cast", ("t",), ("y",), {"to": 1})])


def factor_of_batches() -> Graph:
    """Rows of batches, with an operand that differs from row to row."""
    nodes = [Node("m", "MatMul", ("x", "w"), ("a",)), Node("n", "Add", ("a", "z"), ("b",)),
             Node("o", "Mul", ("b", "k"), ("y",))]  # fmt: skip
    return net(nodes, {"w": weights(8, 5), "k": weights(1, 3, 1, seed=4)}, (2, 3, 8), z=(3, 5))


def transposed_product() -> Graph:
    nodes = [
        Node("t", "Transpose", ("x",), ("a",), {"perm": (0, 2, 1)}),
        Node("s", "Slice", ("a",), ("b",), {"starts": (1,), "ends": (4,), "axes": (1,)}, "", 9),
        Node("m", "MatMul", ("b", "z"), ("c",)),
        Node("u", "Transpose", ("c",), ("y",), {"perm": (1, 2, 0)}),
    ]
    return net(nodes, shape=(2, 3, 5), z=(2, 3, 4))


def value_read_twice() -> Graph:
    """What follows a product element by element is needed elsewhere, too."""
    nodes = [
        Node("m", "MatMul", ("x", "w"), ("t",)),
        Node("r", "Relu", ("t",), ("u",)),
        Node("n", "MatMul", ("u", "v"), ("s",)),
        Node("a", "Add", ("u", "s"), ("y",)),
    ]
    return net(nodes, {"w": weights(4, 4), "v": weights(4, 4, seed=1)}, (4, 4))


def factor_read_twice() -> Graph:
    nodes = [Node("g", "Gemm", ("x", "w", "b"), ("t",)), Node("m", "Mul", ("t", "k"), ("y",)),
             Node("s", "Sigmoid", ("t",), ("z",))]  # fmt: skip
    return net(nodes, {"w": weights(4, 5), "b": weights(5), "k": weights(5, seed=2)}, (3, 4), ("y", "z"))


def columns_of_transposed_weights() -> Graph:
    nodes = [Node("g", "Gemm", ("x", "w", "b"), ("t",), {"transB": 1}), Node("m", "Mul", ("t", "k"), ("y",))]
    return net(nodes, {"w": weights(4, 4), "b": weights(4), "k": weights(4, seed=2)}, (3, 4))


def moves_around_units() -> Graph:
    nodes = [
        Node("a", "Transpose", ("x",), ("a",), {"perm": (0, 2, 1, 3)}),
        Node("s", "Squeeze", ("a",), ("b",), {"axes": (0,)}, "", 11),
        Node("c", "Transpose", ("b",), ("c",), {"perm": (0, 2, 1)}),
        Node("r", "Relu", ("c",), ("y",)),
    ]
    return net(nodes, shape=(1, 3, 4, 5))


def negated() -> Graph:
    nodes = [Node("r", "Sigmoid", ("x",), ("t",)), Node("a", "Sub", ("k", "t"), ("y",))]
    return net(nodes, {"k": np.zeros((), "f4")})


def halves() -> Graph:
    return net([Node("d", "Div", ("x", "k"), ("y",))], {"k": np.array(2, "f4")})


def nearly_equal_constants() -> Graph:
    nodes = [Node("a", "Add", ("x", "p"), ("a",)), Node("b", "Mul", ("a", "q"), ("y",))]
    q = weights(1, 4, 6, 6)
    p = q.copy()
    p[0, 1, 2, 3] += 1
    return net(nodes, {"p": p, "q": q})


def products_of_two_inputs() -> Graph:
    nodes = [Node(n, "MatMul", (i, f"w{n}"), (f"t{n}",)) for n, i in (("a", "x"), ("b", "z"))]
    nodes += [Node(f"{n}2", "MatMul", (f"t{n}", "u"), (o,)) for n, o in (("a", "y"), ("b", "q"))]
    return net(nodes, {"wa": weights(4, 4), "wb": weights(4, 4, seed=1)}, (5, 4), ("y", "q"), z=(5, 4), u=(4, 3))
