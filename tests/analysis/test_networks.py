import pytest
from graph.conftest import light_path

import workbench as wb
from workbench import workloads
from workbench.analysis import model_graph, stage_graph
from workbench.analysis.networks import kernel_label
from workbench.ir.parser import parse


@pytest.fixture(scope="module")
def squeezenet():
    graph = wb.load_onnx(light_path("squeezenet")).optimize()
    return graph, wb.extract_tasks(graph)


def test_every_kernel_of_a_network_is_a_node_with_its_task(squeezenet):
    graph, tasks = squeezenet
    drawn = model_graph(graph, tasks)
    by_task = {}
    for n in drawn["nodes"]:
        if n["task"] is not None:
            assert n["kind"] == "task"
            by_task.setdefault(n["task"], set()).add(n["id"])
    assert by_task == {k: set(t.groups) for k, t in enumerate(tasks)}
    kinds = [n["kind"] for n in drawn["nodes"]]
    assert (kinds.count("input"), kinds.count("output")) == (1, 1)
    assert kinds.count("view") == 2 + sum(n.op == "Concat" for n in graph.nodes)


def test_edges_of_a_network_are_its_tensors(squeezenet):
    drawn = model_graph(*squeezenet)
    nodes = {n["id"]: n for n in drawn["nodes"]}
    into = {}
    for e in drawn["edges"]:
        into.setdefault(e["b"], []).append(e["a"])
        assert e["points"][0][1] < e["points"][-1][1]
    for id, n in nodes.items():
        assert len(into.get(id, [])) == (0 if n["kind"] == "input" else 2 if n["label"] == "concat of 2" else 1)
    assert all(n["x"] >= 0 and n["x"] + n["w"] <= drawn["width"] + 0.01 for n in nodes.values())


def test_a_graph_is_optimised_where_that_has_not_happened(squeezenet):
    raw = wb.load_onnx(light_path("squeezenet"))
    assert model_graph(raw, squeezenet[1]) == model_graph(*squeezenet)


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
