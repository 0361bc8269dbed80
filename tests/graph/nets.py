"""Small networks, and running the kernels of a partitioned graph one after the other."""

from __future__ import annotations

import numpy as np

from workbench.graph import Graph, Node, TensorType, partition
from workbench.graph.evaluation import evaluate as reference
from workbench.graph.group import Group
from workbench.graph.memory.plan import plan_memory
from workbench.graph.type_inference import make_call
from workbench.ir.in_place import overwritable
from workbench.ir.numpy_reference.evaluate import evaluate


def image(*shape: int) -> TensorType:
    return TensorType(shape)


def conv(name: str, x: str, w: str, out: str, b: str = "", **attrs: object) -> Node:
    return Node(name, "Conv", (x, w, b) if b else (x, w), (out,), attrs)


def norm_constants(rng: np.random.Generator, name: str, channels: int) -> dict[str, np.ndarray]:
    return {
        f"{name}.scale": rng.uniform(0.5, 1.5, channels).astype("f4"),
        f"{name}.bias": rng.standard_normal(channels).astype("f4"),
        f"{name}.mean": rng.standard_normal(channels).astype("f4"),
        f"{name}.var": rng.uniform(0.5, 1.5, channels).astype("f4"),
    }


def norm(name: str, x: str, out: str) -> Node:
    inputs = (x, *(f"{name}.{p}" for p in ("scale", "bias", "mean", "var")))
    return Node(name, "BatchNormalization", inputs, (out,), {"epsilon": 1e-5})


def residual_net() -> Graph:
    """Two residual blocks (one with a convolution in its shortcut), concat, pooling, a dense layer, softmax."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype("f4")

    constants = {
        "w0": weights(8, 3, 3, 3),
        **norm_constants(rng, "n0", 8),
        "w1": weights(8, 8, 3, 3),
        **norm_constants(rng, "n1", 8),
        "w2": weights(8, 8, 1, 1),
        "w3": weights(8, 1, 3, 3),
        "b3": weights(8),
        "w4": weights(4, 8, 1, 1),
        "w5": weights(4, 8, 3, 3),
        "dense.w": weights(10, 8),
        "dense.b": weights(10),
        "shape": np.array([1, -1]),
    }
    same = {"pads": (1, 1, 1, 1)}
    nodes = [
        conv("c0", "data", "w0", "t0", strides=(2, 2), **same),
        norm("n0", "t0", "t1"),
        Node("r0", "Relu", ("t1",), ("t2",)),
        conv("c1", "t2", "w1", "t3", **same),
        norm("n1", "t3", "t4"),
        conv("c2", "t2", "w2", "t5"),
        Node("a1", "Sum", ("t4", "t5"), ("t6",)),
        Node("r1", "Relu", ("t6",), ("t7",)),
        conv("c3", "t7", "w3", "t8", "b3", group=8, **same),
        Node("a2", "Add", ("t7", "t8"), ("t9",)),
        Node("s2", "Sigmoid", ("t9",), ("t10",)),
        Node("m2", "Mul", ("t9", "t10"), ("t11",)),
        conv("c4", "t11", "w4", "t12"),
        conv("c5", "t11", "w5", "t13", **same),
        Node("cat", "Concat", ("t12", "t13"), ("t14",), {"axis": 1}),
        Node("pool", "MaxPool", ("t14",), ("t15",), {"kernel_shape": (2, 2), "strides": (2, 2)}),
        Node("gap", "GlobalAveragePool", ("t15",), ("t16",)),
        Node("flat", "Reshape", ("t16", "shape"), ("t17",)),
        Node("dense", "Gemm", ("t17", "dense.w", "dense.b"), ("t18",), {"transB": 1}),
        Node("soft", "Softmax", ("t18",), ("prob",), {"axis": 1}),
    ]
    return Graph.make("residual", nodes, {"data": image(1, 3, 16, 16)}, ["prob"], constants)


def random_feeds(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def one(t: TensorType) -> np.ndarray:
        if t.dtype in ("uint8", "int8"):
            return rng.integers(0, 256, t.shape).astype("u1").view(t.dtype)
        return rng.standard_normal(t.shape).astype(t.dtype)

    return {n: one(t) for n, t in graph.input_types().items()}


def reuses(groups: list[Group]) -> dict[int, list[tuple[str, str]]]:
    """Which results may be written over which operands, for kernels that are not scheduled."""
    pairs = {k: overwritable(g.func) for k, g in enumerate(groups) if g.func is not None}
    return {k: [(groups[k].args[i][1], groups[k].args[o][1]) for i, o in found] for k, found in pairs.items()}


def run_groups(graph: Graph, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Evaluate every kernel, with all intermediate results in the planned arena (poisoned first)."""
    groups = partition(graph)
    plan = plan_memory(graph, groups, reuses(groups))
    arena = np.full(plan.arena_bytes, 0xFF, np.uint8)
    own = {n: a.copy() for n, a in {**graph.constants, **feeds}.items()}
    for name in graph.outputs:
        t = graph.types[name]
        own.setdefault(name, np.full(t.nbytes, 0xFF, np.uint8).view(t.dtype).reshape(t.shape))

    spots = {t: spot for g in groups for t, spot in g.spots.items()}

    def read(name: str) -> np.ndarray:
        t, place = graph.types[name], plan.places[name]
        memory = arena[place.offset :] if place.kind == "arena" else own[place.name].reshape(-1).view(np.uint8)
        if name not in spots:
            return memory[place.skip : place.skip + t.nbytes].view(t.dtype).reshape(t.shape)
        whole = memory[place.skip : place.nbytes].view(t.dtype)
        last = sum((n - 1) * s for n, s in zip(t.shape, spots[name].strides, strict=True))
        assert 0 <= last < whole.size, f"{name} reaches beyond the memory that it lies in"
        strides = [s * whole.itemsize for s in spots[name].strides]
        return np.lib.stride_tricks.as_strided(whole, t.shape, strides)

    for g in groups:
        if g.obstacle or g.kernel is not None:
            (node,) = g.nodes
            given = (None if not i else own[i] if i in graph.constants else read(i) for i in node.inputs)
            made = reference(make_call(node, graph.types, graph.constants), *given)
            for o, value in zip(node.outputs, made, strict=False):
                if o:
                    read(o)[...] = value
        if g.func is None:
            continue
        params = {b.name: b for b in g.func.params}
        tensor = dict(g.args)
        # A kernel may see several dimensions of a tensor as one.
        given = {p: read(t).reshape(params[p].shape) for p, t in g.args if params[p].role != "output"}
        assert [p for p, _ in g.args] == list(params)
        for name, value in evaluate(g.func, given).items():
            read(tensor[name])[...] = value.reshape(graph.types[tensor[name]].shape)
    return {o: read(o).copy() for o in graph.outputs}


def close(got: np.ndarray, want: np.ndarray, tolerance: float = 2e-4) -> bool:
    """Same shape and dtype, and the largest difference small against the largest value."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return float(np.abs(got - want).max(initial=0)) <= tolerance * float(np.abs(want).max(initial=0))
