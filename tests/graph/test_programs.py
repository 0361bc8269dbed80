"""Models with open dimensions, values that say shapes, control flow, and operators that are not compiled."""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench import onnx_backend
from workbench.errors import ModelError, WorkbenchError
from workbench.graph import extract_tasks, load_onnx, run_reference
from workbench.graph.dynamic_stages import next_stage
from workbench.graph.onnx import read_program
from workbench.network.dynamic_shapes import DynamicExecutable

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def info(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=(), opset=18):
    tensors = [numpy_helper.from_array(np.asarray(v), n) for n, v in dict(constants).items()]
    ends = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, "g", inputs, ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def by_onnxruntime(proto, feeds):
    session = ort_session.session(proto)
    return session.run(None, feeds)


def agrees(proto, feeds, executable=None):
    got = (executable or DynamicExecutable(read_program(proto))).run(feeds)
    for a, b in zip(got.values(), by_onnxruntime(proto, feeds), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def tiny_attention():
    """Matrix product, reshape by sizes that come from the input's own shape, softmax."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["t"]),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "first"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["t", "target"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y"], axis=-1),
    ]
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((6, 8)).astype(np.float32),
        "first": np.array([0]),
        "rest": np.array([2, 4]),
    }
    return model(nodes, [info("x", ["batch", 6])], ["y"], constants)


def test_open_dimensions_are_those_of_what_arrives_and_compiled_once_each():
    proto = tiny_attention()
    executable = DynamicExecutable(read_program(proto))
    for n in (3, 5, 3):
        agrees(proto, {"x": np.random.default_rng(n).standard_normal((n, 6)).astype(np.float32)}, executable)
    assert len(executable._stages) == 2
    assert executable.reference_steps == ()


def test_values_that_say_shapes_are_part_of_what_is_compiled():
    proto = model([helper.make_node("Reshape", ["x", "s"], ["y"])], [info("x", ["n"]), info("s", ["r"], INT)], ["y"])
    executable = DynamicExecutable(read_program(proto))
    x = np.arange(12, dtype=np.float32)
    for shape in ((3, 4), (2, 6), (3, 4)):
        agrees(proto, {"x": x, "s": np.array(shape)}, executable)
    assert len(executable._stages) == 2


def test_a_shape_from_several_small_inputs_is_followed():
    nodes = [
        helper.make_node("Concat", ["a", "b"], ["s"], axis=0),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Reshape", ["r", "s"], ["y"]),
    ]
    proto = model(nodes, [info("x", [12]), info("a", [1], INT), info("b", [1], INT)], ["y"])
    program = read_program(proto)
    feeds = {"x": np.arange(-6, 6, dtype=np.float32), "a": np.array([3]), "b": np.array([4])}
    stage = next_stage(program, 0, feeds)
    assert (stage.stop, set(stage.pinned)) == (3, {"a", "b"})
    agrees(proto, feeds)


def test_results_whose_shape_depends_on_values_begin_another_stage():
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("NonZero", ["r"], ["z"]),
        helper.make_node("Cast", ["z"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["f", "two"], ["y"]),
    ]
    proto = model(nodes, [info("x", [3, 4])], ["y"], {"two": np.float32(2)})
    executable = DynamicExecutable(read_program(proto))
    for seed in range(3):
        agrees(proto, {"x": np.random.default_rng(seed).standard_normal((3, 4)).astype(np.float32)}, executable)
    assert not executable.reference_steps
    assert load_onnx(proto).cuts == {"y": ("z.count", 1)}


def branch(op, name):
    return helper.make_graph([helper.make_node(op, ["t"], [name])], name, [], [info(name, None)])


def test_conditions_read_what_is_around_them():
    nodes = [
        helper.make_node("Abs", ["x"], ["t"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("Neg", "a"), else_branch=branch("Sqrt", "b")),
    ]
    proto = model(nodes, [info("x", [2, 3]), info("c", [], TensorProto.BOOL)], ["y"])
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    for c in (True, False):
        agrees(proto, {"x": x, "c": np.array(c)})


def test_bodies_find_what_they_read_when_passes_give_it_another_name():
    """What reads the node that t is a copy of is told another name; the branch still says t."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Identity", ["r"], ["t"]),
        helper.make_node("Shape", ["t"], ["s"]),
        helper.make_node("Gather", ["s", "last"], ["n"]),
        helper.make_node("Equal", ["n", "one"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("Neg", "a"), else_branch=branch("Sqrt", "b")),
    ]
    constants = {"last": np.array(3), "one": np.array(1)}
    proto = model(nodes, [info("x", [1, 3, 4, "w"])], ["y"], constants)
    for width in (1, 5):
        agrees(proto, {"x": np.random.default_rng(width).random((1, 3, 4, width)).astype(np.float32)})


def test_an_if_is_a_step_of_a_compiled_network_that_says_so():
    nodes = [
        helper.make_node("Abs", ["x"], ["t"]),
        helper.make_node("If", ["c"], ["m"], then_branch=branch("Neg", "a"), else_branch=branch("Sqrt", "b")),
        helper.make_node("Exp", ["m"], ["y"]),
    ]
    proto = model(nodes, [info("x", [2, 3]), info("c", [], TensorProto.BOOL)], ["y"])
    graph = load_onnx(proto)
    executable = wb.compile(graph)
    feeds = {"x": np.ones((2, 3), np.float32), "c": np.array(True)}
    np.testing.assert_allclose(executable.run(feeds)["y"], run_reference(graph, feeds)["y"], rtol=1e-6)
    notes = executable.profile(feeds, repeat=2).note
    assert [bool(n) for n in notes] == [False, True, False]
    assert "not tunable" in notes[1]
    assert len(extract_tasks(graph)) == 4  # those of the branches, too
    assert executable.benchmark(repeat=2).median_ms > 0


def test_an_error_in_a_step_that_is_not_compiled_comes_out_of_run():
    nodes = [helper.make_node("CumSum", ["x", "i"], ["y"])]
    proto = model(nodes, [info("x", [4, 2]), info("i", [], INT)], ["y"])
    executable = wb.compile(load_onnx(proto))
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for _ in range(2):
        with pytest.raises(ModelError, match="uses axis 9"):
            executable.run({"x": x, "i": np.array(9)})
    np.testing.assert_array_equal(executable.run({"x": x, "i": np.array(1)})["y"], x.cumsum(1))


def test_constant_integers_are_operands_like_others():
    nodes = [helper.make_node("Concat", ["x", "k"], ["c"], axis=0), helper.make_node("Add", ["c", "one"], ["y"])]
    proto = model(nodes, [info("x", [3], INT)], ["y"], {"k": np.array([7, 8]), "one": np.array([1, 2, 3, 4, 5])})
    agrees(proto, {"x": np.array([1, 2, 3])})


def test_operators_that_the_standard_defines_by_others_are_expanded():
    proto = model([helper.make_node("HardSwish", ["x"], ["y"])], [info("x", [5])], ["y"])
    program = read_program(proto)
    assert "HardSwish" not in [n.op for n in program.nodes]
    agrees(proto, {"x": np.linspace(-3, 3, 5, dtype=np.float32)})


def test_functions_of_the_model_are_expanded_and_weights_stay():
    body = [helper.make_node("MatMul", ["a", "b"], ["t"]), helper.make_node("Relu", ["t"], ["c"])]
    function = helper.make_function("own", "dense", ["a", "b"], ["c"], body, [helper.make_opsetid("", 18)])
    weights = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    proto = model(
        [helper.make_node("dense", ["x", "w"], ["y"], domain="own")], [info("x", [2, 64])], ["y"], {"w": weights}
    )
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    agrees(proto, {"x": np.ones((2, 64), np.float32)})


def test_wrong_feeds_are_refused():
    executable = DynamicExecutable(read_program(tiny_attention()))
    x = np.zeros((3, 6), np.float32)
    for feeds, code, words in [
        ({}, "shape.count", "x: float32[batchx6]"),
        ({"x": x, "z": x}, "shape.name", "no input 'z'"),
        ({"x": x.astype(np.float64)}, "shape.dtype", "float64, not float32"),
        ({"x": x[:, :5]}, "shape.mismatch", "3x5, not batchx6"),
        ({"x": x[0]}, "shape.mismatch", "1 dimensions, not 2"),
        ({"x": [[1.0], [1.0, 2.0]]}, "shape.mismatch", "no array"),
        ([x], "usage.type", "{'x': array}"),
    ]:
        with pytest.raises(WorkbenchError) as e:
            executable.run(feeds)
        assert e.value.code == code
        assert words in str(e.value)


def test_the_backend_runs_models_and_skips_what_it_cannot():
    import unittest

    proto = tiny_attention()
    x = np.ones((2, 6), np.float32)
    (got,) = onnx_backend.run_model(proto, [x])
    np.testing.assert_allclose(got, by_onnxruntime(proto, {"x": x})[0], rtol=1e-5)
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA")
    acme = model([helper.make_node("Fancy", ["x"], ["y"])], [info("x", [1])], ["y"])
    with pytest.raises(unittest.SkipTest, match="Fancy"):
        onnx_backend.prepare(acme)
    with pytest.raises(unittest.SkipTest):
        onnx_backend.prepare(proto, "CUDA")


@pytest.mark.parametrize("constant", [("k", "b"), ("k",), ("x", "k", "b")])
@pytest.mark.parametrize(("opset", "size"), [(18, 2), (21, 4), (22, 4)])
def test_bodies_of_operators_may_read_weights(opset, size, constant):
    """Their types say what the body is, as those of computed tensors do."""
    rng = np.random.default_rng(0)
    shapes = {"x": (2, 4, 3, 3), "k": (size,), "b": (size,)}
    values = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    node = helper.make_node("GroupNormalization", ["x", "k", "b"], ["y"], num_groups=2)
    open_ = [n for n in shapes if n not in constant]
    weights = {n: values[n] for n in constant}
    proto = model([node], [info(n, shapes[n]) for n in open_], ["y"], weights, opset)
    agrees(proto, {n: values[n] for n in open_})


def test_bodies_of_operators_may_stand_in_a_branch():
    branches = []
    for name, k in (("yes", 1.0), ("no", -1.0)):
        weight = numpy_helper.from_array(np.full(3, k, np.float32), f"w.{name}")
        nodes = [
            helper.make_node("Gelu", [weight.name], [f"a.{name}"]),
            helper.make_node("Relu", ["x"], [f"b.{name}"]),
            helper.make_node("Gelu", [f"b.{name}"], [f"c.{name}"], approximate="tanh"),
            helper.make_node("Add", [f"a.{name}", f"c.{name}"], [f"v.{name}"]),
        ]
        branches.append(helper.make_graph(nodes, name, [], [info(f"v.{name}", (3,))], [weight]))
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    proto = model([node], [info("c", (), TensorProto.BOOL), info("x", (3,))], ["y"], opset=20)
    for c in (True, False):
        agrees(proto, {"c": np.array(c), "x": np.array([0.5, -1, 2], np.float32)})


def test_an_operator_whose_body_depends_on_an_unknown_type_says_so(monkeypatch):
    monkeypatch.setattr("workbench.graph.onnx.functions.known", lambda *operator: False)  # else it runs as it is
    nodes = [
        helper.make_node("QLinearSigmoid", ["x", "s", "z", "s", "z"], ["t"], domain="com.microsoft"),
        helper.make_node("SoftmaxCrossEntropyLoss", ["t", "x"], ["y"]),
    ]
    weights = {"s": np.float32(0.1), "z": np.uint8(3)}
    proto = model(nodes, [info("x", (3,), TensorProto.UINT8)], ["y"], weights, 20)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    with pytest.raises(ModelError, match=r"SoftmaxCrossEntropyLoss.*Type unknown for t") as e:
        read_program(proto)
    assert e.value.code == "model.unsupported_op"
    assert "infer_shapes" in e.value.hint
