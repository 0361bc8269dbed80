"""Real networks: import, passes, kernels and filled weights against onnxruntime."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import ort_session
import pytest
from graph.nets import close, random_feeds, run_groups

from workbench.graph import Graph, Node, TensorType, extract_tasks, load_onnx, run_reference
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.onnx.model_proto_file import save_onnx
from workbench.graph.seeded_weights import fill_weights

FAST = ["squeezenet", pytest.param("resnet50", marks=pytest.mark.checks)]
MORE = [pytest.param(m, marks=pytest.mark.slow) for m in ("inception_v1", "inception_v2", "shufflenet", "densenet121")]


@pytest.mark.parametrize("name", [*FAST, *MORE])
def test_filled_network_before_and_after_the_passes(filled, name):
    model, graph = filled(name)
    optimized = graph.optimize()
    feeds = random_feeds(graph, seed=1)
    session = ort_session.session(model)
    truth = dict(zip(graph.outputs, session.run(list(graph.outputs), feeds), strict=True))
    before, after = run_reference(graph, feeds), run_reference(optimized, feeds)
    kernels = run_groups(optimized, feeds)
    for o, want in truth.items():
        assert len(np.unique(want)) > 500  # the weights make the result mean something
        for got in (before, after, kernels):
            assert close(got[o], want), o


def test_names_and_initializers_that_are_also_inputs(light):
    g = load_onnx(light("resnet50"))
    assert g.inputs == ("gpu_0/data_0",)
    assert g.outputs == ("gpu_0/softmax_1",)
    assert g.types["gpu_0/data_0"].shape == (1, 3, 224, 224)


@pytest.mark.parametrize(("name", "kernels", "tasks"), [("squeezenet", 32, 24), ("resnet50", 58, 29)])
def test_number_of_kernels_and_tasks(light, name, kernels, tasks):
    found = extract_tasks(load_onnx(light(name)).optimize())
    assert len(found) == tasks
    assert sum(t.weight for t in found) == kernels
    assert len({t.name for t in found}) == len({t.key for t in found}) == tasks


def test_keys_do_not_depend_on_weights_or_names(light, filled):
    stub = {t.key for t in extract_tasks(load_onnx(light("squeezenet")).optimize())}
    assert {t.key for t in extract_tasks(filled("squeezenet")[1].optimize())} == stub


def test_filling_is_seeded_and_saved_models_are_complete(light, filled, tmp_path):
    again = fill_weights(light("squeezenet"), seed=0)
    model, graph = filled("squeezenet")
    assert again.SerializeToString() == model.SerializeToString()
    other = load_onnx(fill_weights(light("squeezenet"), seed=1))
    assert not np.array_equal(other.constants["conv10_w_0"], graph.constants["conv10_w_0"])
    save_onnx(model, tmp_path / "m.onnx")
    loaded = load_onnx(tmp_path / "m.onnx")
    assert all(np.array_equal(loaded.constants[k], v) for k, v in graph.constants.items())
    assert [i.name for i in model.graph.input] == ["data_0"]


def test_statistics_are_calibrated_with_the_executor_that_is_given(light, filled):
    calls = []

    def execute(graph, feeds, outputs):
        calls.append((graph, outputs))
        assert set(outputs) == set(graph.outputs)
        return run_reference(graph, feeds)

    model = fill_weights(light("resnet50"), 0, execute)
    assert [len(o) for _, o in calls] == [53, 1]
    assert {n.op for n in calls[0][0].nodes} >= {"InstanceNormalization"}
    graph = load_onnx(model)
    norms = [n for n in graph.nodes if n.op == "BatchNormalization"]
    seen = run_reference(graph, random_feeds(graph, seed=5), [n.outputs[0] for n in norms[-5:]])
    assert all(0.2 < float(v.std()) < 3 for v in seen.values())  # neither vanished nor exploded


def test_optimised_weights_are_kept_once(filled):
    """Passes turn most weights around; what they were turned from is the same memory, which `Graph.origin` keeps."""
    _, graph = filled("squeezenet")
    weights = sum(c.nbytes for c in graph.constants.values())
    tracemalloc.start()
    try:
        ready = graph.optimize()
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(c.nbytes for c in ready.constants.values()) > 0.9 * weights
    assert grown < 0.1 * weights


def test_a_part_of_an_array_keeps_no_whole_one_alive():
    editor = GraphEditor(Graph.make("g", [Node("n", "Relu", ("x",), ("y",))], {"x": TensorType((2,))}, ["y"]))
    whole = np.arange(12.0).reshape(3, 4)
    turned, part, spread = (
        editor.constants[editor.constant("c", v)] for v in (whole.T, whole[:, :2], np.broadcast_to(whole[0], (3, 4)))
    )
    assert np.shares_memory(turned, whole)
    assert not np.shares_memory(part, whole)
    assert spread.flags.c_contiguous
    assert spread.base is None or spread.base.nbytes == spread.nbytes
