"""Networks of a few nodes for joining, cutting and handing over memory."""

from __future__ import annotations

import numpy as np
from graph.nets import conv

from workbench.graph import Graph, Node, TensorType


def weights(*shape: int) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / 4).astype("f4")


def growing() -> Graph:
    """Each layer reads everything before and adds something; then all of it is pooled."""
    nodes, have = [conv("first", "x", "w", "t0")], 16
    constants = {"w": weights(16, 8, 1, 1)}
    for k in range(3):
        constants |= {f"a{k}": weights(24, have, 1, 1), f"b{k}": weights(16, 24, 1, 1)}
        nodes += [Node(f"r{k}", "Relu", (f"t{k}",), (f"r{k}",)), conv(f"c{k}", f"r{k}", f"a{k}", f"s{k}")]
        nodes += [conv(f"d{k}", f"s{k}", f"b{k}", f"u{k}")]
        nodes += [Node(f"j{k}", "Concat", (f"t{k}", f"u{k}"), (f"t{k + 1}",), {"axis": 1})]
        have += 16
    nodes.append(Node("pool", "AveragePool", ("t3",), ("y",), {"kernel_shape": (2, 2), "strides": (2, 2)}))
    return Graph.make("growing", nodes, {"x": TensorType((1, 8, 6, 6))}, ("y",), constants)


def columns(name: str, more: list[Node], outputs: tuple[str, ...]) -> Graph:
    """p and q with 16 columns each, and what is made of them."""
    nodes = [Node("a", "MatMul", ("x", "w"), ("p",)), Node("b", "Softmax", ("p",), ("q",), {"axis": 1}), *more]
    constants = {"w": weights(16, 16), "u": weights(32, 16)}
    return Graph.make(name, nodes, {"x": TensorType((6, 16))}, outputs, constants)


def listed() -> Graph:
    """The same parts in another order in a second tensor, so that one of the two has to be copied."""
    more = [Node("c", "Concat", ("p", "q"), ("z",), {"axis": 1}), Node("d", "Concat", ("q", "p"), ("o",), {"axis": 1})]
    more += [Node("e", "MatMul", ("z", "u"), ("y",)), Node("f", "MatMul", ("o", "u"), ("v",))]
    return columns("listed", more, ("y", "v"))


def wanted_part() -> Graph:
    """A part that the caller wants, too."""
    more = [Node("c", "Concat", ("p", "q"), ("z",), {"axis": 1}), Node("e", "MatMul", ("z", "u"), ("y",))]
    return columns("wanted", more, ("y", "p"))


def one_below_the_other() -> Graph:
    """Rows of a result are joined, cut apart again, and given other shapes."""
    nodes = [
        Node("a", "MatMul", ("x", "w"), ("p",)),
        Node("b", "Softmax", ("p",), ("q",), {"axis": 1}),
        Node("c", "Concat", ("p", "q"), ("z",), {"axis": 0}),
        Node("s", "Slice", ("z",), ("t",), {"starts": (3,), "ends": (7,), "axes": (0,)}, version=9),
        Node("m", "Softmax", ("t",), ("u",), {"axis": 1}),
        Node("n", "MatMul", ("t", "w"), ("v",)),
        Node("d", "Concat", ("u", "v"), ("y",), {"axis": 1}),
    ]
    return Graph.make("rows", nodes, {"x": TensorType((5, 32))}, ("y",), {"w": weights(32, 32)})


def heads() -> Graph:
    """Queries, keys and values are thirds of one product, whose columns are then given another shape."""
    nodes = [Node("a", "MatMul", ("x", "w"), ("p",))]
    for k, name in enumerate("qkv"):
        where = {"starts": (32 * k,), "ends": (32 * k + 32,), "axes": (1,)}
        nodes.append(Node(f"s{name}", "Slice", ("p",), (f"{name}1",), where, version=9))
        nodes.append(Node(f"r{name}", "Reshape", (f"{name}1", "shape"), (name,)))
    nodes += [Node("f1", "Softmax", ("q",), ("f",), {"axis": 2}), Node("f2", "Softmax", ("k",), ("g",), {"axis": 2})]
    nodes += [Node("f3", "Softmax", ("v",), ("h",), {"axis": 1}), Node("m", "Mul", ("f", "g"), ("fg",))]
    nodes += [Node("l", "Sub", ("fg", "h"), ("y",))]
    constants = {"w": weights(16, 96), "shape": np.array([6, 2, 16])}
    return Graph.make("heads", nodes, {"x": TensorType((6, 16))}, ("y",), constants)


def rows_upside_down() -> Graph:
    """A result that reads an operand where it does not write, so that it may not lie over it; then one that may."""
    back = {"starts": (-1,), "ends": (-(2**31),), "axes": (0,), "steps": (-1,)}
    constants = {"w": weights(16, 16), **{k: np.array(v) for k, v in back.items()}}
    nodes = [
        Node("a", "MatMul", ("x", "w"), ("p",)),
        Node("b", "Slice", ("p", "starts", "ends", "axes", "steps"), ("q",)),
        Node("c", "Sigmoid", ("q",), ("r",)),
        Node("d", "MatMul", ("r", "w"), ("s",)),
        Node("e", "Softmax", ("s",), ("t",), {"axis": 1}),
        Node("f", "MatMul", ("t", "w"), ("y",)),
    ]
    return Graph.make("rows", nodes, {"x": TensorType((8, 16))}, ("y",), constants)


def read_again() -> Graph:
    """Softmax could lie over its operand, but a later product reads that."""
    nodes = [
        Node("a", "MatMul", ("x", "w"), ("p",)),
        Node("b", "Softmax", ("p",), ("q",), {"axis": 1}),
        Node("c", "MatMul", ("q", "w"), ("r",)),
        Node("d", "MatMul", ("p", "w"), ("s",)),
        Node("e", "MatMul", ("r", "t"), ("y",)),
        Node("t", "Transpose", ("s",), ("t",), {"perm": (1, 0)}),
    ]
    return Graph.make("again", nodes, {"x": TensorType((16, 16))}, ("y",), {"w": weights(16, 16)})


def steps_in_python() -> Graph:
    """Parts that a step reads which is not compiled: it wants them without gaps."""
    nodes = [
        Node("a", "MatMul", ("x", "w"), ("p",)),
        Node("b", "MatMul", ("x", "v"), ("q",)),
        Node("c", "Concat", ("p", "q"), ("y",), {"axis": 1}),
        Node("t", "TopK", ("q", "k"), ("o", "i"), {"axis": 1}, version=11),
    ]
    constants = {"w": weights(32, 32), "v": weights(32, 32) + 1, "k": np.array([2])}
    return Graph.make("steps", nodes, {"x": TensorType((6, 32))}, ("y", "o"), constants)


def handed_on() -> Graph:
    """Memory goes from one result to the next one and to the one after it, beside a larger tensor that waits."""
    nodes = [Node("k", "MatMul", ("x", "v"), ("k",)), Node("a", "MatMul", ("x", "w"), ("s0",))]
    nodes += [Node(f"s{k}", "Softmax", (f"s{k}",), (f"s{k + 1}",), {"axis": k % 2}) for k in range(3)]
    nodes += [Node("b", "MatMul", ("s3", "w"), ("y",)), Node("z", "Softmax", ("k",), ("z",), {"axis": 1})]
    constants = {"w": weights(16, 16), "v": weights(16, 64)}
    return Graph.make("on", nodes, {"x": TensorType((6, 16))}, ("y", "z"), constants)


def rows_of_rows() -> Graph:
    """Half of the rows in each group: no strides make one list of rows of them."""
    nodes = [
        Node("a", "MatMul", ("x", "w"), ("p",)),
        Node("r", "Reshape", ("p", "three"), ("g",)),
        Node("s", "Slice", ("g",), ("h",), {"starts": (0,), "ends": (2,), "axes": (1,)}, version=9),
        Node("t", "Reshape", ("h", "two"), ("l",)),
        Node("m", "Softmax", ("l",), ("y",), {"axis": 1}),
    ]
    constants = {"w": weights(16, 64), "three": np.array([6, 4, 16]), "two": np.array([12, 16])}
    return Graph.make("groups", nodes, {"x": TensorType((6, 16))}, ("y",), constants)


def shifted_rows() -> Graph:
    """Rows 0 to 4 of p become rows 2 to 6 of b: one memory for both would be overwritten too soon."""
    first = {"starts": (0,), "axes": (0,)}
    nodes = [
        Node("a", "MatMul", ("x", "w"), ("p",)),
        Node("s", "Slice", ("p",), ("s",), {**first, "ends": (4,)}, version=9),
        Node("q", "Sigmoid", ("s",), ("q",)),
        Node("t", "Slice", ("q",), ("t",), {**first, "ends": (2,)}, version=9),
        Node("v", "MatMul", ("t", "w"), ("v",)),
        Node("b", "Concat", ("v", "q"), ("b",), {"axis": 0}),
        Node("e", "MatMul", ("b", "w"), ("y",)),
    ]
    return Graph.make("shifted", nodes, {"x": TensorType((6, 16))}, ("y",), {"w": weights(16, 16)})


NETS = (growing, listed, one_below_the_other, heads, rows_upside_down, read_again, steps_in_python, handed_on)
