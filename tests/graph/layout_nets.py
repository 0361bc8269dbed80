"""Networks for the layout pass: two convolutions with something between them, and random ones."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from graph.nets import conv
from graph.small import weights

from workbench.graph import Graph, Node, TensorType

#: Channels and pixels between the two convolutions; all lengths differ, so that no wrong axis fits by chance.
C, H, W = 12, 5, 7


def v(*values: float, dtype: str = "i8") -> np.ndarray:
    return np.array(values, dtype)


def one(op: str, *more: str, version: int = 18, **attrs: object) -> list[Node]:
    """One operator from a to b."""
    return [Node("op", op, ("a", *more), ("b",), attrs, version=version)]


#: What stands between the convolutions, from a to b, and its constants. In all of them the order is carried along.
BETWEEN: dict[str, tuple[list[Node], dict[str, np.ndarray]]] = {
    "one number": (one("Mul", "k"), {"k": weights(1)}),
    "per channel": (one("Mul", "k"), {"k": weights(C, 1, 1)}),
    "per channel, all dimensions": (one("Add", "k"), {"k": weights(1, C, 1, 1)}),
    "per column": (one("Add", "k"), {"k": weights(W)}),
    "per pixel": (one("Add", "k"), {"k": weights(H, W)}),
    "per row and channel": (one("Sub", "k"), {"k": weights(C, H, 1)}),
    "the constant comes first": ([Node("op", "Sub", ("k", "a"), ("b",))], {"k": weights(C, 1, 1)}),
    "a slope per channel": (one("PRelu", "k"), {"k": weights(C, 1, 1)}),
    "a gate computed at run time": (
        [
            Node("gap", "GlobalAveragePool", ("a",), ("g",)),
            Node("s", "Sigmoid", ("g",), ("h",)),
            Node("m", "Mul", ("a", "h"), ("b",)),
        ],
        {},
    ),
    "a row of lower rank computed at run time": (
        [
            Node("r", "ReduceMean", ("a",), ("g",), {"axes": (0, 1, 2), "keepdims": 0}, version=13),
            Node("m", "Add", ("a", "g"), ("b",)),
        ],
        {},
    ),
    "an image without its batch computed at run time": (
        [
            Node("r", "ReduceMean", ("a",), ("g",), {"axes": (0,), "keepdims": 0}, version=13),
            Node("m", "Add", ("a", "g"), ("b",)),
        ],
        {},
    ),
    "where": (
        [
            Node("c", "Greater", ("a", "k"), ("t",)),
            Node("w", "Where", ("t", "a", "n"), ("b",)),
        ],
        {"k": weights(C, 1, 1), "n": weights(H, 1)},
    ),
    "a view of a constant": (
        [Node("r", "Reshape", ("k", "s"), ("t",)), Node("op", "Add", ("a", "t"), ("b",))],
        {"k": weights(C * H), "s": v(C, H, 1)},
    ),
    "a transposition of a constant": (
        [Node("r", "Transpose", ("k",), ("t",)), Node("op", "Add", ("a", "t"), ("b",))],
        {"k": weights(W, H, C, 1)},
    ),
    "constants that are joined": (
        [Node("r", "Concat", ("k", "k2"), ("t",), {"axis": 1}), Node("op", "Add", ("a", "t"), ("b",))],
        {"k": weights(1, 2, H, W), "k2": weights(1, C - 2, H, W)},
    ),
    "rows of one length": (one("LpNormalization", axis=1, p=1), {}),
    "logarithms of sums": (one("ReduceLogSumExp", axes=(1,), keepdims=1, version=11), {}),
    "norms of windows": (one("LpPool", kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)), {}),
    "norms of images": (one("GlobalLpPool", p=3), {}),
    "softmax over channels": (one("Softmax", axis=1), {}),
    "softmax over columns": (one("Softmax", axis=-1), {}),
    "sum over rows": (one("ReduceSum", "k", keepdims=1), {"k": v(2)}),
    "maximum over channels": (one("ReduceMax", axes=(1,), keepdims=1, version=13), {}),
    "where the maximum is": (
        [
            Node("m", "ArgMax", ("a",), ("t",), {"axis": 1, "keepdims": 1}),
            Node("f", "Cast", ("t",), ("b",), {"to": 1}),
        ],
        {},
    ),
    "slice of channels": (one("Slice", starts=(2,), ends=(9,), axes=(1,), version=9), {}),
    "slice with steps": (
        one("Slice", "s", "e", "x_", "k"),
        {"s": v(1, 6), "e": v(11, 0), "x_": v(1, -1), "k": v(2, -2)},
    ),
    "concatenation of channels": (
        [Node("op", "Concat", ("a", "r", "k"), ("b",), {"axis": 1}), Node("r", "Relu", ("a",), ("r",))],
        {"k": weights(1, 2, H, W)},
    ),
    "concatenation of rows": (
        [Node("op", "Concat", ("a", "r"), ("b",), {"axis": -2}), Node("r", "Relu", ("a",), ("r",))],
        {},
    ),
    "padding": (one("Pad", pads=(0, 1, 2, 0, 0, 0, 1, 3), value=0.5, version=9), {}),
    "padding by inputs": (one("Pad", "p", "f"), {"p": v(0, 1, 2, 0, 0, 0, 1, 3), "f": weights()}),
    "means of neighbours": (one("Resize", "", "s", mode="linear"), {"s": np.array([1, 1, 1.5, 0.7], "f4")}),
    "means along named axes": (one("Resize", "", "s", mode="cubic", axes=(3, 2)), {"s": np.array([1.5, 0.7], "f4")}),
    "twice the size": (one("Resize", "", "s", mode="nearest"), {"s": np.array([1, 1, 2, 3], "f4")}),
    "another size": (
        one("Resize", "", "", "s", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        {"s": v(1, C, 2 * H, 3 * W)},
    ),
    "repeated": (one("Tile", "k"), {"k": v(1, 1, 2, 1)}),
    "one row": (
        [Node("g", "Gather", ("a", "k"), ("t",), {"axis": 2}), Node("u", "Unsqueeze", ("t", "x_"), ("b",))],
        {"k": v(3)[0], "x_": v(2)},
    ),
    "max pooling": (one("MaxPool", kernel_shape=(2, 3), strides=(2, 1)), {}),
    "local response": (one("LRN", size=3, alpha=0.5), {}),
    "instance normalisation": (one("InstanceNormalization", "k", "n"), {"k": weights(C), "n": weights(C, seed=1)}),
    "mean and variance": (one("MeanVarianceNormalization", axes=(0, 2, -1)), {}),
    "transposed convolution": (one("ConvTranspose", "k", strides=(2, 2)), {"k": weights(C, 8, 2, 3)}),
    "shuffled channels": (
        [
            Node("r1", "Reshape", ("a", "s1"), ("t",)),
            Node("tr", "Transpose", ("t",), ("u",), {"perm": (0, 2, 1, 3, 4)}),
            Node("r2", "Reshape", ("u", "s2"), ("b",)),
        ],
        {"s1": v(1, 3, 4, H, W), "s2": v(1, C, H, W)},
    ),
    "to channels last and back": (
        [
            Node("t1", "Transpose", ("a",), ("t",), {"perm": (0, 2, 3, 1)}),
            Node("k", "Add", ("t", "k"), ("u",)),
            Node("t2", "Transpose", ("u",), ("b",), {"perm": (0, 3, 1, 2)}),
        ],
        {"k": weights(C)},
    ),
    "quantised per channel": (
        [
            Node("q", "QuantizeLinear", ("a", "s", "z"), ("t",), {"axis": 1}),
            Node("d", "DequantizeLinear", ("t", "s", "z"), ("b",), {"axis": 1}),
        ],
        {"s": np.linspace(0.1, 0.4, C, dtype="f4"), "z": np.arange(C).astype("i1")},
    ),
}

#: Transpositions that are left, where they are not those of the network's input and output alone.
MORE = {
    "shuffled channels": 3,
    "a view of a constant": 3,
    "a transposition of a constant": 4,
    "constants that are joined": 3,
    "means along named axes": 4,
    "norms of images": 1,  # one pixel is in any order
}  # (constants are folded before, as a rule)


def between(name: str) -> Graph:
    """The network of an entry of `BETWEEN`: x, a convolution, a, …, b, a convolution, y."""
    nodes, constants = BETWEEN[name]
    first = conv("c1", "x", "w1", "a", pads=(1, 1, 1, 1))
    given = {"x": TensorType((1, 3, H, W))}
    weights1 = {"w1": weights(C, 3, 3, 3), **constants}
    part = Graph.make("g", [first, *nodes], given, ["b"], weights1)
    channels = part.types["b"].shape[1]
    last = conv("c2", "b", "w2", "y")
    return Graph.make("g", [first, *nodes, last], given, ["y"], {**weights1, "w2": weights(4, channels, 1, 1, seed=2)})


def net_of(name: str) -> Callable[[], Graph]:
    """`between` as a function without arguments that has a name."""

    def make() -> Graph:
        return between(name)

    make.__name__ = name
    return make


def classifier() -> Graph:
    """A convolution whose whole image, more than a pixel, is multiplied by a matrix."""
    nodes = [
        conv("c", "x", "w", "a"),
        Node("f", "Flatten", ("a",), ("t",)),
        Node("g", "Gemm", ("t", "m", "b"), ("y",), {"transB": 1}),
    ]
    constants = {"w": weights(C, 3, 1, 1), "m": weights(9, C * H * W), "b": weights(9)}
    return Graph.make("g", nodes, {"x": TensorType((2, 3, H, W))}, ["y"], constants)


def quantised() -> Graph:
    """Convolutions and a residual sum of bytes."""
    rng = np.random.default_rng(0)
    bytes_ = {f"w{k}": rng.integers(-100, 100, (16, ci, 3, 3)).astype("i1") for k, ci in ((1, 3), (2, 16))}
    scales = {
        "s": np.array(0.05, "f4"),
        "z": np.array(120, "u1"),
        "ws": np.full(16, 0.02, "f4"),
        "wz": np.zeros(16, "i1"),
    }

    def product(name: str, x: str, w: str, out: str) -> Node:
        return Node(name, "QLinearConv", (x, "s", "z", w, "ws", "wz", "s", "z"), (out,), {"pads": (1,) * 4})

    nodes = [
        Node("q", "QuantizeLinear", ("x", "s", "z"), ("a",)),
        product("c1", "a", "w1", "b"),
        product("c2", "b", "w2", "c"),
        Node("add", "QLinearAdd", ("b", "s", "z", "c", "s", "z", "s", "z"), ("d",), {}, "com.microsoft", 1),
        Node("p", "MaxPool", ("d",), ("e",), {"kernel_shape": (2, 2), "strides": (2, 2)}),
        Node("dq", "DequantizeLinear", ("e", "s", "z"), ("y",)),
    ]
    return Graph.make("g", nodes, {"x": TensorType((1, 3, 16, 16))}, ["y"], {**scales, **bytes_})


def random_net(seed: int, count: int = 8) -> Graph:
    """Images in one or two sizes that branch, join, change their shape and come back."""
    rng = random.Random(seed)
    nodes: list[Node] = []
    constants: dict[str, np.ndarray] = {}
    types = {"x": (rng.choice((1, 2)), rng.choice((1, 4)), rng.choice((1, 4)), rng.choice((4, 6)))}
    given = {"x": TensorType(types["x"])}

    def add(op: str, inputs: list[str], version: int = 18, **attrs: object) -> None:
        out = f"t{len(nodes)}"
        nodes.append(Node(f"n{len(nodes)}", op, tuple(inputs), (out,), attrs, version=version))
        types[out] = Graph.make("g", nodes, given, [out], constants).types[out].shape

    def constant(*shape: int, value: np.ndarray | None = None) -> str:
        name = f"k{len(constants)}"
        constants[name] = weights(*shape, seed=len(constants)) if value is None else value
        return name

    while len(nodes) < count:
        x = rng.choice(list(types)[-4:])
        shape = types[x]
        kind = rng.choice(_STEPS)
        if kind == "conv" and len(shape) == 4:
            co = rng.choice((1, 4, 8))
            add("Conv", [x, constant(co, shape[1], *(min(2, e) for e in shape[2:]))])
        elif kind == "pool" and len(shape) == 4:
            add("MaxPool", [x], kernel_shape=(1, 2) if shape[3] > 1 else (1, 1))
        elif kind == "relu":
            add("Relu", [x])
        elif kind == "const":
            full = [e if rng.random() < 0.5 else 1 for e in shape]
            add("Mul", [x, constant(*full[rng.randrange(len(full)) :])])
        elif kind == "add":
            other = rng.choice([t for t in types if types[t] == shape])
            add("Add", [x, other])
        elif kind == "concat":
            other = rng.choice([t for t in types if types[t] == shape])
            add("Concat", [x, other], axis=rng.randrange(len(shape)))
        elif kind == "mean":
            add(
                "ReduceMean",
                [x],
                13,
                axes=(rng.randrange(len(shape)),),
                keepdims=int(len(shape) < 4 or rng.random() < 0.5),
            )
        elif kind == "transpose":
            add("Transpose", [x], perm=tuple(rng.sample(range(len(shape)), len(shape))))
        elif kind == "softmax":
            add("Softmax", [x], axis=rng.randrange(len(shape)))
        elif kind == "slice" and max(shape) > 2:
            axis = shape.index(max(shape))
            add("Slice", [x], 9, starts=(1,), ends=(max(shape),), axes=(axis,))
        elif kind == "reshape":
            parts = [p for e in shape for p in ((2, e // 2) if e % 2 == 0 and rng.random() < 0.4 else (e,))]
            while len(parts) > 4 or (len(parts) > 2 and rng.random() < 0.3):
                k = rng.randrange(len(parts) - 1)
                parts[k : k + 2] = [parts[k] * parts[k + 1]]
            add("Reshape", [x, constant(value=np.array(parts))])
        elif kind == "gate" and len(shape) == 4:
            add("GlobalAveragePool", [x])
            add("Mul", [x, f"t{len(nodes) - 1}"])
        elif kind == "gemm" and len(shape) == 2:
            add("MatMul", [x, constant(shape[1], 4)])
    read = {i for n in nodes for i in n.inputs}
    outputs = [o for n in nodes for o in n.outputs if o not in read or rng.random() < 0.1]
    return Graph.make("g", nodes, given, outputs, constants)


_STEPS = (
    *("conv",) * 4,
    *("relu", "const", "add", "concat", "mean", "transpose", "transpose", "softmax", "slice", "reshape", "reshape"),
    *("pool", "gate", "gemm"),
)
