"""Normalisations."""

from __future__ import annotations

from random_models.recipes.base import recipe
from random_models.values import array


def _per_channel(d, kind, n, form="mild"):
    return d.fresh(array(d.rng, kind, (n,), form), static=d.flip(0.7))


@recipe("BatchNormalization")
def batch(d, op):
    x = d.tensor(d.dtype(op), rank=(2, 3, 4, 5), kind="mild")
    kind, c = d.dtype_of(x), d.shape(x)[1]
    parts = [_per_channel(d, kind, c, form) for form in ("mild", "mild", "mild", "positive")]
    d.add(op, [x, *parts], **d.maybe(epsilon=d.choice(1e-5, 1e-2, 0.5), momentum=0.8))


@recipe("InstanceNormalization")
def instance(d, op):
    x = d.tensor(d.dtype(op), rank=(3, 4, 5), kind="mild")
    kind, c = d.dtype_of(x), d.shape(x)[1]
    d.add(op, [x, _per_channel(d, kind, c), _per_channel(d, kind, c)], **d.maybe(epsilon=d.choice(1e-5, 1e-2)))


@recipe("GroupNormalization")
def group(d, op):
    g, per = d.whole(1, 3), d.whole(1, 3)
    x = d.tensor(
        d.dtype(op), shape=(d.whole(1, 2), g * per, *(d.whole(1, 4) for _ in range(d.whole(1, 2)))), kind="mild"
    )
    n = g if d.opset < 21 else g * per
    kind = d.dtype_of(x)
    parts = [_per_channel(d, kind, n), _per_channel(d, kind, n)]
    d.add(op, [x, *parts], num_groups=g, **d.maybe(epsilon=d.choice(1e-5, 1e-2)))


@recipe("LayerNormalization")
def layer(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3, 4), kind="mild")
    axis = d.axis(len(d.shape(x)))
    dims = d.shape(x)[axis:]
    parts = [d.fresh(array(d.rng, d.dtype_of(x), dims, "mild"), static=True) for _ in range(d.whole(1, 2))]
    attrs = d.maybe(epsilon=d.choice(1e-5, 1e-2))
    if axis not in (-1,) or d.flip():
        attrs["axis"] = axis
    d.add(op, [x, *parts], outputs=d.choice(1, 1, 1, 3), **attrs)


@recipe("LRN")
def local(d, op):
    x = d.tensor(d.dtype(op), rank=4, kind="mild")
    attrs = d.maybe(alpha=d.choice(1e-4, 0.5), beta=d.choice(0.75, 0.5, 1.0), bias=d.choice(1.0, 2.0))
    d.add(op, [x], size=d.choice(1, 3, 5, 7), **attrs)


@recipe("MeanVarianceNormalization")
def mean_variance(d, op):
    x = d.tensor(d.dtype(op), rank=4, kind="mild")
    d.add(op, [x], **d.maybe(axes=sorted(d.axes(4)) if d.flip() else [0, 2, 3]))
