"""Where zeros can stand in the place of those that a product needs: in a tensor that several products read.

A product sums rows of V with shares that are 0 in the padding, so these rows have to be finite, and no more. They are
constants where the rows of what V is made of are 0. Written there, queries, keys and values still are products of one
tensor, which become one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from workbench.graph.model import Program
from workbench.graph.opdef import opdef
from workbench.graph.padding.rules import Use


def shared_source(program: Program, use: Callable[[int], Use], tensor: str, axis: int) -> tuple[str, int] | None:
    """A tensor and its axis, whose zeros make a tensor finite along an axis; None where one product alone reads it.

    Parameters
    ----------
    program : Program
    use : callable
        The node at a position, for both sizes.
    tensor : str
    axis : int
    """
    made = {o: k for k, node in enumerate(program.nodes) for o in node.outputs}
    while (k := made.get(tensor)) is not None:
        u, node = use(k), program.nodes[k]
        op = opdef(node)
        if node.domain:
            return None
        if node.op == "MatMul":
            x = node.inputs[0]
            alike = sum(n.op == "MatMul" and n.inputs[0] == x and _finite(program, n.inputs[1]) for n in program.nodes)
            rank = len(u.large.shape(0))
            plain = len(u.large.shape(1)) == 2 and axis < rank - 1 and _finite(program, node.inputs[1])
            return (x, axis) if plain and alike > 1 else None
        if node.op == "Transpose":
            back = range(u.outs[0].rank)[::-1]
            axis = (u.large.get_ints("perm") or back)[axis]
            tensor = node.inputs[0]
        elif op.rearranges and not op.transposes:
            found = _same_axis(u, axis)
            if found is None:
                return None
            tensor, axis = node.inputs[0], found
        elif node.op == "Add" and any(fixed := [_finite(program, i) for i in node.inputs]):
            other = fixed.index(False) if False in fixed else 0
            if len(u.large.shape(other)) != u.outs[0].rank:
                return None
            tensor = node.inputs[other]
        else:
            return None
    return None


def _finite(program: Program, tensor: str) -> bool:
    """Whether a tensor is a constant without infinities."""
    value = program.constants.get(tensor)
    return value is not None and value.dtype.kind == "f" and bool(np.isfinite(value).all())


def _same_axis(u: Use, axis: int) -> int | None:
    """The axis of what a node rearranges that an axis of its result is, for both sizes."""
    sides = (u.outs[0].shape, u.large.shape(0)), (u.less[0].shape, u.small.shape(0))

    def same(d: int) -> bool:
        return all(x[d] == y[axis] and math.prod(x[:d]) == math.prod(y[:axis]) for y, x in sides)

    return next(filter(same, range(len(sides[0][1]))), None)
