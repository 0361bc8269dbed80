"""Runs on arrays that are checked once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import workbench as wb
from workbench.errors import WorkbenchError

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402


def network(threads=2, n=4096):
    """Outputs that a kernel writes, that is an input, and that is a constant."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [n]) for name in ("x", "y", "sum", "same", "two")]
    nodes = [
        helper.make_node("Add", ["x", "y"], ["sum"]),
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Identity", ["c"], ["two"]),
    ]
    two = helper.make_tensor("c", TensorProto.FLOAT, [n], [2.0] * n)
    graph = helper.make_graph(nodes, "g", values[:2], values[2:], [two])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return wb.compile(wb.load_onnx(made), threads=threads)


def drawn(exe, seed=0):
    rng = np.random.default_rng(seed)
    given = exe.empty_inputs()
    for array in given.values():
        array[...] = rng.standard_normal(array.shape)
    return given


@pytest.mark.parametrize("threads", [1, 2])
def test_a_call_reads_what_is_in_the_inputs_then(threads):
    exe = network(threads)
    given = drawn(exe)
    bound = exe.bind(given)
    for seed in range(3):
        for name, array in drawn(exe, seed).items():
            given[name][...] = array
        found = bound()
        assert found is bound.outputs
        assert list(found) == ["sum", "same", "two"]
        for name, right in exe.run(given).items():
            np.testing.assert_array_equal(found[name], right)


def test_outputs_are_written_where_the_caller_says():
    exe = network()
    given, mine = drawn(exe), np.zeros(4096, np.float32)
    bound = exe.bind(given["x"], y=given["y"], out={"sum": mine})
    bound()
    np.testing.assert_array_equal(mine, given["x"] + given["y"])
    assert bound.outputs["sum"] is mine


def test_threads_and_the_memory_of_other_runs_may_change_between_calls():
    exe = network(1)
    given = drawn(exe)
    bound = exe.bind(given)
    for threads in (2, 1, 2):
        exe.set_threads(threads)
        exe.poison()
        np.testing.assert_array_equal(bound()["sum"], given["x"] + given["y"])


def test_calls_from_several_threads_wait_for_each_other():
    exe = network()
    given = drawn(exe)
    bound, right = exe.bind(given), given["x"] + given["y"]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(bound) for _ in range(40)]:
            np.testing.assert_array_equal(done.result()["sum"], right)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda a: np.ones((4096, 2), np.float32)[:, 0], "run.bind"),
        (lambda a: a.astype(np.float64), "shape.dtype"),
        (lambda a: a[:-1], "shape.mismatch"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(change, code):
    exe = network()
    given = drawn(exe)
    with pytest.raises(WorkbenchError) as refused:
        exe.bind({**given, "x": change(given["x"])})
    assert refused.value.code == code


def test_an_output_over_an_input_is_refused():
    exe = network()
    given = drawn(exe)
    with pytest.raises(WorkbenchError) as refused:
        exe.bind(given, out={"sum": given["x"]})
    assert refused.value.code == "run.out"
