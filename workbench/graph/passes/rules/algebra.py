"""Rules of algebra: what element-wise operators make superfluous, or can be said by cheaper ones.

All of them are exact for finite numbers, but for `mul_chain`, `cube` and `gelu`, which round at other places than the
model.
"""

from __future__ import annotations

import math

import numpy as np

from workbench.graph.graph import Node
from workbench.graph.opdef import opdef, operators
from workbench.graph.ops.math.elementwise import largest
from workbench.graph.passes.rules.rewriting import Found, Rule, Site, declare

ALGEBRA: dict[str, Rule] = {}

#: Operators whose results are never below zero (they may be NaN).
NOT_NEGATIVE = tuple(operators(lambda op: op.not_negative))


def _kept(s: Site, node: Node, x: str) -> str | None:
    """`x`, when it has the type of the node's result."""
    return x if s.type(x) == s.type(node.outputs[0]) else None


def _float(s: Site, x: str) -> bool:
    return s.type(x).dtype.startswith("float")


@declare(ALGEBRA, *operators(lambda op: op.identity is not None))
def _neutral_element(s: Site, node: Node) -> Found:
    """What is combined with a neutral element is itself: x * 1, x / 1, x + 0, x - 0, x and true, x or false."""
    op = opdef(node)
    if len(node.inputs) != 2:
        return None
    a, b = node.inputs
    if s.scalar(b) == op.identity:
        return _kept(s, node, a)
    return _kept(s, node, b) if op.commutative and s.scalar(a) == op.identity else None


@declare(ALGEBRA, "Where")
def _one_branch(s: Site, node: Node) -> Found:
    """A choice by a constant that is the same everywhere, or between equal branches, is that branch."""
    cond, a, b = node.inputs
    if a == b:
        return _kept(s, node, a)
    known = s.value(cond)
    if known is None or not known.size or (known.any() and not known.all()):
        return None
    return _kept(s, node, a if known.all() else b)


@declare(ALGEBRA, "Pow")
def _square(s: Site, node: Node) -> Found:
    """X to the power of 2 is x * x."""
    x = node.inputs[0]
    if s.scalar(node.inputs[1]) != 2 or s.type(x) != s.type(node.outputs[0]):
        return None
    return [s.instead(node, "Mul", (x, x))]


@declare(ALGEBRA, "Pow")
def _cube(s: Site, node: Node) -> Found:
    """X to the power of 3 is x * x * x."""
    x = node.inputs[0]
    if s.scalar(node.inputs[1]) != 3 or s.type(x) != s.type(node.outputs[0]) or not _float(s, x):
        return None
    square = s.new("Mul", (x, x), f"{node.outputs[0]}.square")
    return [square, s.instead(node, "Mul", (*square.outputs, x))]


@declare(ALGEBRA, "Div")
def _reciprocal_factor(s: Site, node: Node) -> Found:
    """X / c is x * (1 / c) where c holds powers of two only, so that nothing is rounded."""
    x, c = node.inputs
    v = s.value(c)
    if v is None or not _float(s, x) or not v.size or x in s.constants:
        return None
    with np.errstate(all="ignore"):
        inverse = (1 / v).astype(v.dtype)
        exact = np.isfinite(v) & np.isfinite(inverse) & (np.abs(np.frexp(v)[0]) == 0.5)
        exact &= np.abs(inverse) >= np.finfo(v.dtype).tiny
    return [s.instead(node, "Mul", (x, s.constant(f"{c}.inverse", inverse)))] if exact.all() else None


@declare(ALGEBRA, "Mul")
def _mul_chain(s: Site, node: Node) -> Found:
    """(x * a) * b is x * (a * b) for two constants, where the product is a normal number."""
    parts = s.split(node)
    before = s.maker(parts[0], "Mul") if parts else None
    inner = s.split(before) if before is not None else None
    if parts is None or before is None or inner is None or not _float(s, parts[0]) or not s.only(parts[0]):
        return None
    a, b = s.constants[inner[1]], s.constants[parts[1]]
    with np.errstate(all="ignore"):
        joined = (a.astype(np.float64) * b.astype(np.float64)).astype(a.dtype)
    normal = np.isfinite(joined).all() and (np.abs(joined) >= np.finfo(joined.dtype).tiny).all()
    small = joined.size <= max(a.size, b.size)
    return [s.instead(node, "Mul", (inner[0], s.constant(f"{parts[1]}.product", joined)))] if normal and small else None


@declare(ALGEBRA, "Add", "Sub")
def _add_negative(s: Site, node: Node) -> Found:
    """X + (-y) is x - y, and x - (-y) is x + y."""
    a, b = node.inputs
    other = "Sub" if node.op == "Add" else "Add"
    if (minus := s.maker(b, "Neg")) is not None:
        return [s.instead(node, other, (a, minus.inputs[0]))]
    if node.op == "Add" and (minus := s.maker(a, "Neg")) is not None:
        return [s.instead(node, "Sub", (b, minus.inputs[0]))]
    return None


@declare(ALGEBRA, "Mul", "Div")
def _minus_one(s: Site, node: Node) -> Found:
    """X * -1 and x / -1 are -x."""
    a, b = node.inputs
    if s.scalar(a) == -1 and node.op == "Mul":
        a, b = b, a
    same = s.scalar(b) == -1 and a not in s.constants and s.type(a) == s.type(node.outputs[0])
    return [s.instead(node, "Neg", (a,))] if same else None


@declare(ALGEBRA, *operators(lambda op: op.involution))
def _twice_is_nothing(s: Site, node: Node) -> Found:
    """-(-x) and not (not x) are x."""
    before = s.maker(node.inputs[0], node.op)
    return before.inputs[0] if before is not None else None


@declare(ALGEBRA, *operators(lambda op: op.idempotent), "Sign")
def _twice_is_once(s: Site, node: Node) -> Found:
    """Relu, Abs, Floor, Ceil, Round and Sign of themselves are themselves."""
    return node.inputs[0] if s.maker(node.inputs[0], node.op) is not None else None


@declare(ALGEBRA, "Relu", "Abs")
def _never_negative(s: Site, node: Node) -> Found:
    """Relu and Abs change nothing where nothing is below zero."""
    before = s.maker(node.inputs[0], *NOT_NEGATIVE)
    if before is None or s.type(node.inputs[0]).dtype.startswith("int"):
        return None
    return node.inputs[0]


# ---- limits ----


def _limits(s: Site, node: Node) -> tuple[str, float, float] | None:
    """What a node limits, and to which numbers: Relu, Clip, and Max or Min with one number."""
    if node.op == "Relu":
        return node.inputs[0], 0.0, math.inf
    if node.op in ("Max", "Min"):
        parts = s.split(node)
        bound = s.scalar(parts[1]) if parts else None
        if parts is None or bound is None or s.type(parts[0]) != s.type(node.outputs[0]):
            return None
        return (parts[0], bound, math.inf) if node.op == "Max" else (parts[0], -math.inf, bound)
    if node.op != "Clip":
        return None
    end = largest(s.type(node.inputs[0]).dtype) or math.inf
    if node.version < 11:
        low, high = (node.attrs.get(k, d) for k, d in (("min", -end), ("max", end)))
        return (
            (node.inputs[0], float(low), float(high))
            if isinstance(low, float | int) and isinstance(high, float | int)
            else None
        )
    given = [s.scalar(i) if i else d for i, d in zip((*node.inputs[1:], "", "")[:2], (-end, end), strict=True)]
    return None if given[0] is None or given[1] is None else (node.inputs[0], float(given[0]), float(given[1]))


def _limited(s: Site, node: Node, x: str, low: float, high: float) -> Found:
    if low == -math.inf and high == math.inf:
        return _kept(s, node, x)
    if low == 0 and high == math.inf:
        return [s.instead(node, "Relu", (x,))]
    dtype, base = s.type(x).dtype, node.outputs[0]
    least, most = (s.constant(f"{base}.{word}", np.array(v, dtype)) for word, v in (("min", low), ("max", high)))
    if high == math.inf:
        return [s.instead(node, "Max", (x, least))]
    return [s.instead(node, "Min", (x, most)) if low == -math.inf else s.instead(node, "Clip", (x, least, most))]


@declare(ALGEBRA, "Relu", "Clip", "Max", "Min")
def _joined_limits(s: Site, node: Node) -> Found:
    """Limits of limits (Relu, Clip, Max and Min with a number) are one pair of limits."""
    outer = _limits(s, node)
    before = s.maker(outer[0], "Relu", "Clip", "Max", "Min") if outer else None
    inner = _limits(s, before) if before is not None else None
    if (
        outer is None
        or inner is None
        or not _float(s, outer[0])
        or not outer[1] <= outer[2]
        or not inner[1] <= inner[2]
    ):
        return None
    low, high = (min(max(v, outer[1]), outer[2]) for v in inner[1:])
    return _limited(s, node, inner[0], low, high)


@declare(ALGEBRA, "Clip", "Max", "Min")
def _limits_in_one_way(s: Site, node: Node) -> Found:
    """Limits from zero up are a Relu, and limits that are none are the tensor itself."""
    found = _limits(s, node)
    if found is None or not _float(s, found[0]) or found[2] != math.inf or found[1] not in (0.0, -math.inf):
        return None
    return _limited(s, node, *found)


# ---- more than one operator ----


@declare(ALGEBRA, "Cast")
def _double_cast(s: Site, node: Node) -> Found:
    """A conversion that loses nothing, before another one, can be left out."""
    before = s.maker(node.inputs[0], "Cast")
    if before is None:
        return None
    first, middle, last = (s.type(x).dtype for x in (before.inputs[0], node.inputs[0], node.outputs[0]))
    rounds = np.dtype(first).kind in "iu" and np.dtype(first).itemsize == 8 and np.dtype(middle).kind == "f"
    if rounds or not np.can_cast(np.dtype(first), np.dtype(middle), "safe"):  # NumPy calls the former safe
        return None
    return before.inputs[0] if first == last else [s.instead(node, "Cast", before.inputs, node.attrs, node.version)]


@declare(ALGEBRA, *operators(lambda op: op.broadcasts))
def _expand_before_broadcast(s: Site, node: Node) -> Found:
    """An Expand is left out where the operator that reads it broadcasts to the same shape anyway."""
    for k, i in enumerate(node.inputs):
        before = s.maker(i, "Expand")
        if before is None or before.inputs[0] in s.constants:
            continue
        inputs = (*node.inputs[:k], before.inputs[0], *node.inputs[k + 1 :])
        if np.broadcast_shapes(*(s.type(x).shape for x in inputs)) == s.type(node.outputs[0]).shape:
            return [s.instead(node, node.op, inputs, node.attrs, node.version)]
    return None


@declare(ALGEBRA, "Mul")
def _gelu(s: Site, node: Node) -> Found:
    """X * (1 + erf(x / r)) * 0.5 is x * (0.5 + 0.5 * erf(x * (1 / r))): a division and a product less."""
    for x, inner in _gelu_factors(s, node):
        plus = s.maker(inner, "Add")
        parts = s.split(plus) if plus is not None else None
        erf = s.maker(parts[0], "Erf") if parts and s.scalar(parts[1]) == 1 else None
        if erf is None or not s.only(inner) or not s.only(erf.outputs[0]) or not s.only(erf.inputs[0]):
            continue
        factor = _erf_factor(s, erf.inputs[0], x)
        if factor is None or s.type(x) != s.type(node.outputs[0]):
            continue
        dtype, base = np.dtype(s.type(x).dtype), node.outputs[0]
        half = s.constant(f"{base}.half", np.array(0.5, dtype))
        scaled = s.new("Mul", (x, s.constant(f"{base}.factor", np.array(factor, dtype))), f"{base}.scaled")
        curve = s.new("Erf", scaled.outputs, f"{base}.erf")
        halved = s.new("Mul", (*curve.outputs, half), f"{base}.halved")
        gate = s.new("Add", (*halved.outputs, half), f"{base}.gate")
        return [scaled, curve, halved, gate, s.instead(node, "Mul", (x, *gate.outputs))]
    return None


def _gelu_factors(s: Site, node: Node) -> list[tuple[str, str]]:
    """Pairs (x, other factor) of a product of three with one half."""
    if (parts := s.split(node)) is not None:  # (x * other) * 0.5
        before = s.maker(parts[0], "Mul")
        if s.scalar(parts[1]) != 0.5 or before is None or not s.only(parts[0]) or s.split(before) is not None:
            return []
        a, b = before.inputs
        return [(a, b), (b, a)]
    found = []
    for half, other in (node.inputs, node.inputs[::-1]):  # (x * 0.5) * other, x * (0.5 * other)
        before = s.maker(half, "Mul")
        parts = s.split(before) if before is not None and s.only(half) else None
        if parts is not None and s.scalar(parts[1]) == 0.5:
            found += [(parts[0], other), (other, parts[0])]
    return found


def _erf_factor(s: Site, x: str, source: str) -> float | None:
    """`f`, where the tensor `x` is ``source * f``."""
    node = s.maker(x, "Div", "Mul")
    if node is None or len(node.inputs) != 2:
        return None
    a, b = node.inputs
    if node.op == "Mul" and b == source:
        a, b = b, a
    value = s.scalar(b)
    if a != source or value is None or not value:
        return None
    return 1.0 / value if node.op == "Div" else value
