"""Examples of operators: blocks of images and rows, and those that are written as others."""

from __future__ import annotations

import numpy as np
from graph.examples.case import Case, cases, sample

from workbench.graph.graph import AttrValue
from workbench.graph.ops.arrays.blocks import DepthToSpace, EyeLike, ReverseSequence, SpaceToDepth
from workbench.graph.ops.arrays.movement import CastLike
from workbench.graph.ops.lowering import ints
from workbench.graph.ops.math.bits import BitCast, BitShift, Bitwise
from workbench.graph.ops.math.einsum import Einsum
from workbench.graph.ops.math.signal import DFT
from workbench.graph.ops.nn.norm import GroupNormalization


@cases.register
def _depth_to_space(op: DepthToSpace) -> list[Case]:
    return [
        Case("columns first", (sample(2, 12, 2, 3),), {"blocksize": 2}, version=13),
        Case("channels first", (sample(2, 18, 2, 3),), {"blocksize": 3, "mode": "CRD"}, version=13),
        Case("one channel", (sample(1, 4, 3, 2),), {"blocksize": 2}, version=13),
        Case("blocks of one", (sample(1, 4, 3, 2),), {"blocksize": 1}, version=13),
        Case("nhwc", (sample(2, 2, 3, 12),), {"blocksize": 2, "layout": "NHWC"}),
    ]


@cases.register
def _space_to_depth(op: SpaceToDepth) -> list[Case]:
    return [
        Case("channels", (sample(2, 3, 4, 6),), {"blocksize": 2}, version=13),
        Case("one channel", (sample(1, 1, 6, 3),), {"blocksize": 3}, version=13),
        Case("nhwc", (sample(2, 4, 6, 3),), {"blocksize": 2, "layout": "NHWC"}),
    ]


@cases.register
def _eye_like(op: EyeLike) -> list[Case]:
    return [Case("square", (sample(3, 3),)), Case("above", (sample(3, 5),), {"k": 1, "dtype": 7})]


@cases.register
def _reverse_sequence(op: ReverseSequence) -> list[Case]:
    return [
        Case("time first", (sample(4, 3, 2), ints(1, 4, 2)), version=10),
        Case("rows first", (sample(3, 4), ints(0, 4, 3)), {"batch_axis": 0, "time_axis": 1}, version=10),
    ]


@cases.register
def _einsum(op: Einsum) -> list[Case]:
    sizes = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}

    def case(equation: str, *shapes: tuple[int, ...]) -> Case:
        terms = equation.partition("->")[0].replace(" ", "").split(",")
        shapes = shapes or tuple(tuple(sizes[label] for label in t) for t in terms)
        inputs = tuple(sample(*s, seed=k) for k, s in enumerate(shapes))
        attrs: dict[str, AttrValue] = {"equation": equation}
        return Case(equation, inputs, attrs, version=12)

    plain = ("ab,bc->ac", "abc, acd -> abd", "ab->ba", "ab->", "ab", "ba", "a,b->ab", "ab,ab->a", "aa->a", "aab,bc->ac")
    longer = ("ab,bc,cd->ad", "abc,de->ad", "a,b,c->cab", "abcd,aecd->abce", "abc,abd,ae->")
    ellipses = [case("...ab,...bc->...ac", (5, 2, 3), (5, 3, 4)), case("...aa->...a", (2, 3, 3))]
    return [*map(case, (*plain, *longer)), *ellipses]


@cases.register
def _group_normalization(op: GroupNormalization) -> list[Case]:
    def case(label: str, x: np.ndarray, groups: int, count: int, **more: AttrValue) -> Case:
        attrs = {"num_groups": groups, **more}
        return Case(label, (x, sample(count), sample(count, seed=1)), attrs, version=18 if count == groups else 21)

    return [
        case("scaled by group", sample(2, 6, 3, 4), 3, 3),
        case("scaled by channel", sample(2, 6, 3, 4), 3, 6),
        case("one group", sample(2, 4, 5), 1, 4, epsilon=0.1),
        case("nhwc", sample(2, 3, 4, 6), 2, 6, layout="NHWC"),
    ]


@cases.register
def _cast_like(op: CastLike) -> list[Case]:
    return [Case("to bytes", (sample(2, 3, low=3.0), np.zeros(2, np.uint8)), version=15)]


@cases.register
def _fourier(op: DFT) -> list[Case]:
    real, whole = sample(2, 6, 5, 1), sample(2, 6, 5, 2)
    return [
        Case("real", (real,), version=17),
        Case("half, longer", (real, np.array(8)), {"axis": 2, "onesided": 1}, const=(1,), version=17),
        Case("back, shorter", (whole, np.array(4)), {"axis": -2, "inverse": 1}, const=(1,), version=17),
        Case("first axis", (whole, None, np.array(0)), const=(2,), version=20),
    ]


@cases.register
def _bitwise(op: Bitwise) -> list[Case]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 8, (3, 70)).astype(np.uint16) for _ in range(2))
    attrs: dict[str, AttrValue] = {"direction": "LEFT"} if isinstance(op, BitShift) else {}
    if op.name == "BitwiseNot":
        return [Case("words", (a,)), Case("many", (rng.integers(-99, 99, 9000),))]
    return [Case("alike", (a, b), attrs), Case("one row", (a, b[:1]), attrs)]


@cases.register
def _bit_cast(op: BitCast) -> list[Case]:
    return [Case("float", (sample(3, 7),), {"to": 6}, version=26)]
