"""Models that need no word about what is not known: `load_onnx` and `compile` decide what waits for a run."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_uses import by_onnxruntime

import workbench as wb
from workbench.errors import ModelError, UsageError
from workbench.network.ranged_executable import RangedExecutable
from workbench.network.staged_executable import AnyShapeExecutable, StagedExecutable

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
node, T = onnx.helper.make_node, onnx.TensorProto


def model_of(nodes, inputs, outputs=("y",)):
    """A model of nodes that multiply by a weight of 8x4, for inputs given as name -> (type, dims)."""
    ins = [onnx.helper.make_tensor_value_info(n, kind, dims) for n, (kind, dims) in inputs.items()]
    weight = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = onnx.helper.make_graph(nodes, "g", ins, ends, [onnx.numpy_helper.from_array(weight, "w")])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)


OPEN = model_of([node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])], {"x": (T.FLOAT, ["n", 8])})
LATE = model_of(
    [node("MatMul", ["x", "w"], ["a"]), node("Reshape", ["a", "s"], ["b"]), node("Exp", ["b"], ["y"])],
    {"x": (T.FLOAT, [6, 8]), "s": (T.INT64, [2])},
)


def drawn(n):
    return np.random.default_rng(n).standard_normal((n, 8)).astype(np.float32)


def agrees(executable, model, feeds):
    want = by_onnxruntime(model, feeds)
    for got, x in zip(executable.run(feeds).values(), want, strict=True):
        assert (got.shape, got.dtype) == (x.shape, x.dtype)
        np.testing.assert_allclose(got, x, rtol=1e-5, atol=1e-6)


def test_open_dimensions_wait_for_a_run():
    graph = wb.load_onnx(OPEN)
    assert "typed by what a run brings" in repr(graph)
    assert "x: float32[nx8]" in str(graph)
    executable = wb.compile(graph, threads=1)
    assert isinstance(executable, AnyShapeExecutable)
    assert [(v.name, v.shape) for v in executable.inputs] == [("x", (-1, 8))]
    assert "nx8" in executable._repr_html_()
    for n in (3, 1, 17):
        agrees(executable, OPEN, {"x": drawn(n)})
    assert len(executable.untuned) == 3
    feeds = {"x": drawn(3)}
    assert len(executable.profile(feeds, repeat=2, roofline=False)) == 1
    bound = executable.bind(feeds)
    feeds["x"][...] = drawn(4)[:3]
    np.testing.assert_allclose(bound()["y"], by_onnxruntime(OPEN, feeds)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "use",
    [
        wb.extract_tasks,
        lambda g: wb.extract_tasks(g.optimize()),
        lambda g: wb.tune(g, trials=1),
        wb.Session,
        lambda g: wb.quantize(g, [{"x": drawn(2)}]),
        lambda g: wb.partition(g, backends=["onnxruntime"]),
        lambda g: wb.sparsify(g, 0.5),
        lambda g: wb.accuracy(g, "bfloat16"),
        wb.compare_precisions,
        lambda g: g.with_outputs(["a"]),
        lambda g: wb.compile(g).benchmark(),
        lambda g: wb.load_onnx(OPEN, dynamic={}),
    ],
)
def test_what_needs_sizes_says_how_to_give_them(use):
    with pytest.raises(ModelError) as refused:
        use(wb.load_onnx(OPEN))
    assert refused.value.code == "model.unresolved_dim"
    assert "shapes={'x': (1, 8)}" in refused.value.hint
    assert "dynamic={'n': range(" in refused.value.hint


def test_what_cannot_be_written_is_refused(tmp_path):
    for model in (OPEN, LATE):
        with pytest.raises(ModelError) as refused:
            wb.save_onnx(wb.load_onnx(model), tmp_path / "m.onnx")
        assert refused.value.code == "model.not_writable"
    for model in (OPEN, LATE):
        with pytest.raises(ModelError) as refused:
            wb.compile(wb.load_onnx(model)).export(tmp_path / "m.so")
        assert refused.value.code == "model.dynamic_shape"


def test_ranges_can_be_said_when_it_is_compiled():
    executable = wb.compile(wb.load_onnx(OPEN), dynamic={"n": range(1, 5)}, threads=1)
    assert isinstance(executable, RangedExecutable)
    agrees(executable, OPEN, {"x": drawn(3)})
    with pytest.raises(UsageError) as refused:
        wb.compile(wb.load_onnx(OPEN), dynamic={"m": range(1, 5)})
    assert refused.value.code == "usage.dynamic"


def test_what_comes_before_values_is_compiled_ahead():
    graph = wb.load_onnx(LATE)
    assert [n.op for n in graph.nodes] == ["MatMul"]
    assert len(wb.extract_tasks(graph)) == 1
    executable = wb.compile(graph, threads=1)
    assert isinstance(executable, StagedExecutable)
    for shape in ([3, 8], [24, 1], [-1, 2]):
        agrees(executable, LATE, {"x": drawn(6), "s": np.array(shape, np.int64)})
    assert executable.reference_steps == ()
    assert wb.accuracy(graph, "bfloat16")["tensor"].tolist() == ["a"]


def test_elements_that_no_graph_holds_wait_for_a_run():
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Cast", ["a"], ["t"], to=T.FLOAT8E4M3FN)]
    model = model_of([*nodes, node("Cast", ["t"], ["y"], to=T.FLOAT)], {"x": (T.FLOAT, [6, 8])})
    graph = wb.load_onnx(model)
    assert [n.op for n in graph.nodes] == ["MatMul"]
    executable = wb.compile(graph, threads=1)
    got = executable.run({"x": drawn(6)})["y"]
    np.testing.assert_allclose(got, by_onnxruntime(model, {"x": drawn(6)})[0], rtol=1e-5)
    assert executable.reference_steps


def test_a_model_of_fixed_shapes_is_what_it_was():
    fixed = model_of([node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])], {"x": (T.FLOAT, [6, 8])})
    graph = wb.load_onnx(fixed)
    assert (graph.tail, graph.untyped) == (None, None)
    assert graph.typed() is graph
    assert type(wb.compile(graph, threads=1)).__name__ == "Executable"
    (late,), (own,) = wb.extract_tasks(wb.load_onnx(fixed, dynamic=True)), wb.extract_tasks(graph)
    assert late.key == own.key
