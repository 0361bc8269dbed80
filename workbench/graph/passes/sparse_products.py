"""Products with sparse matrices, from message passing and from weights that are mostly zeros.

Networks on graphs gather a row for each edge, perhaps weigh it, and add it up where the edge ends: three passes over
as many rows as there are edges. Sorted by their ends, the edges are the rows of a sparse matrix, and all of it is one
product that writes each row once. What sorts them is a node of its own: layers share it, and for a graph that is part
of the model it is folded.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.graph.graph import AttrValue, Graph, Node
from workbench.graph.node_steps import OWN
from workbench.graph.operator_facts import BLOCK
from workbench.graph.ops.math.sparse import SUMMED, block_weights, turned_weights
from workbench.graph.passes.base import graph_pass
from workbench.graph.passes.rules.rewriting import Found, Rule, Site, apply_rules, declare

SUMS: dict[str, Rule] = {}

#: Edges from which on sorting pays.
_EDGES = 64
#: Share of a constant matrix that is not zero, at most, and its least size, for a product to go over these alone. A
#: dense product takes an eighth of the time for an entry; of a smaller matrix it takes no time to speak of.
_DENSITY, _SIZE = 0.03, 1 << 14


@graph_pass("sparse_products")
def sparse_products(graph: Graph) -> Graph:
    """Write message passing, and products with matrices of zeros, as products that go over what is not zero alone."""
    return apply_rules(graph, SUMS.values(), "sparse_products")


@declare(SUMS, "ScatterND")
def _slices_added(s: Site, node: Node) -> Found:
    """Slices added up at places are a sparse matrix of ones times the slices."""
    if s.type(node.inputs[1]).rank != 2 or s.type(node.inputs[1]).shape[1] != 1:
        return None
    return _added(s, node, node.inputs[1])


@declare(SUMS, "ScatterElements")
def _elements_added(s: Site, node: Node) -> Found:
    """Elements added up at places that are the same for a row are rows added up."""
    x, updates = (s.type(i).shape for i in (node.inputs[0], node.inputs[2]))
    if s.call(node).named_axis(0) or len(x) != 2 or x[1] != updates[1]:
        return None
    spread, known = s.maker(node.inputs[1], "Expand"), s.value(node.inputs[1])
    if known is not None and (known == known[:, :1]).all():
        ends = s.constant(f"{node.inputs[1]}.rows", known[:, :1])
    elif spread is not None and s.type(spread.inputs[0]).shape == (updates[0], 1):
        ends = spread.inputs[0]
    else:
        return None
    return _added(s, node, ends)


def _added(s: Site, node: Node, ends: str) -> Found:
    """The product in the place of a node that adds the rows of its third input, where it is one."""
    data, out = s.type(node.inputs[0]), s.type(node.outputs[0])
    edges = s.type(node.inputs[2]).shape[0]
    summed = s.call(node).get_str("reduction", "none") == "add" and out.dtype in SUMMED
    if not summed or edges < _EDGES or not out.size or not data.shape[0] or s.scalar(node.inputs[0]) != 0:
        return None
    made: list[Node] = []
    base = node.outputs[0]

    def add(op: str, inputs: tuple[str, ...], attrs: dict[str, AttrValue], outputs: int = 1) -> Node:
        one = s.new(op, inputs, f"{base}.{op.lower()}", attrs)
        more = (s.editor.fresh(f"{base}.{op.lower()}.{k}") for k in range(1, outputs))
        made.append(replace(one, outputs=(*one.outputs, *more), domain=OWN if outputs > 1 else ""))
        return made[-1]

    first, order = add("EdgeOrder", (ends,), {"rows": data.shape[0]}, 2).outputs
    rows, values = _weighed(s, node.inputs[2])
    gather = s.maker(rows, "Gather")
    if gather is not None and _whole_rows(s, gather):
        x, columns = gather.inputs[0], add("Gather", (gather.inputs[1], order), {"axis": 0}).outputs[0]
    else:
        x, columns = rows, order
    inputs = [x, first, columns]
    if values:
        flat = s.editor.reshape(values, (edges,), f"{base}.weights")
        made.append(flat)
        inputs += add("Gather", (*flat.outputs, order), {"axis": 0}).outputs
    return [*made, replace(s.instead(node, "SparseProduct", inputs), domain=OWN)]


def _weighed(s: Site, x: str) -> tuple[str, str]:
    """Rows, and the numbers that they are multiplied by ("": none)."""
    mul, shape = s.maker(x, "Mul"), s.type(x).shape
    for rows, by in () if mul is None else (mul.inputs, mul.inputs[::-1]):
        one_each = s.type(by).shape == (shape[0], *[1] * (len(shape) - 1)) and len(shape) > 1
        if one_each and s.type(rows).shape == shape and s.maker(rows, "Gather") is not None:
            return rows, by
    return x, ""


def _whole_rows(s: Site, gather: Node) -> bool:
    call = s.call(gather)
    return call.named_axis(0) == 0 and s.type(gather.inputs[1]).rank == 1 and s.type(gather.inputs[0]).shape[0] > 0


@declare(SUMS, "MatMul")
def _sparse_matrix(s: Site, node: Node) -> Found:
    """A constant matrix that is nearly all zeros times another is a product with what is not zero of it."""
    a, x = s.value(node.inputs[0]), s.type(node.inputs[1])
    if a is None or a.ndim != 2 or x.rank != 2 or a.dtype.name not in SUMMED or a.size < _SIZE:
        return None
    if node.inputs[1] in s.constants or np.count_nonzero(a) > _DENSITY * a.size:
        return None
    rows, columns = np.nonzero(a)
    first = np.searchsorted(rows, np.arange(len(a) + 1)).astype(np.int32)
    arrays = {"first": first, "columns": columns.astype(np.int32), "values": a[rows, columns]}
    names = (s.constant(f"{node.inputs[0]}.{what}", v) for what, v in arrays.items())
    return [replace(s.instead(node, "SparseProduct", (node.inputs[1], *names)), domain=OWN)] if len(rows) else None


@declare(SUMS, "MatMul", "Gemm")
def _sparse_weights(s: Site, node: Node) -> Found:
    """Rows times weights that `sparsify` left in blocks go over these alone."""
    call = s.call(node)
    block, weights = call.get_ints(BLOCK), turned_weights(call) if BLOCK in node.attrs else None
    if block is None or weights is None or weights.shape[1] % block[0] or weights.shape[0] % block[1]:
        return None
    starts, blocks = block_weights(weights, (block[0], block[1]))
    names = (s.constant(f"{node.inputs[1]}.{what}", v) for what, v in (("starts", starts), ("blocks", blocks)))
    product = replace(s.new("SparseDense", (node.inputs[0], *names), f"{node.outputs[0]}.product"), domain=OWN)
    if len(node.inputs) < 3 or not node.inputs[2]:
        return [replace(product, name=node.name, outputs=node.outputs[:1])]
    return [product, s.instead(node, "Add", (product.outputs[0], node.inputs[2]))]
