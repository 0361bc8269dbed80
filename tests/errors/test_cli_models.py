"""Models that cannot be used, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from errors import models
from errors.test_cli_errors import check_error, invoke


@pytest.mark.parametrize("command", ["tasks", "run", "tune"])
def test_files_that_are_no_model(capfd, tmp_path, command):
    rest = ["--trials", "3", "--log", tmp_path / "log.jsonl"] if command == "tune" else []
    check_error(capfd, [command, tmp_path / "none.onnx", *rest], "model.missing_file", 3)
    text = tmp_path / "text.onnx"
    text.write_text("this is not a model\n" * 20)
    check_error(capfd, [command, text, *rest], "model.not_onnx", 3)
    whole = models.dense(tmp_path / "dense.onnx").read_bytes()
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(whole[: len(whole) // 2])
    check_error(capfd, [command, cut, *rest], "model.truncated", 3)
    assert not (tmp_path / "log.jsonl").exists()


def test_a_name_that_is_neither_a_file_nor_a_shipped_model(capfd, tmp_path):
    check_error(capfd, ["tasks", "light_squeezenett"], "model.missing_file", 3)


def test_unknown_operator(capfd, tmp_path):
    error = check_error(capfd, ["tasks", models.unknown_operator(tmp_path / "m.onnx")], "model.unsupported_op", 3)
    text = f"{error['message']} {error['where']} {error['hint']}"
    for part in ("FancyOp", "com.example", "fancy"):
        assert part in text


def test_unresolved_dimension(capfd, tmp_path):
    path = models.open_dimension(tmp_path / "m.onnx")
    error = check_error(capfd, ["tasks", path], "model.unresolved_dim", 3)
    text = f"{error['message']} {error['where']} {error['hint']}"
    assert "batch" in text
    assert "--shape" in text
    code, out, _ = invoke(capfd, "tasks", path, "--shape", "x=4x3", "--json")
    assert code == 0
    assert len(json.loads(out)["tasks"]) == 1


def test_missing_weights(capfd, tmp_path):
    error = check_error(capfd, ["tasks", models.external_weights(tmp_path / "m.onnx")], "model.weights_missing", 3)
    assert "weights.bin" in f"{error['message']} {error['where']}"


def test_inputs_that_do_not_fit(capfd, tmp_path):
    path = models.dense(tmp_path / "m.onnx")
    for name, array, code in (
        ("z", np.zeros((8, 64), "float32"), "shape.name"),
        ("x", np.zeros((8, 63), "float32"), "shape.mismatch"),
        ("x", np.zeros((8, 64), "float64"), "shape.dtype"),
    ):
        np.savez(tmp_path / "in.npz", **{name: array})
        check_error(capfd, ["run", path, "--inputs", tmp_path / "in.npz"], code, 3)
    check_error(capfd, ["run", path, "--inputs", tmp_path / "no.npz"], "inputs.missing", 3)
    np.save(tmp_path / "in.npy", np.zeros(3))
    error = check_error(capfd, ["run", path, "--inputs", tmp_path / "in.npy"], "inputs.format", 3)
    assert "single array" in error["message"]
    assert "inputs.format" not in error["message"]  # the message is not wrapped in another one
    (tmp_path / "text.npz").write_text("not a zip")
    check_error(capfd, ["run", path, "--inputs", tmp_path / "text.npz"], "inputs.format", 3)
    check_error(capfd, ["run", path, "--outputs", tmp_path / "no" / "o.npz"], "outputs.unwritable", 3)


def test_weights_that_hold_nan_are_told_and_do_not_stop_anything(capfd, tmp_path):
    from onnx import helper

    weights = np.full((3, 3), np.nan, "float32")
    path = models.save(
        tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]},
        {"w": weights},
    )  # fmt: skip
    code, out, err = invoke(capfd, "run", path, "--json")
    assert code == 0, err
    assert "warning: Weights of the model 'm' hold NaN: 'w'." in err
    assert json.loads(out)["outputs"]["y"]["shape"] == [2, 3]


def test_inputs_that_no_memory_can_hold_are_not_drawn(capfd, tmp_path):
    path = models.open_dimension(tmp_path / "m.onnx")
    error = check_error(capfd, ["run", path, "--shape", f"x={2**42}x3"], "model.too_large", 3)
    assert error["where"] == ["x"]


@pytest.mark.parametrize("rank", [1, 3])
def test_inputs_of_another_rank_name_the_input(capfd, tmp_path, rank):
    path = models.dense(tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.zeros((8,) * rank, "float32"))
    error = check_error(capfd, ["run", path, "--inputs", tmp_path / "in.npz"], "shape.mismatch", 3)
    assert "x" in error["where"]


def test_pickled_inputs_are_refused(capfd, tmp_path):
    np.savez(tmp_path / "in.npz", x=np.array([{"a": 1}], dtype=object))
    path = models.dense(tmp_path / "m.onnx")
    check_error(capfd, ["run", path, "--inputs", tmp_path / "in.npz"], "inputs.format", 3)


def test_the_whole_way(capfd, tmp_path):
    """Tasks, tune, resume, run with given inputs, benchmark; on a model of two tasks."""
    path, log = models.dense(tmp_path / "m.onnx"), tmp_path / "log.jsonl"
    code, out, _ = invoke(capfd, "tasks", path, "--json")
    tasks = json.loads(out)["tasks"]
    assert (code, len(tasks)) == (0, 2)
    tune = ["tune", path, "--log", log, "--threads", "1", "--json"]
    code, out, err = invoke(capfd, *tune, "--trials", "12")
    result = json.loads(out)
    assert code == 0, err
    assert (result["trials"], len(result["tasks"]), result["log"]) == (12, 2, str(log))
    assert result["total_latency_ms"] <= result["untuned_latency_ms"]
    assert "Kernels alone: " in err
    check_error(capfd, [*tune[:-1], "--trials", "16"], "log.exists", 3)
    code, out, err = invoke(capfd, *tune, "--trials", "16", "--resume")
    assert code == 0, err
    assert "another target" not in err
    assert (json.loads(out)["trials"], json.loads(out)["new_trials"]) == (16, 4)
    other = models.dense(tmp_path / "other.onnx", n=32)
    check_error(capfd, ["tune", other, "--log", log, "--trials", "20", "--resume"], "log.other_model", 3)
    check_error(capfd, ["run", other, "--log", log], "log.other_model", 3)

    x = np.random.default_rng(1).standard_normal((8, 64), dtype=np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    run = ["run", path, "--threads", "1", "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"]
    for extra in (["--log", log], []):
        code, out, err = invoke(capfd, *run, *extra, "--benchmark", "--json")
        assert code == 0, err
        data = json.loads(out)
        assert data["threads"] == 1
        assert 0 < data["min_ms"] <= data["median_ms"] <= data["max_ms"]
        assert {"mean_ms", "std_ms"} <= set(data)
        assert len(data["untuned"]) == (0 if extra else 2)
        assert len(data["groups_ms"]) >= 1
        assert ("turns" in data) == bool(extra)
        with np.load(tmp_path / "out.npz") as file:
            expected = models.dense_reference(path, x)
            assert np.abs(file["out/y"] - expected).max() <= 2e-4 * np.abs(expected).max()
    out = invoke(capfd, *run, "--log", log, "--benchmark", "--repeat", "5")[1]
    assert "Execution time summary" in out
    assert "Default schedules " in out


def test_going_on_with_other_threads_is_told(capfd, tmp_path):
    tune = ["tune", models.dense(tmp_path / "m.onnx"), "--log", tmp_path / "log.jsonl", "--trials", "4", "--threads"]
    assert invoke(capfd, *tune, "1")[0] == 0
    code, out, err = invoke(capfd, *tune, "2", "--resume", "--json")
    assert code == 0
    assert "4 trials of the log were measured for another target (threads=1 instead of 2)" in err
    assert json.loads(out)["new_trials"] == 4, "they do not count"


def test_what_is_not_tunable_is_listed(capfd, tmp_path):
    from onnx import TensorProto, helper, save

    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("CumSum", ["r", "axis"], ["y"], name="sums")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])]
    axis = helper.make_tensor("axis", TensorProto.INT64, [], [1])
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info("y")], [axis])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    code, out, _ = invoke(capfd, "tasks", tmp_path / "m.onnx", "--json")
    assert code == 0
    listed = {"name": "sums", "operator": "CumSum", "reason": "a runtime kernel"}
    assert json.loads(out)["not_tunable"] == [listed]
    code, out, _ = invoke(capfd, "tasks", tmp_path / "m.onnx")
    assert "Not tunable (1):\n  sums: cum_sum 4x8, a runtime kernel" in out
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    np.savez(tmp_path / "in.npz", x=x)
    code, _, err = invoke(
        capfd, "run", tmp_path / "m.onnx", "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "o.npz"
    )
    assert code == 0, err
    with np.load(tmp_path / "o.npz") as file:
        np.testing.assert_allclose(file["y"], np.maximum(x, 0).cumsum(axis=1), rtol=1e-6)
