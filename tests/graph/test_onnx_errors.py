"""Everything that can be wrong with a model: one sentence, a stable code, the place, a hint."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError, ModelError, UsageError
from workbench.graph import Graph, Node, TensorType, load_onnx, partition
from workbench.graph.onnx.model_proto_file import save_onnx
from workbench.graph.seeded_weights import fill_weights

onnx = pytest.importorskip("onnx")
FLOAT = onnx.TensorProto.FLOAT


def info(name, shape, kind=FLOAT):
    return onnx.helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs=None, outputs=None, constants=(), opset=18):
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [info("x", [1, 4])] if inputs is None else inputs,
        [onnx.ValueInfoProto(name="y")] if outputs is None else outputs,
        list(constants),
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def node(op, inputs, outputs=("y",), name="n", **attrs):
    return onnx.helper.make_node(op, list(inputs), list(outputs), name=name, **attrs)


def raises(code, source, *words, shapes=None):
    with pytest.raises(InputError) as e:
        load_onnx(source, shapes).typed()
    assert e.value.code == code
    assert e.value.exit_code == 3
    text = str(e.value)
    for w in words:
        assert w in text, text
    assert e.value.message.endswith(".")
    return e.value


RELU = [node("Relu", ["x"])]


def test_missing_file(tmp_path):
    save_onnx(model(RELU), tmp_path / "squeezenet.onnx")
    raises("model.missing_file", tmp_path / "squeezenit.onnx", "does not exist", "did you mean 'squeezenet.onnx'")
    raises("model.missing_file", tmp_path, "cannot be read")
    raises("model.missing_file", tmp_path / "nowhere" / "x.onnx", "does not exist", "there is no folder")


@pytest.mark.parametrize(
    "data", [b"hello world, this is text\n" * 20, b"\x89PNG\r\n\x1a\n" + bytes(100), b"{}", bytes(64)]
)
def test_something_else_than_onnx(tmp_path, data):
    path = tmp_path / "other.onnx"
    path.write_bytes(data)
    raises("model.not_onnx", path, str(path), "is not an ONNX model")


def test_truncated_at_any_place(tmp_path, light):
    data = light("squeezenet").read_bytes()
    path = tmp_path / "part.onnx"
    for keep in (0, 5, 100, len(data) // 2, len(data) - 10, len(data) - 1):
        path.write_bytes(data[:keep])
        raises("model.truncated", path, str(path))


def test_every_prefix_of_a_small_model_is_refused():
    data = model(RELU).SerializeToString()
    for keep in range(len(data)):
        with pytest.raises(ModelError) as e:
            load_onnx(data[:keep])
        assert e.value.code in ("model.truncated", "model.not_onnx")


def test_unknown_operators_are_named_with_what_is_supported():
    others = [node("Swish", ["t"], ["u"]), node("Rely", ["u"])]
    nodes = [node("FancyOp", ["x"], ["t"], "fancy", domain="com.acme"), *others]
    e = raises(
        "model.unsupported_op", model(nodes), "'FancyOp'", "com.acme", "'fancy'", "Rely, Swish", "supported: Abs, Acos"
    )
    assert e.where == ("fancy", "FancyOp", "com.acme")
    raises("model.unsupported_op", model([node("Rely", ["x"])]), "did you mean 'Relu'")


def test_unresolved_dimension_names_input_dimension_and_flag():
    open_batch = model(RELU, [info("gpu_0/data", ["batch", 3, "H", 224])])
    open_batch.graph.node[0].input[0] = "gpu_0/data"
    e = raises("model.unresolved_dim", open_batch, "'gpu_0/data'", "('batch')", "shapes={'gpu_0/data': (1, 3, 1, 224)}")
    assert e.where == ("gpu_0/data", "0")
    g = load_onnx(open_batch, {"gpu_0/data": (2, 3, 8, 224)})
    assert g.types["y"].shape == (2, 3, 8, 224)
    unranked = model(RELU, [onnx.helper.make_tensor_value_info("x", FLOAT, None)])
    raises("model.unresolved_dim", unranked, "has no shape", "shapes={'x': (")


def test_a_named_dimension_is_given_once():
    two = model([node("Add", ["x", "z"])], [info("x", ["batch", 4]), info("z", ["batch", 4])])
    assert load_onnx(two, {"x": (5, 4)}).types["z"].shape == (5, 4)


def test_shapes_that_do_not_fit():
    raises("model.shape_conflict", model(RELU), "1x4", "2x4", shapes={"x": (2, 4)})
    raises("model.shape_conflict", model(RELU), shapes={"x": (1, 4, 1)})
    raises("model.unknown_input", model(RELU), "'data'", shapes={"data": (1, 4)})
    raises("shape.empty", model(RELU), shapes={"x": (0, 4)})


def external(tmp_path, location):
    t = onnx.numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    onnx.external_data_helper.set_external_data(t, location)
    t.ClearField("raw_data")
    t.data_location = onnx.TensorProto.EXTERNAL
    path = tmp_path / "m.onnx"
    save_onnx(model([node("MatMul", ["x", "w"])], constants=[t]), path)
    return path


def test_external_weights(tmp_path):
    path = external(tmp_path, "w.bin")
    raises("model.weights_missing", path, "'w'", "'w.bin'", "beside the model")
    (tmp_path / "w.bin").write_bytes(bytes(20))
    raises("model.weights_missing", path, "too short", "64 bytes")
    (tmp_path / "w.bin").write_bytes(np.full(16, 3, np.float32).tobytes())
    assert load_onnx(path).constants["w"].tolist() == np.full((4, 4), 3.0).tolist()
    raises("model.weights_missing", onnx.load(path, load_external_data=False), "not read from a file")


@pytest.mark.parametrize("place", ["../w.bin", "/etc/passwd", "a/../../w.bin", ""])
def test_external_weights_outside_of_the_folder(tmp_path, place):
    (tmp_path / "models").mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(64))
    raises("model.external_data", external(tmp_path / "models", place), "outside of the model's folder")


def test_external_weights_behind_a_link(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(64))
    (tmp_path / "models" / "w.bin").symlink_to(tmp_path / "w.bin")
    raises("model.external_data", external(tmp_path / "models", "w.bin"))


def test_weights_without_data():
    t = onnx.numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    t.ClearField("raw_data")
    raises("model.weights_missing", model([node("MatMul", ["x", "w"])], constants=[t]), "'w'", "fill_weights=")
    t = onnx.numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    t.raw_data = t.raw_data[:-4]
    raises("model.invalid_graph", model([node("MatMul", ["x", "w"])], constants=[t]), "do not fit its shape")


def test_graphs_that_make_no_sense():
    raises("model.invalid_graph", model([node("Relu", ["nothing"])]), "'nothing'", "which nothing produces")
    raises(
        "model.invalid_graph", model(RELU, outputs=[onnx.ValueInfoProto(name="z")]), "Nothing produces the output 'z'"
    )
    raises("model.invalid_graph", model(RELU, outputs=[]), "no output")
    loop = [
        node("Add", ["x", "b"], ["a"], "first"),
        node("Relu", ["a"], ["b"], "second"),
        node("Relu", ["b"], ["y"], "third"),
    ]
    raises("model.cycle", model(loop), "first", "second")
    twice = [node("Relu", ["x"], ["y"], "one"), node("Abs", ["x"], ["y"], "two")]
    raises("model.duplicate_name", model(twice), "'y'", "one and two")
    raises("model.duplicate_name", model(RELU, [info("x", [1]), info("x", [1])]), "Two inputs")
    w = onnx.numpy_helper.from_array(np.ones(4, np.float32), "w")
    raises("model.duplicate_name", model([node("Add", ["x", "w"])], constants=[w, w]), "Two initializers")
    nodes = [Node("n", "Relu", ("x",), ("t",)), Node("n", "Relu", ("t",), ("y",))]
    with pytest.raises(ModelError, match="Two nodes are called 'n'") as e:
        Graph.make("g", nodes, {"x": TensorType((1,))}, ["y"])
    assert e.value.code == "model.duplicate_name"


def test_nodes_without_or_with_equal_names_are_told_apart():
    nodes = [node("Relu", ["x"], ["t"], ""), node("Relu", ["t"], ["u"], "same"), node("Relu", ["u"], ["y"], "same")]
    assert [n.name for n in load_onnx(model(nodes)).nodes] == ["Relu_0", "same", "same_1"]


def test_types_that_are_not_supported():
    text = model(RELU, [info("x", [1], onnx.TensorProto.STRING)])
    raises("model.unsupported_dtype", text, "'x'", "supported: float32")
    raises("model.unsupported_dtype", model([node("Cast", ["x"], to=onnx.TensorProto.STRING)]))
    seq = model(RELU, [onnx.helper.make_tensor_sequence_value_info("x", FLOAT, [1])])
    raises("model.unsupported_dtype", seq, "not a tensor")


def test_attributes_that_are_not_supported():
    kind = onnx.helper.make_tensor_type_proto(FLOAT, [4])
    constant = onnx.helper.make_node("Constant", [], ["s"], kind=kind)
    raises("model.unsupported_attr", model([constant, node("Add", ["x", "s"])]), "kind", "Constant_0")


def test_shape_mismatch_names_the_node():
    w = onnx.numpy_helper.from_array(np.ones((5, 4), np.float32), "w")
    e = raises(
        "model.shape_mismatch",
        model([node("MatMul", ["x", "w"], name="fc1")], constants=[w]),
        "'fc1'",
        "[1, 4] by [5, 4]",
    )
    assert e.where == ("fc1",)


def test_what_has_no_loop_nest_says_so():
    graph = load_onnx(model([node("Sin", ["x"])], [info("x", [4, 4], onnx.TensorProto.DOUBLE)])).optimize()
    (group,) = partition(graph)
    assert group.func is None
    assert not group.view
    assert group.obstacle == "its loop nest has the digits of float32"
    assert group.rules == (f"Sin n: not tunable, {group.obstacle}",)


def test_unknown_names_in_a_graph():
    g = load_onnx(model(RELU))
    for call, code in [
        (lambda: g.type("z"), "model.unknown_tensor"),
        (lambda: g.node("z"), "model.unknown_node"),
        (lambda: g.with_outputs(["z"]), "model.unknown_tensor"),
    ]:
        with pytest.raises(ModelError) as e:
            call()
        assert e.value.code == code
    with pytest.raises(UsageError) as u:
        g.optimize(["fold_constant"])
    assert u.value.code == "usage.pass"
    assert "fold_constants" in u.value.hint


def test_filling_reports_roles_and_files(tmp_path):
    w = onnx.numpy_helper.from_array(np.ones((1, 4), np.float32), "w")
    with pytest.raises(ModelError) as e:
        fill_weights(model([node("Max", ["x", "w"])], constants=[w]), 0)
    assert e.value.code == "model.fill_role"
    with pytest.raises(ModelError) as e:
        save_onnx(model(RELU), tmp_path / "no" / "folder.onnx")
    assert e.value.code == "model.unwritable"


def test_numbers_that_make_no_sense_name_the_node():
    scale = onnx.numpy_helper.from_array(np.ones(5, np.float32), "s")
    norm = node("LayerNormalization", ["x", "s"], name="norm")
    e = raises("model.invalid_graph", model([norm], constants=[scale]), "'norm'", "does not fit its inputs")
    assert e.where == ("norm",)
    scales = onnx.numpy_helper.from_array(np.array([1, np.inf], np.float32), "s")
    raises("model.invalid_graph", model([node("Resize", ["x", "", "s"], name="r")], constants=[scales]), "'r'")


def test_an_operator_that_is_newer_than_the_opset():
    raises("model.unsupported_op", model([node("Swish", ["x"])], opset=13), "'Swish'")
