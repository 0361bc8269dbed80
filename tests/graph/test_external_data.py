"""Weights beside the model: mapped and not read, wherever a file says that they lie, and however many they are."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

import workbench as wb
from workbench.errors import ModelError, ModelWarning
from workbench.graph.onnx.model_proto_file import save_onnx

GIB = 2**30


def beside(folder, info, dims=(4, 4), dtype=TensorProto.FLOAT):
    """A model of one matrix product whose weight lies where `info` says."""
    weight = TensorProto(name="w", data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in info.items():
        weight.external_data.add(key=key, value=str(value))
    x = helper.make_tensor_value_info("x", dtype, [1, dims[0]])
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="n")
    graph = helper.make_graph([node], "g", [x], [helper.make_empty_tensor_value_info("y")], [weight])
    save_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def refused(code, path, *words):
    with pytest.raises(ModelError) as e:
        wb.load_onnx(path)
    assert e.value.code == code
    for word in ("'w'", *words):
        assert word in str(e.value)


@pytest.mark.parametrize(
    ("info", "code", "word"),
    [
        ({"location": "../w.bin"}, "model.external_data", "outside"),
        ({"location": "."}, "model.external_data", "outside"),
        ({"location": "no\0where"}, "model.external_data", "outside"),
        ({"location": "circle"}, "model.external_data", "outside"),
        ({"location": "away/w.bin"}, "model.external_data", "outside"),
        ({"location": "none.bin"}, "model.weights_missing", "cannot be read"),
        ({"location": "folder"}, "model.weights_missing", "cannot be read"),
        ({"location": "empty.bin"}, "model.weights_missing", "cannot be read"),
        ({"location": "pipe"}, "model.weights_missing", "cannot be read"),
        ({"location": "w.bin", "offset": 40}, "model.weights_missing", "64 bytes from 40"),
        ({"location": "w.bin", "offset": 2**60}, "model.weights_missing", "too short"),
        ({"location": "w.bin", "offset": -64}, "model.external_data", "no number of bytes"),
        ({"location": "w.bin", "offset": "9" * 500}, "model.external_data", "no number of bytes"),
        ({"location": "w.bin", "offset": "four"}, "model.external_data", "no number of bytes"),
        ({"location": "w.bin", "length": 60}, "model.external_data", "60 bytes"),
        ({"location": "w.bin", "length": 2**50}, "model.external_data", "[4, 4] takes 64"),
    ],
)
def test_places_that_are_refused(tmp_path, info, code, word):
    folder = tmp_path / "models"
    (folder / "folder").mkdir(parents=True)
    for place in (tmp_path / "w.bin", folder / "w.bin"):
        place.write_bytes(bytes(100))
    (folder / "empty.bin").touch()
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    refused(code, beside(folder, info), word)


def test_a_weight_that_no_file_can_hold(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(100))
    refused("model.weights_missing", beside(tmp_path, {"location": "w.bin"}, (2**40, 2**40)), "too short")


@pytest.mark.parametrize("offset", [0, 64, 3])
def test_values_and_offsets_also_between_elements(tmp_path, offset):
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    (tmp_path / "w.bin").write_bytes(bytes(offset) + values.tobytes() + b"rest")
    graph = wb.load_onnx(beside(tmp_path, {"location": "w.bin", "offset": offset, "length": 64}))
    np.testing.assert_array_equal(graph.constants["w"], values)
    x = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(wb.compile(graph).run({"x": x})["y"], x @ values)


def test_a_link_within_the_folder_and_half_precision(tmp_path):
    values = np.linspace(-1, 1, 16, dtype=np.float16).reshape(4, 4)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(values.tobytes())
    (tmp_path / "w.bin").symlink_to(tmp_path / "data" / "w.bin")
    graph = wb.load_onnx(beside(tmp_path, {"location": "w.bin"}, dtype=TensorProto.FLOAT16))
    np.testing.assert_array_equal(graph.constants["w"], values)


def test_a_store_of_linked_files(tmp_path):
    """As the caches of model hubs are: names link to files that lie together elsewhere, under their checksums."""
    store, view = tmp_path / "blobs", tmp_path / "view"
    store.mkdir()
    view.mkdir()
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    (store / "9f2c").write_bytes(values.tobytes())
    beside(store, {"location": "w.bin"}).rename(store / "04ab")
    (view / "m.onnx").symlink_to(store / "04ab")
    (view / "w.bin").symlink_to(store / "9f2c")
    np.testing.assert_array_equal(wb.load_onnx(view / "m.onnx").constants["w"], values)
    (tmp_path / "other").write_bytes(values.tobytes())
    (view / "w.bin").unlink()
    (view / "w.bin").symlink_to(tmp_path / "other")
    refused("model.external_data", view / "m.onnx", "outside")


def test_what_the_onnx_package_writes(tmp_path):
    weights = {n: np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) for n in "ab"}
    tensors = [numpy_helper.from_array(a, n) for n, a in weights.items()]
    nodes = [helper.make_node("MatMul", ["x", "a"], ["t"]), helper.make_node("MatMul", ["t", "b"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])
    graph = helper.make_graph(nodes, "g", [x], [helper.make_empty_tensor_value_info("y")], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    external_data_helper.convert_model_to_external_data(model, location="all.bin", size_threshold=0)
    import onnx

    onnx.save(model, tmp_path / "m.onnx")
    loaded = wb.load_onnx(tmp_path / "m.onnx").constants
    for name, a in weights.items():
        np.testing.assert_array_equal(loaded[name], a)


def test_a_file_beyond_two_gib_is_told_to_use_external_data(tmp_path):
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(2 * GIB + 5)
    with pytest.raises(ModelError) as e:
        wb.load_onnx(path)
    assert e.value.code == "model.file_too_large"
    assert "2.0 GiB" in str(e.value)
    assert "save_as_external_data=True" in e.value.hint


LOAD = """
import sys
sys.path.insert(0, sys.argv[2])
from peak import peak_bytes
import workbench as wb
import onnx, workbench.graph.onnx
before = peak_bytes()
graph = wb.load_onnx(sys.argv[1])
assert graph.constants["w"].shape == (16384, 40960)
assert float(graph.constants["w"][-1, -1]) == 7.0
print((peak_bytes() - before) / 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux gives it")
def test_external_data_of_two_and_a_half_gib_take_no_memory(tmp_path):
    with (tmp_path / "w.bin").open("wb") as file:  # a file with a hole: it takes no space on the disk either
        file.truncate(5 * GIB // 2)
        file.seek(-4, os.SEEK_END)
        file.write(np.float32(7).tobytes())
    path = beside(tmp_path, {"location": "w.bin", "length": 5 * GIB // 2}, (16384, 40960))
    command = [sys.executable, "-c", LOAD, path, Path(__file__).parents[1]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 128


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_weights_that_hold_nan_are_named(tmp_path, dtype):
    values = np.ones((4, 4), dtype)
    values[2, 1] = np.nan
    (tmp_path / "w.bin").write_bytes(values.tobytes())
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    with pytest.warns(ModelWarning, match="'w'") as told:
        graph = wb.load_onnx(beside(tmp_path, {"location": "w.bin"}, dtype=kind))
    (warning,) = told
    assert warning.message.code == "model.nan_weights"
    assert warning.message.where == ("w",)
    assert np.isnan(graph.constants["w"]).sum() == 1
    (tmp_path / "w.bin").write_bytes(np.full((4, 4), np.inf, dtype).tobytes())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wb.load_onnx(tmp_path / "m.onnx")  # infinities are how masks are written
