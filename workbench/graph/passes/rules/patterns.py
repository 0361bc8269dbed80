"""Operators that models write out by simpler ones, found again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from workbench.graph.graph import Node
from workbench.graph.opdef import opdef
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.passes.rules.rewriting import Found, Rule, Site, declare

PATTERNS: dict[str, Rule] = {}


@declare(PATTERNS, "Div", "Mul")
def _norm(s: Site, node: Node) -> Found:
    """A row by the root of its mean square is an RMSNormalization; differences from its mean, a LayerNormalization."""
    for y, deviation in _quotients(s, node):
        root = s.maker(deviation, "Sqrt")
        plus = s.maker(root.inputs[0], "Add") if root is not None else None
        parts = s.split(plus) if plus is not None else None
        epsilon = s.scalar(parts[1]) if parts else None
        kind = s.type(y)
        if parts is None or epsilon is None or _square_of(s, _mean_of(s, parts[0])) != y or kind.dtype != "float32":
            continue
        if kind.shape[-1] == 1 or s.type(node.outputs[0]) != kind:
            continue
        ones = s.constant(f"{node.outputs[0]}.scale", np.ones(kind.shape[-1], np.float32))
        attrs = {"axis": -1, "epsilon": float(epsilon)}
        if x := _centred(s, y):
            return [s.instead(node, "LayerNormalization", (x, ones), attrs, 17)]
        return [s.instead(node, "RMSNormalization", (y, ones), attrs, 23)]
    return None


def _quotients(s: Site, node: Node) -> Iterator[tuple[str, str]]:
    """What is divided by what: by one node, or as a product with a reciprocal."""
    if node.op == "Div":
        yield node.inputs[0], node.inputs[1]
        return
    for x, y in itertools.permutations(node.inputs):
        inverse = s.maker(y, "Reciprocal", "Div")
        if inverse is not None and (inverse.op == "Reciprocal" or s.scalar(inverse.inputs[0]) == 1):
            yield x, inverse.inputs[-1]


@declare(PATTERNS, "Mul")
def _mish(s: Site, node: Node) -> Found:
    """X * tanh(softplus(x)) is a Mish."""
    for x, y in itertools.permutations(node.inputs):
        tanh = s.maker(y, "Tanh")
        soft = s.maker(tanh.inputs[0], "Softplus") if tanh is not None else None
        if soft is not None and soft.inputs[0] == x:
            return [s.instead(node, "Mish", (x,))]
    return None


def _mean_of(s: Site, y: str) -> str | None:
    """`x`, where `y` is its mean along the last axis, which is kept as one element."""
    node = s.maker(y, "ReduceMean")
    if node is None:
        return None
    op, call = opdef(node), s.call(node)
    if not isinstance(op, Reduce) or not call.get_int("keepdims", 1):
        return None
    return node.inputs[0] if op.axes(call) == (s.type(node.inputs[0]).rank - 1,) else None


def _centred(s: Site, y: str) -> str | None:
    """`x`, where `y` is what is left of it without its mean."""
    node = s.maker(y, "Sub")
    return node.inputs[0] if node is not None and _mean_of(s, node.inputs[1]) == node.inputs[0] else None


def _square_of(s: Site, y: str | None) -> str | None:
    """`x`, where `y` is its square."""
    node = s.maker(y, "Mul", "Pow") if y else None
    if node is None:
        return None
    a, b = node.inputs
    square = s.scalar(b) == 2 if node.op == "Pow" else a == b
    return a if square else None


@declare(PATTERNS, "Mul", "Add")
def _scale_of_norm(s: Site, node: Node) -> Found:
    """What scales, then shifts each column of a normalisation of rows without scale or shift is its own."""
    parts, kinds = s.split(node), ("LayerNormalization", *(("RMSNormalization",) if node.op == "Mul" else ()))
    norm = s.maker(parts[0], *kinds) if parts and s.only(parts[0]) else None
    if parts is None or norm is None or any(norm.outputs[1:]) or len(norm.inputs) > 2:
        return None
    value, width = s.constants[parts[1]], s.type(parts[0]).shape[-1]
    last = s.call(norm).get_int("axis", -1) in (-1, s.type(parts[0]).rank - 1)
    if not last or value.shape[-1:] != (width,) or value.size != width or value.dtype != np.float32:
        return None
    if s.type(node.outputs[0]) != s.type(parts[0]):
        return None
    vector = s.constant(f"{parts[1]}.row", value.reshape(-1))
    if node.op == "Add":
        return [s.instead(node, "LayerNormalization", (*norm.inputs, vector), norm.attrs, norm.version)]
    if s.scalar(norm.inputs[1]) != 1:
        return None
    return [s.instead(node, norm.op, (norm.inputs[0], vector), norm.attrs, norm.version)]
