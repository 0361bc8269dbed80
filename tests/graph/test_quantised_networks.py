"""A small network, quantised by onnxruntime's tools in both of their formats, against onnxruntime."""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
import tiers

from workbench.graph import Graph, Node, TensorType, load_onnx, partition, run_reference
from workbench.graph.passes import run_pass
from workbench.network.compile import compile

SIZE, CHANNELS = 12, 8


def weights(rng, *shape):
    return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype("f4")


def network():
    """Convolutions (one of them depthwise), a residual, pooling and a dense layer."""
    from onnx import TensorProto, helper, numpy_helper

    rng, c = np.random.default_rng(0), CHANNELS
    kernels = {"w0": (c, 3, 3, 3), "w1": (c, c, 3, 3), "w2": (c, 1, 3, 3), "w3": (c, c, 1, 1), "w4": (10, c)}
    values = {k: weights(rng, *s) for k, s in kernels.items()}
    values |= {f"b{i}": weights(rng, 10 if i == 4 else c) for i in range(5)}

    def conv(i, x, **attrs):
        made = helper.make_node("Conv", [x, f"w{i}", f"b{i}"], [f"c{i}"], **attrs)
        return made, helper.make_node("Relu", [f"c{i}"], [f"r{i}"])

    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        *conv(0, "x", strides=[2, 2], **pads),
        *conv(1, "r0", **pads),
        *conv(2, "r1", group=c, **pads),
        conv(3, "r2")[0],
        helper.make_node("Add", ["c3", "r0"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["m"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], transB=1),
    ]
    x, y = (
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 3, SIZE, SIZE]), ("y", [1, 10]))
    )
    graph = helper.make_graph(nodes, "cnn", [x], [y], [numpy_helper.from_array(v, k) for k, v in values.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def image(seed):
    return np.random.default_rng(seed).standard_normal((1, 3, SIZE, SIZE)).astype("f4")


def quantised(folder, form, activations, kernels, channels):
    """Path of the network, quantised."""
    import onnx

    q = pytest.importorskip("onnxruntime.quantization")

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.images = iter([{"x": image(k)} for k in range(4)])

        def get_next(self):
            return next(self.images, None)

    onnx.save(network(), folder / "float.onnx")
    types = {"activation_type": q.QuantType[activations], "weight_type": q.QuantType[kernels]}
    path = folder / "quantised.onnx"
    q.quantize_static(folder / "float.onnx", path, Reader(), q.QuantFormat[form], per_channel=channels, **types)
    return path


def by_onnxruntime(path, feeds, exact=True):
    return ort_session.session(path, exact=exact).run(None, feeds)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    tiers.first(
        (form, *rest)
        for rest in (("QUInt8", "QInt8", True), ("QUInt8", "QUInt8", False), ("QInt8", "QInt8", False))
        for form in ("QDQ", "QOperator")
    ),
)
def test_network_equals_onnxruntime(tmp_path, options):
    _, activations, kernels, channels = options
    path = quantised(tmp_path, *options)
    feeds = {"x": image(9)}
    (want,) = by_onnxruntime(path, feeds, exact=activations == "QUInt8")
    graph = load_onnx(path)
    optimised = graph.optimize()
    step = min(np.diff(np.unique(np.abs(want))))  # results are multiples of the last scale
    for without in ((), ("integer_products",), ("qdq_to_integer",), ("layout",)) if channels else ((),):
        (got,) = compile(graph, without=without).run(feeds).values()
        np.testing.assert_allclose(got, want, atol=step * (1.01 if without else 1e-3), rtol=0, err_msg=str(without))
    assert not [g.obstacle for g in partition(optimised) if g.obstacle]  # no step in Python
    kernels_of = [set(g.nodes) for g in optimised.groups]
    kind = {n.name: n.op for n in optimised.nodes}
    convolutions = [{kind[n] for n in g} for g in kernels_of if any(kind[n] == "ConvInteger" for n in g)]
    # Scaling back is part of the convolution's kernel; weights with a zero point make two sums of most convolutions.
    assert sum("Requantize" in k for k in convolutions) == 4
    assert len(convolutions) == (7 if kernels == "QUInt8" else 4)
    assert any("Mix" in k for k in convolutions)  # and so is the residual
    assert "Conv" not in kind.values()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", tiers.first([("QInt8", True), ("QUInt8", False)]))
def test_network_with_scales_found_at_run_time_equals_onnxruntime(tmp_path, options):
    kernels, channels = options
    import onnx

    q = pytest.importorskip("onnxruntime.quantization")
    onnx.save(network(), tmp_path / "float.onnx")
    path = tmp_path / "dynamic.onnx"
    q.quantize_dynamic(tmp_path / "float.onnx", path, per_channel=channels, weight_type=q.QuantType[kernels])
    graph, feeds = load_onnx(path), {"x": image(9)}
    (want,), (got,) = by_onnxruntime(path, feeds), compile(graph).run(feeds).values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    ops = {n.op for n in graph.optimize().nodes}
    assert {"ConvInteger", "MatMulInteger"} <= ops
    assert not ops & {"Conv", "MatMul", "Gemm", "DynamicQuantizeLinear"}
    assert not [g.obstacle for g in partition(graph.optimize()) if g.obstacle]  # no step in Python


def test_what_has_other_readers_or_no_scale_stays_on_real_numbers():
    q = {"s": np.array(0.5, "f4"), "z": np.array(3, np.uint8), "w": weights(np.random.default_rng(0), 4, 4, 1, 1)}
    nodes = [
        Node("dx", "DequantizeLinear", ("x", "s", "z"), ("real",), {}, "", 13),
        Node("c", "Conv", ("real", "w"), ("c",), {}, "", 13),  # weights that were never quantised
        Node("q", "QuantizeLinear", ("c", "s", "z"), ("y",), {}, "", 13),
        Node("m", "MaxPool", ("real",), ("p",), {"kernel_shape": (2, 2)}, "", 13),
        Node("t", "Relu", ("p",), ("more",), {}, "", 13),  # reads what the pooling gives, too
        Node("qm", "QuantizeLinear", ("p", "s", "z"), ("v",), {}, "", 13),
    ]
    g = Graph.make("g", nodes, {"x": TensorType((1, 4, 3, 3), "uint8")}, ["y", "v", "more"], q)
    assert run_pass(g, "qdq_to_integer") is g


def test_relu_is_what_the_least_byte_does_only_where_it_stands_for_zero():
    constants = {"s": np.array(0.5, "f4"), "z": np.array(7, np.uint8), "none": np.array(0, np.uint8)}

    def made(zero):
        nodes = [
            Node("d", "DequantizeLinear", ("x", "s", "z"), ("a",), {}, "", 13),
            Node("p", "Add", ("a", "a"), ("b",), {}, "", 13),
            Node("r", "Relu", ("b",), ("c",), {}, "", 13),
            Node("q", "QuantizeLinear", ("c", "s", zero), ("y",), {}, "", 13),
        ]
        return Graph.make("g", nodes, {"x": TensorType((2, 9), "uint8")}, ["y"], constants)

    feeds = {"x": np.arange(18, dtype=np.uint8).reshape(2, 9)}
    assert [n.op for n in run_pass(made("none"), "qdq_to_integer").nodes] == ["QLinearAdd"]
    for zero in ("none", "z"):
        g = made(zero)
        (want,), (got,) = run_reference(g, feeds).values(), compile(g).run(feeds).values()
        np.testing.assert_array_equal(got, want)
    assert "Relu" in [n.op for n in run_pass(made("z"), "qdq_to_integer").nodes]
