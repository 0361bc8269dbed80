"""Operators that the onnx package computes, wholly or where our declaration does not cover a use, beside onnxruntime.

The reference of the onnx package has faults. What it computes for us is held against an implementation that shares
no code with it, use by use (`uses`).
"""

from __future__ import annotations

import numpy as np
import pytest
from graph.uses import CASES

from workbench.graph.onnx import read_program
from workbench.tune.dynamic import DynamicExecutable

ort = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

ALL = [(op, k, opset) for op, uses in CASES.items() for k, u in enumerate(uses) for opset in u.opsets]

#: What onnxruntime has no kernel for: held against what it says of the same use in the opset before.
LACKS = {("GlobalLpPool", 22), ("RoiAlign", 22)}


def model_of(op, use, opset):
    """Model of one node, and the arrays of its inputs."""
    from onnx import helper, numpy_helper

    names = [f"x{i}" if a is not None else "" for i, a in enumerate(use.inputs)]
    given = {name: a for name, a in zip(names, use.inputs, strict=True) if name}
    weights = {f"x{i}" for i in use.const}
    outs = [f"y{i}" for i in range(use.outputs)]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
        if n not in weights
    ]
    constants = [numpy_helper.from_array(a, n) for n, a in given.items() if n in weights]
    node = helper.make_node(op, names, outs, name="n", **use.attrs)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=o) for o in outs], constants)
    version = helper.make_opsetid("", opset)
    feeds = {n: a for n, a in given.items() if n not in weights}
    return helper.make_model(graph, opset_imports=[version], ir_version=10), feeds


def by_onnxruntime(model, feeds):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feeds)


@pytest.mark.parametrize(("op", "k", "opset"), ALL)
def test_like_onnxruntime(op, k, opset):
    use = CASES[op][k]
    model, feeds = model_of(op, use, opset)
    got = DynamicExecutable(read_program(model)).run(feeds)
    if (op, opset) in LACKS:
        with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
            by_onnxruntime(model, feeds)
        model, feeds = model_of(op, use, use.opsets[use.opsets.index(opset) - 1])
    for a, b in zip(got.values(), by_onnxruntime(model, feeds), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
