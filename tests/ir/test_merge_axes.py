"""Neighbouring axes that become one: what is computed, and what stays as it is."""

from __future__ import annotations

import random

import numpy as np
import pytest

from workbench import te, workloads
from workbench.ir import Func, blocks
from workbench.ir.interpreter import interp
from workbench.ir.merge_axes import merge_reduced_axes


def centred(shape: tuple[int, ...], axes: tuple[int, ...], first: bool = False) -> Func:
    """Elements less the sum over some axes, or less the first element along them."""
    x = te.placeholder(shape, "float32", "X")
    rest = [d for d in range(len(shape)) if d not in axes]
    ks = {d: te.reduce_axis(shape[d], f"k{d}") for d in axes}

    def total(*i: te.Axis) -> te.Reduction:
        own = dict(zip(rest, i, strict=True))
        return te.sum(x[tuple(ks.get(d, own.get(d)) for d in range(len(shape)))], axis=list(ks.values()))

    s = te.compute(tuple(shape[d] for d in rest), total, "s")

    def body(*i: te.Axis) -> te.Value:
        y = x[i] - s[tuple(i[d] for d in rest)]
        return y - x[tuple(0 if d in axes else i[d] for d in range(len(shape)))] if first else y

    return te.func(te.compute(shape, body, "y"), "centred")


def terms(func: Func) -> list[list[int]]:
    """Extents of the reducing axes of each block that reduces."""
    found = [[int(it.extent) for it in b.iters if it.kind == "R"] for b, _ in blocks(func.body)]
    return [f for f in found if f]


def test_random_sums_are_those_of_numpy():
    rng, merged = random.Random(0), 0
    for _ in range(200):
        shape = tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.randrange(2, 6)))
        axes = tuple(sorted(rng.sample(range(len(shape)), rng.randrange(1, len(shape)))))
        first = rng.random() < 0.5
        func = centred(shape, axes, first)
        made = merge_reduced_axes(func)
        x = np.random.default_rng(1).standard_normal(shape).astype("f4")
        want = x - x.astype("f8").sum(axis=axes, keepdims=True)
        if first:
            want -= x[tuple(slice(0, 1) if d in axes else slice(None) for d in range(x.ndim))]
        got = interp.run(made, {"X": x.reshape(made.buffer("X").shape)})["y"]
        np.testing.assert_allclose(got.reshape(shape), want, atol=1e-5)
        several = any(shape[d] != 1 for d in range(len(shape)) if d not in axes)
        long = [d for d in axes if shape[d] != 1]
        last = {len(shape) - 2, len(shape) - 1} <= {*long}
        assert (made is not func) >= (last and several), (shape, axes)
        assert several or made is func
        merged += made is not func
    assert merged > 10


@pytest.mark.parametrize(
    ("shape", "axes", "left"),
    [((4, 3, 5), (1, 2), [[15]]), ((2, 3, 4, 5), (1, 2, 3), [[60]]), ((2, 3, 4, 5), (0, 2, 3), [[2, 20]])],
)
def test_what_is_left(shape, axes, left):
    assert terms(merge_reduced_axes(centred(shape, axes))) == left


@pytest.mark.parametrize(
    "func",
    [
        workloads.matmul(8, 8, 8),
        workloads.conv2d_nhwc(8, 8, 4, 4),
        centred((4, 5), (0, 1)),
        centred((4, 5, 6), (0, 1)),
    ],
    ids=["product", "windows", "one result", "columns"],
)
def test_what_stays(func):
    assert merge_reduced_axes(func) is func


def test_an_axis_that_something_else_looks_at_stays():
    x, bias = te.placeholder((4, 3, 5), "float32", "X"), te.placeholder((5,), "float32", "B")
    h, w = te.reduce_axis(3, "h"), te.reduce_axis(5, "w")
    s = te.compute((4,), lambda c: te.sum(x[c, h, w] * bias[w], axis=[h, w]), "s")
    func = te.func(s, "weighted")
    assert merge_reduced_axes(func) is func
    s = te.compute((4,), lambda c: te.sum(te.select(w >= 1, x[c, h, w], te.const(0.0)), axis=[h, w]), "s")
    func = te.func(s, "some")
    assert merge_reduced_axes(func) is func
