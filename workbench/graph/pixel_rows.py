"""Images as rows of pixels: to a 1x1 convolution and what follows it element by element, an image is one long row.

A row has whole tiles of an instruction for matrices where the rows of the image have none, and nothing has to be
copied to get them. Only kernels that multiply bfloat16 are written so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from workbench.graph.graph import Graph, Node, TensorType
from workbench.graph.opdef import opdef
from workbench.graph.type_inference import make_call


def in_one_row(graph: Graph, nodes: Sequence[Node]) -> dict[str, TensorType]:
    """Types of the images that a kernel's nodes read and make, as [1, 1, pixels, channels]; none where they stay."""
    first = nodes[0]
    types = graph.types
    weights = types.get(first.inputs[1]) if len(first.inputs) > 1 else None  # an input may be absent
    if weights is None or weights.dtype != "bfloat16" or types[first.outputs[0]].rank != 4:
        return {}
    if not opdef(first).by_pixel(make_call(first, types, graph.constants)):
        return {}
    image = types[first.outputs[0]].shape[:-1]
    moving = [*first.inputs[:1], *(x for n in nodes[1:] for x in n.inputs if x), *(n.outputs[0] for n in nodes)]
    found = {x: types[x] for x in moving if types[x].rank == 4 and types[x].shape[:-1] == image}
    others = (types[x].shape[:-1] for x in moving if x not in found)
    if not all(opdef(n).elementwise for n in nodes[1:]) or any(n != 1 for shape in others for n in shape):
        return {}
    return {x: TensorType((1, 1, prod(image), t.shape[-1]), t.dtype) for x, t in found.items()}
