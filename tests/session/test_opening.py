"""What the form for somebody's own model is told: inputs, proposals, and what is wrong with a file or a shape."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench import workloads
from workbench.graph.onnx.reader import find_model
from workbench.session import Session
from workbench.session import model_form as model_form
from workbench.session.export.saved_view import view_of


def model(path, dims, dtype=TensorProto.FLOAT, weight=None):
    weight = np.random.default_rng(0).standard_normal((64, 64)).astype("float32") if weight is None else weight
    nodes = [
        helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, kind, dims) for name, kind in (("x", dtype), ("y", TensorProto.FLOAT))]
    graph = helper.make_graph(nodes, "my net", ends[:1], ends[1:], [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


ONE = "1 is a batch of one"


@pytest.mark.parametrize(
    ("dims", "dtype", "shape", "guess"),
    [
        ([1, 64], TensorProto.FLOAT, [1, 64], ""),
        (["batch", "sequence_length", 64], TensorProto.INT64, [1, 128, 64], f"{ONE}, 128 stands for any length"),
        ([None, None, 64], TensorProto.INT64, [1, 128, 64], f"{ONE}, 128 stands for any length"),
        (["N", 3, "height", 64], TensorProto.FLOAT, [1, 3, 224, 64], f"{ONE}, 224 is a usual side of an image"),
        (
            [None, None, None, 64],
            TensorProto.FLOAT,
            [1, 3, 224, 64],
            f"{ONE}, 3 are the channels of an image, 224 is a usual side of an image",
        ),
        (["anything", 64], TensorProto.FLOAT, [1, 64], ONE),
        ([64, 64, "what"], TensorProto.FLOAT, [64, 64, 1], "of others nothing is known"),
    ],
)
def test_open_dimensions_have_names_and_proposals(tmp_path, dims, dtype, shape, guess):
    found = json.loads(model_form.describe(model(tmp_path / "m.onnx", dims, dtype)))
    [one] = found["inputs"]
    assert (one["name"], one["dims"], one["shape"], one["guess"]) == ("x", dims, shape, guess)
    assert found["threads"] >= 1
    assert found["empty"] is False


def test_a_model_without_weights_is_known_by_its_stubs(tmp_path):
    stub = np.full((64, 64), 0.02, "float32")
    assert json.loads(model_form.describe(model(tmp_path / "m.onnx", [1, 64], weight=stub)))["empty"]
    shipped = find_model("light_squeezenet")
    assert json.loads(model_form.describe(str(shipped)))["empty"], "which makes its weights by nodes"


def test_the_cells_open_the_model(tmp_path, monkeypatch):
    model(tmp_path / "it's.onnx", ["batch", 64])
    monkeypatch.chdir(tmp_path)
    found = json.loads(model_form.notebook("it's.onnx", {"x": [4, 64]}, 2))
    words, code = found["cells"]
    assert words["source"].startswith("# it's.onnx")
    space: dict[str, object] = {}
    exec(code["source"].rsplit("\n", 2)[0], space)
    assert space["model"].types["x"].shape == (4, 64)
    assert "threads=2" in code["source"]
    assert 'log="it\'s.tunelog.jsonl"' in code["source"]
    filled = json.loads(model_form.notebook("it's.onnx", {"x": [4, 64]}, 1, True))["cells"][1]["source"]
    exec(filled.rsplit("\n", 2)[0], {})


@pytest.mark.parametrize(
    ("content", "code"), [(b"not a model", "model.not_onnx"), (None, "model.missing_file"), (b"", "model.truncated")]
)
def test_what_is_wrong_with_a_file_is_said_in_words(tmp_path, content, code):
    path = tmp_path / "broken.onnx"
    if content is not None:
        path.write_bytes(content)
    error = json.loads(model_form.describe(str(path)))["error"]
    assert error["code"] == code
    assert "broken.onnx" in error["message"]


@pytest.mark.parametrize(
    ("shapes", "code"),
    [({}, "model.unresolved_dim"), ({"x": [2, 7]}, "model.shape_conflict"), ({"z": [1]}, "model.unknown_input")],
)
def test_what_is_wrong_with_shapes_is_said_in_words(tmp_path, shapes, code):
    path = model(tmp_path / "m.onnx", ["batch", 64])
    error = json.loads(model_form.notebook(path, shapes, 1))["error"]
    assert error["code"] == code
    assert error["message"]


def test_a_view_becomes_a_notebook_or_says_why_not(tmp_path):
    s = Session(workloads.matmul(8, 8, 8), auto_measure=False)
    view = view_of(s.state, {})
    s.close()
    (tmp_path / "a.view.json").write_text(json.dumps(view))
    found = json.loads(model_form.view_notebook(str(tmp_path / "a.view.json")))
    assert found["cells"][1]["source"] == "import workbench as wb\n\nw = wb.Workbench(view='a.view.json')\nw"
    (tmp_path / "b.view.json").write_text("{}")
    assert json.loads(model_form.view_notebook(str(tmp_path / "b.view.json")))["error"]["code"] == "view.file"
