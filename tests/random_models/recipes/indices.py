"""Operators that read by index, and those whose result has as many elements as its values say."""

from __future__ import annotations

import numpy as np

from random_models import values
from random_models.draft import Unfit
from random_models.recipes.base import recipe
from random_models.values import PLAIN, array

ALL = (*PLAIN, "string")


def _indices(d, n, shape):
    low = -n if d.opset >= 11 and d.flip(0.5) else 0
    if n == 0 and np.prod(shape):
        raise Unfit("nothing to read")
    found = d.rng.integers(low, max(n, 1), shape)
    return d.fresh(np.asarray(found).astype(d.choice("int32", "int64")), static=d.flip())


@recipe("Gather")
def gather(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3, 4))
    axis = d.axis(len(d.shape(x)))
    d.add(op, [x, _indices(d, d.shape(x)[axis], values.shape(d.rng, d.whole(0, 3)))], axis=axis)


@recipe("GatherElements")
def gather_elements(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3, 4))
    axis = d.axis(len(d.shape(x))) % len(d.shape(x))
    dims = [d.whole(1, 4) if k == axis else d.whole(min(1, n), n) for k, n in enumerate(d.shape(x))]
    d.add(op, [x, _indices(d, d.shape(x)[axis], dims)], axis=axis - len(dims) * d.flip(0.4))


@recipe("GatherND")
def gather_nd(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3, 4), fits=lambda a: a.size > 0)
    shape = d.shape(x)
    batch = d.whole(0, len(shape) - 1) if d.opset >= 12 and d.flip(0.4) else 0
    depth = d.whole(1, len(shape) - batch)
    lead = (*shape[:batch], *values.shape(d.rng, d.whole(0, 2)))
    parts = [d.rng.integers(-n if d.flip(0.3) else 0, n, lead) for n in shape[batch : batch + depth]]
    at = np.stack(parts, -1).astype("i8")
    d.add(op, [x, d.fresh(at, static=d.flip())], **({"batch_dims": batch} if batch else {}))


@recipe("OneHot")
def one_hot(d, op):
    kind = d.dtype(op, 2, PLAIN)
    depth = d.whole(1, 6)
    at = d.rng.integers(-depth - 1 if d.opset >= 11 else 0, depth + 2, values.shape(d.rng, d.whole(0, 3)))
    at = d.fresh(np.asarray(at).astype(d.dtype(op, 0, ("int64", "int32", "float32"))))
    rank = len(d.shape(at)) + 1
    how = d.fresh(array(d.rng, kind, (2,), "mild"), True)
    count = np.array(d.choice(depth, [depth])).astype(d.dtype(op, 1, ("int64", "int32", "float32")))
    d.add(op, [at, d.fresh(count, True), how], **d.maybe(axis=d.axis(rank)))


@recipe("NonZero")
def non_zero(d, op):
    d.add(op, [d.tensor(d.dtype(op), rank=(0, 1, 2, 3) if d.opset >= 13 else (1, 2, 3), kind="mild")])


@recipe("Compress")
def compress(d, op):
    x = d.tensor(d.dtype(op, 0, ALL), rank=(1, 2, 3))
    axis = d.choice(None, d.axis(len(d.shape(x))))
    n = d.value(x).size if axis is None else d.shape(x)[axis]
    which = d.rng.random(d.whole(min(1, n), n)) < 0.6
    d.add(op, [x, d.fresh(which, static=d.flip())], **({} if axis is None else {"axis": axis}))


@recipe("Unique")
def unique(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3), kind="mild", fits=lambda a: a.size > 0)
    attrs = d.maybe(axis=d.axis(len(d.shape(x))), sorted=d.whole(0, 1))
    d.add(op, [x], outputs=d.choice(1, 1, 4), **attrs)


@recipe("NonMaxSuppression")
def suppression(d, op):
    n, b, c = d.whole(1, 2), d.whole(1, 8), d.whole(1, 3)
    center = d.whole(0, 1)
    boxes = d.rng.random((n, b, 4)).astype("f4") * 4
    if not center and d.flip():
        boxes[..., 2:] += boxes[..., :2]
    scores = d.rng.permutation(n * b * c).reshape(n, c, b).astype("f4") / 10
    rest = [d.ints([d.whole(0, 4)]), d.fresh(np.array([d.choice(0.0, 0.3, 0.6)], "f4"), True),
            d.fresh(np.array([d.choice(0.0, 0.5)], "f4"), True)]  # fmt: skip
    d.add(op, [d.fresh(boxes), d.fresh(scores), *rest[: d.whole(1, 3)]], center_point_box=center)


@recipe("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def loss(d, op):
    c, n = d.whole(1, 5), d.whole(1, 4)
    dims = values.shape(d.rng, d.whole(0, 2), 0.0)
    x = d.tensor(d.dtype(op), shape=(n, c, *dims), kind="mild")
    at = d.rng.integers(0, c, (n, *dims)).astype(d.choice("int32", "int64"))
    weight = [d.fresh(array(d.rng, d.dtype_of(x), (c,), "positive"))] if d.flip() else []
    attrs = d.maybe(reduction=d.choice("mean", "sum", "none"), ignore_index=d.whole(-1, c))
    outputs = d.whole(1, 2) if op.startswith("S") else 1
    d.add(op, [x, d.fresh(at), *weight], outputs=outputs, **attrs)


@recipe("TfIdfVectorizer")
def n_grams(d, op):
    pool = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]
    attrs = {"mode": d.choice("TF", "IDF", "TFIDF"), "min_gram_length": d.whole(1, 2), "max_gram_length": 2,
             "max_skip_count": d.whole(0, 3), "ngram_counts": [0, 4], "ngram_indexes": list(range(7)),
             "pool_int64s": pool}  # fmt: skip
    if d.flip():
        attrs["weights"] = [0.5, 1.0, 2.0, 3.0, 1.5, 2.5, 0.25]
    x = d.rng.integers(2, 9, d.choice((12,), (2, 6), (1, 5))).astype(d.choice("int32", "int64"))
    d.add(op, [d.fresh(x)], **attrs)
