"""Sparse tensors of ONNX: values that are not zero, and their places in ascending order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import shown
from workbench.errors import ModelError
from workbench.host import memory_bytes
from workbench.ir.size_limits import MOST_DIMENSIONS

#: So many bytes a tensor may take with its zeros, or so many times those of its values: a file of a hundred bytes must
#: not ask for gigabytes.
_BYTES, _GROWTH = 1 << 27, 1000


def dense(dims: tuple[int, ...], values: NDArray[Any], places: NDArray[Any], what: str, name: str) -> NDArray[Any]:
    """The tensor with its zeros.

    Parameters
    ----------
    dims : tuple of int
        Its shape.
    values : array
        Elements, ``[count]``.
    places : array
        int64: numbers of the elements as they lie in memory, ``[count]``, or an index for each, ``[count, rank]``; each
        above the one before.
    what, name : str
        What it is called in errors.

    Raises
    ------
    ModelError
        "model.invalid_graph", "model.too_large".
    """

    def refused(why: str) -> ModelError:
        return ModelError("model.invalid_graph", f"The {what} {why}.", (name,), "export the model again")

    if len(dims) > MOST_DIMENSIONS or any(d < 0 for d in dims):
        raise refused(f"has the shape {shown(list(dims))}")
    if values.ndim != 1 or values.dtype.kind in "OSU":
        raise refused(f"has values of the shape {list(values.shape)} and the type {values.dtype}")
    if places.dtype != np.int64 or places.shape not in ((values.size,), (values.size, len(dims))):
        text = f"has {values.size} values at indices of the shape {list(places.shape)} and the type {places.dtype}"
        raise refused(text)
    size = math.prod(dims)
    nbytes = size * values.dtype.itemsize
    if nbytes > min(memory_bytes(), max(_BYTES, _GROWTH * values.nbytes)):
        text = f"The {what} has {values.size} of {size} elements; with its zeros it takes {nbytes / 2**30:,.1f} GiB."
        raise ModelError("model.too_large", text, (name,), "store fewer zeros, or a smaller tensor")
    if places.ndim == 2:
        if places.size and ((places < 0) | (places >= np.array(dims, np.int64))).any():
            raise refused(f"has an index outside of its shape {list(dims)}")
        strides = [math.prod(dims[d + 1 :]) for d in range(len(dims))]
        places = places @ np.array(strides, np.int64)
    elif places.size and (places.min() < 0 or places.max() >= size):
        raise refused(f"has an index outside of its {size} elements")
    if (places[1:] <= places[:-1]).any():
        raise refused("has indices that are not in ascending order, or one of them twice")
    out = np.zeros(size, values.dtype)
    out[places] = values
    return out.reshape(dims)
