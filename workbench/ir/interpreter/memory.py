"""Memory of the interpreter: one flat sequence of Python numbers per buffer, which a nest reads and writes quickly.

``array`` rounds to float32 and refuses what an integer type does not hold; types that it does not know are lists.
"""

from __future__ import annotations

import array
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ShapeError
from workbench.ir.dtypes import is_float
from workbench.ir.func import Buffer, pack
from workbench.ir.poly import concrete

Array: TypeAlias = NDArray[Any]

#: Codes of ``array`` by NumPy's names; both give a type the same letter.
_TYPECODES = {np.dtype(code).name: code for code in "fdbhiqBHIQ"} | {"bool": "B"}


def given(b: Buffer, inputs: Mapping[str, Array]) -> Any:
    """Cells of an input or a constant, packed as the buffer is."""
    if b.name not in inputs:
        raise ShapeError("shape.missing", f"No array is given for {b.name!r}.", (b.name,))
    x = pack(b, np.asarray(inputs[b.name]).astype(b.dtype, copy=False))
    return _cells(b, np.ascontiguousarray(x))


def fresh(b: Buffer) -> Any:
    """Cells of an output or a temporary before anything is stored."""
    shape = tuple(concrete(d) for d in b.shape)
    if is_float(b.dtype):
        return _cells(b, np.full(shape, np.nan, b.dtype))
    if b.dtype == "bool":
        return _cells(b, np.ones(shape, bool))
    return _cells(b, np.full(shape, 0xA5 if b.dtype == "uint8" else 0x5A, b.dtype))


def _cells(b: Buffer, x: Array) -> Any:
    code = _TYPECODES.get(b.dtype)
    if code is None:
        return [float(v) for v in x.ravel()]
    return array.array(code, x.tobytes())


def to_numpy(b: Buffer, cells: Any) -> Array:
    """Array of the cells."""
    return np.array(cells, dtype=b.dtype).reshape([concrete(d) for d in b.shape])


def counts_of(b: Buffer, cells: array.array[int]) -> NDArray[np.int64]:
    """Array of the counters."""
    return np.array(cells, dtype=np.int64).reshape([concrete(d) for d in b.shape])


def zeros(b: Buffer) -> array.array[int]:
    """Counters of a buffer's elements."""
    return array.array("q", bytes(8 * concrete(b.size)))
