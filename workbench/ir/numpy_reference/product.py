"""Sums of products over labelled axes as matrix products, for the reference evaluation."""

from __future__ import annotations

import itertools
import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

#: Terms of a sum; batches of vector products up to so many run point by point: `np.matmul` takes one call for each
#: of the batch then. Chosen for depthwise convolutions.
_DEGENERATE = 256


def sum_of_products(a: Array, b: Array, wanted: list[int], extents: list[int]) -> Array:
    """Sum ``a * b`` over the dimensions `wanted`, which keep size 1.

    Parameters
    ----------
    a, b : ndarray
        Of equal rank; a dimension has size 1 where the operand does not depend on that axis.
    wanted : list of int
        Dimensions to sum over.
    extents : list of int
        Extent of every axis: a summed axis that neither operand depends on counts its extent.

    Returns
    -------
    ndarray
        Of the same rank.
    """
    scale = math.prod(extents[k] for k in wanted if a.shape[k] == b.shape[k] == 1)
    left, right = _sum_alone(a, b, wanted), _sum_alone(b, a, wanted)
    out = matmul(left, right, wanted)
    return out if scale == 1 else np.asarray(out * out.dtype.type(scale))


def _sum_alone(x: Array, other: Array, wanted: list[int]) -> Array:
    """Sum over reduction axes that the other operand does not have."""
    alone = tuple(k for k in wanted if x.shape[k] > 1 and other.shape[k] == 1)
    return np.asarray(x.sum(axis=alone, keepdims=True, dtype=x.dtype)) if alone else x


def matmul(a: Array, b: Array, wanted: list[int]) -> Array:
    """Matrix product of two operands of equal rank: axes in both are summed if `wanted`, else batched."""
    every = range(a.ndim)
    summed = [k for k in wanted if a.shape[k] > 1]
    batch = [k for k in every if k not in wanted and a.shape[k] > 1 and b.shape[k] > 1]
    rows = [k for k in every if k not in wanted and k not in batch and a.shape[k] > 1]
    cols = [k for k in every if k not in wanted and k not in batch and b.shape[k] > 1]
    ones = [k for k in every if k not in summed + batch + rows + cols]
    dtype = np.result_type(a, b)
    m, n, depth = (math.prod(x.shape[k] for k in ks) for x, ks in ((a, rows), (b, cols), (a, summed)))
    if dtype.kind in "iu" and _exact_in_double(a, b, depth):
        whole = matmul(a.astype("float64"), b.astype("float64"), wanted).astype("int64")
        return whole.astype(dtype)  # what is too large for the type wraps
    if batch and min(m, n) == 1 and depth <= _DEGENERATE:
        return _point_by_point(a, b, summed, dtype)
    left = a.transpose(batch + rows + summed + cols + ones).reshape(-1, m, depth)
    right = b.transpose(batch + summed + cols + rows + ones).reshape(-1, depth, n)
    out: Array = np.matmul(left, right, dtype=dtype)
    order = batch + rows + cols + summed + ones
    shape = [a.shape[k] for k in batch + rows] + [b.shape[k] for k in cols] + [1] * len(summed + ones)
    return out.reshape(shape).transpose([order.index(k) for k in every])


def _point_by_point(a: Array, b: Array, summed: list[int], dtype: np.dtype[Any]) -> Array:
    """Sum where a matrix product would degenerate (depthwise convolution): a multiply-add over space per point."""
    shape = [1 if k in summed else max(x, y) for k, (x, y) in enumerate(zip(a.shape, b.shape, strict=True))]
    out, scratch = np.zeros(shape, dtype), np.empty(shape, dtype)
    for point in itertools.product(*(range(a.shape[k]) for k in summed)):
        at = [slice(None)] * a.ndim
        for k, p in zip(summed, point, strict=True):
            at[k] = slice(p, p + 1)
        out += np.multiply(a[tuple(at)], b[tuple(at)], out=scratch)
    return out


def _exact_in_double(a: Array, b: Array, depth: int) -> bool:
    """Whether all partial sums of the integer product are exact in double precision, which has a fast product."""

    def biggest(x: Array) -> int:
        return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0

    return biggest(a) * biggest(b) * max(depth, 1) < 2**53
