"""The nodes of the cases as eager torch: what a user of torch would call."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as f
from onnx import TensorProto, helper, load, numpy_helper

Attrs = dict[str, Any]
_TYPES = {TensorProto.FLOAT: torch.float32, TensorProto.INT8: torch.int8, TensorProto.FLOAT16: torch.float16}


def program(model: Path, feeds: dict[str, torch.Tensor]) -> Callable[[], dict[str, torch.Tensor]]:
    """A function that runs a model's nodes on these inputs; `KeyError` where an operator has no counterpart."""
    graph = load(model).graph
    constants = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in graph.initializer}
    steps = []
    for node in graph.node:
        attrs = {a.name: _plain(helper.get_attribute_value(a)) for a in node.attribute}
        attrs["constants"] = [constants.get(n) for n in node.input]
        call = MAKERS[node.op_type](attrs) if node.op_type in MAKERS else _bound(NODES[node.op_type], attrs)
        steps.append((call, list(node.input), list(node.output)))
    known: dict[str, Any] = {**constants, **feeds, "": None}
    outputs = [o.name for o in graph.output]

    def run() -> dict[str, torch.Tensor]:
        for call, reads, makes in steps:
            found = call(*[known[n] for n in reads])
            known.update(zip(makes, found if isinstance(found, (tuple, list)) else (found,), strict=False))
        return {o: known[o] for o in outputs}

    return run


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _bound(function: Callable[..., Any], attrs: Attrs) -> Callable[..., Any]:
    return lambda *x: function(attrs, *x)


def _same(pads: list[int]) -> list[int]:
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        raise KeyError("pads that differ")
    return pads[:half]


def _window(a: Attrs, rank: int) -> tuple[list[int], list[int], list[int]]:
    return a.get("strides", [1] * rank), _same(a.get("pads", [0] * 2 * rank)), a.get("dilations", [1] * rank)


def _conv(a: Attrs, x: Any, w: Any, b: Any = None) -> Any:
    stride, pad, dilation = _window(a, x.dim() - 2)
    return (f.conv1d, f.conv2d, f.conv3d)[x.dim() - 3](x, w, b, stride, pad, dilation, a.get("group", 1))


def _transposed(a: Attrs, x: Any, w: Any, b: Any = None) -> Any:
    stride, pad, _ = _window(a, x.dim() - 2)
    return (f.conv_transpose1d, f.conv_transpose2d, f.conv_transpose3d)[x.dim() - 3](x, w, b, stride, pad)


def _recurrent(kind: str) -> Callable[[Attrs], Callable[..., Any]]:
    """A module of torch's with the node's weights, whose gates torch has in another order."""
    order = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}[kind]

    def make(a: Attrs) -> Callable[..., Any]:
        _, w, r, b = a["constants"]
        ways, hidden = w.shape[0], a["hidden_size"]
        module = getattr(torch.nn, kind)(w.shape[2], hidden, bidirectional=ways == 2)

        def gates(t: torch.Tensor) -> torch.Tensor:
            parts = t.split(hidden)
            return torch.cat([parts[k] for k in order])

        for k in range(ways):
            end = "_l0" + ("_reverse" if k else "")
            halves = b[k].chunk(2)
            for name, t in (("weight_ih", w[k]), ("weight_hh", r[k]), ("bias_ih", halves[0]), ("bias_hh", halves[1])):
                getattr(module, name + end).data.copy_(gates(t))

        def call(x: torch.Tensor, *_: Any) -> torch.Tensor:
            y = module(x)[0]
            return y.view(*x.shape[:2], ways, hidden).permute(0, 2, 1, 3).contiguous()

        return call

    return make


def _slice(a: Attrs, x: Any, s: Any, e: Any, axes: Any, steps: Any = None) -> Any:
    at = [slice(None)] * x.dim()
    strides = steps.tolist() if steps is not None else [1] * len(axes)
    for axis, low, high, step in zip(axes.tolist(), s.tolist(), e.tolist(), strides, strict=True):
        at[axis] = slice(low, high, step)
    return x[tuple(at)].contiguous()


def _pad(a: Attrs, x: Any, pads: Any) -> Any:
    p, rank = pads.tolist(), x.dim()
    ends = [n for k in reversed(range(rank)) for n in (p[k], p[k + rank])]
    mode = a.get("mode", "constant")
    return f.pad(x, ends[: 2 * (rank - 2)] if mode != "constant" else ends, mode)


def _resize(a: Attrs, x: Any, roi: Any, scales: Any) -> Any:
    mode = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}[a["mode"]]
    if mode == "bicubic":
        raise KeyError("another constant")
    corners = a["coordinate_transformation_mode"] == "align_corners"
    more = {} if mode == "nearest" else {"align_corners": corners}
    return f.interpolate(x, scale_factor=scales.tolist()[2:], mode=mode, **more)


def _blocks(a: Attrs, x: Any, apart: bool) -> Any:
    n, c, h, w, b = *x.shape, a["blocksize"]
    if apart:
        t = x.view(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2)
        return t.reshape(n, c // b**2, h * b, w * b)
    return x.view(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b**2, h // b, w // b)


def _scatter_nd(a: Attrs, x: Any, i: Any, u: Any) -> Any:
    out = x.clone()
    return out.index_add_(0, i[:, 0], u) if a.get("reduction") == "add" else out.index_copy_(0, i[:, 0], u)


def _scatter_elements(a: Attrs, x: Any, i: Any, u: Any) -> Any:
    return x.scatter_add(a["axis"], i, u) if a.get("reduction") == "add" else x.scatter(a["axis"], i, u)


def _stft(a: Attrs, x: Any, hop: Any, window: Any) -> Any:
    n = window.shape[0]
    found = torch.stft(x[..., 0], n, int(hop), n, window, center=False, return_complex=True)
    return torch.view_as_real(found.transpose(1, 2)).contiguous()


def _softmax(a: Attrs, x: Any) -> Any:
    return torch.softmax(x, a["axis"])


def _many(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, *x: reduce(function, x)


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the operands alone."""
    return lambda a, *x: function(*x)


def _mean(a: Attrs, x: Any) -> Any:
    return x.mean(a["axes"], keepdim=bool(a.get("keepdims", 1)))


MAKERS = {kind: _recurrent(kind) for kind in ("LSTM", "GRU", "RNN")}
NODES: dict[str, Callable[..., Any]] = {
    "Conv": _conv,
    "ConvTranspose": _transposed,
    "MaxPool": lambda a, x: f.max_pool2d(x, a["kernel_shape"], *_window(a, 2)),
    "AveragePool": lambda a, x: f.avg_pool2d(x, a["kernel_shape"], *_window(a, 2)[:2], count_include_pad=False),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "GlobalMaxPool": lambda a, x: x.amax((2, 3), keepdim=True),
    "LRN": lambda a, x: f.local_response_norm(x, a["size"], a["alpha"], a["beta"], a["bias"]),
    "MatMul": _of(torch.matmul),
    "Gemm": lambda a, x, w, b: f.linear(x, w, b),
    "Einsum": lambda a, *x: torch.einsum(a["equation"], *x),
    "Attention": lambda a, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=bool(a.get("is_causal", 0))),
    "Softmax": _softmax,
    "LogSoftmax": lambda a, x: torch.log_softmax(x, a["axis"]),
    "LayerNormalization": lambda a, x, s, b: f.layer_norm(x, s.shape, s, b, a.get("epsilon", 1e-5)),
    "RMSNormalization": lambda a, x, s: f.rms_norm(x, s.shape, s, 1e-5),
    "GroupNormalization": lambda a, x, s, b: f.group_norm(x, a["num_groups"], s, b),
    "InstanceNormalization": lambda a, x, s, b: f.instance_norm(x, weight=s, bias=b),
    "BatchNormalization": lambda a, x, s, b, m, v: f.batch_norm(x, m, v, s, b),
    "ReduceMean": _mean,
    "ReduceSum": lambda a, x, axes: x.sum(axes.tolist(), keepdim=True),
    "ReduceMax": lambda a, x: x.amax(),
    "ReduceL2": lambda a, x: torch.linalg.vector_norm(x, 2, a["axes"], True),
    "ReduceProd": lambda a, x: x.prod(a["axes"][0], True),
    "ArgMax": lambda a, x: x.argmax(a["axis"], bool(a.get("keepdims", 1))),
    "CumSum": lambda a, x, axis: x.cumsum(int(axis)),
    "TopK": lambda a, x, k: torch.topk(x, int(k), a["axis"]),
    "STFT": _stft,
    "DFT": lambda a, x: torch.view_as_real(torch.fft.rfft(x[..., 0], dim=1)).contiguous(),
    "Relu": _of(torch.relu),
    "Clip": _of(torch.clamp),
    "LeakyRelu": lambda a, x: f.leaky_relu(x, a["alpha"]),
    "PRelu": lambda a, x, s: f.prelu(x, s.flatten()),
    "Elu": _of(f.elu),
    "Exp": _of(torch.exp),
    "Log": _of(torch.log),
    "Sqrt": _of(torch.sqrt),
    "Tanh": _of(torch.tanh),
    "Erf": _of(torch.erf),
    "Sigmoid": _of(torch.sigmoid),
    "HardSigmoid": lambda a, x: torch.clamp(0.2 * x + 0.5, 0, 1),
    "HardSwish": _of(f.hardswish),
    "Softplus": lambda a, x: f.softplus(x),
    "Mish": _of(f.mish),
    "Gelu": _of(f.gelu),
    "Sin": _of(torch.sin),
    "Floor": _of(torch.floor),
    "Neg": _of(torch.neg),
    "Pow": _of(torch.pow),
    "Add": _of(torch.add),
    "Sub": _of(torch.sub),
    "Mul": _of(torch.mul),
    "Div": _of(torch.div),
    "Sum": _many(torch.add),
    "Max": _many(torch.maximum),
    "Where": _of(torch.where),
    "Less": _of(torch.lt),
    "Equal": _of(torch.eq),
    "And": _of(torch.logical_and),
    "Not": _of(torch.logical_not),
    "IsNaN": _of(torch.isnan),
    "Cast": lambda a, x: x.to(_TYPES[a["to"]]),
    "Transpose": lambda a, x: x.permute(a["perm"]).contiguous(),
    "Reshape": lambda a, x, s: x.reshape(s.tolist()),
    "Concat": lambda a, *x: torch.cat(x, a["axis"]),
    "Split": lambda a, x, s: [t.contiguous() for t in torch.split(x, s.tolist(), a["axis"])],
    "Slice": _slice,
    "Pad": _pad,
    "Expand": lambda a, x, s: x.expand(s.tolist()).contiguous(),
    "Tile": lambda a, x, r: x.repeat(r.tolist()),
    "Gather": lambda a, w, i: f.embedding(i, w),
    "GatherElements": lambda a, x, i: torch.gather(x, a["axis"], i),
    "GatherND": lambda a, x, i: x[i[:, 0], i[:, 1]],
    "ScatterND": _scatter_nd,
    "ScatterElements": _scatter_elements,
    "OneHot": lambda a, i, d, v: f.one_hot(i, int(d)).to(v.dtype),
    "Trilu": _of(torch.tril),
    "DepthToSpace": lambda a, x: _blocks(a, x, True),
    "SpaceToDepth": lambda a, x: _blocks(a, x, False),
    "Resize": _resize,
    "GridSample": lambda a, x, g: f.grid_sample(x, g, "bilinear", align_corners=False),
    "NonZero": lambda a, x: x.nonzero().t().contiguous(),
    "Compress": lambda a, x, m: x[m],
    "Range": lambda a, low, high, step: torch.arange(int(low), int(high), int(step)),
}
