"""What the ready-made workloads compute, said once more in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]


def _relu(x):
    return np.maximum(x, 0)


def conv(a: Arrays, stride=1, padding=1, dilation=1, groups=1):
    x, w = np.pad(a["X"].astype("f8"), ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0))), a["W"].astype("f8")
    n, h, wd, _ = x.shape
    k, _, cg, co = w.shape
    oh, ow = ((s - dilation * (k - 1) - 1) // stride + 1 for s in (h, wd))
    out = np.zeros((n, oh, ow, co))
    for i in range(k):
        for j in range(k):
            part = x[:, i * dilation :, j * dilation :][:, : oh * stride : stride, : ow * stride : stride]
            for g in range(groups):
                o = slice(g * co // groups, (g + 1) * co // groups)
                out[..., o] += part[..., g * cg : (g + 1) * cg] @ w[i, j, :, o]
    return out


def conv_transposed(a: Arrays, stride=2, padding=1):
    x, w = a["X"].astype("f8"), a["W"].astype("f8")
    n, h, wd, _ = x.shape
    k, _, _, co = w.shape
    out = np.zeros((n, (h - 1) * stride + k, (wd - 1) * stride + k, co))
    for i in range(h):
        for j in range(wd):
            top, left = i * stride, j * stride
            out[:, top : top + k, left : left + k] += np.einsum("nc,hwco->nhwo", x[:, i, j], w)
    return out[:, padding : out.shape[1] - padding, padding : out.shape[2] - padding]


def _depthwise(a: Arrays):
    x = np.pad(a["X"], ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    return np.einsum("nhwcij,ijc->nhwc", windows, a["W"])


def _blocks(a: Arrays):
    """The weights with their zeros; numbers outside are the nearest."""
    strips, _, rows, width = a["W"].shape
    out = np.zeros((a["X"].shape[1], strips, width))
    for strip, starts in enumerate(a["columns"]):
        for at, block in zip(starts, a["W"][strip], strict=True):
            for q in range(rows):
                out[np.clip(at + q, 0, len(out) - 1), strip] += block[q]
    return out.reshape(len(out), -1)


def _windows(x, kernel, stride):
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(1, 2))[:, ::stride, ::stride]


def _softmax(a: Arrays):
    e = np.exp(a["X"] - a["X"].max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _layer_norm(a: Arrays):
    x = a["X"]
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * a["G"] + a["B"]


REFERENCES: dict[str, Callable[[Arrays], np.ndarray]] = {
    "matmul": lambda a: a["A"] @ a["B"],
    "matmul_bias_relu": lambda a: _relu(a["A"] @ a["B"] + a["bias"]),
    "matmul_bfloat16": lambda a: a["A"].astype("f8") @ a["B"].astype("f8"),
    "matmul_int8": lambda a: a["A"].astype("i4") @ a["B"].astype("i4"),
    "conv_int8": lambda a: np.minimum(_relu(conv(a)).astype("i4") >> 5, 127),
    "dense": lambda a: _relu(a["X"] @ a["W"] + a["bias"]),
    "batch_matmul": lambda a: a["A"] @ a["B"],
    "matvec": lambda a: a["V"] @ a["B"],
    "matvec_rows": lambda a: a["B"] @ a["V"],
    "sparse_dense": lambda a: _relu(a["X"] @ _blocks(a) + a["bias"]),
    "spmm": lambda a: np.einsum("ie,iej->ij", a["V"], a["X"][np.clip(a["columns"], 0, len(a["X"]) - 1)]),
    "conv": lambda a: conv(a),
    "conv_bias_relu": lambda a: _relu(conv(a) + a["bias"]),
    "conv_stride_bias_relu": lambda a: _relu(conv(a, stride=2) + a["bias"]),
    "conv_residual": lambda a: _relu(conv(a, padding=0) + a["bias"] + a["R"]),
    "conv_dilated": lambda a: conv(a, padding=2, dilation=2),
    "conv_grouped": lambda a: conv(a, groups=2),
    "conv_transposed": conv_transposed,
    "conv_transposed_odd": conv_transposed,
    "depthwise": lambda a: _relu(_depthwise(a) + a["bias"]),
    "max_pool": lambda a: _windows(a["X"], 3, 2).max((-1, -2)),
    "max_pool_padded": lambda a: _windows(
        np.pad(a["X"], ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf), 3, 2
    ).max((-1, -2)),
    "avg_pool": lambda a: _windows(a["X"], 2, 2).mean((-1, -2)),
    "global_avg_pool": lambda a: a["X"].mean((1, 2)),
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "reduce_sum": lambda a: a["X"].sum(1),
    "reduce_max": lambda a: a["X"].max(0),
    "transpose": lambda a: a["X"].T,
    "elementwise": lambda a: _relu(np.tanh(a["X"] * 0.5 + 1) + a["Z"]),
    "gelu": lambda a: a["X"] * 0.5 * (1 + np.vectorize(math.erf)(a["X"] / math.sqrt(2))),
    "concat": lambda a: _relu(np.concatenate([a["X0"], a["X1"]], 1)),
}
