"""Kernels and tasks: what they compute, what they are called, when two are the same; memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from graph.nets import close, conv, random_feeds, residual_net, run_groups

from workbench import te, workloads
from workbench.graph import Graph, Node, TensorType, extract_tasks, load_onnx, partition, run_reference
from workbench.graph.memory.lifetimes import ALIGNMENT
from workbench.graph.memory.plan import plan_memory
from workbench.graph.structural_key import canonical_text, structural_key
from workbench.graph.tasks import Task
from workbench.ir import verify


def make(nodes, constants=None, shape=(1, 4, 6, 6), outputs=("y",)):
    return Graph.make("g", nodes, {"x": TensorType(shape)}, outputs, constants or {})


def weights(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


# ---- keys ----


def matmul(m=4, n=5, k=6, names=("A", "B", "C", "k"), constant=False, relu=0.0):
    a = te.placeholder((m, k), name=names[0])
    b = te.placeholder((k, n), name=names[1], constant=constant)
    r = te.reduce_axis(k, names[3])
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name=names[2])
    return te.func(te.compute((m, n), lambda p, q: te.maximum(c[p, q], relu), name=names[2] + "r"))


def test_names_do_not_matter():
    assert structural_key(matmul()) == structural_key(matmul(names=("zz", "a", "y", "b")))


@pytest.mark.parametrize("other", [{"m": 3}, {"n": 4}, {"k": 5}, {"constant": True}, {"relu": 1.0}])
def test_everything_else_matters(other):
    assert structural_key(matmul()) != structural_key(matmul(**other))


def test_keys_are_stable():
    """Logs hold keys: a change of the canonical text makes every log of the past useless."""
    assert structural_key(matmul()) == "acff2edcb294f567"
    assert canonical_text(matmul()).splitlines()[0] == "b0 input float32 4x6"


def test_all_workloads_have_different_keys():
    keys = {name: structural_key(f()) for name, f in workloads.ALL.items()}
    assert len(set(keys.values())) == len(keys)


def test_a_convolution_from_a_model_is_the_ready_made_one():
    nodes = [conv("c", "x", "w", "a", "b", pads=(1, 1, 1, 1)), Node("r", "Relu", ("a",), ("y",))]
    constants = {"w": weights(8, 4, 3, 3), "b": weights(8)}
    tasks = extract_tasks(make(nodes, constants, (1, 4, 10, 10)))
    ready = workloads.conv2d_nhwc(10, 10, 4, 8, bias=True, relu=True)
    (mine,) = (t for t in tasks if t.name.startswith("conv2d"))
    assert mine.key == structural_key(ready)
    assert [b.name for b in mine.func.buffers] == [b.name for b in ready.buffers]


# ---- tasks ----


def names(graph):
    return [t.name for t in extract_tasks(graph)]


def test_descriptions():
    assert names(residual_net()) == [
        "transpose 1x3x16x16 to 1x16x16x3",
        "conv2d 3x3/2 3→8 @16x16 + bias + relu",
        "conv2d 1x1 8→8 @8x8",
        "conv2d 3x3 8→8 @8x8 + bias + add + relu",
        "depthwise 3x3 8 @8x8 + bias + add + sigmoid + mul",
        "conv2d 1x1 8→4 @8x8",
        "conv2d 3x3 8→4 @8x8",
        "max_pool 2x2/2 8 @8x8",
        "global_avg_pool 8 @4x4",
        "dense 8→10 + bias",
        "softmax 1x10",
    ]


def test_more_descriptions():
    c = {"w": weights(4, 2, 3, 3)}
    grouped = conv("c", "x", "w", "y", group=2, dilations=(2, 2), strides=(1, 2))
    assert names(make([grouped], c))[1] == "conv2d 3x3/1x2 dilation 2x2 4→4 in 2 groups @6x6"
    assert names(make([Node("m", "MatMul", ("x", "x"), ("y",))], {}, (2, 3, 3))) == ["matmul 2x3x3 · 2x3x3"]
    reduce = [Node("e", "Exp", ("x",), ("a",)), Node("m", "ReduceMax", ("a",), ("y",), {"axes": (1,)}, "", 11)]
    assert names(make(reduce, {}, (2, 3))) == ["exp + reduce_max 2x3"]
    assert names(make([Node("l", "LeakyRelu", ("x",), ("y",))], {}, (2, 3))) == ["leaky_relu 2x3"]


def test_equal_names_are_numbered():
    attrs = [{"axis": 1}, {"axis": 2}]
    nodes = [Node(f"s{i}", "Softmax", ("x",), (f"y{i}",), a) for i, a in enumerate(attrs)]
    assert names(make(nodes, {}, (2, 3, 3), ("y0", "y1"))) == ["softmax 2x3x3", "softmax 2x3x3 (2)"]


def test_equal_computations_are_one_task_with_a_weight():
    nodes = [conv(f"c{i}", f"t{i}", f"w{i}", f"t{i + 1}", f"b{i}") for i in range(3)]
    nodes = [
        Node("r", "Relu", ("x",), ("t0",)),
        *nodes,
        Node("a", "Add", ("t3", "t1"), ("u",)),
        Node("o", "Add", ("u", "t2"), ("y",)),
    ]
    constants = {f"{k}{i}": weights(*s, seed=i) for i in range(3) for k, s in (("w", (4, 4, 1, 1)), ("b", (4,)))}
    found = {t.name: t for t in extract_tasks(make(nodes, constants))}
    task = found["conv2d 1x1 4→4 @6x6 + bias"]
    assert task.weight == 2
    assert task.groups == ("c0", "c1")
    assert task.flops == 36 * 4 * (2 * 4 + 1)
    assert "(c0, c1)" in task.description
    assert found["conv2d 1x1 4→4 @6x6 + bias + add + add"].weight == 1


def test_operand_order_of_a_sum_does_not_make_another_task():
    w = {"w": weights(4, 4, 1, 1)}
    keys = set()
    for order in (("a", "x"), ("x", "a")):
        g = make([conv("c", "x", "w", "a"), Node("s", "Add", order, ("y",))], w)
        keys |= {t.key for t in extract_tasks(g) if t.name.startswith("conv")}
    assert len(keys) == 1


def test_weights_and_biases_are_constant_operands_and_numbers_are_part_of_the_code():
    nodes = [
        conv("c", "x", "w", "a", "b"),
        Node("m", "Mul", ("a", "two"), ("d",)),
        Node("p", "PRelu", ("d", "slope"), ("y",)),
    ]
    constants = {"w": weights(4, 4, 1, 1), "b": weights(4), "two": np.array(2.0, np.float32), "slope": weights(4, 1, 1)}
    g = next(g for g in partition(make(nodes, constants).optimize()) if g.name == "c")
    assert [(b.name, b.role) for b in g.func.params] == [
        ("X", "input"), ("W", "const"), ("bias", "const"), ("C", "const"), ("prelu", "output"),
    ]  # fmt: skip


def test_task_of_a_function_without_network():
    func = workloads.matmul(8, 8, 8)
    task = Task.of_func(func)
    assert task.key == structural_key(func)
    assert task.flops == 2 * 8**3
    assert task.name == "matmul 8x8 8x8 8x8"


# ---- kernels together compute the network ----


RELU = Node("r", "Relu", ("x",), ("a",))
VIEW = Node("v", "Reshape", ("a", "s"), ("y",))
#: What -> (nodes, outputs) with views in every position.
VIEWS = {
    "view of an input is an output": ([Node("v", "Reshape", ("x", "s"), ("y",))], ("y",)),
    "two views of one result": ([RELU, VIEW, Node("f", "Flatten", ("a",), ("z",))], ("y", "z")),
    "view of an output": ([RELU, VIEW], ("y", "a")),
    "view of a view": (
        [
            RELU,
            Node("v", "Reshape", ("a", "s"), ("b",)),
            Node("n", "Neg", ("b",), ("c",)),
            Node("v2", "Reshape", ("b", "back"), ("d",)),
            Node("e", "Exp", ("d",), ("y",)),
            Node("o", "Abs", ("c",), ("z",)),
        ],
        ("y", "z"),
    ),
    "output is an input": ([RELU], ("x", "a")),
}


def views(name):
    nodes, outputs = VIEWS[name]
    return make(nodes, {"s": np.array([4, 36]), "back": np.array([1, 4, 6, 6])}, outputs=outputs)


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("net", ["residual", *VIEWS])
def test_kernels_in_the_planned_arena_compute_the_network(net, optimized):
    graph = residual_net() if net == "residual" else views(net)
    chosen = graph.optimize() if optimized else graph.optimize(["fold_constants", "fuse"])
    for group in partition(chosen):
        if group.func is not None:
            verify.verify(group.func)
    want = run_reference(graph, random_feeds(graph))
    for name, value in run_groups(chosen, random_feeds(graph)).items():
        assert close(value, want[name], 1e-5)


def check_plan(graph):
    groups = partition(graph)
    plan = plan_memory(graph, groups)
    assert plan.live_bytes <= plan.arena_bytes <= plan.total_bytes
    alive: dict[str, list[int]] = {}
    for k, g in enumerate(groups):
        for t in (*g.inputs, *g.outputs):
            if plan.places[t].kind == "arena":
                alive.setdefault(plan.places[t].name, []).append(k)
    for a, b in itertools.combinations(alive, 2):
        pa, pb = plan.places[a], plan.places[b]
        if max(min(alive[a]), min(alive[b])) <= min(max(alive[a]), max(alive[b])):
            assert pa.offset + pa.nbytes <= pb.offset or pb.offset + pb.nbytes <= pa.offset, (a, b)
    for p in plan.places.values():
        if p.kind == "arena":
            assert p.offset % ALIGNMENT == 0
            assert p.offset + p.nbytes <= plan.arena_bytes
    return plan


def test_memory_is_shared_but_never_between_what_lives_at_once():
    plan = check_plan(residual_net().optimize())
    assert plan.arena_bytes < plan.total_bytes


@pytest.mark.parametrize("name", ["squeezenet", "resnet50", "inception_v1"])
def test_arena_of_real_networks_is_near_the_least_possible(light, name):
    plan = check_plan(load_onnx(light(name)).optimize())
    assert plan.arena_bytes <= 1.1 * plan.live_bytes
    assert plan.arena_bytes < 0.35 * plan.total_bytes
