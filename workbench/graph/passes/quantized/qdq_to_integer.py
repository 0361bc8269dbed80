"""Operators between a dequantisation and a quantisation, computed in integers.

Exporters surround an operator on real numbers by DequantizeLinear and QuantizeLinear to say that it may run on
quantised ones. The result is that of the operator on real numbers up to the last rounding, so up to one step of the
quantisation; onnxruntime does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef, operators
from workbench.graph.ops.quantized.onnxruntime_operators import DOMAIN
from workbench.graph.ops.quantized.qlinear import BYTES
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.type_inference import make_call

#: Operator on real numbers -> the one that computes it on quantised ones.
_QUANTISED = {op.real: name for name, op in operators(lambda op: op.real).items()}


@graph_pass("qdq_to_integer")
def qdq_to_integer(graph: Graph) -> Graph:
    """Compute what stands between a dequantisation and a quantisation in integers, up to one step of the latter."""
    editor = GraphEditor(graph)
    search = _Search(graph, editor)
    count = 0
    for node in graph.nodes:
        new = search.replacement(node)
        if new:
            editor.swap(node, new)
            because("what it reads was dequantised", *(n.name for n in new))
            count += 1
    return editor.finish(f"qdq_to_integer: {count} operators in integers") if count else graph


@dataclass(frozen=True, slots=True)
class _Quantised:
    """A quantised tensor with its scale and zero point, all by name, and the axis along which scales differ."""

    x: str
    scale: str
    zero: str
    axis: int | None = None

    @property
    def names(self) -> tuple[str, str, str]:
        return self.x, self.scale, self.zero


class _Search:
    def __init__(self, graph: Graph, editor: GraphEditor) -> None:
        self.graph, self.editor = graph, editor
        self.makers, self.readers = graph.producers(), graph.consumers()

    def replacement(self, node: Node) -> list[Node]:
        """Nodes on integers in the place of a quantisation and what is before it, or of a product."""
        if node.op == "QuantizeLinear":
            found = self.around(node)
            return [] if found is None else [found]
        rule = _TO_REAL.get(node.op) if node.domain in ("", "ai.onnx") else None
        after = self.readers.get(node.outputs[0], [])
        return [] if rule is None or any(n.op == "QuantizeLinear" for n in after) else rule(self, node)

    # ---- what surrounds an operator ----

    def around(self, q: Node) -> Node | None:
        """Integer operator with the result of a quantisation; None where none is known."""
        out = self._parts(q, q.outputs[0])
        node = self._only(q.inputs[0])
        if out is None or out.axis is not None or node is None:
            return None
        if node.op in ("Relu", "Clip") and self._cut_by_range(node, out):
            node = self._only(node.inputs[0])
        if node is None or node.domain not in ("", "ai.onnx"):
            return None
        rule = _RULES.get(node.op)
        if rule is None and node.op in _QUANTISED:
            rule = _pair if len(node.inputs) == 2 else _one
        if rule is None and opdef(node).on_quantised:
            rule = _move
        return None if rule is None else rule(self, node, out, q)

    def _only(self, x: str) -> Node | None:
        """What makes a tensor that one node alone reads."""
        alone = len(self.readers.get(x, [])) == 1 and x not in self.graph.outputs
        return self.makers.get(x) if alone else None

    def _cut_by_range(self, node: Node, out: _Quantised) -> bool:
        """Whether the numbers that Relu or Clip changes are those that do not fit the quantised type either."""
        limits = [self.graph.constants.get(i) if i else None for i in node.inputs[1:]]
        if any(v is None and i for v, i in zip(limits, node.inputs[1:], strict=True)):
            return False
        low, high = cut_range(node, [None if v is None else float(v.reshape(())) for v in limits])
        zero = self.graph.constants[out.zero]
        steps = np.rint(np.array([low, high], np.float32) / self.number_of(out.scale)) + np.float32(zero.reshape(-1)[0])
        info = np.iinfo(zero.dtype)
        return bool(low <= high and steps[0] <= info.min and steps[1] >= info.max)

    def dequantised(self, x: str, each: bool = False) -> _Quantised | None:
        """What a tensor was before it was dequantised: with one scale, or (`each`) one for each channel of weights."""
        node = self.makers.get(x)
        if node is None or node.op != "DequantizeLinear":
            return None
        found = self._parts(node, node.inputs[0])
        if found is None or (found.axis is not None and not each):
            return None
        return replace(found, x=node.inputs[0])

    def _parts(self, node: Node, small: str) -> _Quantised | None:
        """Scale and zero point of a (de)quantisation to or from the bytes `small`, where they are constants."""
        scale = self.graph.constants.get(node.inputs[1])
        zero = self.graph.constants.get(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
        missing = len(node.inputs) > 2 and node.inputs[2] and zero is None
        dtype = self.graph.types[small].dtype
        if scale is None or scale.dtype != np.float32 or scale.ndim > 1 or missing or dtype not in BYTES:
            return None
        axis = None
        if scale.size > 1:
            call = make_call(node, self.graph.types, self.graph.constants)
            axis = call.named_axis(1)
        name = node.inputs[2] if zero is not None else self.editor.constant(f"{small}.zero", np.zeros((), dtype))
        return _Quantised(small, node.inputs[1], name, axis)

    def value(self, x: str) -> Array | None:
        """Value of a constant."""
        return self.graph.constants.get(x)

    def bias(self, x: str, data: _Quantised, weights: _Quantised) -> str | None:
        """Bias in units of the sums, by name; None where it is computed."""
        unit = self.number_of(data.scale) * self.graph.constants[weights.scale].astype(np.float32)
        node, real = self.makers.get(x), self.graph.constants.get(x)
        if real is None and node is not None and node.op == "DequantizeLinear":
            q, scale = (self.graph.constants.get(i) for i in node.inputs[:2])
            if q is None or scale is None or q.dtype != np.int32 or scale.size not in (1, q.size):
                return None
            if np.allclose(scale, unit, rtol=1e-5, atol=0):
                return node.inputs[0]
            real = q.astype(np.float32) * scale
        if real is None or real.ndim != 1:
            return None
        return self.editor.constant(f"{x}.sums", np.rint(real.astype(np.float64) / unit).astype(np.int32))

    def number_of(self, x: str) -> np.float32:
        """A scale that is one number."""
        return np.float32(self.graph.constants[x].reshape(-1)[0])

    def same(self, a: _Quantised, b: _Quantised) -> bool:
        """Whether two tensors have the same scale and zero point."""
        values = [(self.graph.constants[t.scale], self.graph.constants[t.zero]) for t in (a, b)]
        (s, z), (t, y) = values
        return bool(
            s.reshape(-1)[0] == t.reshape(-1)[0] and z.dtype == y.dtype and z.reshape(-1)[0] == y.reshape(-1)[0]
        )

    def make(self, q: Node, op: str, inputs: tuple[str, ...], attrs: dict[str, AttrValue], domain: str = "") -> Node:
        """Node in the place of the quantisation."""
        return Node(q.name, op, inputs, q.outputs[:1], attrs, domain, 1 if domain else 10)


def cut_range(node: Node, limits: Sequence[float | None]) -> tuple[float, float]:
    """Least and largest number that Relu or Clip leaves; `limits` are the inputs of a Clip beside its data."""
    if node.op == "Relu":
        return 0.0, float("inf")
    low, high = (*limits, None, None)[:2]
    return _limit(node, "min", low, -np.inf), _limit(node, "max", high, np.inf)


def _limit(node: Node, name: str, given: float | None, otherwise: float) -> float:
    attribute = node.attrs.get(name, otherwise)
    return given if given is not None else float(attribute) if isinstance(attribute, int | float) else otherwise


# ---- operators -------------------------------------------------------------------------------------------------------


def _conv(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    x, w = s.dequantised(node.inputs[0]), s.dequantised(node.inputs[1], each=True)
    if x is None or w is None or w.axis not in (None, 0) or s.value(w.x) is None or node.attrs.get("layout"):
        return None
    bias: tuple[str, ...] = ()
    if len(node.inputs) > 2 and node.inputs[2]:
        found = s.bias(node.inputs[2], x, w)
        if found is None:
            return None
        bias = (found,)
    return s.make(q, "QLinearConv", (*x.names, *w.names, out.scale, out.zero, *bias), dict(node.attrs))


def _matmul(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    a, b = s.dequantised(node.inputs[0]), s.dequantised(node.inputs[1], each=True)
    if a is None or b is None or s.graph.types[node.inputs[0]].rank < 2:
        return None
    weights = s.value(b.x)
    if b.axis is not None and (weights is None or weights.ndim != 2 or b.axis != 1):
        return None
    return s.make(q, "QLinearMatMul", (*a.names, *b.names, out.scale, out.zero), {})


def _gemm(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    call = make_call(node, s.graph.types, s.graph.constants)
    a, b = s.dequantised(node.inputs[0]), s.dequantised(node.inputs[1], each=True)
    turned = call.get_int("transB", 0)
    plain = call.get_float("alpha", 1.0) == 1.0 and call.get_float("beta", 1.0) == 1.0 and not call.get_int("transA", 0)
    if a is None or b is None or not plain or s.value(b.x) is None or b.axis not in (None, 0 if turned else 1):
        return None
    bias = ""
    if call.has(2):
        found = s.bias(node.inputs[2], a, b)
        if found is None:
            return None
        bias = found
    attrs: dict[str, AttrValue] = {"transB": turned}
    return s.make(q, "QGemm", (*a.names, *b.names, bias, out.scale, out.zero), attrs, DOMAIN)


def _pair(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    a, b = s.dequantised(node.inputs[0]), s.dequantised(node.inputs[1])
    dtype = s.graph.types[q.outputs[0]].dtype
    if a is None or b is None or {s.graph.types[a.x].dtype, s.graph.types[b.x].dtype} != {dtype}:
        return None
    return s.make(q, _QUANTISED[node.op], (*a.names, *b.names, out.scale, out.zero), {}, DOMAIN)


def _one(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    x = s.dequantised(node.inputs[0])
    if x is None or s.graph.types[x.x].dtype != s.graph.types[q.outputs[0]].dtype or node.attrs.get("layout"):
        return None
    return s.make(q, _QUANTISED[node.op], (*x.names, out.scale, out.zero), dict(node.attrs), DOMAIN)


def _concat(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    parts = [s.dequantised(i) for i in node.inputs]
    dtype = s.graph.types[q.outputs[0]].dtype
    names = [n for p in parts if p is not None and s.graph.types[p.x].dtype == dtype for n in p.names]
    if len(names) != 3 * len(parts):
        return None
    return s.make(q, "QLinearConcat", (out.scale, out.zero, *names), dict(node.attrs), DOMAIN)


def _move(s: _Search, node: Node, out: _Quantised, q: Node) -> Node | None:
    x = s.dequantised(node.inputs[0])
    if x is None or not s.same(x, out) or any(node.outputs[1:]):
        return None
    return replace(node, name=q.name, inputs=(x.x, *node.inputs[1:]), outputs=q.outputs[:1])


_RULES: dict[str, Callable[[_Search, Node, _Quantised, Node], Node | None]] = {
    "Conv": _conv,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Concat": _concat,
}


# ---- products whose results stay real --------------------------------------------------------------------------------


def _real_product(s: _Search, node: Node) -> list[Node]:
    """Matrix product of bytes, its sums scaled back."""
    a, b = s.dequantised(node.inputs[0]), s.dequantised(node.inputs[1], each=True)
    ranks = [s.graph.types[i].rank for i in node.inputs[:2]]
    if a is None or b is None or min(ranks) < 2 or (b.axis is not None and (ranks[1] != 2 or b.axis != 1)):
        return []
    sums = s.editor.make("MatMulInteger", (a.x, b.x, a.zero, b.zero), f"{node.outputs[0]}.sums")
    return _scaled(s, node, sums, s.number_of(a.scale) * s.graph.constants[b.scale])


def _real_gemm(s: _Search, node: Node) -> list[Node]:
    """The same of Gemm; what it adds has to be a bias in units of the sums."""
    x = s.dequantised(node.inputs[0])
    found = None if x is None else _gemm(s, node, x, node)
    return [] if found is None else [replace(found, inputs=found.inputs[:7])]


def _real_conv(s: _Search, node: Node) -> list[Node]:
    """Convolution of bytes, its sums scaled back."""
    x, w = s.dequantised(node.inputs[0]), s.dequantised(node.inputs[1], each=True)
    if x is None or w is None or w.axis not in (None, 0) or s.value(w.x) is None or node.attrs.get("layout"):
        return []
    along = (-1, *(1,) * (s.graph.types[node.inputs[0]].rank - 2))
    names = (x.x, w.x, x.zero, w.zero)
    sums = replace(s.editor.make("ConvInteger", names, f"{node.outputs[0]}.sums"), attrs=dict(node.attrs))
    factor = s.number_of(x.scale) * s.graph.constants[w.scale].reshape(along if w.axis is not None else ())
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    if not bias:
        return _scaled(s, node, sums, factor)
    units = s.bias(bias, x, w)
    if units is None:
        return []
    value = s.editor.constant(f"{bias}.along", s.editor.constants[units].reshape(along))
    both = s.editor.make("Add", (sums.outputs[0], value), f"{node.outputs[0]}.both")
    return [sums, *_scaled(s, node, both, factor)]


def _scaled(s: _Search, node: Node, sums: Node, factor: Array) -> list[Node]:
    """Sums in int32 and what makes real numbers of them."""
    real = s.editor.make("Cast", sums.outputs, f"{node.outputs[0]}.whole", {"to": 1})
    by = s.editor.constant(f"{node.outputs[0]}.factor", factor.astype(np.float32))
    return [sums, real, Node(node.name, "Mul", (real.outputs[0], by), node.outputs[:1], {}, "", 14)]


_TO_REAL: dict[str, Callable[[_Search, Node], list[Node]]] = {
    "Conv": _real_conv,
    "MatMul": _real_product,
    "Gemm": _real_gemm,
}
