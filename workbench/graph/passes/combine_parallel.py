"""Parallel products and convolutions of one input become a wide one, followed by slices.

That pays where no slice moves data: the input is read once, and narrow results share registers. Whether it does is said
for each node by `why_not`. Products read a part through (`workbench.graph.memory.operand_views`), convolutions and
poolings where it lies (`workbench.graph.memory.joins`); a part that an addition or a concatenation takes would have to
be copied.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from workbench.graph.graph import AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.passes.rules.rewriting import Site

#: Widest result of a combined node, and least channels of a part of an image: a line of the cache (64 bytes) of each
#: pixel. The first was chosen.
_WIDEST, _NARROWEST = 16384, 16


@graph_pass("combine_parallel")
def combine_parallel(graph: Graph) -> Graph:
    """Make one wide product or convolution of several that read the same tensor, where the parts are read in place."""
    count = parts = 0
    while True:
        site = Site(graph)
        found = next(_families(site), None)
        if found is None:
            break
        graph = _combined(site, found)
        count, parts = count + 1, parts + len(found)
    if not count:
        return graph
    return graph.replace(history=(*graph.history, f"combine_parallel: {parts} nodes combined to {count}"))


def _families(s: Site) -> Iterator[list[Node]]:
    out: dict[Hashable, list[Node]] = {}
    for node in s.graph.nodes:
        key = family(s, node)
        if key is not None and not why_not(s, node):
            out.setdefault(key, []).append(node)
    return (g for g in out.values() if len(g) > 1 and sum(_width(s, n) for n in g) <= _WIDEST)


def family(s: Site, node: Node) -> Hashable | None:
    """What nodes must share to be combined: input, attributes, weights but for their width, a bias, what follows."""
    if opdef(node).product_axes(s.call(node)) is None or node.inputs[0] in s.constants:
        return None
    w = s.value(node.inputs[1])
    biases = [i for i in node.inputs[2:] if i]
    if w is None or any(i not in s.constants for i in biases):
        return None
    key = node.op, node.inputs[0], w.dtype.str, _attributes(node), len(biases), node.version
    if opdef(node).image:
        tail = _tail(s, node)
        after = () if tail is None else (tail.op, tail.domain, tail.version, _attributes(tail))
        return None if node.attrs.get("group", 1) != 1 else (*key, w.shape[1:], after)
    plain = not node.attrs and all(s.constants[b].shape == w.shape[1:] for b in biases)
    return key if plain else None


def _attributes(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, repr(v)) for k, v in node.attrs.items()))


def why_not(s: Site, node: Node) -> str:
    """Why a node is better left alone; "" when reading its result as a part of a wider one costs nothing."""
    copied = f"{node.op} {node.name}: its part would have to be copied"
    if not opdef(node).image:
        return "" if _read_through(s, node.outputs[0]) else copied
    if _width(s, node) < _NARROWEST:
        return f"{node.op} {node.name}: a part of less than {_NARROWEST} channels is not a cache line of each pixel"
    last = (_tail(s, node) or node).outputs[0]
    readers = s.readers(last)
    whole = [n for n in readers if opdef(n).reads_parts and last not in n.inputs[1:]]
    return "" if readers and len(whole) == len(readers) and not s.is_output(last) else copied


def _tail(s: Site, node: Node) -> Node | None:
    """The element-wise operator that alone reads a result; behind the wide result all of them are one."""
    x = node.outputs[0]
    tail = s.readers(x)[0] if s.only(x) else None
    plain = tail is not None and opdef(tail).elementwise and not opdef(tail).view
    return tail if tail is not None and plain and len(tail.inputs) == 1 else None


def _read_through(s: Site, x: str) -> bool:
    readers = s.readers(x)
    if not readers or s.is_output(x):
        return False
    return all(opdef(n).reads_through or (opdef(n).rearranges and _read_through(s, n.outputs[0])) for n in readers)


def _width(s: Site, node: Node) -> int:
    return int(s.constants[node.inputs[1]].shape[0 if opdef(node).image else 1])


def _combined(s: Site, nodes: list[Node]) -> Graph:
    editor, first = s.editor, nodes[0]
    axis = 0 if opdef(first).image else 1
    weights = np.concatenate([s.constants[n.inputs[1]] for n in nodes], axis)
    inputs = [first.inputs[0], editor.constant(f"{first.inputs[1]}.wide", weights)]
    if len(first.inputs) > 2 and first.inputs[2]:
        bias = np.concatenate([s.constants[n.inputs[2]] for n in nodes])
        inputs.append(editor.constant(f"{first.inputs[2]}.wide", bias))
    whole = editor.fresh(f"{first.outputs[0]}.wide")
    made = [replace(first, inputs=tuple(inputs), outputs=(whole,))]
    ends = [_tail(s, n) for n in nodes] if opdef(first).image else []
    tails = [n for n in ends if n is not None]
    if tails:
        whole = editor.fresh(f"{tails[0].outputs[0]}.wide")
        made.append(replace(tails[0], inputs=made[0].outputs, outputs=(whole,)))
    because(f"takes in {', '.join(n.name for n in nodes[1:])}, which read the same tensor", *(n.name for n in made))
    because(f"a part of {first.op} {first.name} now", *(n.name for n in (*nodes[1:], *tails[1:])))
    gone = {n.name for n in (*nodes, *tails)}
    widths = [_width(s, n) for n in nodes]
    cuts = _slices(editor, tails or nodes, whole, widths, 1 if axis == 0 else s.type(first.outputs[0]).rank - 1)
    at = next(k for k, n in enumerate(editor.nodes) if n.name == first.name)
    kept = [n for n in editor.nodes if n.name not in gone]
    at = sum(n.name not in gone for n in editor.nodes[:at])
    editor.nodes = [*kept[:at], *made, *cuts, *kept[at:]]
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
