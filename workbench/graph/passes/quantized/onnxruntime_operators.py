"""Quantised operators of com.microsoft in steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.graph.opdef import opdef
from workbench.graph.ops.quantized.onnxruntime_operators import QGemm, QLinearGlobalAveragePool
from workbench.graph.passes.node_steps import Steps
from workbench.graph.passes.quantized.integer_sums import int32, less_zero, product, requantised

CONTRIB: dict[str, Callable[[Steps], bool]] = {}
_Rule = Callable[[Steps], bool]


def _rule(*ops: str) -> Callable[[_Rule], _Rule]:
    def wrap(fn: _Rule) -> _Rule:
        CONTRIB.update(dict.fromkeys(ops, fn))
        return fn

    return wrap


def _zero(s: Steps, i: int, dtype: str) -> str:
    """Name of a zero point; of one that is 0 where none is given."""
    return s.name(i) or s.constant("zero", np.zeros((), dtype))


def _single(s: Steps, *inputs: int) -> bool:
    return all(not s.name(i) or s.graph.types[s.name(i)].size == 1 for i in inputs)


def _real(s: Steps, i: int, what: str) -> str:
    """What the quantised tensor `i` stands for, with its scale and zero point behind it."""
    x = s.name(i)
    return s.add("Dequantize", (x, s.name(i + 1), _zero(s, i + 2, s.graph.types[x].dtype)), what, own=True)


def _bytes(s: Steps, x: str, scale: int, zero: int) -> bool:
    s.add("Quantize", (x, s.name(scale), _zero(s, zero, s.graph.types[s.base].dtype)), "bytes", own=True)
    return s.finish()


@_rule("QLinearSigmoid", "QLinearLeakyRelu")
def _one(s: Steps) -> bool:
    if not _single(s, 1, 2, 3, 4):
        return False
    return _bytes(s, s.add(opdef(s.node).real, (_real(s, 0, "x"),), "real", dict(s.node.attrs)), 3, 4)


@_rule("QLinearAdd")
def _sum(s: Steps) -> bool:
    """Scales and zero points become three numbers, as onnxruntime has it: no division, no subtractions."""
    a, b = s.name(0), s.name(3)
    zeros = [_zero(s, i, s.graph.types[s.base].dtype) for i in (2, 5, 7)]
    values = [s.value(x) for x in (s.name(1), s.name(4), s.name(6), *zeros)]
    if not _single(s, 1, 2, 4, 5, 6, 7) or any(v is None for v in values):
        return False
    sa, sb, sy, za, zb, zy = (np.float32(v.reshape(())) for v in values if v is not None)
    of_a, of_b = sa / sy, sb / sy
    numbers = {"of_a": of_a, "of_b": of_b, "shift": zy - (of_a * za + of_b * zb)}
    if s.call.shape(0) != s.graph.types[s.base].shape:
        a, b, numbers["of_a"], numbers["of_b"] = b, a, of_b, of_a
    if s.graph.types[a].shape != s.graph.types[s.base].shape:
        return False
    s.add(
        "Mix",
        (a, b, *(s.constant(k, np.asarray(v, np.float32)) for k, v in numbers.items())),
        "bytes",
        {"dtype": s.graph.types[a].dtype},
        own=True,
    )
    return s.finish()


@_rule("QLinearConcat")
def _concat(s: Steps) -> bool:
    """Parts that have the scale of the result already are joined as they are."""
    names, parts = s.node.inputs, []
    if not _single(s, *(i for i in range(len(names)) if i < 2 or i % 3 != 2)):
        return False
    zero = _zero(s, 1, s.graph.types[s.base].dtype)
    for i in range(2, len(names), 3):
        if _equal(s, names[i + 1], names[0]) and _equal(s, names[i + 2], names[1]):
            parts.append(names[i])
        else:
            parts.append(s.add("Quantize", (_real(s, i, "part"), names[0], zero), "bytes", own=True))
    s.add("Concat", tuple(parts), "joined", dict(s.node.attrs))
    return s.finish()


def _equal(s: Steps, a: str, b: str) -> bool:
    va, vb = s.value(a), s.value(b)
    return a == b or (va is not None and vb is not None and va.dtype == vb.dtype and bool(va == vb))


@_rule("QLinearGlobalAveragePool")
def _mean(s: Steps) -> bool:
    op, call = opdef(s.node), s.call
    sx, sy, zero = s.value(s.name(1)), s.value(s.name(3)), s.name(2)
    if not isinstance(op, QLinearGlobalAveragePool) or sx is None or sy is None or not _single(s, 2, 4):
        return False
    wide, axes = s.add("Cast", (s.name(0),), "wide", {"to": 6}), op.axes(call)
    total = s.add("ReduceSum", (wide, s.constant("axes", np.array(axes))), "sums", {"keepdims": 1})
    count = np.array(np.prod([call.shape(0)[a] for a in axes], dtype=np.int64))
    y = less_zero(s, total, zero, int32(count))
    return requantised(s, y, op.factor(call, sx, sy), s.name(4))


@_rule("QGemm")
def _gemm(s: Steps) -> bool:
    op, call = opdef(s.node), s.call
    sa, sb, sy, b = (s.value(s.name(i)) for i in (1, 4, 7, 3))
    missing = sa is None or sb is None or b is None or (s.name(7) and sy is None)
    if not isinstance(op, QGemm) or missing or call.get_int("transA", 0) or not _single(s, 2, 7, 8):
        return False
    assert sa is not None
    assert sb is not None
    assert b is not None
    weights = s.constant("kn", b.T) if call.get_int("transB", 0) else s.name(3)
    y = product(s, s.name(0), weights, s.name(2), s.name(5))
    if y is None:
        return False
    if s.name(6):
        y = s.add("Add", (y, s.name(6)), "biased")
    factor = op.factor(call, sa, sb, sy)
    if sy is not None:
        return requantised(s, y, factor, s.name(8))
    s.add("Mul", (s.add("Cast", (y,), "real", {"to": 1}), s.constant("factor", factor)), "scaled")
    return s.finish()
