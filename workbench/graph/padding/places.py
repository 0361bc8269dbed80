"""Moves whose places depend on open lengths: the places of the elements are an input of the padded graph.

A Reshape that joins the rows of an image of open width, a Concat behind a tensor of open length, a Slice or a Gather
that counts from an open end: the result takes its elements from places that a size determines. The node becomes a
Gather, whose index each size brings along.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from workbench.graph.graph import Array
from workbench.graph.opdef import opdef
from workbench.graph.padding.rules import Use

#: The index for the smaller size of a use, as long as the result of the larger one.
Index: TypeAlias = Callable[[Use], Array]


@dataclass(frozen=True, slots=True)
class Pick:
    """One Gather along an axis."""

    axis: int
    index: Index


@dataclass(frozen=True, slots=True)
class Moves:
    """How a node is written: perhaps itself first, then a shape, Gathers, and another shape.

    Attributes
    ----------
    itself : bool
        Whether the node is computed first, as it is.
    shape : tuple of int or None
        What is gathered from has this shape; None where it keeps its own.
    picks : tuple of Pick
    """

    itself: bool
    shape: tuple[int, ...] | None
    picks: tuple[Pick, ...]


def moves_of(u: Use) -> Moves | None:
    """How to write a node by places; None where its elements have no places that follow from sizes."""
    node, op = u.large.node, opdef(u.large.node)
    if node.domain:
        return None
    if node.op == "Concat":
        return Moves(True, None, (Pick(u.large.named_axis(0), _appended),))
    if op.rearranges and not op.transposes:
        before, after = _middle(u)
        x = u.large.shape(0)
        joined = (*x[:before], math.prod(x[before : len(x) - after]), *x[len(x) - after :])
        return Moves(False, joined, (Pick(before, _rearranged(before, after)),))
    if node.op == "Slice":
        large, small = (op.ranges(c) for c in (u.large, u.small))  # type: ignore[attr-defined]
        cut = [d for d, n in enumerate(u.large.shape(0)) if large[d] != (0, n, 1) or small[d][::2] != (0, 1)]
        return Moves(False, None, tuple(Pick(d, _sliced(d)) for d in cut))
    if node.op == "Gather" and u.large.values[1] is not None and u.small.values[1] is not None:
        if u.large.shape(1) != u.small.shape(1) or len(u.large.shape(1)) > 1:
            return None
        return Moves(False, None, (Pick(u.large.named_axis(0), _chosen),))
    return None


def _padded(u: Use, axis: int, index: Array) -> Array:
    """An index along an axis of the result, as long as the larger result; what is behind it picks the first."""
    whole = np.zeros(u.outs[0].shape[axis], np.int64)
    whole[: len(index)] = index
    return whole


def _appended(u: Use) -> Array:
    axis, start, found = u.large.named_axis(0), 0, [np.zeros(0, np.int64)]
    for i in range(len(u.large.node.inputs)):
        found.append(np.arange(u.small.shape(i)[axis]) + start)
        start += u.large.shape(i)[axis]
    return _padded(u, axis, np.concatenate(found))


def _middle(u: Use) -> tuple[int, int]:
    """Axes at the beginning, and at the end, that a change of shape leaves alone."""
    sides = [list(zip(a, b, strict=True)) for a, b in
             ((u.large.shape(0), u.small.shape(0)), (u.outs[0].shape, u.less[0].shape))]  # fmt: skip
    most, before, after = min(map(len, sides)), 0, 0
    while before < most and sides[0][before] == sides[1][before]:
        before += 1
    while after < most - before and sides[0][-1 - after] == sides[1][-1 - after]:
        after += 1
    return before, after


def _rearranged(before: int, after: int) -> Index:
    """Places in the axes between, of all elements of the axes that they become, in the order of memory."""

    def index(u: Use) -> Array:
        sides = (u.large.shape(0), u.small.shape(0), u.outs[0].shape, u.less[0].shape)
        x, given, y, less = (shape[before : len(shape) - after] for shape in sides)
        source = np.arange(math.prod(x), dtype=np.int64).reshape(x)[tuple(map(slice, given))]
        whole = np.zeros(y, np.int64)
        whole[tuple(map(slice, less))] = source.reshape(less)
        return whole.reshape(-1)

    return index


def _sliced(axis: int) -> Index:
    def index(u: Use) -> Array:
        start, count, step = opdef(u.small.node).ranges(u.small)[axis]  # type: ignore[attr-defined]
        return _padded(u, axis, start + step * np.arange(count))

    return index


def _chosen(u: Use) -> Array:
    index = u.small.values[1]
    assert index is not None
    return np.asarray(index, np.int64) % u.small.shape(0)[u.small.named_axis(0)]
