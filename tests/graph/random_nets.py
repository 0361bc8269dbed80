"""Random networks of a dozen nodes: images, rows, conditions, constants, values that are read twice or not at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from graph.nets import norm_constants

from workbench.graph import Graph, Node, TensorType
from workbench.graph.graph import AttrValue


class Maker:
    """Adds one node after the other; what a step needs is there before it is chosen."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs = {"x": self._start(), "z": TensorType(())}
        self.inputs["z"] = self.inputs["x"]
        self.types: dict[str, TensorType] = dict(self.inputs)

    def _start(self) -> TensorType:
        n, c, h, w = (int(self.rng.integers(1, 3)), int(self.rng.integers(2, 7)), *self.rng.integers(4, 9, 2))
        return TensorType((n, c, int(h), int(w)) if self.rng.random() < 0.6 else (n, int(h), c * 2))

    # ---- pieces ----

    def constant(self, *shape: int, low: float | None = None) -> str:
        name = f"c{len(self.constants)}"
        value = self.rng.standard_normal(shape) if low is None else self.rng.random(shape) + low
        self.constants[name] = np.asarray(value, "f4")
        return name

    def ints(self, *values: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(values, np.int64)
        return name

    def pick(self, fits: Callable[[TensorType], bool]) -> str | None:
        """One of the tensors so far, the newest ones first as a rule."""
        names = [n for n, t in self.types.items() if fits(t)]
        return names[-1 - min(len(names) - 1, int(self.rng.geometric(0.5)) - 1)] if names else None

    def add(
        self, op: str, inputs: tuple[str, ...], attrs: dict[str, AttrValue] | None = None, version: int = 18
    ) -> str:
        k = len(self.nodes)
        node = Node(f"n{k}", op, inputs, (f"t{k}",), attrs or {}, "", version)
        made = Graph.make("g", [node], {i: self.types[i] for i in inputs if i in self.types}, node.outputs, {
            i: self.constants[i] for i in inputs if i in self.constants
        })  # fmt: skip
        self.nodes.append(node)
        self.types[node.outputs[0]] = made.types[node.outputs[0]]
        return node.outputs[0]

    def graph(self) -> Graph:
        made = [n.outputs[0] for n in self.nodes]
        read = {i for n in self.nodes for i in n.inputs}
        ends = [o for o in made if o not in read and self.rng.random() < 0.9] or made[-1:]
        more = [o for o in made if o in read and self.rng.random() < 0.12]
        used = {i for n in self.nodes for i in n.inputs}
        constants = {n: a for n, a in self.constants.items() if n in used}
        outputs = [str(o) for o in self.rng.permutation(list(dict.fromkeys([*ends, *more])))]
        return Graph.make("random", self.nodes, self.inputs, outputs, constants)


def image(t: TensorType) -> bool:
    return t.rank == 4 and t.dtype == "float32" and min(t.shape[2:]) > 2 and t.size < 5000


def floats(t: TensorType) -> bool:
    return t.dtype == "float32" and t.rank > 1 and t.size < 5000


def rows(t: TensorType) -> bool:
    return t.dtype == "float32" and t.rank in (2, 3) and t.size < 5000


def conv(m: Maker) -> None:
    x = m.pick(image)
    if x is None:
        return
    ci, co, k = m.types[x].shape[1], int(m.rng.integers(2, 7)), int(m.rng.choice([1, 1, 3]))
    group = ci if m.rng.random() < 0.2 else 1
    co = ci if group > 1 else co
    pads = tuple(int(p) for p in m.rng.integers(0, 2, 4)) if k == 3 else (0, 0, 0, 0)
    inputs = [x, m.constant(co, ci // group, k, k), *([m.constant(co)] if m.rng.random() < 0.5 else [])]
    stride = int(m.rng.choice([1, 1, 2]))
    m.add("Conv", tuple(inputs), {"pads": pads, "group": group, "strides": (stride, stride)})


def batch_norm(m: Maker) -> None:
    x = m.pick(image)
    if x is None:
        return
    name = f"bn{len(m.constants)}"
    parts = norm_constants(m.rng, name, m.types[x].shape[1])
    m.constants |= parts
    m.add("BatchNormalization", (x, *parts), {"epsilon": float(m.rng.choice([1e-5, 0.1]))})


def pool(m: Maker) -> None:
    x = m.pick(image)
    if x is not None:
        op = str(m.rng.choice(["MaxPool", "AveragePool"]))
        more: dict[str, AttrValue] = {"count_include_pad": 1} if op == "AveragePool" and m.rng.random() < 0.5 else {}
        m.add(op, (x,), {"kernel_shape": (2, 2), "pads": (0, 1, 1, 0), **more}, 12)


def pad(m: Maker) -> None:
    x = m.pick(image)
    if x is not None:
        value = float(m.rng.choice([0.0, 0.0, -np.inf, 1.0])) if m.rng.random() < 0.7 else 0.0
        spot = m.add("Pad", (x,), {"pads": (0, 0, 1, 0, 0, 0, 0, 1), "value": value}, 10)
        op = "MaxPool" if value != 0 else str(m.rng.choice(["MaxPool", "AveragePool"]))
        y = m.add(op, (spot,), {"kernel_shape": (2, 2)}, 12)
        if value == -np.inf:  # infinities do not go further
            m.types.pop(spot)
        assert y


UNARY = ("Relu", "Sigmoid", "Neg", "Abs", "Identity", "Tanh", "Floor", "Relu", "Neg")


def unary(m: Maker) -> None:
    x = m.pick(floats)
    if x is not None:
        m.add(str(m.rng.choice(UNARY)), (x,))


def limits(m: Maker) -> None:
    x = m.pick(floats)
    if x is None:
        return
    low, high = sorted(float(v) for v in m.rng.choice([-0.5, 0.0, 0.25, 1.0], 2))
    if m.rng.random() < 0.5:
        m.add("Clip", (x,), {"min": low, "max": high}, 6)
    else:
        name = m.constant()
        m.constants[name] = np.array(low, "f4")
        m.add(str(m.rng.choice(["Max", "Min"])), (x, name))


def with_constant(m: Maker) -> None:
    x = m.pick(floats)
    if x is None:
        return
    shape = m.types[x].shape
    kinds = {"one": (), "last": shape[-1:], "full": shape, "channel": (1, shape[1], *(1,) * (len(shape) - 2))}
    kind = str(m.rng.choice(list(kinds)))
    c = m.constant(*kinds[kind], low=0.5)
    if m.rng.random() < 0.4:
        m.constants[c] = np.full_like(m.constants[c], m.rng.choice([0.0, 1.0, -1.0, 2.0, 0.5]))
    op = str(m.rng.choice(["Add", "Sub", "Mul", "Div"]))
    if op == "Div" and not m.constants[c].all():
        op = "Mul"
    swap = m.rng.random() < 0.3 and op != "Div"
    m.add(op, (c, x) if swap else (x, c))


def two(m: Maker) -> None:
    x = m.pick(floats)
    y = m.pick(lambda t: x is not None and t == m.types[x])
    if x is not None and y is not None:
        m.add(str(m.rng.choice(["Add", "Sub", "Mul", "Add"])), (x, y) if m.rng.random() < 0.5 else (y, x))


def again(m: Maker) -> None:
    """The same node once more."""
    if m.nodes:
        n = m.nodes[int(m.rng.integers(len(m.nodes)))]
        m.add(n.op, n.inputs, dict(n.attrs), n.version)


def concat(m: Maker) -> None:
    x = m.pick(image)
    if x is None:
        return
    same = [
        n
        for n, t in m.types.items()
        if image(t) and (t.shape[0], *t.shape[2:]) == (m.types[x].shape[0], *m.types[x].shape[2:])
    ]
    m.add("Concat", tuple(str(n) for n in m.rng.choice(same, int(m.rng.integers(1, 4)))), {"axis": 1})


def cut(m: Maker) -> None:
    x = m.pick(floats)
    if x is None:
        return
    axis = int(m.rng.integers(1, m.types[x].rank))
    long = m.types[x].shape[axis]
    start = int(m.rng.integers(0, max(1, long - 1)))
    m.add("Slice", (x,), {"starts": (start,), "ends": (int(m.rng.integers(start + 1, long + 2)),), "axes": (axis,)}, 9)


def transpose(m: Maker) -> None:
    x = m.pick(floats)
    if x is not None:
        m.add("Transpose", (x,), {"perm": (0, *(1 + int(p) for p in m.rng.permutation(m.types[x].rank - 1)))})


def reshape(m: Maker) -> None:
    x = m.pick(floats)
    if x is None:
        return
    shape = m.types[x].shape
    to = {
        "joined": (*shape[:-2], shape[-2] * shape[-1]),
        "unit": (*shape[:-1], 1, shape[-1]) if len(shape) < 4 else shape,
        "divided": (*shape[:-1], shape[-1] // 2, 2) if shape[-1] % 2 == 0 and len(shape) < 4 else shape,
    }
    m.add("Reshape", (x, m.ints(*to[str(m.rng.choice(list(to)))])))


def dense(m: Maker) -> None:
    x = m.pick(rows)
    if x is None:
        return
    k, n = m.types[x].shape[-1], int(m.rng.choice([2, 4, 6]))
    w = m.constant(k, n)
    m.constants[w] /= np.sqrt(k)
    y = m.add("MatMul", (x, w))
    if m.rng.random() < 0.6:
        m.add("Add", (y, m.constant(n)) if m.rng.random() < 0.5 else (m.constant(n), y))


def gemm(m: Maker) -> None:
    x = m.pick(lambda t: rows(t) and t.rank == 2)
    if x is not None:
        k = m.types[x].shape[1]
        attrs = {"transB": 1, **({"alpha": 0.5, "beta": 2.0} if m.rng.random() < 0.4 else {})}
        m.add("Gemm", (x, m.constant(4, k), m.constant(4)), attrs)


def product(m: Maker) -> None:
    """Product of two computed tensors, one of them transposed."""
    x = m.pick(lambda t: rows(t) and t.rank == 3)
    if x is not None:
        y = m.add("Transpose", (x,), {"perm": (0, 2, 1)})
        z = m.add("MatMul", (x, y))
        m.add("Transpose", (z,), {"perm": (2, 0, 1)})


def normalise(m: Maker) -> None:
    x = m.pick(lambda t: floats(t) and t.shape[-1] > 1)
    if x is None:
        return
    n = m.types[x].shape[-1]
    if m.rng.random() < 0.5:
        m.add("Softmax", (x,), {"axis": -1}, 13)
    else:
        m.add("LayerNormalization", (x, m.constant(n, low=0.5), m.constant(n)), {"axis": -1, "epsilon": 0.01}, 17)


def choose(m: Maker) -> None:
    x = m.pick(floats)
    if x is not None:
        zero = m.constant(1)
        test = m.add("Greater", (x, zero))
        test = m.add("Not", (test,)) if m.rng.random() < 0.5 else test
        m.add("Where", (test, x, m.constant(1)))


def reduce(m: Maker) -> None:
    x = m.pick(lambda t: floats(t) and t.rank > 2)
    if x is not None:
        axes = (2, 3) if m.types[x].rank == 4 and m.rng.random() < 0.5 else (1,)
        m.add("ReduceMean", (x,), {"axes": axes, "keepdims": 1}, 13)


STEPS = (
    conv, conv, batch_norm, pool, pad, unary, unary, limits, with_constant, with_constant, two, two, again, concat, cut,
    transpose, reshape, dense, dense, gemm, product, normalise, choose, reduce,
)  # fmt: skip


def random_net(seed: int, most: int = 14) -> Graph:
    """A network of at most about `most` nodes."""
    m = Maker(seed)
    while len(m.nodes) < most:
        STEPS[int(m.rng.integers(len(STEPS)))](m)
    return m.graph()
