"""Models in which data decide how long a tensor is, as graphs: compiled once for the largest size, or in stages."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_uses import by_onnxruntime

import workbench as wb
from workbench.errors import ModelError
from workbench.network.compile import compile
from workbench.network.staged_executable import StagedExecutable

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
node = onnx.helper.make_node
INT, FLOAT = np.int64, np.float32


def detector(*more, outputs=("found",)):
    """Boxes that are kept of 60 in three classes, with their corners and classes; then `more`."""
    nodes = [
        node("Sigmoid", ["logits"], ["scores"]),
        node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"]),
        node("Gather", ["kept", "two"], ["numbers"], axis=1),
        node("Gather", ["kept", "one"], ["class"], axis=1),
        node("Squeeze", ["boxes", "zero"], ["flat"]),
        node("Squeeze", ["numbers", "one"], ["which"]),
        node("Gather", ["flat", "which"], ["corners"], axis=0),
        node("Cast", ["class"], ["label"], to=onnx.TensorProto.FLOAT),
        node("Concat", ["corners", "label"], ["found"], axis=1),
        *more,
    ]
    constants = {"most": INT([20]), "overlap": FLOAT([0.5]), "least": FLOAT([0.6]), "zero": INT([0]), "one": INT([1])}
    constants |= {"two": INT([2]), "back": INT([-1]), "far": INT([-(2**40)]), "shape": INT([5, -1]), "last": INT([-1])}
    boxes = np.random.default_rng(0).random((1, 60, 4)).astype(FLOAT) * FLOAT([10, 10, 3, 3])
    shapes = {"boxes": [1, 60, 4], "logits": [1, 3, 60]}
    inputs = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in shapes.items()]
    ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
    weights = [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()]
    graph = onnx.helper.make_graph(nodes, "detector", inputs, ends, weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    return model, lambda k: {
        "boxes": boxes,
        "logits": np.random.default_rng(k).normal(k - 2, 2, (1, 3, 60)).astype(FLOAT),
    }


def agree(model, executable, feeds):
    """Results as onnxruntime has them; returns their first shape."""
    got = executable.run(feeds)
    assert list(got) == [o.name for o in model.graph.output]
    for a, b in zip(got.values(), by_onnxruntime(model, feeds), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return next(iter(got.values())).shape


def test_a_detector_with_its_own_choice_of_boxes_is_compiled_once():
    model, feeds = detector(outputs=("found", "kept", "scores"))
    graph = wb.load_onnx(model)
    assert graph.cuts == {"found": ("kept.count", 0), "kept": ("kept.count", 0)}
    assert graph.tail is None
    executable = compile(graph)
    assert len({agree(model, executable, feeds(k)) for k in range(5)}) > 2
    bound = executable.bind(feeds(3))
    np.testing.assert_array_equal(bound()["found"], executable.run(feeds(3))["found"])
    assert graph.optimize().cuts == graph.cuts
    assert graph.with_outputs(["found"]).outputs == ("found", "kept.count")


#: Nodes behind `found` that keep its rows apart: still one graph.
BY_ROW = {
    "reshaped": [node("Reshape", ["found", "rows"], ["y"])],
    "softmax of rows": [node("Softmax", ["found"], ["y"], axis=1)],
    "sums of rows": [node("ReduceMax", ["found"], ["y"], axes=[1])],
    "turned": [node("Transpose", ["found"], ["t"], perm=[1, 0]), node("Relu", ["t"], ["y"])],
    "parts": [node("Split", ["found", "sizes"], ["a", "b"], axis=1)],
    "product": [node("MatMul", ["found", "five"], ["y"])],
}
#: Nodes for which that does not hold: stages.
TOGETHER = {
    "number": [node("Shape", ["found"], ["y"])],
    "greatest": [node("ReduceMax", ["found"], ["y"], axes=[0])],
    "softmax of columns": [node("Softmax", ["found"], ["y"], axis=0)],
    "the other way round": [node("Slice", ["found", "back", "far", "zero", "last"], ["y"])],
    "from the end": [node("Gather", ["found", "back"], ["y"], axis=0)],
    "elements in another order": [node("Reshape", ["found", "shape"], ["y"])],
    "a choice of the chosen": [node("Transpose", ["found"], ["t"]), node("NonZero", ["t"], ["y"])],
    "twice": [node("Concat", ["found", "found"], ["y"], axis=0), node("Relu", ["boxes"], ["z"])],
}


def made(more):
    outputs = [o for n in more for o in n.output if not any(o in other.input for other in more)]
    model, feeds = detector(*more, outputs=outputs)
    five = np.random.default_rng(1).standard_normal((5, 3)).astype(FLOAT)
    more_constants = {"five": five, "rows": INT([-1, 5, 1]), "sizes": INT([2, 3])}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in more_constants.items())
    return model, feeds


@pytest.mark.parametrize("what", BY_ROW)
def test_what_keeps_rows_apart_is_compiled_on_the_largest_size(what):
    model, feeds = made(BY_ROW[what])
    graph = wb.load_onnx(model)
    assert graph.tail is None
    executable = compile(graph)
    assert len({agree(model, executable, feeds(k)) for k in range(4)}) > 1


@pytest.mark.parametrize("what", TOGETHER)
def test_what_needs_the_number_of_rows_is_a_stage_of_its_own(what):
    model, feeds = made(TOGETHER[what])
    graph = wb.load_onnx(model)
    assert [n.op for n in graph.tail.nodes] == [n.op_type for n in TOGETHER[what] if n.output[0] not in ("t", "z")]
    executable = compile(graph)
    assert isinstance(executable, StagedExecutable)
    for k in range(1, 4):
        agree(model, executable, feeds(k))


def test_loops_come_behind_what_is_compiled_ahead():
    body = onnx.helper.make_graph(
        [node("Identity", ["go"], ["more"]), node("Concat", ["state", "state"], ["next"], axis=2)],
        "body",
        [onnx.helper.make_tensor_value_info(*of) for of in (("i", 7, []), ("go", 9, []), ("state", 1, None))],
        [onnx.helper.make_empty_tensor_value_info(o) for o in ("more", "next")],
    )
    model, feeds = detector(node("Loop", ["two", "", "scores"], ["y"], body=body), outputs=("y", "found"))
    graph = wb.load_onnx(model)
    assert [n.op for n in graph.tail.nodes] == ["Loop"]
    agree(model, compile(graph), feeds(3))


def test_everything_takes_such_graphs(tmp_path):
    model, feeds = detector(node("Shape", ["found"], ["y"]), outputs=("y", "found"))
    graph = wb.load_onnx(model)
    executable = compile(graph)
    assert executable.benchmark(feeds(2), repeat=2).mean_ms > 0
    assert len(executable.profile(feeds(2), repeat=1)) == len(executable.plan.calls)
    assert wb.extract_tasks(graph)
    for refused in (lambda: executable.export(tmp_path / "a.so"), lambda: executable.bind(feeds(2))):
        with pytest.raises(ModelError, match="depend on data") as e:
            refused()
        assert e.value.code == "model.dynamic_shape"
    whole = compile(graph.with_outputs(["found"]))
    library = wb.load_exported(whole.export(tmp_path / "b.so").library)
    found = library.run(feeds(2))
    np.testing.assert_array_equal(found["found"][: found["kept.count"][0]], executable.run(feeds(2))["found"])


def values_decide(*nodes, outputs, **inputs):
    kinds = {FLOAT: onnx.TensorProto.FLOAT, INT: onnx.TensorProto.INT64}
    given = [onnx.helper.make_tensor_value_info(n, kinds[k], s) for n, (k, s) in inputs.items()]
    ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = onnx.helper.make_graph(nodes, "values", given, ends)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)


def test_a_model_of_which_nothing_can_be_compiled_ahead():
    model = values_decide(node("NonMaxSuppression", ["b", "s", "n"], ["y"]), outputs=("y",),
                          b=(FLOAT, [1, 4, 4]), s=(FLOAT, [1, 1, 4]), n=(INT, [1]))  # fmt: skip
    graph = wb.load_onnx(model)
    assert (graph.nodes, len(graph.tail.nodes)) == ((), 1)
    feeds = {"b": np.eye(4, dtype=FLOAT)[None], "s": np.ones((1, 1, 4), FLOAT)}
    for most in (1, 3):
        agree(model, compile(graph), {**feeds, "n": INT([most])})


def test_shapes_and_parts_that_values_of_a_run_say():
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Reshape", ["r", "shape"], ["m"]),
        node("Slice", ["r", "from", "to"], ["part"]),
        node("Exp", ["r"], ["e"]),
        node("Sqrt", ["m"], ["y"]),
    ]
    model = values_decide(*nodes, outputs=("y", "part", "e"), x=(FLOAT, [2, 6]), shape=(INT, [2]),
                          to=(INT, [1]), **{"from": (INT, [1])})  # fmt: skip
    graph = wb.load_onnx(model)
    assert {n.op for n in graph.nodes} == {"Relu", "Exp"}
    assert {n.op for n in graph.tail.nodes} == {"Reshape", "Slice", "Sqrt"}
    executable = compile(graph)
    x = np.random.default_rng(0).standard_normal((2, 6)).astype(FLOAT)
    for shape, ends in (((3, 4), (0, 1)), ((-1, 2), (1, 2)), ((12, 1), (0, 2))):
        feeds = {"x": x, "shape": INT(shape), "from": INT(ends[:1]), "to": INT(ends[1:])}
        agree(model, executable, feeds)
    with pytest.raises(ModelError):
        executable.run({**feeds, "shape": INT([5, 5])})


@pytest.mark.filterwarnings("ignore::workbench.errors.ModelWarning")
def test_ranges_of_a_model_whose_shapes_values_say():
    model = values_decide(node("Relu", ["x"], ["r"]), node("Reshape", ["r", "shape"], ["y"]), outputs=("y",),
                          x=(FLOAT, ["n", 6]), shape=(INT, [2]))  # fmt: skip
    executable = compile(wb.load_onnx(model, dynamic={"n": range(3, 9)}))
    assert "shape" in executable.reason
    for n, shape in ((3, (2, 9)), (4, (-1, 3))):
        agree(model, executable, {"x": np.ones((n, 6), FLOAT), "shape": INT(shape)})
