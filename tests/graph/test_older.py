"""Operators as old opsets write them, beside onnxruntime."""

import numpy as np
import onnx
import ort_session
import pytest
from onnx import TensorProto, helper

import workbench as wb

X = np.random.default_rng(0).standard_normal((1, 2, 3, 4)).astype(np.float32)


def model(opset, nodes, inputs, constants=()):
    kinds = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        "old",
        [helper.make_tensor_value_info(n, kinds[a.dtype.kind], a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(a, n) for n, a in dict(constants).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6)


UP = np.array([1, 1, 2, 3], np.float32)
PLACES = np.array([[1, 0], [2, 1]], np.int64)
NEW = np.array([[9.0, 8.0], [7.0, 6.0]], np.float32)
CASES = {
    "Upsample 7": (7, [helper.make_node("Upsample", ["X"], ["Y"], scales=[1.0, 1.0, 2.0, 3.0])], {"X": X}, {}),
    "Upsample 9": (9, [helper.make_node("Upsample", ["X", "S"], ["Y"])], {"X": X}, {"S": UP}),
    "Upsample linear": (9, [helper.make_node("Upsample", ["X", "S"], ["Y"], mode="linear")], {"X": X}, {"S": UP}),
    "Resize 10": (10, [helper.make_node("Resize", ["X", "S"], ["Y"])], {"X": X}, {"S": UP}),
    "Scatter": (9, [helper.make_node("Scatter", ["D", "I", "U"], ["Y"])],
                {"D": np.zeros((3, 3), np.float32), "U": NEW}, {"I": PLACES}),
    **{f"{op} {axis}": (11, [helper.make_node(op, ["X"], ["Y"], axis=axis)], {"X": X}, {})
       for op in ("Softmax", "LogSoftmax", "Hardmax") for axis in (0, 1, 2, -1)},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_like_onnxruntime(case):
    made = model(*CASES[case])
    feeds = CASES[case][2]
    want = ort_session.session(made).run(None, feeds)[0]
    got = wb.compile(wb.load_onnx(made)).run(feeds)["Y"]
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_upsampling_to_the_nearest_is_compiled():
    for case in ("Upsample 7", "Upsample 9", "Resize 10"):
        assert list(wb.compile(wb.load_onnx(model(*CASES[case]))).profile(repeat=1).note) == [""]
