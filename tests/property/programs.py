"""Computations of every kind at random, mostly awkward sizes, each with what it computes said in NumPy."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from references import REFERENCES, conv, conv_transposed

from property import nests
from workbench import workloads
from workbench.ir import blocks

Arrays: TypeAlias = Mapping[str, np.ndarray]
Reference: TypeAlias = Callable[[dict[str, np.ndarray]], np.ndarray]
#: A workload of `workbench.workloads`, its arguments, and the reference.
Drawn: TypeAlias = tuple[str, dict[str, Any], Reference]

FEW = (1, 2, 3, 4, 5, 6, 7, 9)
SOME = (5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 19)
WIDE = (7, 8, 12, 16, 17, 19, 24, 29, 32, 33, 37, 48, 53, 64, 67)
LONG = (*WIDE, 72, 96, 101, 120, 256, 509)


def _yes(rng: random.Random, chance: float = 0.5) -> bool:
    return rng.random() < chance


def _after(a: Arrays, y: np.ndarray) -> np.ndarray:
    """Bias and residual, where the function has them."""
    y = y + a["bias"] if "bias" in a else y
    return y + a["R"] if "R" in a else y


def _relu(y: np.ndarray, relu: bool) -> np.ndarray:
    return np.maximum(y, 0) if relu else y


def _matmul(rng: random.Random, dtype: str = "float32") -> Drawn:
    relu = _yes(rng)
    args = {"m": rng.choice(SOME), "n": rng.choice(WIDE), "k": rng.choice(SOME), "bias": _yes(rng), "relu": relu}
    args |= {"constant_b": _yes(rng), "dtype": dtype}
    return "matmul", args, lambda a: _relu(_after(a, a["A"] @ a["B"]), relu)


def _tiles(rng: random.Random) -> dict[str, Any]:
    """Sizes of products for instructions: mostly whole tiles, some that have to be padded."""
    m, n = (rng.choice((16, 32, 48, 29, 35)) for _ in range(2))
    return {"m": m, "n": n, "k": rng.choice((32, 64, 128, 41, 60)), "constant_b": _yes(rng, 0.7)}


def _bfloat16(rng: random.Random) -> Drawn:
    relu = _yes(rng)
    args = {**_tiles(rng), "bias": _yes(rng), "relu": relu, "dtype": "bfloat16"}
    return "matmul", args, lambda a: _relu(_after(a, a["A"] @ a["B"]), relu)


def _int8(rng: random.Random) -> Drawn:
    return "matmul_int8", {**_tiles(rng), "signed": _yes(rng)}, lambda a: a["A"].astype("i4") @ a["B"].astype("i4")


def _batched(rng: random.Random) -> Drawn:
    args = {"batch": rng.choice(FEW), "m": rng.choice(SOME), "n": rng.choice(WIDE), "k": rng.choice(SOME)}
    return "batch_matmul", args, lambda a: a["A"] @ a["B"]


def _matvec(rng: random.Random) -> Drawn:
    rows = _yes(rng)
    args = {"n": rng.choice(LONG), "k": rng.choice(LONG), "transposed": rows, "constant_b": _yes(rng)}
    return "matvec", args, lambda a: a["B"] @ a["V"] if rows else a["V"] @ a["B"]


def _conv(rng: random.Random, kernel: int, stride: int = 1, dilation: int = 1, groups: int = 1) -> Drawn:
    reach = dilation * (kernel - 1) // 2
    padding, relu = rng.choice((0, reach, reach)), _yes(rng)
    size = [n for n in SOME if n + 2 * padding > dilation * (kernel - 1)]
    args = {"h": rng.choice(size), "w": rng.choice(size), "kernel": kernel, "stride": stride, "padding": padding}
    args |= {"ci": groups * rng.choice((1, 2, 3, 4, 8)), "co": groups * rng.choice((3, 8, 16, 17, 21))}
    args |= {"dilation": dilation, "groups": groups, "batch": rng.choice((1, 1, 2))}
    args |= {"bias": _yes(rng), "relu": relu, "residual": _yes(rng, 0.2)}
    return "conv2d_nhwc", args, lambda a: _relu(_after(a, conv(a, stride, padding, dilation, groups)), relu)


def _depthwise(rng: random.Random) -> Drawn:
    stride, padding, relu = rng.choice((1, 1, 2)), rng.choice((0, 1, 1)), _yes(rng)
    args = {"h": rng.choice(SOME), "w": rng.choice(SOME), "c": rng.choice(WIDE), "stride": stride, "padding": padding}

    def reference(a: Arrays) -> np.ndarray:
        x = np.pad(a["X"], ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
        return _relu(_after(a, np.einsum("nhwcij,ijc->nhwc", windows, a["W"])), relu)

    return "depthwise_conv2d_nhwc", {**args, "bias": _yes(rng), "relu": relu}, reference


def _transposed(rng: random.Random) -> Drawn:
    kernel, padding = rng.choice((2, 3, 4)), rng.choice((0, 1))
    args = {
        "h": rng.choice(FEW[2:]),
        "w": rng.choice(FEW[2:]),
        "ci": rng.choice((1, 3, 4)),
        "co": rng.choice((5, 8, 17)),
    }
    return (
        "conv2d_transpose_nhwc",
        {**args, "kernel": kernel, "padding": padding},
        lambda a: conv_transposed(a, 2, padding),
    )


def _pool(rng: random.Random) -> Drawn:
    kind, kernel, stride, padding = (
        rng.choice(("max", "avg")),
        rng.choice((2, 3)),
        rng.choice((1, 2)),
        rng.choice((0, 1)),
    )
    args = {"h": rng.choice(SOME), "w": rng.choice(SOME), "c": rng.choice(WIDE), "kind": kind}

    def reference(a: Arrays) -> np.ndarray:
        frame = ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0))
        x = np.pad(a["X"], frame, constant_values=-np.inf if kind == "max" else 0.0)
        windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(1, 2))[:, ::stride, ::stride]
        return windows.max((-1, -2)) if kind == "max" else windows.mean((-1, -2))

    return "pool2d", {**args, "kernel": kernel, "stride": stride, "padding": padding}, reference


def _global_pool(rng: random.Random) -> Drawn:
    args = {"h": rng.choice(FEW[2:]), "w": rng.choice(FEW[2:]), "c": rng.choice(WIDE), "batch": rng.choice((1, 2))}
    return "global_avg_pool", args, REFERENCES["global_avg_pool"]


def _rows(rng: random.Random, workload: str) -> Drawn:
    return workload, {"m": rng.choice(SOME), "n": rng.choice(LONG)}, REFERENCES[workload]


def _reduce(rng: random.Random) -> Drawn:
    op, axis = rng.choice(("sum", "max", "min", "prod")), rng.choice((0, 1))
    # A product of many numbers below 1 is no number of float32 any more.
    sizes = [rng.choice(SOME), rng.choice(SOME if op == "prod" else LONG)]
    rng.shuffle(sizes)
    ufunc = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}[op]
    return "reduce", {"m": sizes[0], "n": sizes[1], "op": op, "axis": axis}, lambda a: ufunc(a["X"], axis=axis)


def _concat(rng: random.Random) -> Drawn:
    args = {"m": rng.choice(SOME), "n": rng.choice(WIDE), "parts": rng.choice((2, 3))}
    return "concat", args, lambda a: np.maximum(np.concatenate([a[x] for x in sorted(a)], 1), 0)


KINDS: dict[str, Callable[[random.Random], Drawn]] = {
    "matmul": _matmul,
    "bfloat16": _bfloat16,
    "int8": _int8,
    "batched": _batched,
    "matrix-vector": _matvec,
    "conv 1x1": lambda rng: _conv(rng, 1, rng.choice((1, 1, 2))),
    "conv 3x3": lambda rng: _conv(rng, 3, rng.choice((1, 1, 2))),
    "conv 7x7 stride 2": lambda rng: _conv(rng, 7, 2),
    "depthwise": _depthwise,
    "grouped": lambda rng: _conv(rng, 3, groups=rng.choice((2, 4))),
    "dilated": lambda rng: _conv(rng, 3, dilation=2),
    "transposed conv": _transposed,
    "softmax": lambda rng: _rows(rng, "softmax"),
    "layer norm": lambda rng: _rows(rng, "layer_norm"),
    "pooling": _pool,
    "global pooling": _global_pool,
    "reduction": _reduce,
    "transpose": lambda rng: _rows(rng, "transpose"),
    "element-wise": lambda rng: _rows(rng, rng.choice(("elementwise", "gelu"))),
    "concat": _concat,
    "winograd": lambda rng: _conv(rng, 3),
}
#: Kinds of which there are computations of a few thousand points.
SMALL = tuple(kind for kind in KINDS if kind not in ("bfloat16", "int8"))


def program(rng: random.Random, kind: str, most: int) -> str:
    """Name of a new computation in the table of nests, with at most so many runs of its blocks.

    The name is the call that makes it.
    """
    for _ in range(1000):
        workload, args, reference = KINDS[kind](rng)
        func = getattr(workloads, workload)(**args)
        if points(func) > most:
            continue
        name = f"{workload}({', '.join(f'{k}={v!r}' for k, v in args.items())})"
        nests.NESTS[name] = functools.partial(getattr(workloads, workload), **args)
        nests.EXPECTED[name] = functools.partial(_precise, reference)
        return name
    raise AssertionError(f"no {kind} of at most {most} points")


def _precise(reference: Reference, arrays: Arrays) -> np.ndarray:
    """The reference in double precision."""
    return reference({k: x.astype("f8") if x.dtype.kind in "fV" else x for k, x in arrays.items()})


def points(func: Any) -> int:
    """How often blocks of a nest run."""
    return sum(math.prod(lp.extent for lp in path) for _, path in blocks(func.body))
