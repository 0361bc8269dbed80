"""Reductions, and what is normalised along an axis."""

from __future__ import annotations

from random_models.recipes.base import recipe

SUMS = (
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp"
)


@recipe(SUMS)
def reduction(d, op):
    x = d.tensor(d.dtype(op), kind="usual" if op in ("ReduceMax", "ReduceMin") else "mild")
    axes = d.axes(len(d.shape(x)), 0)
    attrs = d.maybe(keepdims=d.whole(0, 1))
    if d.opset >= (13 if op == "ReduceSum" else 18):
        attrs |= d.maybe(noop_with_empty_axes=d.whole(0, 1))
        more = d.choice([], [d.ints(axes)], [d.ints(axes)], [""])
        d.add(op, [x, *more], **attrs)
    else:
        d.add(op, [x], **attrs, **({"axes": axes} if axes and d.flip(0.8) else {}))


@recipe("ArgMax ArgMin")
def position(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3, 4), fits=lambda a: a.dtype.kind != "f" or not (a != a).any())
    attrs = d.maybe(axis=d.axis(len(d.shape(x))), keepdims=d.whole(0, 1))
    d.add(op, [x], **attrs, **(d.maybe(select_last_index=d.whole(0, 1)) if d.opset >= 12 else {}))


@recipe("Softmax LogSoftmax Hardmax")
def along(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3, 4))
    d.add(op, [x], **d.maybe(axis=d.axis(len(d.shape(x)))))


@recipe("CumSum CumProd")
def running(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3), kind="mild")
    axis = d.ints(d.axis(len(d.shape(x))), d.choice("int32", "int64"))
    d.add(op, [x, axis], **d.maybe(exclusive=d.whole(0, 1), reverse=d.whole(0, 1)))


@recipe("TopK")
def largest(d, op):
    distinct = lambda a: a.size == len(set(a.reshape(-1).tolist()))  # noqa: E731
    x = d.tensor(d.dtype(op), rank=(1, 2, 3), fits=lambda a: distinct(a) and not (a != a).any(), kind="mild")
    axis = d.axis(len(d.shape(x)))
    k = d.whole(0, min(4, d.shape(x)[axis]))
    attrs = {"axis": axis} if d.flip(0.7) or d.shape(x)[-1] < k else {}
    if d.opset >= 11:
        attrs |= d.maybe(largest=d.whole(0, 1), sorted=1)
    if d.opset < 10:
        d.add(op, [x], outputs=2, k=max(k, 1), **attrs)
    else:
        d.add(op, [x, d.ints([k])], outputs=2, **attrs)


@recipe("LpNormalization")
def unit_length(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3, 4), kind="mild")
    d.add(op, [x], **d.maybe(axis=d.axis(len(d.shape(x))), p=d.whole(1, 2)))
