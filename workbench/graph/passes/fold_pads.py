"""Padding that stands before a convolution or a pooling becomes part of it."""

from __future__ import annotations

import math

from workbench.graph.graph import AttrValue, Graph, Node
from workbench.graph.opdef import opdef
from workbench.graph.ops.arrays.movement import Pad
from workbench.graph.ops.lowering import Window
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.ops.nn.pool import pool_window
from workbench.graph.passes.base import graph_pass
from workbench.graph.passes.rules.algebra import NOT_NEGATIVE
from workbench.graph.passes.rules.rewriting import Found, Rule, Site, apply_rules, declare

PADS: dict[str, Rule] = {}


@graph_pass("fold_pads")
def fold_pads(graph: Graph) -> Graph:
    """Take a Pad into the pads of the convolution or pooling that reads it, where the padded values agree."""
    return apply_rules(graph, PADS.values(), "fold_pads")


def _padding(s: Site, x: str, rank: int) -> tuple[Node, list[tuple[int, int]], float] | None:
    """The Pad that makes an image, its spatial pads and their value; None when it pads more than that."""
    pad = s.maker(x, "Pad")
    if pad is None or s.type(x).rank != rank:
        return None
    op, call = opdef(pad), s.call(pad)
    if not isinstance(op, Pad) or call.get_str("mode", "constant") != "constant":
        return None
    pads = op.pads(call)
    if any(pads[0]) or any(pads[1]) or any(min(p) < 0 for p in pads):  # negative pads crop
        return None
    return pad, pads[2:], op.fill(call)


def _with_pads(s: Site, node: Node, pad: Node, win: Window, more: list[tuple[int, int]], **attrs: int) -> list[Node]:
    begin = [b + m for b, (m, _) in zip(win.begin, more, strict=True)]
    end = [e + m for e, (_, m) in zip(win.end, more, strict=True)]
    kept = {k: v for k, v in node.attrs.items() if k != "auto_pad"}
    inputs = (pad.inputs[0], *node.inputs[1:])
    return [s.instead(node, node.op, inputs, {**kept, "pads": (*begin, *end), **attrs}, node.version)]


@declare(PADS, "Conv")
def _pad_before_conv(s: Site, node: Node) -> Found:
    """A convolution pads with zeros itself."""
    found = None if node.attrs.get("layout") else _padding(s, node.inputs[0], s.type(node.outputs[0]).rank)
    if found is None or found[2] != 0:
        return None
    return _with_pads(s, node, found[0], conv_shape(s.call(node)).win, found[1])


def _narrow(win: Window, more: list[tuple[int, int]]) -> bool:
    """Whether every window still touches the image itself."""
    begins = all(b + m < k for b, (m, _), k in zip(win.begin, more, win.kernel, strict=True))
    return begins and all(e + m < k for e, (_, m), k in zip(win.end, more, win.kernel, strict=True))


@declare(PADS, "MaxPool")
def _pad_before_max_pool(s: Site, node: Node) -> Found:
    """A maximum does not see padding that is below all that is padded: minus infinity, or 0 after a Relu."""
    found = None if node.attrs.get("layout") else _padding(s, node.inputs[0], s.type(node.outputs[0]).rank)
    if found is None or node.attrs.get("ceil_mode"):
        return None
    win = pool_window(s.call(node))
    above = s.maker(found[0].inputs[0], *NOT_NEGATIVE) is not None and all(d == 1 for d in win.dilations)
    if found[2] != -math.inf and not (above and found[2] <= 0 and not any(win.begin) and not any(win.end)):
        return None
    return _with_pads(s, node, found[0], win, found[1]) if _narrow(win, found[1]) else None


@declare(PADS, "AveragePool")
def _pad_before_average_pool(s: Site, node: Node) -> Found:
    """An average that counts its padding pads with zeros itself."""
    found = None if node.attrs.get("layout") else _padding(s, node.inputs[0], s.type(node.outputs[0]).rank)
    if found is None or found[2] != 0 or node.attrs.get("ceil_mode"):
        return None
    win = pool_window(s.call(node))
    counted = bool(s.call(node).get_int("count_include_pad", 0))
    if not counted and (any(win.begin) or any(win.end)):  # its own padding does not count, the other does
        return None
    return _with_pads(s, node, found[0], win, found[1], count_include_pad=1) if _narrow(win, found[1]) else None


@declare(PADS, "Pad")
def _double_pad(s: Site, node: Node) -> Found:
    """Padding of padding with the same number is one padding."""
    before = s.maker(node.inputs[0], "Pad")
    ops = [opdef(n) for n in (node, before) if n is not None]
    if before is None or not all(isinstance(op, Pad) for op in ops):
        return None
    (outer, o), (inner, i) = ((opdef(n), s.call(n)) for n in (node, before))
    assert isinstance(outer, Pad)
    assert isinstance(inner, Pad)
    if any(c.get_str("mode", "constant") != "constant" for c in (o, i)) or outer.fill(o) != inner.fill(i):
        return None
    if any(min(p) < 0 for p in (*outer.pads(o), *inner.pads(i))):
        return None
    both = [(a + c, b + d) for (a, b), (c, d) in zip(outer.pads(o), inner.pads(i), strict=True)]
    attrs: dict[str, AttrValue] = {
        "pads": (*(a for a, _ in both), *(b for _, b in both)),
        "mode": "constant",
        "value": outer.fill(o),
    }
    return [s.instead(node, "Pad", before.inputs[:1], attrs, 10)]
