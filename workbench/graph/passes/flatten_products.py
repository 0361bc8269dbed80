"""Products of batches of rows with one matrix of weights become one product of matrices.

``[B, M, K]`` times ``[K, N]`` is ``[B * M, K]`` times ``[K, N]`` between two views that cost nothing, so batch and
sequence form one dimension that a schedule may cut as it likes. The view behind the product moves down past everything
that works element by element or row by row; what follows the product can then join its kernel as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.graph.graph import AttrValue, Graph, Node, TensorType
from workbench.graph.opdef import opdef
from workbench.graph.passes.base import graph_pass
from workbench.graph.passes.rules.rewriting import Found, Rule, Site, apply_rules, declare

ROWS: dict[str, Rule] = {}


@graph_pass("flatten_products")
def flatten_products(graph: Graph) -> Graph:
    """Multiply batches of rows by constant weights as one matrix, and keep what follows in that form."""
    return apply_rules(graph, ROWS.values(), "flatten_products")


@declare(ROWS, "MatMul")
def _rows_of_batches(s: Site, node: Node) -> Found:
    """Rows of all batches times one matrix are the rows of one matrix times it."""
    x, w = s.type(node.inputs[0]), s.value(node.inputs[1])
    if w is None or w.ndim != 2 or x.rank < 3 or not x.size or node.inputs[0] in s.constants:
        return None
    flat = _view(s, node.inputs[0], (x.size // x.shape[-1], x.shape[-1]))
    return [flat, *_behind(s, node, (*flat.outputs, node.inputs[1]), dict(node.attrs))]


def _behind(s: Site, node: Node, inputs: tuple[str, ...], attrs: Mapping[str, AttrValue]) -> list[Node]:
    """The node with other inputs, under its own name, and a view that gives its result the shape that it had."""
    out = node.outputs[0]
    made = replace(node, inputs=inputs, outputs=(s.editor.fresh(f"{out}.rows"),), attrs=attrs)
    return [made, s.editor.reshape(made.outputs[0], s.type(out).shape, out, exact=True)]


def _view(s: Site, x: str, shape: tuple[int, ...]) -> Node:
    target = s.constant(f"{x}.rows.shape", np.array(shape, np.int64))
    return s.new("Reshape", (x, target), f"{x}.rows")


def _rows(s: Site, x: str) -> str | None:
    """The matrix that `x` is a view of with the same last dimension, when a product is among what made it."""
    view = s.maker(x, "Reshape")
    if view is None:
        return None
    source, kind, shape = view.inputs[0], s.type(view.inputs[0]), s.type(x).shape
    maker = s.maker(source)
    if maker is None or kind.rank != 2 or len(shape) < 3 or kind.shape[-1] != shape[-1]:
        return None
    op = opdef(maker)
    return source if op.rowwise or (op.elementwise and not op.view) else None


@declare(ROWS)
def _elements_of_rows(s: Site, node: Node) -> Found:
    """What is computed element by element from a view of a matrix is a view of what is computed from the matrix."""
    op, out = opdef(node), s.type(node.outputs[0])
    if not op.elementwise or op.view or op.parameters or not any(_rows(s, i) for i in node.inputs if i):
        return None
    if any(s.type(i).shape != out.shape for i in node.inputs if i and _rows(s, i)):
        return None
    matrix = (out.size // out.shape[-1], out.shape[-1])
    views: list[Node] = []
    inputs: list[str] = []
    for i in node.inputs:
        new = _operand(s, i, out, matrix, views)
        if new is None:
            return None
        inputs.append(new)
    return [*views, *_behind(s, node, tuple(inputs), node.attrs)]


def _operand(s: Site, x: str, out: TensorType, matrix: tuple[int, int], views: list[Node]) -> str | None:
    """What an element-wise operator on the matrix reads in place of `x`; None where it broadcasts over some rows."""
    if not x:
        return ""
    kind, value = s.type(x), s.value(x)
    if value is not None:
        if value.size == 1:
            return s.constant(f"{x}.one", value.reshape(())) if value.ndim > 2 else x
        lead = kind.shape[:-1]
        if kind.shape[-1:] == out.shape[-1:] and all(e == 1 for e in lead):
            return s.constant(f"{x}.row", value.reshape(-1)) if lead else x
        return s.constant(f"{x}.rows", value.reshape(matrix)) if kind.shape == out.shape else None
    if kind.shape != out.shape:
        return None
    if (source := _rows(s, x)) is not None:
        return source
    views.append(_view(s, x, matrix))
    return views[-1].outputs[0]


@declare(ROWS, "LayerNormalization", "RMSNormalization", "Softmax")
def _rows_of_rows(s: Site, node: Node) -> Found:
    """What is computed for each row of a view of a matrix is a view of what is computed for each row of the matrix."""
    source, out = _rows(s, node.inputs[0]), s.type(node.outputs[0])
    old = node.op == "Softmax" and node.version < 13
    axis = s.call(node).get_int("axis", -1)
    if (
        source is None
        or old
        or axis % out.rank != out.rank - 1
        or any(s.type(i).rank > 1 for i in node.inputs[1:] if i)
    ):
        return None
    return _behind(s, node, (source, *node.inputs[1:]), {**node.attrs, "axis": 1})
