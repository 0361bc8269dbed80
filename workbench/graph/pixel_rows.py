"""Images as rows of pixels: to a 1x1 convolution and what follows it element by element, an image is one long row.

A row has whole tiles of an instruction for matrices where the rows of the image have none, and nothing has to be
copied to get them. With channels last only kernels that multiply bfloat16 or bytes are written so. With channels first
pixels are the lanes of vectors, which a row fills whatever the width of the image is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from workbench.graph.graph import Graph, Node, TensorType
from workbench.graph.opdef import opdef
from workbench.graph.type_inference import make_call

#: Weights that instructions for matrices multiply.
_IN_TILES = ("bfloat16", "int8", "uint8")


def in_one_row(graph: Graph, nodes: Sequence[Node]) -> dict[str, TensorType]:
    """Types of the images that a kernel's nodes read and make, with one row of pixels; none where they stay."""
    first = nodes[0]
    types = graph.types
    weights = types.get(first.inputs[1]) if len(first.inputs) > 1 else None  # an input may be absent
    last = first.attrs.get("layout") == "NHWC"
    if weights is None or (last and weights.dtype not in _IN_TILES) or types[first.outputs[0]].rank != 4:
        return {}
    if not opdef(first).by_pixel(make_call(first, types, graph.constants)):
        return {}
    image = _image(types[first.outputs[0]].shape, last)
    moving = [*first.inputs[:1], *(x for n in nodes[1:] for x in n.inputs if x), *(n.outputs[0] for n in nodes)]
    found = {x: types[x] for x in moving if types[x].rank == 4 and _image(types[x].shape, last) == image}
    others = (_image(types[x].shape, last) for x in moving if x not in found)
    if not all(opdef(n).elementwise for n in nodes[1:]) or any(n != 1 for shape in others for n in shape):
        return {}
    return {x: TensorType(_row(t.shape, last), t.dtype) for x, t in found.items()}


def _image(shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
    """What images have in common whose pixels are counted alike."""
    return shape[:-1] if last else shape[-2:]


def _row(shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
    return (1, 1, prod(shape[:-1]), shape[-1]) if last else (*shape[:-2], 1, prod(shape[-2:]))
