import itertools
import json
import sys

import numpy as np
import pytest
from graph.conftest import light_path
from graph.nets import conv as conv_node

import workbench as wb
from workbench import workloads
from workbench.analysis import network, pass_network, stage_graph
from workbench.analysis.graph_drawing.network_drawing import kernel_label, network_key
from workbench.cooperative_yield import giving_way
from workbench.errors import UsageError
from workbench.graph import Graph, Node, TensorType
from workbench.ir.bytes_moved import least_traffic
from workbench.ir.text.parser import parse


@pytest.fixture(scope="module")
def squeezenet():
    graph = wb.load_onnx(light_path("squeezenet")).optimize()
    return graph, wb.extract_tasks(graph)


@pytest.fixture(scope="module")
def resnet():
    graph = wb.load_onnx(light_path("resnet50")).optimize()
    return graph, wb.extract_tasks(graph)


def residual(count, mask=False):
    """Blocks of two convolutions and an addition, on small images."""
    nodes, at = [], "x"
    for k in range(count):
        nodes += [
            conv_node(f"a{k}", at, "w", f"ta{k}", pads=(1, 1, 1, 1)),
            Node(f"r{k}", "Relu", (f"ta{k}",), (f"tr{k}",)),
        ]
        nodes += [conv_node(f"b{k}", f"tr{k}", "w", f"tb{k}", pads=(1, 1, 1, 1))]
        last = f"tb{k}"
        if mask:
            nodes.append(Node(f"m{k}", "Mul", (last, "mask"), (f"tm{k}",)))
            last = f"tm{k}"
        nodes.append(Node(f"s{k}", "Add", (last, at), (f"ts{k}",)))
        at = f"ts{k}"
    inputs = {"x": TensorType((1, 4, 6, 6))} | ({"mask": TensorType((1, 4, 6, 6))} if mask else {})
    weights = np.ones((4, 4, 3, 3), "f4")
    return Graph.make("residual", nodes, inputs, [at], {"w": weights})


def drawn(graph, **options):
    fused = graph.optimize()
    return network(fused, wb.extract_tasks(fused), **options)


def check(drawing):
    """Everything lies within its frame, and lines run from the lower edge of one end to the upper edge of another."""
    ends = {p.leaf.id: (p.x, p.y, p.w, p.h) for p in drawing.nodes} | {
        p.frame.id: (p.x, p.y, p.w, p.h) for p in drawing.frames
    }
    assert len(ends) == len(drawing.nodes) + len(drawing.frames)
    for p in drawing.nodes:
        outer = drawing.frames[p.frame] if p.frame is not None else drawing
        left, top = (outer.x, outer.y) if p.frame is not None else (0, 0)
        width, height = (outer.w, outer.h) if p.frame is not None else (drawing.width, drawing.height)
        assert left - 0.51 <= p.x
        assert p.x + p.w <= left + width + 0.51
        assert top - 0.01 <= p.y
        assert p.y + p.h <= top + height + 0.01
    for e in drawing.edges:
        (ax, ay, aw, ah), (bx, by, bw, bh) = ends[e.a], ends[e.b]
        inside_a = ax <= bx and ay <= by and ax + aw >= bx + bw and ay + ah >= by + bh  # the frame's own end
        inside_b = bx <= ax and by <= ay and bx + bw >= ax + aw and by + bh >= ay + ah
        assert e.points[0] == pytest.approx((ax + aw / 2, ay + (24 if inside_a else ah)), abs=1.01)
        assert e.points[-1] == pytest.approx((bx + bw / 2, by + (bh if inside_b else 0)), abs=1.01)


def test_every_kernel_of_a_network_is_a_node_with_its_task(squeezenet):
    graph, tasks = squeezenet
    drawing = network(graph, tasks)
    by_task = {}
    for p in drawing.nodes:
        if p.leaf.task is not None:
            assert p.leaf.kind == "task"
            by_task.setdefault(p.leaf.task, set()).add(p.leaf.id)
    assert by_task == {k: set(t.groups) for k, t in enumerate(tasks)}
    kinds = [p.leaf.kind for p in drawing.nodes]
    assert (kinds.count("input"), kinds.count("output")) == (1, 1)
    assert kinds.count("view") == 2 + sum(n.op == "Concat" for n in graph.nodes)
    assert all(p.leaf.bytes == least_traffic(tasks[p.leaf.task].func) for p in drawing.nodes if p.leaf.tunable)


def test_edges_of_a_network_are_its_tensors(squeezenet):
    drawing = network(*squeezenet)
    into = {}
    for e in drawing.edges:
        into.setdefault(e.b, []).append(e.a)
    for p in drawing.nodes:
        wanted = 0 if p.leaf.kind == "input" else 2 if p.leaf.label == "concat of 2" else 1
        assert len(into.get(p.leaf.id, [])) == wanted
    check(drawing)


def test_a_graph_is_optimised_where_that_has_not_happened(squeezenet):
    raw = wb.load_onnx(light_path("squeezenet"))
    assert network(raw, squeezenet[1]) == network(*squeezenet)


def test_the_four_stages_of_resnet_are_folded(resnet):
    graph, tasks = resnet
    drawing = network(graph, tasks)
    assert [(p.frame.title, p.frame.times, p.frame.count) for p in drawing.frames] == [
        ("stage 1 · 56×56", 2, 3), ("stage 2 · 28×28", 3, 3), ("stage 3 · 14×14", 5, 3), ("stage 4 · 7×7", 2, 3),
    ]  # fmt: skip
    hidden = sum((p.frame.times - 1) * p.frame.count for p in drawing.frames)
    assert len(drawing.nodes) + hidden == len(network(graph, tasks, folded=False).nodes)
    check(drawing)
    assert len(json.dumps(drawing.columns())) < 8_000


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("level", ["kernels", "nodes"])
def test_what_is_left_out_is_what_is_drawn_again(mask, level):
    graph = residual(6, mask)
    whole, folded = drawn(graph, folded=False, level=level), drawn(graph, level=level)
    (fold,) = [p for p in folded.frames if p.frame.times > 1]
    assert fold.frame.times == (5 if mask else 6)  # the mask is turned around within the first block
    opened = drawn(graph, level=level, expanded=[fold.frame.id])
    assert {p.leaf.id for p in opened.nodes} == {p.leaf.id for p in whole.nodes}
    assert {p.leaf.id for p in folded.nodes} < {p.leaf.id for p in whole.nodes}
    (open_fold,) = [p for p in opened.frames if p.frame.times > 1]
    assert (open_fold.frame.id, open_fold.frame.open, fold.frame.open) == (fold.frame.id, True, False)
    for drawing in (whole, folded, opened):
        check(drawing)
    if level == "kernels":  # what is left out is known by name
        left_out = {id for ids in folded.likes.values() for id in ids}
        assert left_out == {p.leaf.id for p in whole.nodes} - {p.leaf.id for p in folded.nodes}
        assert " ".join(folded.columns()["likes"].values()).split() == [i for ids in folded.likes.values() for i in ids]


def test_lines_of_a_folded_block_enter_and_leave_its_frame():
    drawing = drawn(residual(4))
    (fold,) = drawing.frames
    id, (first, second) = fold.frame.id, [item.id for item in fold.frame.items]
    ends = {(e.a, e.b) for e in drawing.edges}
    before = next(p.leaf.id for p in drawing.nodes if (p.leaf.id, id) in ends)
    after = next(p.leaf.id for p in drawing.nodes if (id, p.leaf.id) in ends and p.frame is None)
    around = {(before, id), (id, first), (id, second), (first, second), (second, id), (id, after)}
    assert around <= ends
    assert {e for e in ends if id in e or first in e or second in e} == around


def test_a_kernel_shows_its_operators_in_place():
    graph = residual(1)
    (kernel,) = [p.leaf for p in drawn(graph).nodes if p.leaf.ops == 2 and "add" in p.leaf.sub]
    drawing = drawn(graph, expanded=[f"kernel:{kernel.id}"])
    (frame,) = drawing.frames
    inside = [p.leaf for p in drawing.nodes if p.frame == 0]
    assert [p.label for p in inside] == ["conv", "add"]
    assert {p.task for p in inside} == {kernel.task} == {frame.frame.task}
    check(drawing)


def test_operators_of_all_kernels(squeezenet):
    graph, tasks = squeezenet
    drawing = network(graph, tasks, level="nodes")
    assert {n.name for n in graph.nodes} == {p.leaf.id for p in drawing.nodes if ":" not in p.leaf.id}
    check(drawing)


def test_blocks_within_blocks():
    nodes, at = [], "x"
    for k in range(3):
        for i in range(3):
            nodes.append(conv_node(f"c{k}.{i}", at, "w", f"t{k}.{i}", pads=(1, 1, 1, 1)))
            at = f"t{k}.{i}"
        nodes.append(Node(f"p{k}", "MaxPool", (at,), (f"u{k}",), {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}))
        at = f"u{k}"
    weights = np.ones((4, 4, 3, 3), "f4")
    graph = Graph.make("nested", nodes, {"x": TensorType((1, 4, 6, 6))}, [at], {"w": weights})
    drawing = drawn(graph)
    assert [(p.frame.times, p.frame.count) for p in drawing.frames] == [(3, 4), (3, 1)]
    check(drawing)
    opened = drawn(graph, expanded=[drawing.frames[0].frame.id])
    assert [p.frame.times for p in opened.frames] == [3, 3, 3, 3]
    check(opened)


def test_columns_say_the_same_as_the_drawing():
    drawing = drawn(residual(4, mask=True))
    c = json.loads(json.dumps(drawing.columns()))
    n = len(drawing.nodes)
    for k, p in enumerate(drawing.nodes):
        assert (c["id"][k], c["words"][c["label"][k]], c["words"][c["sub"][k]]) == (p.leaf.id, p.leaf.label, p.leaf.sub)
        assert (c["x"][k], c["y"][k], c["fold"][k]) == (round(p.x), round(p.y), p.frame)
        assert c["task"][k] == p.leaf.task
    for k, p in enumerate(drawing.frames):
        found = [c["folds"][name][k] for name in ("id", "times", "nodes", "task", "x", "y", "w", "h")]
        place = [round(v) for v in (p.x, p.y, p.w, p.h)]
        assert found == [p.frame.id, p.frame.times, p.frame.count, p.frame.task, *place]
        assert (c["words"][c["folds"]["title"][k]], bool(c["folds"]["open"][k])) == (p.frame.title, p.frame.open)
    ids = [*c["id"], *c["folds"]["id"]]
    assert [(ids[a], ids[b]) for a, b in zip(c["a"], c["b"], strict=True)] == [(e.a, e.b) for e in drawing.edges]
    for steps, e in zip(c["points"], drawing.edges, strict=True):
        points = zip(itertools.accumulate(steps[::2]), itertools.accumulate(steps[1::2]), strict=True)
        assert list(points) == [(round(x), round(y)) for x, y in e.points]
    assert len(c["id"]) == n == len(c["w"])
    assert len(set(c["words"])) == len(c["words"])


def test_a_large_drawing_gives_way_at_every_small_step():
    """Counted in calls and returns between two pauses, which no other load changes: 10,000 take some 2 ms."""
    graph = residual(60).optimize()
    tasks = wb.extract_tasks(graph)
    events, pauses = itertools.count(), [0]
    sys.setprofile(lambda frame, event, arg: next(events))
    try:
        with giving_way(lambda: pauses.append(next(events))):
            network(graph, tasks, level="nodes", expanded=[f.frame.id for f in network(graph, tasks).frames]).columns()
    finally:
        sys.setprofile(None)
    stretches = [b - a for a, b in itertools.pairwise([*pauses, next(events)])]
    assert len(stretches) > 20 * len(graph.nodes)
    assert max(stretches) < 10_000
    assert sum(s for s in stretches if s < 1000) > 0.9 * sum(stretches)


def test_a_kernel_that_cannot_be_compiled_says_why():
    nodes = [Node("r", "Relu", ("x",), ("t",)), Node("n", "TopK", ("t", "k"), ("y", "i"), {"axis": -1})]
    graph = Graph.make("odd", nodes, {"x": TensorType((4, 4))}, ["y"], {"k": np.array([2])})
    (host,) = [p.leaf for p in drawn(graph).nodes if p.leaf.kind == "host"]
    assert host.task is None
    assert not host.tunable
    assert host.sub
    assert host.bytes > 0


def test_the_key_tells_networks_apart(squeezenet, resnet):
    assert network(*squeezenet).key == network_key(*squeezenet) == network(*squeezenet, level="nodes").key
    assert network_key(*squeezenet) != network_key(*resnet)


@pytest.mark.parametrize("side", ["before", "after"])
def test_before_and_after_of_each_pass(side):
    report = wb.load_onnx(light_path("squeezenet")).explain()
    for k, p in enumerate(report.passes):
        drawing = pass_network(report, k, side, folded=False)
        shown = {q.leaf.id: q.leaf for q in drawing.nodes if q.leaf.kind not in ("input", "output")}
        assert shown.keys() == {n.name for n in report.at(k, side).nodes}
        kinds = ("removed", "changed") if side == "before" else ("added", "changed")
        assert {id: leaf.mark for id, leaf in shown.items() if leaf.mark} == {
            c.node: c.kind for c in p.changes if c.kind in kinds
        }
        assert all(leaf.reason for leaf in shown.values() if leaf.mark)
        check(drawing)
    assert report.at(len(report.passes) - 1).groups == report.graph.groups
    assert report.at(0, "before") is report.before


def test_what_a_pass_did_is_not_folded_away():
    graph = residual(4).optimize(without=["fuse"])
    report = Graph.make(
        "again", graph.nodes, {i: graph.types[i] for i in graph.inputs}, graph.outputs, graph.constants
    ).explain()
    fuse = next(k for k, p in enumerate(report.passes) if p.name == "fuse")
    assert [f.frame.times for f in pass_network(report, fuse).frames if f.frame.times > 1] == [4]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda g, t: network(g, t, level="loops"), "usage.level"),
        (lambda g, t: pass_network(g.explain(), 99), "usage.pass"),
        (lambda g, t: pass_network(g.explain(), 0, "beside"), "usage.side"),
    ],
)
def test_what_cannot_be_drawn_is_told(call, code, squeezenet):
    with pytest.raises(UsageError) as error:
        call(*squeezenet)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("text", "label", "sub"),
    [
        ("conv2d 3x3 64→64 @56x56 + bias + relu", "conv 3×3 64→64", "+ bias + relu · 56×56"),
        ("conv2d 7x7/2 3→64 @224x224", "conv 7×7 /2 3→64", "224×224"),
        ("mul + conv2d 1x1 8→8 @4x4 + relu", "conv 1×1 8→8", "mul ahead + relu · 4×4"),
        ("global_avg_pool 1000 @13x13", "global avg pool 1000", "13×13"),
        ("transpose 1x3x224x224 to 1x224x224x3", "transpose", "1×224×224×3"),
        ("concat of 2 to 1x56x56x96", "concat of 2", "1×56×56×96"),
        ("softmax 1x1000", "softmax", "1×1000"),
        ("dense 2048→1000 + bias", "dense 2048→1000", "+ bias"),
        ("add 1x56x56x64 + relu", "add", "+ relu · 1×56×56×64"),
    ],
)
def test_labels_are_short(text, label, sub):
    assert kernel_label(text) == (label, sub)


def test_stages_of_a_convolution():
    drawn = stage_graph(workloads.conv2d_nhwc(8, 8, 4, 16, bias=True, relu=True))
    assert {(e["a"], e["b"]) for e in drawn["edges"]} == {
        ("X", "pad"), ("pad", "conv"), ("W", "conv"), ("conv", "bias_add"), ("bias", "bias_add"), ("bias_add", "relu"),
        ("relu", "out:relu"),
    }  # fmt: skip
    nodes = {n["id"]: n for n in drawn["nodes"]}
    assert nodes["pad"]["sub"] == "1×10×10×4 float32"
    assert (nodes["W"]["kind"], nodes["conv"]["kind"], nodes["out:relu"]["kind"]) == ("input", "task", "output")


def test_stages_follow_a_schedule():
    s = wb.Schedule(workloads.conv2d_nhwc(8, 8, 4, 16, relu=True))
    s.compute_inline("pad")
    assert {("X", "conv"), ("conv", "relu")} <= {(e["a"], e["b"]) for e in stage_graph(s.func)["edges"]}


def test_blocks_that_update_one_buffer_in_turn_make_no_circle():
    func = parse(
        "twice(X: input float32[4], Y: output float32[4]):\n"
        "  for i in 4:\n    block A(i: 4):\n      Y[i] = X[i] + 1.0\n"
        "  for j in 4:\n    block B(i: 4 = j):\n      Y[i] = Y[i] * 2.0\n"
    )
    edges = {(e["a"], e["b"]) for e in stage_graph(func)["edges"]}
    assert edges == {("X", "A"), ("A", "B"), ("A", "out:Y"), ("B", "out:Y")}


def test_ends_of_a_network_are_not_operators_that_are_called_so():
    nodes = [
        Node("in:x", "Relu", ("x",), ("a",)),
        Node("out:y", "Neg", ("a",), ("y",)),
        Node("c", "Abs", ("y",), ("z",)),
    ]
    graph = Graph.make("odd", nodes, {"x": TensorType((4,))}, ["y", "z", "y"])
    found = drawn(graph, level="nodes")
    check(found)
    kinds = [n.leaf.kind for n in found.nodes]
    assert (kinds.count("input"), kinds.count("output")) == (1, 3)


@pytest.mark.parametrize("at", [1.0, "1", -1, None, [0], 10**30])
def test_only_a_pass_that_there_is_can_be_drawn(at):
    with pytest.raises(UsageError) as e:
        pass_network(residual(1).explain(), at)
    assert e.value.code == "usage.pass"
