"""What an ONNX file holds, as it is shown before anything is decided about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.errors import ModelError
from workbench.model_files.contents import BARS, ModelFile, statistics
from workbench.model_files.drawing import model_file


def saved(path: Path, nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], dims: list[object]) -> str:
    ends = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, dims),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
    ]
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], stored)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="a tool")
    onnx.save(model, path)
    return str(path)


def conv(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"w": rng.standard_normal((8, 3, 3, 3), np.float32)}


def test_nodes_types_and_attributes(tmp_path: Path) -> None:
    """Operators that nobody knows are there, open dimensions stay open, names are made up once."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="n", kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"], name="n"),
        helper.make_node("Strange", ["r"], ["s"], domain="own", level=3),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    path = saved(tmp_path / "m.onnx", nodes, conv(np.random.default_rng(0)), ["batch", 3, 33, 33])
    found = ModelFile(path).contents()
    assert [n.name for n in found.nodes] == ["n", "n_1", "Strange_2", "Relu_3"]
    assert found.nodes[0].attributes == {"kernel_shape": "[3, 3]", "strides": "[2, 2]"}
    assert (found.nodes[2].domain, found.nodes[2].attributes) == ("own", {"level": "3"})
    assert {k: found.types[k] for k in "xwcr"} == {
        "x": "float32 batch×3×33×33", "w": "float32 8×3×3×3", "c": "float32 batch×8×16×16", "r": "float32 batch×8×16×16"
    }  # fmt: skip
    assert (found.inputs, found.outputs, found.weights) == (("x",), ("y",), {"w": 8 * 3 * 3 * 3 * 4})
    assert found.about["Parameters"] == "216"
    assert found.about["Producer"] == "a tool"
    drawing = model_file(found)
    at = {p.leaf.id: p for p in drawing.nodes}
    assert (at["n"].leaf.label, at["n"].leaf.bytes) == ("Conv 3×3 /2", 864)
    assert {(e.a, e.b) for e in drawing.edges} == {
        ("in:x", "n"), ("n", "n_1"), ("n_1", "Strange_2"), ("Strange_2", "Relu_3"), ("Relu_3", "out:y")
    }  # fmt: skip
    assert at["in:x"].y < at["n"].y < at["Relu_3"].y


@pytest.mark.parametrize(("group", "per_group", "label"), [(8, 1, "depthwise Conv 3×3"), (2, 4, "Conv 3×3")])
def test_a_convolution_of_each_channel_by_itself_is_called_depthwise(
    tmp_path: Path, group: int, per_group: int, label: str
) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="c", kernel_shape=[3, 3], group=group)
    weights = {"w": np.ones((8, per_group, 3, 3), np.float32)}
    drawing = model_file(ModelFile(saved(tmp_path / "m.onnx", [node], weights, [1, 8, 9, 9])).contents())
    assert next(n.leaf.label for n in drawing.nodes if n.leaf.id == "c") == label


def test_nodes_in_any_order_and_in_a_circle(tmp_path: Path) -> None:
    first, second = helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"])
    found = ModelFile(saved(tmp_path / "m.onnx", [second, first], {}, [4])).contents()
    assert [n.op for n in found.nodes] == ["Relu", "Exp"]
    circle = [helper.make_node("Add", ["x", "y"], ["a"]), second]
    with pytest.raises(ModelError, match="circle") as info:
        ModelFile(saved(tmp_path / "c.onnx", circle, {}, [4])).contents()
    assert info.value.code == "model.cycle"


def test_what_a_body_reads_from_outside_is_an_input_of_its_node(tmp_path: Path) -> None:
    def body(op: str) -> onnx.GraphProto:
        out = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
        return helper.make_graph([helper.make_node(op, ["a"], ["b"])], op, [], [out])

    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=body("Exp"), else_branch=body("Neg")),
    ]
    found = ModelFile(saved(tmp_path / "m.onnx", nodes, {"c": np.array(True)}, [4])).contents()
    assert found.nodes[1].inputs == ("c", "a")
    assert found.nodes[1].attributes["then_branch"] == "graph of 1 nodes"


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("size", [13, 1000])
def test_statistics_are_those_of_numpy(dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    a = (10 * rng.standard_normal(size)).astype(dtype)
    a[::3] = 0
    found, wide = statistics(a), a.astype(np.float64)
    expected = {"min": wide.min(), "max": wide.max(), "mean": wide.mean(), "std": wide.std(), "zeros": (a == 0).mean()}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name
    assert (
        found["bars"] == np.histogram(wide, BARS, None if np.ptp(wide) else (wide[0] - 0.5, wide[0] + 0.5))[0].tolist()
    )


def test_statistics_of_odd_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.model_files.contents._CHUNK", 7)
    a = np.arange(40, dtype=np.float32)
    a[3:5] = np.nan, np.inf
    found = statistics(a)
    assert (found["odd"], found["min"], found["max"], sum(found["bars"])) == (2, 0.0, 39.0, 38)
    assert statistics(np.full(20, np.nan)) == {"odd": 20}
    assert statistics(np.full(20, 3.0))["std"] == 0.0
    assert statistics(np.array([1.5, 2])) == {"values": "1.5, 2"}
    assert statistics(np.array(["a", "b"], object)) == {"values": "a, b"}
    assert statistics(np.zeros((0, 4), np.float32)) == {"values": ""}


def test_weights_that_are_missing_say_so(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"w": np.ones(4000, "f")}, [4])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert dict(ModelFile(path).statistics())["w"]["mean"] == 1.0
    (tmp_path / "w.bin").unlink()
    file = ModelFile(path)
    assert file.contents().weights == {"w": 16000}
    assert "cannot be read" in dict(file.statistics())["w"]["why"]


@pytest.mark.parametrize(
    "values",
    [(1 << 60) + 256 * np.arange(20, dtype=np.int64), np.float64([-1.7e308, 1.7e308] * 8), np.full(20, 3, np.int8)],
    ids=["close", "far", "equal"],
)
def test_numbers_that_have_no_histogram_have_the_rest(values: np.ndarray) -> None:
    found = statistics(values)
    assert (found["min"], found["max"]) == (float(values.min()), float(values.max()))
    assert sum(found["bars"]) in (0, values.size)


def test_hidden_files_hold_no_weights_that_are_shown(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"w": np.ones(20, np.uint8)}, [4])
    model = onnx.load(path)
    (tmp_path / ".env").write_bytes(b"TOKEN=abcdefghijklmn")
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", ".env"), ("offset", "0"), ("length", "20")):
        weight.external_data.add(key=key, value=value)
    Path(path).write_bytes(model.SerializeToString())
    ((name, row),) = ModelFile(path).statistics()
    assert name == "w"
    assert "hidden" in row["why"]


def test_constant_nodes_are_weights(tmp_path: Path) -> None:
    """Some exporters write all weights so, and -1 for what is open; Constants that hold no numbers stay nodes."""
    w = conv(np.random.default_rng(0))["w"]
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(w, "inner")),
        helper.make_node("Constant", [], ["k"], value_ints=[0, -1]),
        helper.make_node("Constant", [], ["f"], value_float=0.5),
        helper.make_node("Constant", [], ["s"], value_string="text"),
        helper.make_node("Constant", [], [""], value_int=1),
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Mul", ["c", "f"], ["m"], name="mul"),
        helper.make_node("Reshape", ["m", "k"], ["y"], name="view"),
    ]
    file = ModelFile(saved(tmp_path / "m.onnx", nodes, {}, [-1, 3, 33, 33]))
    found = file.contents()
    assert [n.name for n in found.nodes] == ["Constant_3", "Constant_4", "conv", "mul", "view"]
    assert found.weights == {"w": 864, "k": 16, "f": 4}
    assert {name: found.types[name] for name in "xwkf"} == {
        "x": "float32 ?×3×33×33", "w": "float32 8×3×3×3", "k": "int64 2", "f": "float32"
    }  # fmt: skip
    assert (found.about["Nodes"], found.about["Parameters"]) == ("5", "219")
    assert found.about["Constants"] == "3 nodes, shown as weights"
    rows = dict(file.statistics())
    assert (rows["k"], rows["f"]) == ({"values": "0, -1"}, {"values": "0.5"})
    assert rows["w"]["max"] == float(w.max())
    assert {p.leaf.id: p.leaf.bytes for p in model_file(found).nodes if p.leaf.id in ("conv", "view")} == {
        "conv": 864, "view": 16
    }  # fmt: skip
