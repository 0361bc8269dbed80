"""Aligned memory and the plain structures that generated code reads."""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import ShapeError, WorkbenchError

#: Alignment in bytes that generated code may rely on for every buffer.
ALIGNMENT = 64
#: A page of the large kind; what is left over gets one of its own where it fills at least a quarter of it.
HUGE_PAGE = 2 << 20
#: Chosen, not measured. That arrays lie on huge pages gains a tenth at a 512x512 product (measured).
LEAST_HUGE = HUGE_PAGE // 4

Array = npt.NDArray[Any]

KERNEL_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class RuntimeStruct(ctypes.Structure):
    """What generated code gets as `rt`: ``{ i64 nthreads; ptr pool; ptr launch }``."""

    _fields_ = [("nthreads", ctypes.c_int64), ("pool", ctypes.c_void_p), ("launch", ctypes.c_void_p)]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a buffer's dtype name.

    Raises
    ------
    ShapeError
        ``shape.dtype`` when NumPy has no such type.
    """
    try:
        return np.dtype(name)
    except TypeError as error:
        raise ShapeError("shape.dtype", f"NumPy has no dtype {name!r}", where=(name,)) from error


def concrete_shape(shape: Sequence[Any]) -> tuple[int, ...]:
    """Return the extents of a buffer without open holes as plain numbers."""
    return tuple(int(d) for d in shape)


def aligned_empty(shape: Sequence[int], dtype: str | np.dtype[Any], alignment: int = ALIGNMENT) -> Array:
    """Return an uninitialised C-contiguous array whose first byte lies on a multiple of `alignment`.

    Large arrays lie on huge pages where the system has them: a tile that walks down a column of a matrix touches
    another small page in almost every row, and the processor remembers the places of few.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    raw = _huge(size) if size >= LEAST_HUGE and alignment <= HUGE_PAGE else None
    if raw is None:
        raw = np.empty(size + alignment, np.uint8)
    return np.ndarray(tuple(shape), kind, raw, -address(raw) % alignment)


def address(array: Array) -> int:
    """Return where the first element lies."""
    buffer: Any = array
    if array.flags.writeable:
        try:
            return ctypes.addressof(ctypes.c_char.from_buffer(buffer))  # in a third of the time of what is below
        except (BufferError, TypeError, ValueError):  # not contiguous, empty, or of a dtype that buffers do not know
            pass
    return int(array.__array_interface__["data"][0])


def _huge(size: int) -> Array | None:
    """Memory of its own that begins with a huge page; None where there are none."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    whole = size // HUGE_PAGE + (size % HUGE_PAGE >= LEAST_HUGE)
    try:
        # Private: a forked child must not write into the arrays of its parent.
        room = mmap.mmap(-1, max(size, whole * HUGE_PAGE) + HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        raw = np.frombuffer(room, np.uint8)
        start = -raw.ctypes.data % HUGE_PAGE
        room.madvise(mmap.MADV_HUGEPAGE, start, whole * HUGE_PAGE)
    except (OSError, ValueError):
        return None
    return raw[start:]


def is_ready(array: Array) -> bool:
    """Whether generated code may read the array where it is: contiguous and aligned."""
    return bool(array.flags.c_contiguous) and address(array) % ALIGNMENT == 0


def as_aligned(array: Array) -> Array:
    """Return the array itself if generated code may read it, otherwise an aligned copy."""
    if is_ready(array):
        return array
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def poison(array: Array) -> None:
    """Fill with NaN (every bit set, which is a NaN in each float type and -1 in each signed integer type)."""
    if array.size:
        array.reshape(-1).view(np.uint8)[...] = 0xFF


def pointer_table(addresses: Sequence[int]) -> Array:
    """Return an array of pointers in memory, as kernels take their buffers."""
    return np.array(list(addresses) or [0], dtype=np.uintp)


def check_array(name: str, value: Any, shape: Sequence[int], dtype: str | np.dtype[Any]) -> Array:
    """Return `value` as an array of exactly this shape and dtype.

    Raises
    ------
    ShapeError
        ``shape.mismatch`` or ``shape.dtype``.
    """
    try:
        array = np.asarray(value)
    except WorkbenchError:
        raise
    except Exception as error:  # rows of different lengths, an object that does not want to be an array
        text = f"{name} cannot be made an array: {error}"
        raise ShapeError("shape.dtype", text, (name,), f"it has to be an array of {dtype}") from error
    wanted = dtype if isinstance(dtype, np.dtype) else numpy_dtype(dtype)
    if array.shape != tuple(shape) or array.dtype != wanted:
        raise misfit(name, array, shape, wanted, name, f"convert it with .astype({str(wanted)!r})")
    return array


def misfit(
    what: str, array: Array, shape: Sequence[int], dtype: np.dtype[Any], name: str, hint: str = ""
) -> ShapeError:
    """Return the error for an array of another shape or dtype; `what` is what it is called, `hint` is for the dtype."""
    if array.shape != tuple(shape):
        text = f"{what} has shape {array.shape} where {tuple(shape)} is needed"
        return ShapeError("shape.mismatch", text, (name,))
    return ShapeError("shape.dtype", f"{what} has dtype {array.dtype} where {dtype} is needed", (name,), hint)
