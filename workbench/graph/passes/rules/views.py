"""Rules about what only moves or reshapes data: chains that become one, and steps that move nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.graph.evaluation import evaluate
from workbench.graph.graph import Node
from workbench.graph.opdef import opdef, operators
from workbench.graph.ops.arrays.movement import Slice
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.passes.rules.rewriting import Found, Rule, Site, declare

VIEWS: dict[str, Rule] = {}
MOVES: dict[str, Rule] = {}

#: Operators that only give their input another shape.
_RESHAPES = tuple(operators(lambda op: op.view and not op.elementwise))
#: Largest tensor that is tried out to see whether indices only count through it.
_COUNTED = 1 << 20


def is_reshape(node: Node) -> bool:
    """Whether a node only gives its input another shape."""
    op = opdef(node)
    return op.view and not op.elementwise


def permutation(s: Site, node: Node) -> tuple[int, ...]:
    """Permutation of a Transpose."""
    return opdef(node).perm(s.call(node))


@declare(VIEWS, *_RESHAPES)
def _double_reshape(s: Site, node: Node) -> Found:
    """A reshape of a reshape is one reshape."""
    before = s.maker(node.inputs[0])
    if before is None or not is_reshape(before):
        return None
    return [s.reshape(node, before.inputs[0], s.type(node.outputs[0]).shape)]


@declare(VIEWS, "Transpose")
def _double_transpose(s: Site, node: Node) -> Found:
    """A transposition of a transposition is one transposition."""
    before = s.maker(node.inputs[0], "Transpose")
    if before is None:
        return None
    first = permutation(s, before)
    joined = tuple(first[p] for p in permutation(s, node))
    if list(joined) == sorted(joined):
        return before.inputs[0] if s.removable(node, before.inputs[0]) else None
    return [s.instead(node, "Transpose", before.inputs, {"perm": joined})]


@declare(VIEWS, "Transpose")
def _units_moved(s: Site, node: Node) -> Found:
    """A transposition that moves only dimensions of one element is a reshape."""
    shape, perm = s.type(node.inputs[0]).shape, permutation(s, node)
    if list(perm) == sorted(perm) or [p for p in perm if shape[p] != 1] != [p for p, e in enumerate(shape) if e != 1]:
        return None
    return [s.reshape(node, node.inputs[0], tuple(shape[p] for p in perm))]


@declare(VIEWS, "Transpose")
def _transpose_through_units(s: Site, node: Node) -> Found:
    """Between two transpositions, a reshape that only adds or drops dimensions of one element goes behind them."""
    view = s.maker(node.inputs[0])
    if view is None or not is_reshape(view) or s.maker(view.inputs[0], "Transpose") is None:
        return None
    old, now, perm = s.type(view.inputs[0]).shape, s.type(node.inputs[0]).shape, permutation(s, node)
    if [e for e in old if e != 1] != [e for e in now if e != 1]:
        return None
    dims = dict(zip([d for d, e in enumerate(now) if e != 1], [d for d, e in enumerate(old) if e != 1], strict=True))
    units = tuple(d for d, e in enumerate(old) if e == 1)
    moved = s.new(
        "Transpose",
        view.inputs[:1],
        f"{node.outputs[0]}.moved",
        {"perm": (*units, *(dims[p] for p in perm if now[p] != 1))},
    )
    return [moved, s.reshape(node, moved.outputs[0], s.type(node.outputs[0]).shape)]


@declare(VIEWS)
def _nothing_changes(s: Site, node: Node) -> Found:
    """Identity, Dropout, and what reshapes, moves, repeats or converts a tensor to itself."""
    x = node.inputs[0] if node.inputs else ""
    same = x and s.type(x) == s.type(node.outputs[0])
    return x if same and opdef(node).idle(s.call(node)) else None


def ranges(s: Site, node: Node) -> list[tuple[int, int, int]]:
    """(start, count, step) of each dimension of a Slice."""
    op = opdef(node)
    assert isinstance(op, Slice)
    return op.ranges(s.call(node))


@declare(MOVES, "Concat")
def _concat_of_concat(s: Site, node: Node) -> Found:
    """A part of a concatenation that is a concatenation along the same axis, and nothing else, is its parts."""
    rank = s.type(node.outputs[0]).rank
    axis = s.call(node).get_int("axis", 1) % rank
    parts: list[str] = []
    for i in node.inputs:
        inner = s.maker(i, "Concat") if s.only(i) else None
        same = inner is not None and s.call(inner).get_int("axis", 1) % rank == axis
        parts += inner.inputs if inner is not None and same else [i]
    return [replace(node, inputs=tuple(parts))] if len(parts) != len(node.inputs) else None


@declare(MOVES, "Slice")
def _slice_of_concat(s: Site, node: Node) -> Found:
    """A slice that lies inside of one part of a concatenation is a slice of that part."""
    whole = s.maker(node.inputs[0], "Concat")
    if whole is None:
        return None
    cuts, shape = ranges(s, node), s.type(node.inputs[0]).shape
    axis = s.call(whole).get_int("axis", 1) % len(shape)
    if any(c != (0, e, 1) for d, (c, e) in enumerate(zip(cuts, shape, strict=True)) if d != axis) or cuts[axis][2] != 1:
        return None
    at, (start, count, _) = 0, cuts[axis]
    for part in whole.inputs:
        long = s.type(part).shape[axis]
        if at <= start and start + count <= at + long:
            if count == long:
                return part
            attrs = {"starts": (start - at,), "ends": (start - at + count,), "axes": (axis,)}
            return [s.instead(node, "Slice", (part,), attrs, 9)]
        at += long
    return None


@declare(VIEWS, *_RESHAPES)
def _reshape_of_slice(s: Site, node: Node) -> Found:
    """A reshape that divides the last dimension of a slice along it is a slice of such a reshape, which is a view."""
    cut = s.maker(node.inputs[0], "Slice")
    if cut is None or not s.only(node.inputs[0]):
        return None
    x, part, out = s.type(cut.inputs[0]).shape, s.type(node.inputs[0]).shape, s.type(node.outputs[0]).shape
    cuts = ranges(s, cut)
    plain = all(c == (0, e, 1) for c, e in zip(cuts[:-1], x[:-1], strict=True)) and cuts[-1][2] == 1
    if not plain or len(out) < 2 or part[-1] == 1:
        return None
    for d in range(len(out) - 1, 0, -1):  # the dimensions from d on divide the slice's last one into rows
        inner = int(np.prod(out[d + 1 :])) if d + 1 < len(out) else 1
        if out[d] * inner == part[-1] and inner > 1 and cuts[-1][0] % inner == 0 and x[-1] % inner == 0:
            break
    else:
        return None
    start, base = cuts[-1][0] // inner, node.outputs[0]
    target = s.constant(f"{base}.whole", np.array((*out[:d], x[-1] // inner, *out[d + 1 :]), np.int64))
    view = s.new("Reshape", (cut.inputs[0], target), f"{base}.rows")
    attrs = {"starts": (start,), "ends": (start + out[d],), "axes": (d,)}
    return [view, s.instead(node, "Slice", view.outputs, attrs, 9)]


@declare(MOVES, *operators(lambda op: op.picks))
def _counting_indices(s: Site, node: Node) -> Found:
    """Reading all elements of a tensor in their order, by constant indices, is a reshape."""
    x, out = s.type(node.inputs[0]), s.type(node.outputs[0])
    if x.size != out.size or not 0 < x.size <= _COUNTED or any(i not in s.constants for i in node.inputs[1:] if i):
        return None
    if node.inputs[0] in s.constants:
        return None
    numbers = np.arange(x.size, dtype=np.int64).reshape(x.shape)
    call = s.call(node)
    typed = replace(call, types=(replace(x, dtype="int64"), *call.types[1:]))
    found = evaluate(typed, numbers, *call.values[1:])[0]
    same = np.array_equal(np.asarray(found).reshape(-1), numbers.reshape(-1))
    return [s.reshape(node, node.inputs[0], out.shape)] if same else None


@declare(MOVES, *operators(lambda op: isinstance(op, Reduce) and op.plain))
def _reduce_of_one(s: Site, node: Node) -> Found:
    """A sum, mean, product, maximum or minimum of one element is that element."""
    op, x = opdef(node), s.type(node.inputs[0])
    if not isinstance(op, Reduce) or any(x.shape[a] != 1 for a in op.axes(s.call(node))):
        return None
    return [s.reshape(node, node.inputs[0], s.type(node.outputs[0]).shape)]
