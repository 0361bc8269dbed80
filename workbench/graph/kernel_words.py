"""What a kernel is called, in words that a person understands: ``conv2d 3x3 64→64 @56x56 + bias + relu``."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.graph.graph import Graph, Node, TensorType
from workbench.graph.infer import make_call
from workbench.graph.opdef import Call, opdef
from workbench.graph.ops.common import layout_of, unplace
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.ops.nn.conv_transpose import transposed_shape
from workbench.graph.ops.nn.pool import pool_window

_POOLS = {"MaxPool": "max_pool", "AveragePool": "avg_pool"}
_GLOBAL = {"GlobalAveragePool": "global_avg_pool", "GlobalMaxPool": "global_max_pool"}
#: Input that holds the weights, and how sums of bytes are told from others.
_CONVOLUTIONS = {"Conv": (1, ""), "ConvInteger": (1, "_int8"), "QLinearConv": (3, "_int8")}
_PRODUCTS = {"MatMul": (1, ""), "MatMulInteger": (1, "_int8"), "QLinearMatMul": (3, "_int8")}
_WORDS = {"Sum": "add", "BatchNormalization": "batch_norm", "InstanceNormalization": "instance_norm", "LRN": "lrn"}


def dims(values: Sequence[int]) -> str:
    """``(1, 56, 56)`` as ``1x56x56``; a scalar as ``1``."""
    return "x".join(map(str, values)) or "1"


def word(op: str) -> str:
    """Lower-case name of an operator: ``LeakyRelu`` -> ``leaky_relu``."""
    return _WORDS.get(op) or "".join(
        f"_{c.lower()}" if c.isupper() and k and not op[k - 1].isupper() else c.lower() for k, c in enumerate(op)
    )


def describe(graph: Graph, nodes: Sequence[Node]) -> str:
    """Description of the kernel that computes `nodes` (in topological order)."""
    main = next((n for n in nodes if opdef(n).fusion != "injective"), nodes[0])
    before = list(nodes[: nodes.index(main)]) if main is not nodes[0] else []
    after = [n for n in nodes if n is not main and n not in before]
    head = _head(graph, main)
    lead = " + ".join(word(n.op) for n in before)
    tail = "".join(f" + {word(n.op)}" for n in after)
    return (f"{lead} + " if lead else "") + head + tail


def _head(graph: Graph, node: Node) -> str:
    call = make_call(node, graph.types, graph.constants)
    out = graph.types[node.outputs[0]]
    if node.op in _CONVOLUTIONS:
        return _conv(call, node.op)
    if node.op == "ConvTranspose":
        return _conv_transpose(call)
    if node.op in _POOLS:
        w = pool_window(call)
        _, _, c = unplace(layout_of(call), call.shape(0))
        return f"{_POOLS[node.op]} {dims(w.kernel)}{_stride(w.strides)} {c} @{dims(w.size)}"
    if node.op in _GLOBAL:
        _, size, c = unplace(layout_of(call), call.shape(0))
        return f"{_GLOBAL[node.op]} {c} @{dims(size)}"
    if node.op == "Gemm":
        m, n = out.shape
        k = call.shape(0)[0 if call.get_int("transA", 0) else 1]
        return f"dense {f'{m}x' if m > 1 else ''}{k}→{n}" + (" + bias" if call.has(2) else "")
    if node.op in _PRODUCTS:
        at, of = _PRODUCTS[node.op]
        return f"matmul{of} {dims(call.shape(0))} · {dims(call.shape(at))}"
    if node.op == "Concat":
        return f"concat of {len(node.inputs)} to {dims(out.shape)}"
    if node.op == "Transpose":
        return f"transpose {dims(call.shape(0))} to {dims(out.shape)}"
    shown: TensorType = call.type(0) if opdef(node).fusion == "reduction" else out
    return f"{word(node.op)} {dims(shown.shape)}"


def _conv(call: Call, op: str) -> str:
    at, of = _CONVOLUTIONS[op]
    s = conv_shape(call, at)
    w = s.win
    kind = "depthwise" if s.depthwise else f"conv{len(w.size)}d"
    channels = f"{s.ci}" if s.depthwise and s.co == s.ci else f"{s.ci}→{s.co}"
    groups = f" in {s.groups} groups" if s.groups > 1 and not s.depthwise else ""
    dilation = f" dilation {dims(w.dilations)}" if any(d != 1 for d in w.dilations) else ""
    batch = f" batch {s.batch}" if s.batch > 1 else ""
    layout = "" if s.layout == "NHWC" else " NCHW"
    bias = " + bias" if op == "Conv" and call.has(2) else ""
    head = f"{kind}{of} {dims(w.kernel)}{_stride(w.strides)}{dilation} {channels}"
    return f"{head}{groups} @{dims(w.size)}{batch}{layout}{bias}"


def _conv_transpose(call: Call) -> str:
    s = transposed_shape(call)
    groups = f" in {s.groups} groups" if s.groups > 1 else ""
    layout = "" if s.layout == "NHWC" else " NCHW"
    bias = " + bias" if call.has(2) else ""
    kind = f"conv{len(s.size)}d_transpose {dims(s.kernel)}{_stride(s.strides)}"
    return f"{kind} {s.ci}→{s.co}{groups} @{dims(s.size)}{layout}{bias}"


def _stride(strides: tuple[int, ...]) -> str:
    if all(s == 1 for s in strides):
        return ""
    return f"/{strides[0]}" if len(set(strides)) == 1 else f"/{dims(strides)}"
