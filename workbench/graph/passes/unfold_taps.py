"""Convolutions whose tiles would be filled badly become products over longer rows.

An instruction for matrices takes 16 pixels of a row of the image at a time, and 32 numbers of the sum (64 of bytes):

- an image of three channels fills a tenth of the sum: the taps of a row of the window are written side by side, and
  the convolution goes over the rows of its window alone;
- rows of 7 pixels fill less than half of a tile: all taps of each pixel are written side by side, and to the 1x1
  convolution that is left the image is one row (`workbench.graph.pixel_rows`).

The copy costs less than the instruction loses; `_gain` compares them.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node, TensorType
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.node_steps import OWN
from workbench.graph.ops.lowering import LEAST_HALVED
from workbench.graph.ops.nn.conv import ConvShape, conv_shape
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.type_inference import make_call

#: Pixels, channels of the result and bytes of the sum of a tile.
_PIXELS, _COLUMNS, _ROW_BYTES = 16, 16, 64
#: Cycles for a product of tiles inside a kernel, and for a cache line that is copied. Measured on Intel's Xeon of the
#: fourth generation: half of the instruction's own pace; a line is read, and written into the second cache.
_PRODUCT, _LINE = 32, 4
#: Share of the tiles that has to be saved, at least, where taps are read several times: the sum over taps of one place
#: reads a cache line of the image nine times, and the copy once. Measured: rows of 13 pixels lose, rows of 7 win.
_LEAST = 0.25

#: Bytes of a row of the window, at least, where numbers are bytes. Measured: 7 taps of 3 channels win, 3 taps lose.
_LEAST_BYTES = 16


@graph_pass("unfold_taps", default=False)
def unfold_taps(graph: Graph) -> Graph:
    """Write the taps of a convolution side by side, where its own tiles of bfloat16 would be filled badly."""
    return _all(graph, "unfold_taps", "Conv")


@graph_pass("unfold_bytes")
def unfold_bytes(graph: Graph) -> Graph:
    """Write the taps of a convolution of bytes side by side, where its own tiles would be filled badly."""
    return _all(graph, "unfold_bytes", "ConvInteger")


def _all(graph: Graph, name: str, op: str) -> Graph:
    editor, count = GraphEditor(graph), 0
    for node in graph.nodes:
        if node.op == op and not node.domain and (new := _unfolded(graph, editor, node)) is not None:
            editor.swap(node, new)
            count += 1
    return editor.finish(f"{name}: {count} convolutions") if count else graph


def _unfolded(graph: Graph, editor: GraphEditor, node: Node) -> list[Node] | None:
    """Nodes in the place of a convolution; None where it stays."""
    if node.attrs.get("layout") != "NHWC" or graph.types[node.inputs[0]].rank != 4:
        return None
    weights, x = graph.constants.get(node.inputs[1]), graph.types[node.inputs[0]]
    if weights is None or not _suited(graph, node, x.dtype, weights.dtype.name):
        return None
    s, nbytes = conv_shape(make_call(node, graph.types, graph.constants)), 1 if weights.dtype == np.int8 else 2
    if s.groups > 1 or s.co < LEAST_HALVED or any(d != 1 for d in s.win.dilations):
        return None
    few = s.ci < LEAST_HALVED <= prod(s.win.kernel) * s.ci and s.win.kernel[1] > 1
    if few and not s.win.out[1] % _PIXELS and (nbytes > 1 or s.win.kernel[1] * s.ci >= _LEAST_BYTES):
        because("the taps of a row of its window fill the sum of a tile, which its channels do not", node.name)
        return _rows(editor, node, s, weights, x, _ROW_BYTES // nbytes)
    if s.ci >= LEAST_HALVED and _gain(s, nbytes) > 0:
        because(
            "as one row of pixels with all taps side by side it fills tiles, which rows of its image do not", node.name
        )
        return _pixels(editor, node, s, weights, x)
    return None


def _suited(graph: Graph, node: Node, image: str, weights: str) -> bool:
    """Whether an instruction multiplies these types, and the image is surrounded with a constant."""
    if node.op == "Conv":
        return (image, weights) == ("float32", "float32")
    zeros = [x for x in node.inputs[2:] if x]
    known = not zeros or (zeros == [node.inputs[2]] and "pad_only" in node.attrs and zeros[0] in graph.constants)
    return known and weights == "int8"


def _gain(s: ConvShape, nbytes: int) -> float:
    """Cycles that one row of pixels saves, less those of the copy."""
    if not s.win.padded and set(s.win.strides) == {1} == set(s.win.kernel):
        return 0.0  # one row already
    rows, columns = s.win.out
    terms = prod(s.win.kernel) * s.ci
    steps = -(-terms * nbytes // _ROW_BYTES) * -(-s.co // _COLUMNS)
    tiles = rows * -(-columns // _PIXELS)
    saved = tiles - -(-rows * columns // _PIXELS)
    if prod(s.win.kernel) > 1 and saved < _LEAST * tiles:
        return 0.0
    return s.batch * (saved * steps * _PRODUCT - rows * columns * terms * nbytes / _ROW_BYTES * _LINE)


def _rows(editor: GraphEditor, node: Node, s: ConvShape, w: Array, x: TensorType, terms: int) -> list[Node]:
    """The convolution over the rows of its window, of an image whose channels are the taps of a row."""
    (kh, kw), taps = s.win.kernel, s.win.kernel[1] * s.ci
    width = -(-taps // terms) * terms
    wide = np.zeros((kh, 1, width, s.co), w.dtype)
    wide[:, 0, :taps] = w.reshape(kh, taps, s.co)
    begin, end = s.win.begin, s.win.end
    attrs: dict[str, AttrValue] = {"kernel_shape": (1, kw), "strides": (1, s.win.strides[1]), "pads": (*begin, *end)}
    attrs |= {"channels": s.ci, "width": width}
    nodes = _taps(editor, node, x, attrs, (s.batch, begin[0] + x.shape[1] + end[0], s.win.out[1], width))
    return [*nodes, _conv(editor, node, nodes[-1].outputs[0], wide, {"strides": (s.win.strides[0], 1)})]


def _pixels(editor: GraphEditor, node: Node, s: ConvShape, w: Array, x: TensorType) -> list[Node]:
    """The 1x1 convolution of an image whose channels are all taps of a pixel."""
    terms = prod(s.win.kernel) * s.ci
    attrs: dict[str, AttrValue] = {"kernel_shape": s.win.kernel, "strides": s.win.strides, "channels": s.ci}
    attrs["pads"] = (*s.win.begin, *s.win.end)
    nodes = _taps(editor, node, x, attrs, (s.batch, *s.win.out, terms))
    return [*nodes, _conv(editor, node, nodes[-1].outputs[0], w.reshape(1, 1, terms, s.co), {})]


def _taps(
    editor: GraphEditor, node: Node, x: TensorType, attrs: dict[str, AttrValue], shape: tuple[int, ...]
) -> list[Node]:
    n, h, w, c = x.shape
    if node.op == "ConvInteger" and len(node.inputs) > 2:
        attrs["fill"] = int(editor.constants[node.inputs[2]].reshape(()))
    base = f"{node.outputs[0]}.taps"
    flat = editor.reshape(node.inputs[0], (n, h, w * c), f"{base}.image")
    taps = replace(editor.make("Taps", flat.outputs, base, attrs), domain=OWN)
    return [flat, taps, editor.reshape(taps.outputs[0], shape, f"{base}.row")]


def _conv(editor: GraphEditor, node: Node, x: str, w: Array, geometry: dict[str, AttrValue]) -> Node:
    dropped = ("kernel_shape", "strides", "pads", "auto_pad", "dilations", "pad_only")
    kept = {k: v for k, v in node.attrs.items() if k not in dropped}
    weights = editor.constant(f"{node.inputs[1]}.taps", w)
    bias = node.inputs[2:] if node.op == "Conv" else ()
    return replace(node, inputs=(x, weights, *bias), attrs={**kept, **geometry})
