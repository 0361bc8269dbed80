"""Examples of operators: math."""

from __future__ import annotations

import numpy as np
from graph.examples.case import Case, cases, sample

from workbench.graph.ops.lowering import ints
from workbench.graph.ops.math.arg_extremes import Arg
from workbench.graph.ops.math.elementwise import Clip, Infinite, Remainder, Slope, Where
from workbench.graph.ops.math.linear import Det, Gemm, MatMul
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.ops.math.signal import STFT
from workbench.graph.ops.math.sorting import TopK, Unique, _Running


@cases.register
def _top_k(op: TopK) -> list[Case]:
    x = np.round(sample(3, 6) * 2)  # with several of the same
    return [
        Case("attribute", (x,), {"k": 2}, version=9, outputs=2),
        Case("largest", (x, ints(4)), const=(1,), version=10, outputs=2),
        Case("smallest", (x, ints(2)), {"largest": 0, "axis": 0}, const=(1,), outputs=2),
    ]


@cases.register
def _unique(op: Unique) -> list[Case]:
    x = np.round(sample(3, 4))
    return [Case("all", (x,), outputs=4), Case("rows", (x,), {"axis": 0, "sorted": 0}, outputs=4)]


@cases.register
def _running(op: _Running) -> list[Case]:
    x, version = sample(2, 3, 4), 18 if op.what == "sum" else 26
    back = {"exclusive": 1, "reverse": 1}
    return [
        Case("rows", (x, ints(1)), const=(1,), version=version),
        Case("before, from the end", (x, np.array(-1)), back, const=(1,), version=version),
    ]


@cases.register
def _arg(op: Arg) -> list[Case]:
    x = np.round(sample(3, 4, 5) * 2)  # with several of the same
    whole = (x * 3).astype(np.int32)
    return [
        Case("first axis", (x,)),
        Case("last axis, dropped", (x,), {"axis": -1, "keepdims": 0}),
        Case("middle, the last one", (x,), {"axis": 1, "select_last_index": 1}),
        Case("whole numbers", (whole,), {"axis": 2, "keepdims": 0}),
    ]


@cases.register
def _slope(op: Slope) -> list[Case]:
    return [
        Case("channel", (sample(1, 3, 2, 2), sample(3, 1, 1)), const=(1,)),
        Case("same", (sample(2, 3), sample(2, 3, seed=4))),
        Case("opset 6", (sample(2, 3, 2), sample(3)), version=6),
    ]


@cases.register
def _infinite(op: Infinite) -> list[Case]:
    x = np.array([1, np.inf, -np.inf, np.nan], np.float32)
    return [Case(f"{a}, {b}", (x,), {"detect_negative": a, "detect_positive": b}) for a in (0, 1) for b in (0, 1)]


@cases.register
def _remainder(op: Remainder) -> list[Case]:
    a, b = ints(7, -7, 7, -7, 6, -6, 0), ints(3, 3, -3, -3, 3, -3, 5)
    real = sample(3, 4) * 10, sample(4, low=1.0)
    return [Case("whole", (a, b)), Case("truncated", (a, b), {"fmod": 1}), Case("real", real, {"fmod": 1})]


@cases.register
def _where(op: Where) -> list[Case]:
    a, b = sample(2, 3, 4), sample(3, 1, seed=2)
    return [
        Case("both ways", (a > 0, a, b)),
        Case("condition broadcast", (b > 0, a, np.array(0.5, np.float32)), const=(2,)),
        Case("constant condition", (np.array(True), a, b), const=(0,)),
    ]


@cases.register
def _clip(op: Clip) -> list[Case]:
    lo, hi = np.float32(-0.5), np.float32(0.5)
    return [
        Case("opset6", (sample(3, 5),), {"min": 0.0, "max": 0.7}, version=6),
        Case("opset6 open", (sample(3, 5),), {"min": 0.0}, version=6),
        Case("inputs", (sample(3, 5), np.array(lo), np.array(hi)), const=(1, 2)),
        Case("only max", (sample(3, 5), None, np.array(hi)), const=(2,)),
        Case("computed", (sample(3, 5), np.array(lo), np.array(hi))),
    ]


@cases.register
def _det(op: Det) -> list[Case]:
    return [Case("one", (sample(3, 3),)), Case("several", (sample(2, 4, 4),))]


@cases.register
def _mat_mul(op: MatMul) -> list[Case]:
    return [
        Case("2d", (sample(3, 5), sample(5, 4))),
        Case("constant", (sample(3, 5), sample(5, 4)), const=(1,)),
        Case("batched", (sample(2, 3, 4), sample(2, 4, 5))),
        Case("broadcast", (sample(2, 3, 4), sample(4, 5))),
        Case("both ways", (sample(2, 1, 3, 4), sample(3, 4, 2))),
        Case("vector", (sample(3, 4), sample(4))),
    ]


@cases.register
def _gemm(op: Gemm) -> list[Case]:
    return [
        Case("plain", (sample(3, 5), sample(5, 4))),
        Case("dense", (sample(2, 5), sample(4, 5), sample(4)), {"transB": 1}, const=(1, 2)),
        Case("all", (sample(5, 3), sample(4, 5), sample(3, 1)), {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
        Case("scalar bias", (sample(3, 5), sample(5, 4), sample(1)), {"alpha": 2.0}, const=(1, 2)),
    ]


@cases.register
def _reduce(op: Reduce) -> list[Case]:
    x = sample(2, 3, 4)
    old = {"axes": (1,)}
    new = (x, ints(0, -1))
    return [
        Case("attribute", (x,), {**old, "keepdims": 0}, version=11),
        Case("input", new, {"keepdims": 1}, const=(1,)),
        Case("input, dropped", new, {"keepdims": 0}, const=(1,)),
        Case("4d", (sample(1, 4, 5, 3),), {"axes": (1, 2)}, version=9),
    ]


@cases.register
def _s_t_f_t(op: STFT) -> list[Case]:
    step, size = np.array(4), np.array(8)
    return [
        Case("half", (sample(2, 20, 1), step, None, size), const=(1, 3)),
        Case("window", (sample(2, 20, 1), step, sample(8)), {"onesided": 0}, const=(1,)),
        Case("complex", (sample(1, 20, 2), step, sample(8)), {"onesided": 0}, const=(1,)),
    ]
