"""The libraries: each function returns the ways in which a library does a case, as calls without arguments.

A way is as good as its library's users can have it: operands are in the library's favourite layout before the clock
starts, weights are packed ahead where it can do that, and outputs are allocated ahead where it takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import Case

Ways = dict[str, Callable[[], np.ndarray]]
Arrays = dict[str, np.ndarray]


# ------------------------------------------------------------------------------------------------------------ torch


def torch_ways(case: Case, arrays: Arrays, threads: int) -> Ways:
    """Eager torch, and with weights that oneDNN has packed."""
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    given = {k: torch.from_numpy(v) for k, v in arrays.items()}
    return _TORCH[case.kind](torch, case, given)


def _torch_matmul(torch: Any, case: Case, x: dict[str, Any]) -> Ways:
    out = torch.empty(x["A"].shape[0], x["B"].shape[1])
    return {"mm": lambda: torch.mm(x["A"], x["B"], out=out)}


def _torch_dense(torch: Any, case: Case, x: dict[str, Any]) -> Ways:
    weight = x["B"].t().contiguous()
    ways = {**_torch_matmul(torch, case, x), "linear": lambda: torch.nn.functional.linear(x["A"], weight)}
    if torch.backends.mkldnn.is_available():
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, x["A"].shape[0])
        ways["packed"] = lambda: torch.ops.mkldnn._linear_pointwise(x["A"], packed, None, "none", [], "")
    if torch.backends.mkl.is_available():
        own = torch.ops.mkl._mkl_reorder_linear_weight(weight, x["A"].shape[0])
        ways["mkl packed"] = lambda: torch.ops.mkl._mkl_linear(x["A"], own, weight, None, x["A"].shape[0])
    return ways


def _images(x: Any) -> Any:
    return x.permute(0, 3, 1, 2)  # NHWC in memory, NCHW by name: channels_last


def _torch_conv(torch: Any, case: Case, x: dict[str, Any]) -> Ways:
    image, stride, padding = _images(x["X"]), case.sizes["stride"], case.sizes["padding"]
    depthwise = case.kind == "depthwise"
    groups = image.shape[1] if depthwise else 1
    weight = x["W"].permute(2, 0, 1).unsqueeze(1) if depthwise else x["W"].permute(3, 2, 0, 1)
    last = weight.contiguous(memory_format=torch.channels_last)
    ways = {"eager": lambda: torch.nn.functional.conv2d(image, last, None, stride, padding, 1, groups)}
    if torch.backends.mkldnn.is_available():
        two = [stride, stride], [padding, padding], [1, 1]
        packed = torch.ops.mkldnn._reorder_convolution_weight(
            weight.contiguous(), two[1], two[0], two[2], groups, list(image.shape)
        )
        ways["packed"] = lambda: torch.ops.mkldnn._convolution_pointwise(
            image, packed, None, two[1], two[0], two[2], groups, "none", [], ""
        )
    return ways


def _torch_softmax(torch: Any, case: Case, x: dict[str, Any]) -> Ways:
    out = torch.empty_like(x["X"])
    return {"softmax": lambda: torch.softmax(x["X"], -1), "out": lambda: torch._softmax(x["X"], -1, False, out=out)}


def _torch_layer_norm(torch: Any, case: Case, x: dict[str, Any]) -> Ways:
    shape = (x["X"].shape[-1],)
    return {"layer_norm": lambda: torch.nn.functional.layer_norm(x["X"], shape, x["G"], x["B"], 1e-5)}


def _torch_pool(torch: Any, case: Case, x: dict[str, Any]) -> Ways:
    image, s = _images(x["X"]), case.sizes
    plain = image.contiguous()
    pool = torch.nn.functional.max_pool2d
    return {
        "channels last": lambda: pool(image, s["kernel"], s["stride"], s["padding"]),
        "nchw": lambda: pool(plain, s["kernel"], s["stride"], s["padding"]),
    }


_TORCH: dict[str, Callable[..., Any]] = {
    "matmul": _torch_matmul,
    "dense": _torch_dense,
    "conv": _torch_conv,
    "depthwise": _torch_conv,
    "softmax": _torch_softmax,
    "layer_norm": _torch_layer_norm,
    "max_pool": _torch_pool,
}


# ------------------------------------------------------------------------------------------------------ onnxruntime


def onnxruntime_ways(case: Case, arrays: Arrays, threads: int) -> Ways:
    """One node, NCHW (the layout that its kernels are made for), with bound inputs and outputs."""
    import onnxruntime as ort

    model, feeds = _onnx_model(case, arrays)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {k: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(v)) for k, v in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    (first,) = session.run(None, {k: np.ascontiguousarray(v) for k, v in feeds.items()})
    out = ort.OrtValue.ortvalue_from_numpy(first)
    binding.bind_ortvalue_output("Y", out)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return out

    return {"session": call}


def _onnx_model(case: Case, a: Arrays) -> tuple[Any, Arrays]:
    """The model, and its inputs by name."""
    from onnx import TensorProto, helper, numpy_helper

    feeds, constants, op, attributes = _onnx_parts(case, a)
    inputs = [helper.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in feeds.items()]
    output = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    node = helper.make_node(op, [*feeds, *constants], ["Y"], **attributes)
    weights = [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph([node], "case", inputs, [output], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feeds


def _onnx_parts(case: Case, a: Arrays) -> tuple[Arrays, Arrays, str, dict[str, Any]]:
    s = case.sizes
    if case.kind == "matmul":
        return a, {}, "MatMul", {}
    if case.kind == "dense":
        return {"A": a["A"]}, {"B": a["B"]}, "MatMul", {}
    if case.kind == "softmax":
        return a, {}, "Softmax", {"axis": -1}
    if case.kind == "layer_norm":
        return {"X": a["X"]}, {"G": a["G"], "B": a["B"]}, "LayerNormalization", {"axis": -1, "epsilon": 1e-5}
    image = a["X"].transpose(0, 3, 1, 2)
    window = {"strides": [s["stride"]] * 2, "pads": [s["padding"]] * 4}
    if case.kind == "max_pool":
        return {"X": image}, {}, "MaxPool", {"kernel_shape": [s["kernel"]] * 2, **window}
    if case.kind == "depthwise":
        return {"X": image}, {"W": a["W"].transpose(2, 0, 1)[:, None]}, "Conv", {"group": image.shape[1], **window}
    return {"X": image}, {"W": a["W"].transpose(3, 2, 0, 1)}, "Conv", window


# ------------------------------------------------------------------------------------------------------------ numpy


def numpy_ways(case: Case, arrays: Arrays, threads: int) -> Ways:
    """What a NumPy user would write, with reused buffers; convolutions as a matmul of windows."""
    return {"numpy": _NUMPY[case.kind](case, arrays)}


def _numpy_matmul(case: Case, a: Arrays) -> Callable[[], np.ndarray]:
    out = np.empty((a["A"].shape[0], a["B"].shape[1]), np.float32)
    return lambda: np.matmul(a["A"], a["B"], out=out)


def _windows(x: np.ndarray, kernel: tuple[int, int], stride: int, padding: int, value: float) -> np.ndarray:
    frame = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)), constant_values=value)
    return np.lib.stride_tricks.sliding_window_view(frame, kernel, (1, 2))[:, ::stride, ::stride]  # n h w c kh kw


def _numpy_conv(case: Case, a: Arrays) -> Callable[[], np.ndarray]:
    x, w = a["X"], a["W"]
    kh, kw, _, co = w.shape
    flat = np.ascontiguousarray(w.transpose(2, 0, 1, 3).reshape(-1, co))

    def call() -> np.ndarray:
        at = _windows(x, (kh, kw), case.sizes["stride"], case.sizes["padding"], 0.0)
        return np.matmul(at.reshape(*at.shape[:3], -1), flat)

    return call


def _numpy_depthwise(case: Case, a: Arrays) -> Callable[[], np.ndarray]:
    x, w = a["X"], a["W"]

    def call() -> np.ndarray:
        at = _windows(x, w.shape[:2], case.sizes["stride"], case.sizes["padding"], 0.0)
        return sum(at[..., i, j] * w[i, j] for i in range(w.shape[0]) for j in range(w.shape[1]))

    return call


def _numpy_softmax(case: Case, a: Arrays) -> Callable[[], np.ndarray]:
    x, out = a["X"], np.empty_like(a["X"])

    def call() -> np.ndarray:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis=1, keepdims=True), out=out)
        return out

    return call


def _numpy_layer_norm(case: Case, a: Arrays) -> Callable[[], np.ndarray]:
    x, g, b, out, square = a["X"], a["G"], a["B"], np.empty_like(a["X"]), np.empty_like(a["X"])

    def call() -> np.ndarray:
        np.subtract(x, x.mean(axis=1, keepdims=True), out=out)
        np.square(out, out=square)
        np.multiply(out, 1 / np.sqrt(square.mean(axis=1, keepdims=True) + np.float32(1e-5)), out=out)
        np.multiply(out, g, out=out)
        return np.add(out, b, out=out)

    return call


def _numpy_pool(case: Case, a: Arrays) -> Callable[[], np.ndarray]:
    s, k = case.sizes, case.sizes["kernel"]

    def call() -> np.ndarray:
        at = _windows(a["X"], (k, k), s["stride"], s["padding"], -np.inf)
        out = at[..., 0, 0].copy()
        for i in range(1, k * k):
            np.maximum(out, at[..., i // k, i % k], out=out)
        return out

    return call


_NUMPY: dict[str, Callable[[Case, Arrays], Callable[[], np.ndarray]]] = {
    "matmul": _numpy_matmul,
    "dense": _numpy_matmul,
    "conv": _numpy_conv,
    "depthwise": _numpy_depthwise,
    "softmax": _numpy_softmax,
    "layer_norm": _numpy_layer_norm,
    "max_pool": _numpy_pool,
}

PEERS: dict[str, Callable[[Case, Arrays, int], Ways]] = {
    "torch": torch_ways,
    "onnxruntime": onnxruntime_ways,
    "numpy": numpy_ways,
}
