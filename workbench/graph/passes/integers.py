"""Integer products: constant zero points leave the inner loop, and scaling back becomes a step of its own.

With ``x`` the numbers of the image, ``w`` those of the weights and ``a``, ``b`` their zero points, the sum over K of
``(x - a) * (w - b)`` is ``sum x * w - a * (sum w - K * b) - b * sum x``. The first sum is what instructions for bytes
compute. The second is known where the weights are, and a number for each channel; images are surrounded with ``a``, so
it is the same at the border. The third is left out where ``b`` is 0, which is how weights are quantised as a rule:
bytes without sign around 128 become bytes with sign around 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..edit import GraphEditor
from ..graph import Array, AttrValue, Graph, Node
from ..infer import make_call
from ..opdef import Call, obstacle
from ..ops.conv import conv_shape
from ..ops.qlinear import np_factor
from ..ops.quant import spread_shape
from ..ops.quant_steps import OWN
from .base import because, graph_pass


@graph_pass("integer_products")
def integer_products(graph: Graph) -> Graph:
    """Take constant zero points out of products of integers, and make steps of what quantises and scales back."""
    editor = GraphEditor(graph)
    count = 0
    for node in graph.nodes:
        rule = _RULES.get(node.op) if node.domain in ("", "ai.onnx") else None
        if rule is None:
            continue
        steps = Steps(graph, editor, node)
        if rule(steps):
            editor.swap(node, steps.nodes)
            because("integers first, then what makes up for zero points and scales", node.name)
            count += 1
    return editor.finish(f"integer_products: {count} nodes in steps") if count else graph


@dataclass(slots=True)
class Steps:
    """Nodes that take the place of one; the last gets its name for the result."""

    graph: Graph
    editor: GraphEditor
    node: Node
    nodes: list[Node] = field(default_factory=list)
    base: str = field(init=False)

    def __post_init__(self) -> None:
        self.base = next(o for o in self.node.outputs if o)

    @property
    def call(self) -> Call:
        """The node's call."""
        return make_call(self.node, self.graph.types, self.graph.constants)

    def name(self, i: int) -> str:
        """Name of an input; "" where it is not given."""
        return self.node.inputs[i] if i < len(self.node.inputs) else ""

    def value(self, x: str) -> Array | None:
        """Value of a tensor that is constant."""
        return self.editor.constants.get(x)

    def constant(self, what: str, value: Array) -> str:
        """Add a constant."""
        return self.editor.constant(f"{self.base}.{what}", value)

    def add(
        self, op: str, inputs: tuple[str, ...], what: str, attrs: dict[str, AttrValue] | None = None, own: bool = False
    ) -> str:
        """Add a node; returns the name of its result."""
        made = self.editor.make(op, inputs, f"{self.base}.{what}", attrs)
        self.nodes.append(replace(made, domain=OWN) if own else made)
        return made.outputs[0]

    def finish(self, output: str = "") -> bool:
        """Give the result of the last step the name of the node's."""
        self.nodes[-1] = replace(self.nodes[-1], outputs=(output or self.base,))
        return True

    def compiled(self) -> bool:
        """Whether the node as it stands becomes a loop nest: others are left to what computes them now."""
        return not obstacle(self.call, [self.graph.types[o] for o in self.node.outputs if o])


# ---- quantising ------------------------------------------------------------------------------------------------------


def _linear(op: str) -> Callable[[Steps], bool]:
    def rule(s: Steps) -> bool:
        call = s.call
        if not s.compiled() or len(call.shape(1)) > 1:
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
    if not s.graph.types[x].size:
        return False
    every: dict[str, AttrValue] = {"keepdims": 0}
    high, low = s.add("ReduceMax", (x,), "high", every), s.add("ReduceMin", (x,), "low", every)
    scale = s.add("RangeScale", (high, low), "scale", own=True)
    if outs[1]:
        s.finish(outs[1])
        scale = outs[1]
    zero = s.add("RangeZero", (low, scale), "zero", own=True)
    if outs[2]:
        s.finish(outs[2])
        zero = outs[2]
    if outs[0]:
        s.add("Quantize", (x, scale, zero), "bytes", own=True)
        s.finish(outs[0])
    return True


# ---- matrix products -------------------------------------------------------------------------------------------------


def _centred(w: Array, zero: Array) -> tuple[Array, Array]:
    """Weights and zero point; bytes without sign that have one become bytes with sign, as most instructions want."""
    if w.dtype == np.uint8 and zero.any():
        return (w.astype(np.int16) - 128).astype(np.int8), zero - 128
    return w, zero


def _zero(s: Steps, x: str) -> Array | None:
    """Value of a zero point, 0 where none is given; None where it is computed."""
    value = np.zeros((), np.int64) if not x else s.value(x)
    return None if value is None else value.astype(np.int64)


def _whole(s: Steps, x: str) -> bool:
    """Whether a zero point is one number."""
    return not x or s.graph.types[x].size == 1


def _int32(value: Array) -> Array:
    return value.astype(np.int64).astype(np.int32)


def _product(s: Steps, a: str, b: str, za: str, zb: str) -> str | None:
    """Sums of products in int32, without zero points in the inner loop; None where they have to stay."""
    w, zero = s.value(b), _zero(s, zb)
    rank = s.graph.types[a].rank
    if w is None or zero is None or not _whole(s, za) or w.ndim < 2 or rank < 2:
        return None
    zero = zero.reshape(()) if zero.size == 1 else zero
    w, zero = _centred(w, zero)
    y = s.add("MatMulInteger", (a, s.constant("weights", w)), "sums")
    sums = w.astype(np.int64).sum(-2, keepdims=True) - w.shape[-2] * zero
    sums = _int32(sums.reshape(-1) if w.ndim == 2 else sums)
    if zero.any():
        wide = s.add("Cast", (a,), "wide", {"to": 6})
        axes = s.constant("axes", np.array([rank - 1]))
        rows = s.add("ReduceSum", (wide, axes), "rows", {"keepdims": 1})
        y = s.add("Offset", (y, s.constant("zeros", _int32(zero)), rows), "offset", own=True)
    return _less_zero(s, y, za, sums)


def _less_zero(s: Steps, y: str, zero: str, sums: Array, more: Array | None = None) -> str:
    """``y - zero * sums + more``; `zero` is a number, constant or not."""
    known = _zero(s, zero)
    if known is None:
        y = s.add("Offset", (y, zero, s.constant("weighed", sums)), "offset", own=True)
        shift = np.zeros((), np.int64)
    else:
        shift = -known.reshape(()) * sums
    shift = _int32(shift if more is None else shift + more)
    return s.add("Add", (y, s.constant("shift", shift)), "shifted") if shift.any() else y


def _matmul_integer(s: Steps) -> bool:
    a, b, za, zb = (s.name(i) for i in range(4))
    return bool(za or zb) and _product(s, a, b, za, zb) is not None and s.finish()


def _qlinear_matmul(s: Steps) -> bool:
    a, sa, za, b, sb, zb, sy, zy = (s.name(i) for i in range(8))
    scales = [s.value(x) for x in (sa, sb, sy)]
    if not s.compiled() or any(v is None for v in scales):
        return False
    factor = np_factor(*(v.reshape(-1) if v.size > 1 else v.reshape(()) for v in scales if v is not None))
    y = _product(s, a, b, za, zb) or s.add("MatMulInteger", (a, b, za, zb), "sums")
    s.add("Requantize", (y, s.constant("factor", factor), zy), "bytes", own=True)
    return s.finish()


# ---- convolutions ----------------------------------------------------------------------------------------------------


def _convolution(s: Steps, x: str, w: str, zx: str, zw: str, at: int, bias: Array | None = None) -> str | None:
    """Sums of a convolution in int32; None where the zero points have to stay where they are."""
    weights, zero, call = s.value(w), _zero(s, zw), s.call
    if weights is None or zero is None or not _whole(s, zx) or call.node.attrs.get("layout"):
        return None
    known = _zero(s, zx)
    if known is None and conv_shape(call, at).win.padded:
        return None
    along = (-1, *(1,) * (weights.ndim - 1))
    each = zero.reshape(along) if zero.size > 1 else zero.reshape(())
    if (each == 128).all():
        weights, each = _centred(weights, each)
    inputs: tuple[str, ...] = (x, s.constant("weights", weights))
    if each.any():
        inputs = (*inputs, "", zw)
    fill = 0 if known is None else int(known.reshape(-1)[0])
    attrs: dict[str, AttrValue] = {**call.node.attrs, "pad_value": fill} if fill else dict(call.node.attrs)
    y = s.add("ConvInteger", inputs, "sums", attrs)
    sums = (weights.astype(np.int64) - each).sum(tuple(range(1, weights.ndim))).reshape(along[:-1])
    return _less_zero(s, y, zx, _int32(sums), None if bias is None else bias.astype(np.int64).reshape(along[:-1]))


def _conv_integer(s: Steps) -> bool:
    x, w, zx, zw = (s.name(i) for i in range(4))
    if not (zx or zw) or "pad_value" in s.node.attrs:
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
    s.add("Requantize", (y, s.constant("factor", factor), zy), "bytes", own=True)
    return s.finish()


_RULES = {
    "QuantizeLinear": _linear("Quantize"),
    "DequantizeLinear": _linear("Dequantize"),
    "DynamicQuantizeLinear": _dynamic,
    "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
}
