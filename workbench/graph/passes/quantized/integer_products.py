"""Integer products: constant zero points leave the inner loop, and scaling back becomes a step of its own.

With ``x`` the numbers of the image, ``w`` those of the weights and ``a``, ``b`` their zero points, the sum over K of
``(x - a) * (w - b)`` is ``sum x * w - a * (sum w - K * b) - b * sum x``. The first sum is what instructions for bytes
compute. The second is known where the weights are, and a number for each channel; images are surrounded with ``a``, so
it is the same at the border. The third is left out where ``b`` is 0, which is how weights are quantised as a rule:
bytes without sign around 128 become bytes with sign around 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.ops.quantized.onnxruntime_operators import DOMAIN
from workbench.graph.ops.quantized.qlinear import np_factor
from workbench.graph.ops.quantized.quantize_linear import spread_shape
from workbench.graph.passes.base import graph_pass, replace_each
from workbench.graph.passes.node_steps import Steps
from workbench.graph.passes.quantized.integer_sums import (
    centred,
    int32,
    is_number,
    less_zero,
    product,
    requantised,
    zero_of,
)
from workbench.graph.passes.quantized.onnxruntime_operators import CONTRIB


@graph_pass("integer_products")
def integer_products(graph: Graph) -> Graph:
    """Take constant zero points out of products of integers, and make steps of what quantises and scales back."""

    def in_steps(editor: GraphEditor, node: Node) -> list[Node] | None:
        rule = _RULES.get(node.op) if node.domain in ("", "ai.onnx") else None
        rule = CONTRIB.get(node.op) if node.domain == DOMAIN else rule
        steps = Steps(graph, editor, node) if rule is not None else None
        return steps.nodes if rule is not None and steps is not None and rule(steps) else None

    reason = "integers first, then what makes up for zero points and scales"
    return replace_each(graph, in_steps, reason, lambda nodes: f"integer_products: {len(nodes)} nodes in steps")


# ---- quantising ------------------------------------------------------------------------------------------------------


def _linear(op: str) -> Callable[[Steps], bool]:
    def rule(s: Steps) -> bool:
        call = s.call
        if not s.compiled() or len(call.shape(1)) > 1 or call.type(1).dtype != "float32":
            return False
        found = [_spread(s, call, i) for i in (1, 2)]
        scale, zero = found
        if scale is None or zero is None:
            return False
        s.add(op, (s.name(0), scale, zero), op.lower(), own=True)
        return s.finish()

    return rule


def _spread(s: Steps, call: Call, i: int) -> str | None:
    """A scale or zero point in a shape that broadcasts to the tensor; None for run-time ones along an axis."""
    if not call.has(i):
        out = s.graph.types[s.base].dtype
        return s.constant("zero", np.zeros((), call.type(0).dtype if out == "float32" else out))
    value = s.value(s.name(i))
    if value is None:
        return s.name(i) if call.type(i).size == 1 else None
    return s.constant(("", "scale", "zero")[i], value.reshape(spread_shape(call, i)))


def _dynamic(s: Steps) -> bool:
    """Extremes, from them the scale, from it the zero point, with both of them the bytes."""
    x, outs = s.name(0), (*s.node.outputs, "", "")[:3]
    if not s.graph.types[x].size or not s.graph.types[x].rank:
        return False
    ends = s.add("Extremes", (x,), "extremes", own=True)
    scale = s.add("RangeScale", (ends,), "scale", own=True)
    if outs[1]:
        s.finish(outs[1])
        scale = outs[1]
    zero = s.add("RangeZero", (ends, scale), "zero", own=True)
    if outs[2]:
        s.finish(outs[2])
        zero = outs[2]
    if outs[0]:
        s.add("Quantize", (x, scale, zero), "bytes", own=True)
        s.finish(outs[0])
    return True


# ---- matrix products -------------------------------------------------------------------------------------------------


def _matmul_integer(s: Steps) -> bool:
    a, b, za, zb = (s.name(i) for i in range(4))
    return bool(za or zb) and product(s, a, b, za, zb) is not None and s.finish()


def _qlinear_matmul(s: Steps) -> bool:
    a, sa, za, b, sb, zb, sy, zy = (s.name(i) for i in range(8))
    scales = [s.value(x) for x in (sa, sb, sy)]
    if not s.compiled() or any(v is None for v in scales):
        return False
    factor = np_factor(*(v.reshape(-1) if v.size > 1 else v.reshape(()) for v in scales if v is not None))
    y = product(s, a, b, za, zb) or s.add("MatMulInteger", (a, b, za, zb), "sums")
    return requantised(s, y, factor, zy)


# ---- convolutions ----------------------------------------------------------------------------------------------------


def _convolution(s: Steps, x: str, w: str, zx: str, zw: str, at: int, bias: Array | None = None) -> str | None:
    """Sums of a convolution in int32; None where the zero points have to stay where they are."""
    weights, zero, call = s.value(w), zero_of(s, zw), s.call
    if weights is None or zero is None or not is_number(s, zx) or call.node.attrs.get("layout"):
        return None
    known, padded = zero_of(s, zx), conv_shape(call, at).win.padded
    along = (-1, *(1,) * (weights.ndim - 1))
    each = zero.reshape(along) if zero.size > 1 else zero.reshape(())
    if (each == 128).all():
        weights, each = centred(weights, each)
    fill = zx if padded and (known is None or known.any()) else ""
    attrs: dict[str, AttrValue] = {**call.node.attrs, "pad_only": 1} if fill else dict(call.node.attrs)
    real = weights.astype(np.int64) - each
    halves = [weights] if not each.any() else _halves(real) if weights.shape[1] > 1 else []
    fills = (fill,) if fill else ()
    parts = [s.add("ConvInteger", (x, s.constant("weights", h), *fills), "sums", attrs) for h in halves]
    y = parts[0] if parts else s.add("ConvInteger", (x, s.constant("weights", weights), fill, zw), "sums", attrs)
    y = s.add("Add", tuple(parts), "both") if len(parts) == 2 else y
    sums = real.sum(tuple(range(1, weights.ndim))).reshape(along[:-1])
    return less_zero(s, y, zx, int32(sums), None if bias is None else bias.astype(np.int64).reshape(along[:-1]))


def _halves(real: Array) -> list[Array]:
    """Weights without a zero point, which need nine bits, as the sum of two of eight; none where that is not possible.

    Two sums by an instruction for bytes are several times as fast as one with a zero point in the inner loop.
    """
    if real.max() > 254:
        return []
    return [(real >> 1).astype(np.int8), (real - (real >> 1)).astype(np.int8)]


def _conv_integer(s: Steps) -> bool:
    x, w, zx, zw = (s.name(i) for i in range(4))
    if not (zx or zw) or "pad_only" in s.node.attrs:
        return False
    return _convolution(s, x, w, zx, zw, 1) is not None and s.finish()


def _qlinear_conv(s: Steps) -> bool:
    x, sx, zx, w, sw, zw, sy, zy, b = (s.name(i) for i in range(9))
    scales, bias = [s.value(v) for v in (sx, sw, sy)], s.value(b)
    if not s.compiled() or any(v is None for v in scales) or (b and bias is None):
        return False
    y = _convolution(s, x, w, zx, zw, 3, bias)
    if y is None:
        return False
    along = (-1, *(1,) * (s.graph.types[x].rank - 2))
    factor = np_factor(*(v.reshape(along) if v.size > 1 else v.reshape(()) for v in scales if v is not None))
    return requantised(s, y, factor, zy)


_RULES = {
    "QuantizeLinear": _linear("Quantize"),
    "DequantizeLinear": _linear("Dequantize"),
    "DynamicQuantizeLinear": _dynamic,
    "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
}
