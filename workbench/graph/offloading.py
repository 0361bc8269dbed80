"""What of a quantised network an accelerator computes: products of bytes with constant weights, one node each.

They are written as the accelerator wants them: channels last, and a frame that is not 0 around the image beforehand.
What turns and pads stays with the processor, as does everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.codegen.vta.design import Design
from workbench.errors import TargetError
from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.passes.node_steps import Steps
from workbench.graph.passes.pipeline import DEFAULT, run_passes
from workbench.target import Target

_SIGNED = "its data have no sign: wb.quantize(graph, samples, activations='int8')"
_PRODUCTS = ("Conv", "ConvInteger", "ConvTranspose", "Gemm", "MatMul", "MatMulInteger")


@dataclass(frozen=True, slots=True)
class Offloading:
    """A network in which an accelerator computes some of the nodes.

    Attributes
    ----------
    graph : Graph
        Its passes ran up to the choice of layouts; nothing is fused.
    nodes : tuple of Node
        Those of `graph` that the accelerator computes: their inputs are data and constant weights.
    refused : dict of str to str
        Name of a product that the processor computes -> why.
    """

    graph: Graph
    nodes: tuple[Node, ...]
    refused: Mapping[str, str]


def offloading(graph: Graph, target: Target) -> Offloading:
    """Choose what an accelerator computes of a network.

    Raises
    ------
    TargetError
        "target.tasks" where that is nothing.
    """
    loaded = graph.origin.graph if graph.origin else graph
    ready = run_passes(loaded, DEFAULT[: DEFAULT.index("layout")])
    editor, design = GraphEditor(ready), Design.of(target)
    refused, moved = dict[str, str](), list[str]()
    for node in ready.nodes:
        if node.op not in _PRODUCTS:
            continue
        steps = Steps(ready, editor, node)
        if why := _refusal(steps, design):
            refused[node.name] = why
            continue
        moved.append(_convolution(steps) if node.op == "ConvInteger" else _product(steps))
        editor.swap(node, steps.nodes)
    if not moved:
        why = "; ".join(dict.fromkeys(refused.values())) or "it has no products"
        text = f"{target.kind!r} computes nothing of the network {graph.name!r}: {why}."
        raise TargetError("target.tasks", text, tuple(refused)[:3], "it computes products of bytes: wb.quantize first")
    written = editor.finish(f"offloading: {len(moved)} products for {target.kind}")
    by_output = {o: n for n in written.nodes for o in n.outputs}
    return Offloading(written, tuple(by_output[o] for o in moved), refused)


def _refusal(s: Steps, design: Design) -> str:
    """Why the processor computes a product; "" where the accelerator does."""
    node, types = s.node, s.graph.types
    weights = s.value(s.name(1))
    if node.op not in ("ConvInteger", "MatMulInteger"):
        return f"it multiplies {types[s.name(0)].dtype}"
    if weights is None:
        return "its weights are no constant"
    if types[s.name(0)].dtype != "int8":
        return _SIGNED
    if weights.dtype != np.int8 or s.name(3):
        return "its weights have a zero point, or no sign"
    conv = node.op == "ConvInteger"
    if conv and (types[s.name(0)].rank != 4 or node.attrs.get("group", 1) != 1):
        return "it is no convolution of images in one group"
    if not conv and (weights.ndim != 2 or s.name(2)):
        return "it is no product with one matrix"
    if conv and s.name(2) and (s.value(s.name(2)) is None or not node.attrs.get("pad_only")):
        return "the frame of its image is no constant"
    outputs, inputs = weights.shape[:2] if conv else weights.shape[::-1]
    if inputs % design.inputs or outputs % design.outputs:
        return f"{inputs} inputs and {outputs} outputs are no multiples of {design.inputs} and {design.outputs}"
    return ""


def _convolution(s: Steps) -> str:
    """Write a convolution with channels last; returns the name of its sums."""
    win, weights = conv_shape(s.call).win, s.value(s.name(1))
    fill = s.value(s.name(2)) if s.name(2) else None
    assert weights is not None
    x, pads = s.name(0), (*win.begin, *win.end)
    if win.padded and fill is not None and fill.any():
        around = np.array([0, 0, *win.begin, 0, 0, *win.end], np.int64)
        fill = fill.reshape(()).astype(np.int8)
        x = s.add("Pad", (x, s.constant("pads", around), s.constant("fill", fill)), "framed", {"mode": "constant"})
        pads = (0,) * 4
    x = s.transpose(x, (0, 2, 3, 1), "rows")
    packed: Array = np.moveaxis(weights, (0, 1), (-1, -2))
    attrs: dict[str, AttrValue] = {
        "kernel_shape": win.kernel, "strides": win.strides, "dilations": win.dilations, "pads": pads, "group": 1,
        "layout": "NHWC",
    }  # fmt: skip
    made = s.add("ConvInteger", (x, s.constant("packed", packed)), "products", attrs)
    s.transpose(made, (0, 3, 1, 2))
    s.finish()
    return made


def _product(s: Steps) -> str:
    """Write a product of matrices; returns its name."""
    s.add("MatMulInteger", s.node.inputs[:2], "products")
    s.finish()
    return s.base
