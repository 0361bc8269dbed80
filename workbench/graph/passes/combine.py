"""Parallel products and convolutions of one input become a wide one, followed by slices.

Two sentences decide whether that pays (`why_not`): the parts have to be read through, so that no slice ever moves data,
and the wide weights may not be larger than what a person would still call one layer.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from ..edit import GraphEditor
from ..graph import AttrValue, Graph, Node
from .base import because, graph_pass
from .rewriting import Site

#: Operators that read a slice of a tensor where it lies (see `workbench.graph.moved`).
_READERS = ("MatMul",)
_VIEWS = ("Reshape", "Transpose")
#: Widest result of a combined node, in channels.
_WIDEST = 16384


@graph_pass("combine_parallel")
def combine_parallel(graph: Graph) -> Graph:
    """Make one wide product or convolution of several that read the same tensor, where the parts are read in place."""
    count = parts = 0
    while True:
        site = Site(graph)
        found = next((g for g in _families(site) if not why_not(site, g)), None)
        if found is None:
            break
        graph = _combined(site, found)
        count, parts = count + 1, parts + len(found)
    if not count:
        return graph
    return graph.replace(history=(*graph.history, f"combine_parallel: {parts} nodes combined to {count}"))


def _families(s: Site) -> list[list[Node]]:
    """Nodes that could be one, in topological order."""
    out: dict[Hashable, list[Node]] = {}
    for node in s.graph.nodes:
        key = _family(s, node)
        if key is not None:
            out.setdefault(key, []).append(node)
    return [g for g in out.values() if len(g) > 1]


def _family(s: Site, node: Node) -> Hashable | None:
    """What nodes must share to be combined: input, attributes, weights but for their width, and having a bias."""
    if node.op not in ("Gemm", "MatMul", "Conv") or node.inputs[0] in s.constants or node.attrs.get("layout"):
        return None
    w = s.value(node.inputs[1])
    biases = [i for i in node.inputs[2:] if i]
    if w is None or any(i not in s.constants for i in biases):
        return None
    attrs = tuple(sorted((k, repr(v)) for k, v in node.attrs.items()))
    if node.op == "Conv":
        if node.attrs.get("group", 1) != 1:
            return None
        return node.op, node.inputs[0], w.shape[1:], w.dtype.str, attrs, len(biases), node.version
    if w.ndim != 2 or (node.op == "Gemm" and (node.attrs or any(s.constants[b].shape != w.shape[1:] for b in biases))):
        return None
    return node.op, node.inputs[0], w.dtype.str, attrs, len(biases), node.version


def why_not(s: Site, nodes: list[Node]) -> str:
    """Why these nodes are better left alone; "" when combining them pays."""
    width = sum(_width(s, n) for n in nodes)
    if width > _WIDEST:
        return f"{width} channels are more than {_WIDEST}"
    for n in nodes:
        if s.is_output(n.outputs[0]) or not _in_place(s, n.outputs[0]):
            return f"{n.op} {n.name}: its part would have to be copied"
    return ""


def _in_place(s: Site, x: str) -> bool:
    """Whether all readers of a tensor could read a slice of a wider one where it lies."""
    readers = s.readers(x)
    if not readers or s.is_output(x):
        return False
    return all(
        n.op in _READERS or (n.op in _VIEWS and len(n.outputs) == 1 and _in_place(s, n.outputs[0])) for n in readers
    )


def _width(s: Site, node: Node) -> int:
    return int(s.constants[node.inputs[1]].shape[0 if node.op == "Conv" else 1])


def _combined(s: Site, nodes: list[Node]) -> Graph:
    editor, first = s.editor, nodes[0]
    axis = 0 if first.op == "Conv" else 1
    weights = np.concatenate([s.constants[n.inputs[1]] for n in nodes], axis)
    inputs = [first.inputs[0], editor.constant(f"{first.inputs[1]}.wide", weights)]
    if len(first.inputs) > 2 and first.inputs[2]:
        bias = np.concatenate([s.constants[n.inputs[2]] for n in nodes])
        inputs.append(editor.constant(f"{first.inputs[2]}.wide", bias))
    whole = editor.fresh(f"{first.outputs[0]}.wide")
    wide = replace(first, inputs=tuple(inputs), outputs=(whole,))
    because(f"takes in {', '.join(n.name for n in nodes[1:])}, which read the same tensor", first.name)
    because(f"a part of {first.op} {first.name} now", *(n.name for n in nodes[1:]))
    gone = {n.name for n in nodes}
    rank = s.type(first.outputs[0]).rank
    cuts = _slices(editor, nodes, whole, [_width(s, n) for n in nodes], 1 if first.op == "Conv" else rank - 1)
    at = next(k for k, n in enumerate(editor.nodes) if n.name == first.name)
    editor.nodes[at : at + 1] = [wide, *cuts]
    editor.nodes = [n for n in editor.nodes if n is wide or n.name not in gone]
    return editor.finish()


def _slices(editor: GraphEditor, nodes: list[Node], whole: str, widths: list[int], axis: int) -> list[Node]:
    out, start = list[Node](), 0
    for node, width in zip(nodes, widths, strict=True):
        attrs: dict[str, AttrValue] = {"starts": (start,), "ends": (start + width,), "axes": (axis,)}
        cut = editor.make("Slice", (whole,), node.outputs[0], attrs, exact=True)
        because(f"the part of {node.op} {node.name}", cut.name)
        out.append(replace(cut, version=9))
        start += width
    return out
