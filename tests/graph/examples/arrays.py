"""Examples of operators: arrays."""

from __future__ import annotations

import numpy as np
from graph.examples.case import Case, cases, sample

from workbench.graph.ops.arrays.gather import Gather, GatherElements, GatherND
from workbench.graph.ops.arrays.movement import Cast, Concat, Pad, Slice, Transpose
from workbench.graph.ops.arrays.repeat import Expand, OneHot, Tile, Trilu
from workbench.graph.ops.arrays.scatter import ScatterElements, ScatterND, TensorScatter
from workbench.graph.ops.arrays.shape import (
    Constant,
    ConstantOfShape,
    Dropout,
    Flatten,
    Identity,
    OptionalHasElement,
    Range,
    Reshape,
    Shape,
    Size,
    Squeeze,
    Unsqueeze,
)
from workbench.graph.ops.arrays.strings import StringNormalizer
from workbench.graph.ops.lowering import ints

_HOW = ("add", "mul", "max", "min")


@cases.register
def _gather(op: Gather) -> list[Case]:
    table, ids = sample(5, 4), np.array([[0, 4, -5], [-1, 2, 2]], np.int64)
    return [
        Case("one", (sample(3, 4, 2), np.array(1, np.int64)), {"axis": 1}, const=(1,)),
        Case("negative", (sample(3, 4), ints(-1)), const=(1,)),
        Case("known", (table, ints(3, 0, 1, 3)), const=(1,)),
        Case("rows", (table, ids)),
        Case("columns", (sample(2, 3, 4), np.array([3, -1], np.int32)), {"axis": 2}),
        Case("one at run time", (table, np.array(-2, np.int64)), {"axis": 1}),
    ]


@cases.register
def _gather_elements(op: GatherElements) -> list[Case]:
    return [
        Case("rows", (sample(3, 4), np.array([[2, 0, -1], [1, -3, 0]], np.int64))),
        Case("columns", (sample(2, 3, 4), np.array([[[3, -1, 0, 0, 2]]], np.int32)), {"axis": -1}),
    ]


@cases.register
def _gather_n_d(op: GatherND) -> list[Case]:
    pairs = np.array([[0, 1], [2, -1], [-3, 0]], np.int64)
    return [
        Case("elements", (sample(3, 4), pairs)),
        Case("slices", (sample(3, 4, 2), pairs)),
        Case("shared", (sample(2, 3, 4), np.array([[[1], [-1]], [[0], [2]]], np.int64)), {"batch_dims": 1}),
    ]


@cases.register
def _expand(op: Expand) -> list[Case]:
    return [
        Case("both ways", (sample(3, 1), ints(2, 1, 4)), const=(1,)),
        Case("fewer dimensions", (sample(2, 3, 1), ints(4)), const=(1,)),
    ]


@cases.register
def _tile(op: Tile) -> list[Case]:
    return [
        Case("2d", (sample(2, 3), ints(2, 3)), const=(1,)),
        Case("unit", (sample(1, 4), ints(3, 1)), const=(1,)),
    ]


@cases.register
def _trilu(op: Trilu) -> list[Case]:
    x = sample(2, 4, 5)
    return [
        Case("upper", (x,)),
        Case("lower", (x, np.array(1)), {"upper": 0}, const=(1,)),
        Case("upper above", (x, np.array(2)), {"upper": 1}, const=(1,)),
    ]


@cases.register
def _one_hot(op: OneHot) -> list[Case]:
    values = np.array([0.5, 2], np.float32)
    return [
        Case("last", (ints(0, 2, -1, 7), np.array(3), values), const=(1,)),
        Case("first", (ints(0, 2, -1, -4).reshape(2, 2), ints(3), values), {"axis": 0}, const=(1,)),
        Case("fractions", (sample(3, low=1.0), np.array(3.0, np.float32), values), const=(1,)),
    ]


@cases.register
def _scatter_elements(op: ScatterElements) -> list[Case]:
    x, at, new = sample(3, 4), np.array([[2, 0, -1, 1], [1, -3, 0, 0]], np.int64), sample(2, 4)
    part = np.array([[1, -1, 0]], np.int32)
    same = np.array([[1, 1, 1, 1], [1, -2, 0, 0]], np.int64)
    joined = [Case(how, (x, same, new), {"reduction": how}, version=18) for how in _HOW]
    return [
        Case("rows", (x, at, new)),
        Case("columns of the first row", (x, part, sample(1, 3)), {"axis": 1}),
        Case("whole numbers", ((x * 9).astype(np.int64), at, (new * 9).astype(np.int64))),
        *joined,
    ]  # fmt: skip


@cases.register
def _scatter_n_d(op: ScatterND) -> list[Case]:
    x, pairs = sample(3, 4, 2), np.array([[0, 1], [2, -1], [-2, 0]], np.int64)
    same = np.array([[0, 1], [2, -1], [0, 1]], np.int64)
    grid = np.array([[[0, 1], [2, 3]], [[1, 1], [2, 0]]], np.int64)
    joined = [
        Case(how, (x, same, sample(3, 2)), {"reduction": how}, version=18) for how in ("add", "mul", "max", "min")
    ]
    return [
        Case("slices", (x, pairs, sample(3, 2))),
        Case("elements", (sample(3, 4), pairs, sample(3))),
        Case("in two dimensions", (x, grid, sample(2, 2, 2))),
        *joined,
    ]


@cases.register
def _reshape(op: Reshape) -> list[Case]:
    x = sample(2, 3, 4)
    return [
        Case("flat", (x, ints(6, 4)), const=(1,)),
        Case("split", (x, ints(2, 3, 2, 2)), const=(1,)),
        Case("rest", (x, ints(0, -1)), const=(1,)),
        Case("channel groups", (sample(1, 6, 2, 2), ints(1, 2, 3, 2, 2)), const=(1,)),
    ]


@cases.register
def _flatten(op: Flatten) -> list[Case]:
    return [Case("default", (sample(2, 3, 4),)), Case("axis", (sample(2, 3, 4),), {"axis": 2})]


@cases.register
def _squeeze(op: Squeeze) -> list[Case]:
    x = sample(1, 3, 1, 4)
    return [
        Case("attribute", (x,), {"axes": (0,)}, version=11),
        Case("input", (x, ints(2)), const=(1,)),
        Case("all", (x,)),
    ]


@cases.register
def _unsqueeze(op: Unsqueeze) -> list[Case]:
    return [
        Case("attribute", (sample(3, 4),), {"axes": (0, 2)}, version=11),
        Case("input", (sample(3, 4), ints(-1)), const=(1,)),
    ]


@cases.register
def _identity(op: Identity) -> list[Case]:
    return [Case("2d", (sample(3, 4),))]


@cases.register
def _optional_has_element(op: OptionalHasElement) -> list[Case]:
    return [Case("tensor", (sample(2, 3),)), Case("nothing", ())]


@cases.register
def _dropout(op: Dropout) -> list[Case]:
    return [
        Case("opset 9", (sample(3, 4),), {"ratio": 0.5}, version=9),
        Case("mask", (sample(3, 4),), outputs=2, version=9),
    ]


@cases.register
def _shape(op: Shape) -> list[Case]:
    return [Case("all", (sample(2, 3, 4),)), Case("part", (sample(2, 3, 4),), {"start": 1, "end": -1})]


@cases.register
def _size(op: Size) -> list[Case]:
    return [Case("all", (sample(2, 3, 4),)), Case("one", (np.array(1.0, np.float32),))]


@cases.register
def _constant(op: Constant) -> list[Case]:
    return [
        Case("tensor", (), {"value": sample(2, 2)}),
        Case("ints", (), {"value_ints": (1, 2)}),
        Case("float", (), {"value_float": 0.5}),
    ]


@cases.register
def _constant_of_shape(op: ConstantOfShape) -> list[Case]:
    return [
        Case("default", (ints(2, 3),), const=(0,)),
        Case("value", (ints(4),), {"value": np.array([7], np.int64)}, const=(0,)),
    ]


@cases.register
def _range(op: Range) -> list[Case]:
    return [
        Case("up", (np.array(1), np.array(8), np.array(3)), const=(0, 1, 2)),
        Case("down", (np.array(5), np.array(-2), np.array(-2)), const=(0, 1, 2)),
        Case("none", (np.array(5), np.array(5), np.array(1)), const=(0, 1, 2)),
        Case("fractions", tuple(np.array(v, np.float32) for v in (0, 1, 0.25)), const=(0, 1, 2)),
    ]


@cases.register
def _concat(op: Concat) -> list[Case]:
    return [
        Case("channels", (sample(1, 2, 3, 2), sample(1, 4, 3, 2)), {"axis": 1}),
        Case("last of three", (sample(2, 3), sample(2, 1), sample(2, 2)), {"axis": -1}),
    ]


@cases.register
def _transpose(op: Transpose) -> list[Case]:
    return [Case("2d", (sample(3, 4),)), Case("to nhwc", (sample(1, 2, 3, 4),), {"perm": (0, 2, 3, 1)})]


@cases.register
def _cast(op: Cast) -> list[Case]:
    return [Case("to int", (sample(3, 4) * 5,), {"to": 6}), Case("to float", (ints(1, -2, 3),), {"to": 1})]


@cases.register
def _slice(op: Slice) -> list[Case]:
    x = sample(4, 6, 5)
    return [
        Case("attributes", (x,), {"starts": (1, 0), "ends": (3, -1), "axes": (0, 2)}, version=9),
        Case("inputs", (x, ints(1, 0), ints(3, 2**62), ints(0, 1), ints(1, 2)), const=(1, 2, 3, 4)),
        Case("from before the first", (x, ints(-9, -9), ints(-20, 9), ints(1, 2), ints(-1, 2)), const=(1, 2, 3, 4)),
        Case("backwards", (x, ints(-1), ints(-(2**62)), ints(1), ints(-2)), const=(1, 2, 3, 4)),
    ]


@cases.register
def _pad(op: Pad) -> list[Case]:
    x = sample(2, 3, 4)
    return [
        Case("attributes", (x,), {"pads": (0, 1, 0, 0, 0, 2), "value": 0.5}, version=9),
        Case("inputs", (x, ints(0, 1, 1, 1, 0, 0), np.array(-1.0, np.float32)), const=(1, 2)),
        Case("edge", (x, ints(0, 2, 1, 1, 0, 5)), {"mode": "edge"}, const=(1,)),
        Case("mirror once", (x, ints(0, 2, 3, 1, 0, 1)), {"mode": "reflect"}, const=(1,)),
        Case("again once", (x, ints(1, 2, 3, 1, 1, 1)), {"mode": "wrap"}, const=(1,), version=19),
        Case("cropped", (x, ints(-1, 2, -1, 0, -1, 1)), const=(1,)),
        Case("mirror of a part", (x, ints(0, 1, -1, 0, -1, 2)), {"mode": "reflect"}, const=(1,)),
        Case("again often", (x, ints(0, 7, 3, 1, 0, 9)), {"mode": "wrap"}, const=(1,), version=19),
    ]


@cases.register
def _string_normalizer(op: StringNormalizer) -> list[Case]:
    return [Case("upper", (np.array(["a", "of", "B"], object),), {"case_change_action": "UPPER", "locale": "C"})]


@cases.register
def _tensor_scatter(op: TensorScatter) -> list[Case]:
    x, new = sample(2, 3, 4, 5), sample(2, 3, 2, 5)
    return [
        Case("from places", (x, new, np.array([1, 2])), version=24),
        Case("from the first", (x, new), version=24),
        Case("in a circle", (x, new, np.array([3, 1])), {"mode": "circular"}, version=24),
        Case("another axis", (sample(2, 4, 3), sample(2, 2, 3), np.array([2, 1])), {"axis": 1}, version=24),
    ]
