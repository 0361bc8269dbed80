"""Operators that only move elements, and those that make them."""

from __future__ import annotations

import math

import numpy as np
from onnx import helper, numpy_helper

from random_models import values
from random_models.draft import Unfit
from random_models.recipes.base import broadcast, recipe
from random_models.values import FLOATS, NUMBERS, PLAIN, array

ALL = (*PLAIN, "string")


@recipe("Reshape")
def reshape(d, op):
    x = d.tensor(d.dtype(op, 0, ALL))
    dims = _factors(d, d.value(x).size)
    if d.flip(0.4) and math.prod(dims):
        dims[d.whole(0, len(dims) - 1)] = -1
    for k, n in enumerate(d.shape(x)[: len(dims)]):
        if dims[k] == n and n and d.flip(0.3):
            dims[k] = 0
    allow = {"allowzero": 1} if d.opset >= 14 and 0 not in dims and d.flip(0.2) else {}
    if d.opset >= 14 and d.value(x).size == 0 and -1 not in dims:
        allow = {"allowzero": 1}
    d.add(op, [x, d.ints(dims)], **allow)


def _factors(d, size):
    dims = []
    while size > 1 and d.flip(0.8):
        fits = [f for f in range(2, 10) if size % f == 0]
        if not fits:
            break
        dims.append(int(d.choice(*fits)))
        size //= dims[-1]
    dims.insert(d.whole(0, len(dims)), size)
    return [int(n) for n in dims] + [1] * d.flip(0.2)


@recipe("Flatten")
def flatten(d, op):
    x = d.tensor(d.dtype(op, 0, ALL))
    rank = len(d.shape(x))
    d.add(op, [x], **d.maybe(axis=d.whole(-rank if d.opset >= 11 else 0, rank)))


@recipe("Transpose")
def transpose(d, op):
    x = d.tensor(d.dtype(op, 0, ALL))
    d.add(op, [x], **d.maybe(perm=[int(a) for a in d.rng.permutation(len(d.shape(x)))]))


@recipe("Squeeze")
def squeeze(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), fits=lambda a: 1 in a.shape)
    rank = len(d.shape(x))
    axes = [k - rank * (d.opset >= 11 and d.flip(0.4)) for k, n in enumerate(d.shape(x)) if n == 1 and d.flip(0.7)]
    if not axes:
        d.add(op, [x])
    elif d.opset < 13:
        d.add(op, [x], axes=axes)
    else:
        d.add(op, [x, d.ints(axes)])


@recipe("Unsqueeze")
def unsqueeze(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(0, 1, 2, 3))
    more = d.whole(1, 2)
    rank = len(d.shape(x)) + more
    axes = [int(a) - rank * (d.opset >= 11 and d.flip(0.4)) for a in d.rng.permutation(rank)[:more]]
    if d.opset < 13:
        d.add(op, [x], axes=sorted(axes) if d.flip() else axes)
    else:
        d.add(op, [x, d.ints(axes)])


@recipe("Expand")
def expand(d, op):
    x = d.tensor(d.dtype(op, 0, ALL))
    d.add(op, [x, d.ints(broadcast(d, d.shape(x)))])


@recipe("Tile")
def tile(d, op):
    x = d.tensor(d.dtype(op, 0, PLAIN), rank=(1, 2, 3, 4))
    d.add(op, [x, d.ints([d.choice(0, 1, 1, 1, 2, 2, 3) for _ in d.shape(x)])])


@recipe("Concat")
def concat(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3, 4))
    axis = d.axis(len(d.shape(x)))
    dims = list(d.shape(x))
    others = []
    for _ in range(d.whole(0, 3)):
        dims[axis] = d.choice(0, 1, 2, 3, 3)
        others.append(x if d.flip(0.15) else d.tensor(d.dtype_of(x), shape=dims))
    parts = [*others, x] if d.flip(0.3) else [x, *others]
    d.add(op, parts, axis=axis)


@recipe("Split")
def split(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3, 4))
    axis = d.axis(len(d.shape(x)))
    n = d.shape(x)[axis]
    cut = sorted(d.whole(0, n) for _ in range(d.whole(0, 2)))
    sizes = [b - a for a, b in zip([0, *cut], [*cut, n], strict=True)]
    attrs = {"axis": axis}
    if d.flip(0.35):  # equal parts, the last one may be smaller
        count = d.whole(1, 4)
        if d.opset >= 18:
            attrs["num_outputs"] = count
        d.add(op, [x], outputs=count, **attrs)
    elif d.opset < 13:
        d.add(op, [x], outputs=len(sizes), split=sizes, **attrs)
    else:
        d.add(op, [x, d.ints(sizes)], outputs=len(sizes), **attrs)


@recipe("Slice")
def slice_(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3, 4))
    axes = d.axes(len(d.shape(x)))
    far = [2**31 - 1, -(2**31), 2**63 - 1, -(2**63) + 1, 100, -100]
    starts, ends, steps = [], [], []
    for a in axes:
        n = d.shape(x)[a]
        starts.append(d.choice(0, d.whole(-n, n), d.whole(-n, n), d.choice(*far)))
        ends.append(d.choice(n, d.whole(-n, n), d.whole(-n, n), d.choice(*far)))
        steps.append(d.choice(1, 1, 2, 3, -1, -2, 100, -100))
    if d.opset < 10:
        d.add(op, [x], starts=starts, ends=ends, **({"axes": axes} if axes != list(range(len(axes))) else {}))
        return
    kind = d.choice("int32", "int64")
    if kind == "int32":
        starts, ends = ([max(-(2**31), min(v, 2**31 - 1)) for v in vs] for vs in (starts, ends))
    rest = [d.ints(axes, kind), *([d.ints(steps, kind)] if d.flip(0.7) else [])]
    if axes == list(range(len(axes))) and d.flip():
        rest = ["", d.ints(steps, kind)] if d.flip() else []
    d.add(op, [x, d.ints(starts, kind), d.ints(ends, kind), *rest])


@recipe("Pad")
def pad(d, op):
    x = d.tensor(d.dtype(op, 0, PLAIN), rank=(1, 2, 3, 4))
    shape = d.shape(x)
    mode = d.choice("constant", "constant", "reflect", "edge", "wrap" if d.opset >= 19 else "edge")
    axes = d.axes(len(shape)) if d.opset >= 18 and d.flip(0.4) else list(range(len(shape)))
    least = -2 if d.flip(0.3) else 0
    most = [max(0, min(2, shape[a] - 1)) if mode == "reflect" else 2 for a in axes]
    pads = [d.whole(max(least, -(shape[a] // 3)), m) for _ in "ab" for a, m in zip(axes, most, strict=True)]
    value = d.choice(0, 1, 2, -1.5 if d.dtype_of(x) in FLOATS else 3)
    if d.opset < 11:
        d.add(op, [x], pads=pads, **d.maybe(mode=mode, value=float(value)))
        return
    more = [d.fresh(np.array(value).astype(d.value(x).dtype), True)] if d.flip() else []
    if axes != list(range(len(shape))):
        more = [*(more or [""]), d.ints(axes, d.choice("int32", "int64"))]
    d.add(op, [x, d.ints(pads), *more], **({"mode": mode} if mode != "constant" or d.flip() else {}))


@recipe("Shape")
def shape(d, op):
    x = d.tensor(d.dtype(op, 0, ALL))
    rank = len(d.shape(x))
    d.add(
        op, [x], **(d.maybe(start=d.whole(-rank - 1, rank), end=d.whole(-rank - 1, rank + 1)) if d.opset >= 15 else {})
    )


@recipe("Size")
def size(d, op):
    d.add(op, [d.tensor(d.dtype(op, 0, ALL))])


@recipe("Constant")
def constant(d, op):
    draw = d.whole(0, 5) if d.opset >= 12 else 0
    forms = [
        {"value": numpy_helper.from_array(array(d.rng, d.choice(*PLAIN), values.shape(d.rng, d.whole(0, 3))))},
        {"value_float": 1.5}, {"value_floats": [0.5, -1.0]}, {"value_int": -7}, {"value_ints": [3, 0, -1]},
        {"value_floats": [2.0]},
    ]  # fmt: skip
    d.add(op, [], **forms[draw])


@recipe("ConstantOfShape")
def constant_of_shape(d, op):
    kind = d.choice(*d.types("ConstantOfShape", 0, PLAIN), *PLAIN)
    value = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [1], [d.choice(0, 1, 3)])
    d.add(op, [d.ints(values.shape(d.rng, d.whole(0, 4)))], **d.maybe(value=value))


@recipe("EyeLike")
def eye(d, op):
    kinds = {"float32": 1, "int64": 7, "float64": 11, "int32": 6}
    d.add(op, [d.tensor(d.dtype(op), rank=2)], **d.maybe(k=d.whole(-3, 3), dtype=kinds[d.choice(*kinds)]))


@recipe("Range")
def arange(d, op):
    kind = d.dtype(op)
    start, limit, step = d.whole(-5, 5), d.whole(-5, 9), d.choice(1, 2, -1, 3, 0.5 if kind in FLOATS else 2)
    d.add(op, [d.fresh(np.array(v, kind), True) for v in (start, limit, step)])


@recipe("Trilu")
def triangle(d, op):
    x = d.tensor(d.dtype(op), rank=(2, 3, 4))
    d.add(op, [x, *([d.ints(d.whole(-4, 4))] if d.flip(0.7) else [])], **d.maybe(upper=d.whole(0, 1)))


@recipe("DepthToSpace SpaceToDepth")
def blocks(d, op):
    b, c = d.choice(1, 2, 3), d.whole(1, 2)
    n, h, w = d.whole(1, 2), d.whole(1, 3), d.whole(1, 3)
    if op == "DepthToSpace":
        x = d.tensor(d.dtype(op, 0, NUMBERS), shape=(n, c * b * b, h, w))
        d.add(op, [x], blocksize=b, **(d.maybe(mode=d.choice("DCR", "CRD")) if d.opset >= 11 else {}))
    else:
        d.add(op, [d.tensor(d.dtype(op, 0, NUMBERS), shape=(n, c, h * b, w * b))], blocksize=b)


@recipe("CenterCropPad")
def center(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3, 4))
    axes = d.axes(len(d.shape(x))) if d.flip() else list(range(len(d.shape(x))))
    attrs = {} if axes == list(range(len(d.shape(x)))) else {"axes": axes}
    d.add(op, [x, d.ints([d.whole(1, 8) for _ in axes], d.choice("int32", "int64"))], **attrs)


@recipe("ReverseSequence")
def reverse(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(2, 3, 4), fits=lambda a: a.size > 0)
    batch = d.whole(0, 1)
    lens = [d.whole(1, d.shape(x)[1 - batch]) for _ in range(d.shape(x)[batch])]
    d.add(op, [x, d.ints(lens)], batch_axis=batch, time_axis=1 - batch)


@recipe("Scatter ScatterElements")
def scatter_elements(d, op):
    if op == "Scatter" and d.opset > 10:
        raise Unfit("ended")
    x = d.tensor(d.dtype(op, 0, PLAIN), rank=(1, 2, 3), fits=lambda a: a.size > 0)
    axis = d.axis(len(d.shape(x)))
    dims = [d.whole(1, n) for n in d.shape(x)]
    n = d.shape(x)[axis]
    how = d.choice("none", *(["add", "mul"] if d.opset >= 16 else []), *(["max", "min"] if d.opset >= 18 else []))
    if how == "none":  # each place once: which of several is written last is not said
        order = np.argsort(d.rng.random([n if k == axis % len(dims) else s for k, s in enumerate(dims)]), axis)
        where = np.take(order, range(dims[axis]), axis)
    else:
        where = d.rng.integers(0, n, dims)
    if d.opset >= 11 and d.flip(0.3):
        where = where - n
    at = d.fresh(where.astype(d.choice("int32", "int64")), static=d.flip())
    updates = d.tensor(d.dtype_of(x), shape=dims)
    d.add(op, [x, at, updates], axis=axis, **({"reduction": how} if how != "none" else {}))


@recipe("ScatterND")
def scatter_nd(d, op):
    x = d.tensor(d.dtype(op, 0, PLAIN), rank=(1, 2, 3), fits=lambda a: a.size > 0)
    depth = d.whole(1, len(d.shape(x)))
    spots = int(np.prod(d.shape(x)[:depth]))
    how = d.choice("none", *(["add", "mul"] if d.opset >= 16 else []), *(["max", "min"] if d.opset >= 18 else []))
    count = d.whole(1, min(4, spots))
    picked = d.rng.permutation(spots)[:count] if how == "none" else d.rng.integers(0, spots, count)
    where = np.stack(np.unravel_index(picked, d.shape(x)[:depth]), -1).astype("i8")
    updates = d.tensor(d.dtype_of(x), shape=(count, *d.shape(x)[depth:]))
    d.add(op, [x, d.fresh(where, static=d.flip()), updates], **({"reduction": how} if how != "none" else {}))
