"""Bodies of If, Loop and Scan: compiled like the network around them, with tasks that can be tuned."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_uses import by_onnxruntime

import workbench as wb
from workbench.errors import LogError
from workbench.graph.ops import control
from workbench.runtime.execution.run_context import RunContext

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
INT, FLOAT = np.int64, np.float32
F32, I64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL


def body_of(nodes, inputs=(), outputs=()):
    ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
    return onnx.helper.make_graph(nodes, "body", [info(*of) for of in inputs], ends)


def model_of(nodes, inputs, outputs):
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((24, 24)).astype(FLOAT) / 5,
        "v": rng.standard_normal((24, 24)).astype(FLOAT) / 5,
    }
    weights = [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()]
    ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = onnx.helper.make_graph(nodes, "bodies", [info(*of) for of in inputs], ends, weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def branches():
    """One of two products of what came before, by a condition."""
    then = body_of([node("MatMul", ["r", "w"], ["a"]), node("Tanh", ["a"], ["t"])], outputs=["t"])
    other = body_of([node("MatMul", ["r", "v"], ["b"]), node("Relu", ["b"], ["o"])], outputs=["o"])
    nodes = [node("Relu", ["x"], ["r"]), node("If", ["which"], ["y"], then_branch=then, else_branch=other)]
    model = model_of(nodes, [("x", F32, [7, 24]), ("which", BOOL, [])], ["y"])
    return model, lambda rng, k: {"x": rng.standard_normal((7, 24)).astype(FLOAT), "which": np.array(k % 2 == 0)}


def steps():
    """A state that is multiplied for each row of a long sequence, too many rows to write the body for each."""
    nodes = [node("MatMul", ["h", "w"], ["m"]), node("Add", ["m", "row"], ["a"]), node("Tanh", ["a"], ["next"]),
             node("ReduceSum", ["next"], ["sum"], keepdims=0), node("Identity", ["next"], ["copy"])]  # fmt: skip
    body = body_of(nodes, [("h", F32, [1, 24]), ("row", F32, [24])], ["next", "sum", "copy"])
    scan = node("Scan", ["x0", "xs"], ["last", "sums", "all"], body=body, num_scan_inputs=1)
    model = model_of([scan], [("x0", F32, [1, 24]), ("xs", F32, [300, 24])], ["last", "sums", "all"])
    shapes = {"x0": (1, 24), "xs": (300, 24)}
    return model, lambda rng, _: {n: rng.standard_normal(s).astype(FLOAT) / 3 for n, s in shapes.items()}


def turns():
    """As many products as an input says, and a condition that ends them."""
    nodes = [node("MatMul", ["state", "w"], ["m"]), node("Tanh", ["m"], ["next"]),
             node("ReduceMax", ["next"], ["top"], keepdims=0), node("Less", ["top", "limit"], ["more"])]  # fmt: skip
    body = body_of(nodes, [("i", I64, []), ("go", BOOL, []), ("state", F32, [5, 24])], ["more", "next"])
    loop = node("Loop", ["times", "", "x"], ["y"], body=body)
    model = model_of([loop], [("times", I64, []), ("x", F32, [5, 24]), ("limit", F32, [])], ["y"])
    limits = (2.0, 0.6)
    return model, lambda rng, k: {"times": np.array(k, INT), "x": rng.standard_normal((5, 24)).astype(FLOAT),
                                  "limit": np.array(limits[k % 2], FLOAT)}  # fmt: skip


def test_threads_and_poison_reach_the_bodies(monkeypatch):
    model, _ = branches()
    executable = wb.compile(wb.load_onnx(model), threads=1)
    bodies = executable.plan.bodies
    assert [b.threads for b in bodies] == [1, 1]
    executable.set_threads(2)
    assert [b.threads for b in bodies] == [2, 2]
    poisoned = []
    monkeypatch.setattr(RunContext, "poison", lambda context: poisoned.append(context.network))
    executable.poison()
    assert {id(b.network) for b in bodies} < set(map(id, poisoned))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("made", [branches, steps, turns])
def test_bodies_are_compiled_and_right(made, threads, monkeypatch):
    model, feeds = made()
    executable = wb.compile(wb.load_onnx(model), threads=threads)

    def refuse(*_):
        raise AssertionError("a body is interpreted")

    monkeypatch.setattr(control, "interpret", refuse)
    rng = np.random.default_rng(1)
    for k in range(4):
        given = feeds(rng, k)
        for got, want in zip(executable.run(given).values(), by_onnxruntime(model, given), strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("made", "count"), [(branches, 2), (steps, 1), (turns, 1)])
def test_tasks_of_bodies_are_tasks(made, count):
    tasks = wb.extract_tasks(wb.load_onnx(made()[0]))
    assert sum("matmul" in t.name or "dense" in t.name for t in tasks) == count
    assert set(wb.compile(wb.load_onnx(made()[0])).untuned) == {t.name for t in tasks}


def test_schedules_of_a_log_are_used_in_bodies(tmp_path):
    graph, log = wb.load_onnx(branches()[0]), tmp_path / "log.jsonl"
    (task, *_) = [t for t in wb.extract_tasks(graph) if "tanh" in t.name]
    wb.tune([task], trials=2, log=log, seed=0, progress=False).wait()
    executable = wb.compile(graph, log)  # the log has none of the network's own tasks
    assert len(executable.untuned) == len(wb.compile(graph).untuned) - 1
    other = wb.load_onnx(steps()[0])
    with pytest.raises(LogError):
        wb.compile(other, log)
