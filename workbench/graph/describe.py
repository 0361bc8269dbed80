"""What a kernel is called, in words that a person understands: ``conv2d 3x3 64→64 @56x56 + bias + relu``."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph, Node, TensorType
from .infer import make_call
from .opdef import opdef
from .ops.common import layout_of, unplace
from .ops.conv import conv_shape
from .ops.pool import pool_window

_POOLS = {"MaxPool": "max_pool", "AveragePool": "avg_pool"}
_GLOBAL = {"GlobalAveragePool": "global_avg_pool", "GlobalMaxPool": "global_max_pool"}
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
    if node.op == "Conv":
        return _conv(graph, node)
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
    if node.op == "MatMul":
        a, b = call.shape(0), call.shape(1)
        return f"matmul {dims(a)} · {dims(b)}"
    if node.op == "Concat":
        return f"concat of {len(node.inputs)} to {dims(out.shape)}"
    if node.op == "Transpose":
        return f"transpose {dims(call.shape(0))} to {dims(out.shape)}"
    shown: TensorType = call.type(0) if opdef(node).fusion == "reduction" else out
    return f"{word(node.op)} {dims(shown.shape)}"


def _conv(graph: Graph, node: Node) -> str:
    call = make_call(node, graph.types, graph.constants)
    s = conv_shape(call)
    w = s.win
    kind = "depthwise" if s.depthwise else f"conv{len(w.size)}d"
    channels = f"{s.ci}" if s.depthwise and s.co == s.ci else f"{s.ci}→{s.co}"
    groups = f" in {s.groups} groups" if s.groups > 1 and not s.depthwise else ""
    dilation = f" dilation {dims(w.dilations)}" if any(d != 1 for d in w.dilations) else ""
    batch = f" batch {s.batch}" if s.batch > 1 else ""
    layout = "" if s.layout == "NHWC" else " NCHW"
    bias = " + bias" if call.has(2) else ""
    return (
        f"{kind} {dims(w.kernel)}{_stride(w.strides)}{dilation} {channels}{groups} @{dims(w.size)}{batch}{layout}{bias}"
    )


def _stride(strides: tuple[int, ...]) -> str:
    if all(s == 1 for s in strides):
        return ""
    return f"/{strides[0]}" if len(set(strides)) == 1 else f"/{dims(strides)}"
