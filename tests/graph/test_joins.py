"""Joining and cutting without copies, and what has to stay a copy."""

from __future__ import annotations

import random

import numpy as np
import pytest
from graph.checks import kept
from graph.nets import conv, random_feeds

import workbench as wb
from workbench.graph.graph import Graph, Node, TensorType
from workbench.graph.group import Group, Spot
from workbench.graph.memory.plan import plan_memory
from workbench.graph.reference import run_reference
from workbench.graph.tasks import partition


def net(nodes: list[Node], outputs: tuple[str, ...] = ("y",), shape: tuple[int, ...] = (1, 3, 8, 8)) -> Graph:
    """Two convolutions of x, p with 16 and q with 32 channels, and what follows them."""
    rng = np.random.default_rng(1)
    sizes = {"w1": (16, shape[1]), "w2": (32, shape[1]), "w3": (16, 48), "w4": (16, 16), "w5": (16, shape[1])}
    constants = {n: rng.standard_normal((*s, 1, 1)).astype(np.float32) for n, s in sizes.items()}
    first = [conv("a", "x", "w1", "p"), conv("b", "x", "w2", "q")]
    return Graph.make("net", [*first, *nodes], {"x": TensorType(shape, "float32")}, outputs, constants)


def concat(name: str, inputs: tuple[str, ...], out: str, axis: int = 1) -> Node:
    return Node(name, "Concat", inputs, (out,), {"axis": axis})


def part(name: str, x: str, out: str, start: int, end: int, axis: int = 1, step: int = 1) -> Node:
    where = {"starts": (start,), "ends": (end,), "axes": (axis,)}
    if step == 1:
        return Node(name, "Slice", (x,), (out,), where, version=9)
    return Node(name, "Slice", (x, f"{name}.s", f"{name}.e", f"{name}.a", f"{name}.k"), (out,))


#: Nodes after the two convolutions, outputs, and how many concatenations and slices are still copied.
CASES = {
    "both parts in place": ([concat("c", ("p", "q"), "y")], ("y",), 0),
    "a part is read elsewhere, too": ([concat("c", ("p", "q"), "y"), conv("r", "p", "w4", "s")], ("y", "s"), 0),
    "everything before, and something new": (
        [concat("c", ("p", "q"), "z"), conv("d", "z", "w3", "s"), concat("e", ("z", "s"), "y")],
        ("y",),
        0,
    ),
    "the same, written as one list each": (
        [concat("c", ("p", "q"), "z"), conv("d", "z", "w3", "s"), concat("e", ("p", "q", "s"), "y")],
        ("y",),
        0,
    ),
    "other parts in between": (
        [concat("c", ("p", "q"), "z"), conv("d", "z", "w3", "s"), concat("e", ("p", "s", "q"), "y")],
        ("y",),
        1,
    ),
    "the same part twice": ([concat("c", ("p", "p"), "z"), concat("d", ("z", "q"), "y")], ("y",), 1),
    "a single part": ([concat("c", ("p",), "z"), Node("r", "Relu", ("z",), ("y",))], ("y",), 0),
    "an input is a part": ([concat("c", ("p", "x", "q"), "y")], ("y",), 1),
    "an output is a part": ([concat("c", ("p", "q"), "y")], ("y", "p"), 1),
    "a part of two": ([concat("c", ("p", "q"), "y"), concat("d", ("q", "p"), "z")], ("y", "z"), 1),
    "slices": (
        [part("s1", "q", "s", 0, 16), part("s2", "q", "t", 16, 32), Node("m", "MatMul", ("s", "t"), ("y",))],
        ("y",),
        0,
    ),
    "a slice that is an output": ([part("s1", "q", "s", 0, 16)], ("s", "q"), 1),
    "the halves change places": (
        [part("s1", "q", "s", 0, 16), part("s2", "q", "t", 16, 32), concat("c", ("t", "s"), "y")],
        ("y",),
        2,
    ),
    "parts one below the other": ([concat("c", ("p", "q2"), "z", 2), Node("r", "Relu", ("z",), ("y",))], ("y",), 0),
}


def copies(groups: list[Group]) -> int:
    """Kernels that do nothing else."""
    return sum(g.func is not None and all(n.op in ("Concat", "Slice") for n in g.nodes) for g in groups)


def made(case: str) -> tuple[Graph, int]:
    nodes, outputs, left = CASES[case]
    if any("q2" in n.inputs for n in nodes):
        nodes = [conv("b2", "x", "w5", "q2"), *nodes]
    return net(nodes, outputs), left


@pytest.mark.parametrize("case", CASES)
def test_result_and_number_of_copies(case):
    graph, left = made(case)
    assert not kept(graph)
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    assert copies(partition(graph.optimize())) == left
    executable = wb.compile(graph)
    executable.poison()
    got = executable.run(feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-4)


def spots(graph: Graph) -> dict[str, Spot]:
    return {t: s for g in partition(graph.optimize()) for t, s in g.spots.items()}


def test_a_single_part_without_any_pass_that_drops_it():
    graph = net([concat("c", ("p",), "y"), concat("d", ("q", "p"), "z")], ("y", "z"))
    assert not kept(graph, ["fold_constants", "fuse"])
    graph = graph.optimize(["fold_constants", "fuse"])
    assert sum(g.view for g in partition(graph)) == 1
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    for name, value in wb.compile(graph).run(feeds).items():
        np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=1e-5)


def test_a_chain_is_one_tensor_that_grows():
    graph, _ = made("everything before, and something new")
    found = spots(graph)
    unit = min(s.offset for s in found.values() if s.offset) // 16
    assert len({s.whole for s in found.values()}) == 1
    assert sorted(s.offset // unit for s in found.values()) == [0, 0, 16, 48]


def test_views_are_shown_as_such():
    graph, _ = made("both parts in place")
    (view,) = [g for g in partition(graph.optimize()) if g.view and g.nodes[0].op == "Concat"]
    assert view.description.startswith("parts in place: concat of 2")
    assert view.flops == 0
    assert view.key == ""


def test_short_rows_are_copied_where_they_would_be_read():
    """Four numbers are a quarter of a cache line."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (8, 4), "w2": (8, 4), "w3": (4, 4)}
    constants = {n: rng.standard_normal(shape).astype("f4") for n, shape in shapes.items()}

    def joined(*more: Node) -> Graph:
        nodes = [Node("a", "MatMul", ("x", "w1"), ("p",)), Node("b", "MatMul", ("x", "w2"), ("q",))]
        nodes += [concat("c", ("p", "q"), "y", 1), *more]
        outputs = ("y", *(o for n in more for o in n.outputs))
        return Graph.make("g", nodes, {"x": TensorType((5, 8))}, outputs, constants)

    alone, both = joined(), joined(Node("d", "MatMul", ("p", "w3"), ("z",)))
    assert [copies(partition(g.optimize())) for g in (alone, both)] == [0, 1]
    assert not kept(both)


def test_a_small_slice_does_not_keep_a_large_tensor():
    """A slice that is read much later is copied, because all of the tensor would wait for it."""
    big = (1, 64, 32, 32)
    wide = {n: np.ones((64, 64, 1, 1), "f4") / 64 for n in ("w1", "w2", "w3")}
    nodes = [conv("a", "x", "w1", "p"), part("s", "p", "t", 0, 16)]
    nodes += [conv("b", "p", "w2", "q"), conv("c", "q", "w3", "r"), Node("m", "GlobalAveragePool", ("r",), ("u",))]
    nodes += [part("k", "u", "v", 0, 16), Node("add", "Add", ("t", "v"), ("y",))]
    graph = Graph.make("g", nodes, {"x": TensorType(big)}, ("y",), wide)
    assert not kept(graph)
    groups = partition(graph.optimize())
    assert any(g.func is not None and "slice" in g.description for g in groups), [g.description for g in groups]


def test_a_step_that_is_not_compiled_gets_memory_without_gaps():
    def sorted_too(axis: int) -> Graph:
        nodes = [
            Node("a", "MatMul", ("x", "w"), ("p",)),
            Node("b", "Relu", ("x",), ("q",)),
            concat("c", ("p", "q"), "y", axis),
            Node("t", "TopK", ("p", "k"), ("v", "i"), {"axis": 1}, version=11),
        ]
        constants = {"w": np.ones((32, 32), "f4"), "k": np.array([2])}
        return Graph.make("g", nodes, {"x": TensorType((32, 32))}, ("y", "v"), constants)

    assert [copies(partition(sorted_too(axis).optimize())) for axis in (0, 1)] == [0, 1]
    assert not kept(sorted_too(0))
    assert not kept(sorted_too(1))


def random_net(seed: int) -> Graph:
    """Convolutions, concatenations of anything along channels, slices, and element-wise steps."""
    rng = random.Random(seed)
    constants: dict[str, np.ndarray] = {}
    nodes: list[Node] = []
    channels = {"x": 16}

    def new(op: str, inputs: tuple[str, ...], n: int, **attrs: object) -> str:
        out = f"t{len(nodes)}"
        version = 9 if op == "Slice" else 18
        nodes.append(Node(f"n{len(nodes)}", op, inputs, (out,), attrs, version=version))
        channels[out] = n
        return out

    def draw() -> None:
        x = rng.choice(list(channels)[-4:])
        kind = rng.choice(("conv", "conv", "concat", "concat", "slice", "relu", "add", "reshape"))
        if kind == "conv":
            n, w = rng.choice((8, 16, 24)), f"w{len(nodes)}"
            constants[w] = (np.random.default_rng(len(nodes)).standard_normal((n, channels[x], 1, 1)) / 4).astype("f4")
            new("Conv", (x, w), n)
        elif kind == "concat":
            parts = [rng.choice(list(channels)[-6:]) for _ in range(rng.choice((2, 2, 3)))]
            if sum(channels[t] for t in parts) <= 128:
                new("Concat", tuple(parts), sum(channels[t] for t in parts), axis=1)
        elif kind == "slice":
            start = rng.randrange(0, channels[x], 8)
            end = rng.randrange(start + 8, channels[x] + 1, 8)
            new("Slice", (x,), end - start, starts=(start,), ends=(end,), axes=(1,))
        elif kind == "relu":
            new("Relu", (x,), channels[x])
        elif kind == "add":
            same = [t for t in channels if channels[t] == channels[x]]
            new("Add", (x, rng.choice(same)), channels[x])
        else:
            constants["flat"], name = np.array([1, -1]), f"back{channels[x]}"
            constants[name] = np.array([1, channels[x], 5, 3])
            new("Reshape", (new("Reshape", (x, "flat"), channels[x]), name), channels[x])
            del channels[nodes[-2].outputs[0]]

    while len(nodes) < 18:
        draw()
    read = {i for n in nodes for i in n.inputs}
    outputs = tuple(n.outputs[0] for n in nodes if n.outputs[0] not in read)
    return Graph.make("g", nodes, {"x": TensorType((1, 16, 5, 3))}, outputs, constants)


def check_random(seed: int) -> int:
    graph = random_net(seed)
    wrong = kept(graph)
    assert not wrong, f"{seed}: {wrong}"
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    executable = wb.compile(graph)
    executable.poison()
    got = executable.run(feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-3, atol=1e-3, err_msg=f"{name} of {seed}")
    groups = partition(graph.optimize())
    return sum(g.view and g.nodes[0].op in ("Concat", "Slice") for g in groups)


def test_random_networks():
    assert sum(check_random(seed) for seed in range(5)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 180, 20))
def test_many_random_networks(first):
    assert sum(check_random(seed) for seed in range(first, first + 20)) >= 10


def test_parts_of_inputs_and_outputs_in_an_exported_library(tmp_path):
    """Halves of the input change places in the output, which nothing computes elsewhere."""
    nodes = [
        part("s1", "x", "s", 0, 2, axis=0),
        part("s2", "x", "t", 2, 4, axis=0),
        Node("m1", "MatMul", ("s", "w"), ("u",)),
        Node("m2", "MatMul", ("t", "w"), ("v",)),
        Node("n1", "Softmax", ("s",), ("p",), {"axis": 1}),
        concat("c", ("v", "u", "p"), "y", 0),
    ]
    constants = {"w": np.random.default_rng(0).standard_normal((16, 16)).astype("f4")}
    graph = Graph.make("g", nodes, {"x": TensorType((4, 16))}, ("y",), constants)
    executable = wb.compile(graph)
    slots = [s for call in executable.plan.calls for s in call.args]
    assert {s.skip for s in slots if s.kind == "output"} >= {0, 2 * 16 * 4, 4 * 16 * 4}
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)["y"]
    np.testing.assert_allclose(executable.run(feeds)["y"], want, rtol=1e-5, atol=1e-6)
    loaded = wb.load_exported(executable.export(tmp_path / "net.so").library)
    np.testing.assert_array_equal(loaded.run(feeds)["y"], executable.run(feeds)["y"])


def test_the_plan_says_where_parts_begin():
    graph, _ = made("both parts in place")
    graph = graph.optimize()
    groups = partition(graph)
    plan = plan_memory(graph, groups)
    (q,) = [t for g in groups for t, s in g.spots.items() if s.offset and t in g.outputs and not g.view]
    assert plan.places[q].skip == 4 * spots(graph)[q].offset > 0


@pytest.mark.parametrize(("axis", "left"), [(1, 0), (2, 0), (3, 1)])
def test_parts_of_kernels_that_see_an_image_as_a_row(axis, left):
    """Parts along the width are copied: their rows, with gaps between them, are no row."""
    vectors = {n: np.linspace(0.5, 2, 3).astype("f4") for n in ("g", "b")}
    nodes = [
        Node("i", "InstanceNormalization", ("x", "g", "b"), ("p",)),
        Node("r", "Relu", ("x",), ("q",)),
        concat("c", ("p", "q"), "z", axis),
        Node("n", "InstanceNormalization", ("p", "g", "b"), ("s",)),
        Node("t", "Sigmoid", ("z",), ("y",)),
    ]
    graph = Graph.make("g", nodes, {"x": TensorType((1, 3, 16, 16))}, ("y", "s"), vectors)
    passes = ["fold_constants", "fuse"]
    assert not kept(graph, passes)
    assert copies(partition(graph.optimize(passes))) == left
