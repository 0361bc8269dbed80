"""Compiled operators on arrays of the caller that begin anywhere and end where memory ends."""

import numpy as np
import ort_session
import pytest
from codegen.guarded import Fenced

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.onnx import read_program
from workbench.network.dynamic_shapes import DynamicExecutable

onnx = pytest.importorskip("onnx")

FLOAT = "float32"
SQUARE = (260, 260)
W = np.random.default_rng(1).standard_normal((24, 5, 3, 3), dtype=FLOAT)
NETWORKS = {
    "exp": ("Exp", {"x": ((33, 127), FLOAT)}, {}, {}),
    "product": ("MatMul", {"x": ((37, 61), FLOAT), "z": ((61, 45), FLOAT)}, {}, {}),
    "large product": ("MatMul", {"x": (SQUARE, FLOAT), "z": (SQUARE, FLOAT)}, {}, {}),
    "convolution": ("Conv", {"x": ((1, 5, 19, 23), FLOAT)}, {"w": W}, {"pads": [1, 1, 1, 1]}),
    "gather": ("Gather", {"x": ((301, 29), FLOAT), "i": ((17,), "int64")}, {}, {}),
    "concat": ("Concat", {"x": ((3, 41), FLOAT), "z": ((3, 23), FLOAT)}, {}, {"axis": 1}),
    "softmax": ("Softmax", {"x": ((11, 301), FLOAT)}, {}, {}),
    "transpose": ("Transpose", {"x": ((67, 45), FLOAT)}, {}, {}),
    "pooling": ("MaxPool", {"x": ((1, 3, 21, 19), FLOAT)}, {}, {"kernel_shape": [3, 3], "strides": [2, 2]}),
    "integers": ("Add", {"x": ((123,), "int8"), "z": ((123,), "int8")}, {}, {}),
    "sum of columns": ("ReduceSum", {"x": ((301, 45), FLOAT)}, {"axes": np.array([0])}, {"keepdims": 0}),
}


def model(op, inputs, weights, attributes):
    h = onnx.helper
    kind = {n: h.np_dtype_to_tensor_dtype(np.dtype(d)) for n, (_, d) in inputs.items()}
    graph = h.make_graph(
        [h.make_node(op, [*inputs, *weights], ["y"], **attributes)],
        op,
        [h.make_tensor_value_info(n, kind[n], shape) for n, (shape, _) in inputs.items()],
        [h.make_tensor_value_info("y", kind[next(iter(inputs))], None)],
        [onnx.numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9).SerializeToString()


def fenced(values):
    """The values in an array behind which nothing may be read, and what keeps it."""
    fence = Fenced(values.shape, values.dtype.name)
    fence.array[...] = values
    return fence


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("what", NETWORKS)
def test_any_alignment(what, threads):
    text = model(*NETWORKS[what])
    executable = wb.compile(wb.load_onnx(text), threads=threads)
    rng = np.random.default_rng(0)
    given = executable.empty_inputs()
    for array in given.values():
        array[...] = rng.standard_normal(array.shape) if array.dtype.kind == "f" else rng.integers(0, 60, array.shape)
    want = executable.run(given)["y"]
    theirs = ort_session.session(text).run(None, given)[0]
    np.testing.assert_allclose(want, theirs, rtol=1e-4, atol=1e-4)
    ends = {name: fenced(array) for name, array in given.items()}
    out = fenced(np.zeros_like(want))
    executable.poison()
    assert executable.run({n: f.array for n, f in ends.items()}, out=[out.array])["y"] is out.array
    assert out.array.tobytes() == want.tobytes()
    for name, fence in ends.items():
        assert fence.array.tobytes() == given[name].tobytes(), name


def test_only_vectors_that_are_read_often_are_moved():
    """The second operand of a large product; nothing of a small one, of a convolution, or what is read element-wise."""
    assert {what: wb.compile(wb.load_onnx(model(*n)), threads=1).plan.lines for what, n in NETWORKS.items()} == {
        **dict.fromkeys(NETWORKS, ()), "large product": (1,)
    }  # fmt: skip


def dynamic():
    """y = exp(x) of any length; p = where y > 1, with a number of rows that only the run knows; q = p + p; x; c."""
    h, kinds = onnx.helper, onnx.TensorProto
    graph = h.make_graph(
        [h.make_node("Exp", ["x"], ["y"]), h.make_node("Greater", ["y", "one"], ["g"]),
         h.make_node("NonZero", ["g"], ["p"]), h.make_node("Add", ["p", "p"], ["q"])],
        "dynamic",
        [h.make_tensor_value_info("x", kinds.FLOAT, ["n"])],
        [h.make_tensor_value_info(n, k, None) for n, k in
         {"y": kinds.FLOAT, "p": kinds.INT64, "q": kinds.INT64, "x": kinds.FLOAT, "one": kinds.FLOAT}.items()],
        [onnx.numpy_helper.from_array(np.ones(1, FLOAT), "one")],
    )  # fmt: skip
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9)
    return DynamicExecutable(read_program(made.SerializeToString()))


def test_outputs_of_a_dynamic_model_are_written_where_the_caller_says():
    executable = dynamic()
    for n in (7, 30):
        x = np.random.default_rng(n).standard_normal(n, dtype=FLOAT)
        want = executable.run({"x": x})
        np.testing.assert_allclose(want["y"], np.exp(x), rtol=1e-6)
        np.testing.assert_array_equal(want["q"], 2 * np.flatnonzero(x > 0)[None])
        every = {name: np.zeros_like(array) for name, array in want.items()}
        for out in (every, list(every.values()), {"q": every["q"]}, {"x": every["x"], "p": every["p"]}):
            for array in every.values():
                array.fill(0)
            found = executable.run({"x": x}, out=out)
            assert list(found) == list(want)
            for name, array in found.items():
                np.testing.assert_array_equal(array, want[name])
                assert (array is every[name]) == (len(out) == 5 or name in out), name


def test_arrays_that_a_dynamic_model_cannot_write_to():
    executable, x = dynamic(), np.linspace(-1, 1, 8, dtype=FLOAT)
    room = np.zeros(64, FLOAT)
    for out, code in (
        ({"z": room}, "shape.name"),
        ({"y": x}, "run.out"),
        ({"y": room[:8], "x": room[7:15]}, "run.out"),
        (room, "run.out"),
        ([None] * 4, "shape.count"),
        ({"y": room}, "shape.mismatch"),
        ({"x": room}, "shape.mismatch"),
        ({"p": room[:4]}, "shape.mismatch"),
        ({"q": room[:4].reshape(1, 4)}, "shape.dtype"),
        ({"x": room[:16:2]}, "run.out"),
        ({"one": np.frombuffer(bytes(4), FLOAT)}, "run.out"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            executable.run({"x": x}, out=out)
        assert caught.value.code == code, out
    assert not room[8:].any()
