"""Inputs that make every element of a result matter: ordinary numbers with a few extremes, whole ranges of integers.

The same arrays are timed, so there are no infinities, no NaN and no denormal numbers among them, which some processors
handle slowly, and numbers that are read as indices spread over what they index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from workbench.ir import Buffer, Func, blocks
from workbench.ir.dtypes import is_float
from workbench.ir.expr import loads
from workbench.ir.poly import concrete
from workbench.runtime.buffers import Array


class Drawing(NamedTuple):
    """How floats are drawn: some of them extremes; only where logarithms and roots are defined; how small."""

    extremes: bool = False
    positive: bool = False
    digits: int = 0


#: What is tried in turn until the results tell right from wrong. Small ones are factors that make bytes of sums.
DRAWINGS = (Drawing(extremes=True), Drawing(), Drawing(positive=True), *(Drawing(digits=d) for d in (-10, -14, -18)))

#: Extremes of floats, as far as their dtype has them: their products are no denormal numbers.
_EXTREMES = (0.0, 1000.0, -1000.0, 0.5, -1.5, 2.5, 1e-10, -1e-10, 30.0, -30.0)
_HALF_EXTREMES = (0.0, 60.0, -60.0, 0.5, -1.5, 2.5, 1e-2, -1e-2, 8.0, -8.0)
#: So many elements share one extreme, lest sums are made of nothing else.
#: Chosen, not measured.
_APART = 256
#: Positive and faint slabs take each one of so many parts of a dimension.
#: Chosen, not measured.
_SLABS = 8


def draw(func: Func, seed: int, drawing: Drawing = DRAWINGS[0]) -> dict[str, Array]:
    """Return one array per input and constant, by a seeded generator.

    Floats are normally distributed. Integers of 8 and 16 bits are of any size, longer ones of any number of digits,
    because the sums that stand beside them are short. Indices lie in what they index; some lie outside, on both sides.
    """
    rng = np.random.default_rng(seed)
    extents = _indices(func)
    return {b.name: _array(rng, b, drawing, extents.get(b.name)) for b in func.inputs}


def _array(rng: np.random.Generator, buffer: Buffer, drawing: Drawing, extent: int | None) -> Array:
    shape = tuple(concrete(d) for d in buffer.logical_shape())
    if is_float(buffer.dtype):
        return _floats(rng, buffer, shape, drawing)
    if buffer.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(buffer.dtype)
    if extent is not None:
        array = rng.integers(0, min(extent, int(info.max) + 1), shape, np.uint64).astype(buffer.dtype)
        ends = [max(int(info.min), -extent), min(int(info.max), extent), max(int(info.min), -1)]
        return _scattered(rng, array, ends, 16)
    if info.bits <= 16:
        array = rng.integers(int(info.min), int(info.max) + 1, shape).astype(buffer.dtype)
        return _scattered(rng, array, [int(info.min), int(info.max)], 16)
    digits = rng.integers(0, info.bits - 1, shape).astype(np.uint64)
    size = rng.integers(0, 1 << 63, shape, np.uint64) >> (np.uint64(63) - digits)
    array = size.astype(buffer.dtype)
    if info.min < 0:
        array = np.where(rng.integers(0, 2, shape) == 0, array, -array)
    return _scattered(rng, array, [int(info.min), int(info.max), 0], _APART)


def _floats(rng: np.random.Generator, buffer: Buffer, shape: tuple[int, ...], drawing: Drawing) -> Array:
    dtype = buffer.dtype
    array = np.asarray(rng.standard_normal(shape, np.float64 if dtype == "float64" else np.float32))
    if drawing.positive:
        array = np.abs(array) + np.float32(0.5)
    if drawing.digits:
        array = np.ldexp(array, drawing.digits + rng.integers(-2, 3, shape))
    array = np.asarray(array).astype(dtype)
    if buffer.role == "const" and array.ndim <= 1:
        _powers_of_two(array[::2] if array.ndim else array)
    if drawing.extremes:
        _slabs(rng, array, -1 if buffer.role == "const" else 0)
    extremes = _HALF_EXTREMES if array.dtype.itemsize == 2 else _EXTREMES
    return _scattered(rng, array, extremes, _APART) if drawing.extremes else array


def _powers_of_two(array: Array) -> None:
    """Take all digits but one, so that factors are exact and halves come up to be rounded."""
    wide = array.astype(np.float64)
    array[...] = np.copysign(2.0 ** np.round(np.log2(np.abs(wide) + 2.0**-60)), wide).astype(array.dtype)


def _slabs(rng: np.random.Generator, array: Array, dim: int) -> None:
    """Make parts of an array along a dimension, or the next one that is long enough, positive and faint.

    Sums of positive numbers are known to more digits than those that cancel; faint ones show what is added to them.
    """
    dims = [d for d in range(array.ndim) if array.shape[d] >= _SLABS]
    if array.ndim < 2 or not dims:
        return
    rows = np.moveaxis(array, dims[dim], 0)
    size = len(rows) // _SLABS
    first = int(rng.integers(0, len(rows) - 2 * size + 1))
    np.abs(rows[first : first + size], out=rows[first : first + size])
    rows[first + size : first + 2 * size] *= array.dtype.type(2.0**-6 if array.dtype.itemsize == 2 else 2.0**-20)


def _scattered(rng: np.random.Generator, array: Array, values: tuple[float, ...] | list[int], apart: int) -> Array:
    """Put the first of the values at places by chance, one for so many elements at most."""
    count = min(len(values), array.size // apart)
    if count:
        flat = array.reshape(-1)
        flat[rng.choice(array.size, count, replace=False)] = np.array(values[:count], array.dtype)
    return array


def _indices(func: Func) -> Mapping[str, int]:
    """Least extent that numbers of an input count in, for those that are read as indices, also by way of a stage."""
    made_of = {b.buffer: {ld.buffer for e in b.exprs for ld in loads(e)} for b, _ in blocks(func.body)}
    found: dict[str, int] = {}
    for block, _ in blocks(func.body):
        picks = [p for e in block.exprs for ld in loads(e) for p in ld.at]
        for pick in picks:
            todo, seen = [ld.buffer for ld in loads(pick.value)], set[str]()
            while todo:
                name = todo.pop()
                if name in seen or is_float(func.buffer(name).dtype):
                    continue
                seen.add(name)
                found[name] = min(found.get(name, concrete(pick.extent)), concrete(pick.extent))
                todo += made_of.get(name, ())
    return found


__all__ = ["DRAWINGS", "Drawing", "draw"]
