"""What operators need of the padding of their inputs, so that what counts of their results is as without it.

A tensor is ragged along an axis where its length follows from open dimensions: it has the largest length, and its
first elements count. What stands behind them may be anything (infinite, NaN), unless a rule asks for a value. A result
is as it would be without padding in its first elements, along each axis that is longer than it would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import TensorType
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.ops.counted import Counted
from workbench.graph.ops.lowering import Window
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.ops.nn.conv_transpose import TransposedShape, transposed_shape
from workbench.graph.ops.nn.pool import pool_window

#: What padding holds, along an axis of an input; the numbers of the element type that no other is below, or above.
Fill: TypeAlias = float
Fills: TypeAlias = Mapping[tuple[int, int], Fill]
LOWEST, HIGHEST = -math.inf, math.inf

#: Inputs that may say a length that is open, by operator; those of other operators have to be the same for all.
LENGTHS = {
    "Reshape": (1,),
    "Expand": (1,),
    "Slice": (1, 2),
    "Range": (1,),
    "ConstantOfShape": (0,),
    "Resize": (3,),
}


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A node for two sizes: the largest, and one below.

    Attributes
    ----------
    large, small : Call
    outs, less : tuple of TensorType
        Of the results, for both.
    ragged : tuple of frozenset of int
        Axes of each input along which only the first elements count.
    """

    large: Call
    small: Call
    outs: tuple[TensorType, ...]
    less: tuple[TensorType, ...]
    ragged: tuple[frozenset[int], ...]

    def axes(self) -> Iterator[tuple[int, int]]:
        """Inputs with their ragged axes."""
        return ((i, axis) for i, found in enumerate(self.ragged) for axis in sorted(found))

    def refuse(self, why: str) -> ModelError:
        """Error for what has no rule."""
        hint = "give it fixed lengths, or compile for what comes: load_onnx(path, dynamic=True)"
        return self.large.error("padding", f"{why}, so its results depend on how long the padding is", hint)

    def plain(self, fine: Callable[[int, int], bool], why: str) -> Fills:
        """No fills, where something holds for every ragged axis."""
        if not all(fine(i, axis) for i, axis in self.axes()):
            raise self.refuse(why)
        return {}


Rule: TypeAlias = Callable[[Use], Fills]
_RULES: dict[str, Rule] = {}


def rule_of(c: Call) -> Rule | None:
    """Rule of an operator; None where there is none."""
    op = opdef(c.node)
    if c.node.domain and not isinstance(op, Counted):
        return None
    if op.name in _RULES:
        return _RULES[op.name]
    if isinstance(op, Reduce):
        return _reduction
    if op.rearranges and not op.transposes:
        return _view
    return _pointwise if op.elementwise or op.broadcasts or op.name == "Expand" else None


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def wrap(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return wrap


def _pointwise(u: Use) -> Fills:
    def aligned(i: int, axis: int) -> bool:
        at = axis - len(u.large.shape(i)) + u.outs[0].rank
        same = u.outs[0].shape[at] == u.large.shape(i)[axis] and u.less[0].shape[at] == u.small.shape(i)[axis]
        return at >= 0 and same

    return u.plain(aligned, "broadcasts an axis of open length")


def _view(u: Use) -> Fills:
    """Axes in groups of equal size before and after; only the first of a group may be open."""
    shapes = (u.large.shape(0), u.small.shape(0)), (u.outs[0].shape, u.less[0].shape)
    sides = [[p for p in zip(*pair, strict=True) if p != (1, 1)] for pair in shapes]
    while sides[0] or sides[1]:
        groups: list[list[tuple[int, int]]] = [[], []]
        sizes = [(1, 1), (1, 1)]
        while not (groups[0] and groups[1] and sizes[0] == sizes[1]):
            short = int(bool(groups[0]) and (not groups[1] or sizes[1] < sizes[0]))
            if not sides[short]:
                raise u.refuse("divides or joins axes of open length")
            found = sides[short].pop(0)
            groups[short].append(found)
            sizes[short] = sizes[short][0] * found[0], sizes[short][1] * found[1]
        if any(a != b for g in groups for a, b in g[1:]):
            raise u.refuse("joins an axis of open length to one before it")
    return {}


@_rule("Transpose", "Range", "ConstantOfShape", "Trilu")
def _as_it_is(u: Use) -> Fills:
    if u.large.node.op == "Range":
        first = [[c.scalar(i) for i in (0, 2)] for c in (u.large, u.small)]
        if first[0] != first[1] or None in first[0]:
            raise u.refuse("begins at, or steps by, an open length")
    return {}


@_rule("Slice")
def _slice(u: Use) -> Fills:
    op = opdef(u.large.node)
    ranges = (op.ranges(c) for c in (u.large, u.small))  # type: ignore[attr-defined]
    if any(a[::2] != b[::2] for a, b in zip(*ranges, strict=True)):
        raise u.refuse("takes a part that is counted from an open end")
    return {}


@_rule("Concat")
def _concat(u: Use) -> Fills:
    axis, last = u.large.named_axis(0), len(u.ragged) - 1
    return u.plain(lambda i, a: a != axis or i == last, "appends to an axis of open length")


@_rule("Split")
def _split(u: Use) -> Fills:
    axis = u.large.named_axis(0)
    return u.plain(lambda i, a: i == 0 and a != axis, "divides an axis of open length")


@_rule("Gather")
def _gather(u: Use) -> Fills:
    axis = u.large.named_axis(0)
    if axis in u.ragged[0]:
        at, less = u.large.values[1], u.small.values[1]
        fixed = at is not None and less is not None and np.array_equal(at, less)
        if at is None or not fixed or np.min(at, initial=0) < 0 or np.max(at, initial=0) >= u.small.shape(0)[axis]:
            raise u.refuse("chooses places along an axis of open length")
    return {}


@_rule("Tile")
def _tile(u: Use) -> Fills:
    times = u.large.constant(1, "repeats")
    return u.plain(lambda i, axis: i == 0 and times[axis] == 1, "repeats an axis of open length")


@_rule("MatMul")
def _matmul(u: Use) -> Fills:
    return _product(u, (len(u.large.shape(0)) - 1, max(len(u.large.shape(1)) - 2, 0)))


@_rule("Gemm")
def _gemm(u: Use) -> Fills:
    return _product(u, (1 - bool(u.large.get_int("transA", 0)), int(bool(u.large.get_int("transB", 0)))))


def _product(u: Use, summed: tuple[int, int]) -> Fills:
    return {(i, axis): 0.0 for i, axis in u.axes() if i < 2 and axis == summed[i]}


@_rule("Softmax", "LogSoftmax")
def _softmax(u: Use) -> Fills:
    rank, old = len(u.large.shape(0)), u.large.version < 13
    axis = u.large.get_int("axis", 1 if old else -1) % rank
    return {(0, a): LOWEST for a in u.ragged[0] if a == axis or (old and a > axis)}


def _reduction(u: Use) -> Fills:
    """What changes no result; a mean over open axes is written as a sum before (`padded_graph`)."""
    op = opdef(u.large.node)
    assert isinstance(op, Reduce)
    kind = "max" if op.name == "ReduceLogSumExp" else op.kind
    fill = {"sum": 0.0, "max": LOWEST, "min": HIGHEST, "prod": 1.0}[kind]
    return {(0, a): fill for a in u.ragged[0] if a in op.axes(u.large)}


@_rule("ArgMax", "ArgMin", "TopK")
def _extreme(u: Use) -> Fills:
    c = u.large
    axis = c.get_int("axis", -1 if c.node.op == "TopK" else 0) % len(c.shape(0))
    if c.get_int("select_last_index", 0) and axis in u.ragged[0]:
        raise u.refuse("takes the last of equal elements")
    lowest = c.node.op == "ArgMax" or (c.node.op == "TopK" and bool(c.get_int("largest", 1)))
    return {(0, a): LOWEST if lowest else HIGHEST for a in u.ragged[0] if a == axis}


@_rule("CumSum", "CumProd")
def _running(u: Use) -> Fills:
    return u.plain(lambda i, _: i == 0 and not u.large.get_int("reverse", 0), "sums from an open end")


@_rule("BatchNormalization", "LRN")
def _channels(u: Use) -> Fills:
    return u.plain(lambda i, axis: i == 0 and axis != 1, "has an open number of channels")


@_rule("LayerNormalization", "RMSNormalization")
def _rows(u: Use) -> Fills:
    first = u.large.get_int("axis", -1) % len(u.large.shape(0))
    return u.plain(lambda i, axis: i == 0 and axis < first, "divides by an open number of elements")


@_rule("InstanceNormalization", "GroupNormalization")
def _images(u: Use) -> Fills:
    return u.plain(lambda i, axis: i == axis == 0, "divides by an open number of elements")


@_rule("RNN", "GRU", "LSTM")
def _steps(u: Use) -> Fills:
    c = u.large
    prefix = c.get_str("direction", "forward") == "forward" and not any(c.node.outputs[1:]) and not c.has(4)
    time = c.get_int("layout", 0)
    return u.plain(
        lambda i, axis: axis != time or (i == 0 and prefix), "goes through an open number of steps backwards"
    )


# ---- what data choose ----


@_rule("NonMaxSuppression")
def _boxes(u: Use) -> Fills:
    """No score is above the lowest number, so such boxes are not looked at."""
    return {(i, axis): LOWEST for i, axis in u.axes() if i == 1}


@_rule("NonZero")
def _places(u: Use) -> Fills:
    return {(0, axis): 0.0 for axis in u.ragged[0]}


@_rule("Compress")
def _marked(u: Use) -> Fills:
    x, flat = u.large.shape(0), "axis" not in u.large.node.attrs
    along = {d for d in range(len(x)) if math.prod(x[:d]) == 1} if flat else {u.large.named_axis(0)}
    if (flat and u.ragged[0] - along) or (not u.ragged[1] and u.ragged[0] & along):
        raise u.refuse("chooses along axes of open length, or ones joined to them")
    return {(1, 0): 0.0} if u.ragged[1] else {}


# ---- windows ----


def _windows(u: Use, of: Callable[[Call], Window | TransposedShape], fill: Fill, always: bool = False) -> Fills:
    """Windows of an image along its ragged axes; where more than one element is looked at, the others are `fill`."""
    large, small = of(u.large), of(u.small)
    found: dict[tuple[int, int], Fill] = {}
    for i, axis in u.axes():
        if i != 0 or axis == 1:
            raise u.refuse("has an open number of channels or weights")
        d = axis - 2
        if d >= 0 and (large.begin[d], large.strides[d], large.kernel[d]) != (
            small.begin[d], small.strides[d], small.kernel[d],
        ):  # fmt: skip
            raise u.refuse("begins at a place that depends on an open length")
        if d >= 0 and (always or large.kernel[d] > 1 or large.begin[d]):
            found[0, axis] = fill
    return found


@_rule("Conv")
def _conv(u: Use) -> Fills:
    return _windows(u, lambda c: conv_shape(c).win, 0.0)


@_rule("ConvTranspose")
def _conv_transpose(u: Use) -> Fills:
    return _windows(u, transposed_shape, 0.0, always=True)


@_rule("MaxPool")
def _max_pool(u: Use) -> Fills:
    if any(u.large.node.outputs[1:]):
        raise u.refuse("gives places in an image of open size")
    return _windows(u, pool_window, LOWEST)


@_rule("AveragePool", "LpPool")
def _average_pool(u: Use) -> Fills:
    c, small = u.large, pool_window(u.small)
    counted = c.node.op == "LpPool" or bool(c.get_int("count_include_pad", 0))
    inside = all(small.reach(a - 2) <= small.size[a - 2] for i, a in u.axes() if i == 0 and a > 1)
    if c.get_int("ceil_mode", 0) or not (counted or inside):
        raise u.refuse("divides by an open number of elements at the end of an image")
    return _windows(u, pool_window, 0.0)


@_rule("GlobalMaxPool", "GlobalAveragePool")
def _largest(u: Use) -> Fills:
    return {(0, a): LOWEST for a in u.ragged[0] if a > 1}


@_rule("Pad")
def _pad(u: Use) -> Fills:
    c = u.large
    rank, constant = len(c.shape(0)), c.get_str("mode", "constant") == "constant"
    if c.has(3) or c.version < 11 or (constant and c.moving(2)):
        raise u.refuse("is padded along axes or with a number that are known at run time")
    pads = c.constant(1, "pads").reshape(-1)
    if not constant and any(pads[a + rank] for a in u.ragged[0]):
        raise u.refuse("repeats elements at an open end")
    return {(0, a): c.scalar(2) or 0.0 for a in u.ragged[0] if pads[a + rank] > 0}


@_rule("Resize")
def _resize(u: Use) -> Fills:
    """Enlarging by whole numbers, each element as a block: where a block begins follows from its number alone."""
    c = u.large
    nearest = c.get_str("mode", "nearest") == "nearest"
    how = c.get_str("coordinate_transformation_mode", "half_pixel")
    places = {"asymmetric": ("floor",), "half_pixel": ("round_prefer_floor", "round_prefer_ceil")}
    rounding = c.get_str("nearest_mode", "round_prefer_floor")

    def blocks(i: int, axis: int) -> bool:
        sizes = [(x.shape(0)[axis], y[0].shape[axis]) for x, y in ((u.large, u.outs), (u.small, u.less))]
        whole = all(b % a == 0 for a, b in sizes) and len({b // a for a, b in sizes}) == 1
        return i == 0 and (sizes[0][0] == sizes[0][1] or (whole and nearest and rounding in places.get(how, ())))

    return u.plain(blocks, "interpolates along an axis of open length")
