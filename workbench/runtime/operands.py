"""What a runner keeps for the candidates of a task: inputs, reference results, packed constants, guarded outputs."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from workbench.ir.dtypes import is_float
from workbench.ir.func import Buffer, Func, LayoutStep
from workbench.runtime.buffers import ALIGNMENT, Array, aligned_empty, as_aligned, concrete_shape
from workbench.runtime.results import TOLERANCE

#: Bytes after every buffer that a kernel may write, filled with a pattern that must survive.
GUARD = 256
PATTERN = 0xA5

#: Bytes of packed constants that are kept, over all tasks: candidates of one search often ask for the same layout.
PACKED_BYTES = 384 << 20

#: Elements that are compared at once; few enough to stay in a core's own cache.
_CHUNK = 1 << 15


@dataclass(slots=True)
class Guarded:
    """An array with a pattern on both sides."""

    raw: Array
    array: Array

    @classmethod
    def make(cls, shape: tuple[int, ...], dtype: str) -> Guarded:
        """Allocate one; its values are undefined."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        raw = aligned_empty((ALIGNMENT + size + GUARD,), "uint8")
        raw[:ALIGNMENT] = PATTERN
        raw[ALIGNMENT + size :] = PATTERN
        return cls(raw, raw[ALIGNMENT : ALIGNMENT + size].view(dtype).reshape(shape))

    def intact(self) -> bool:
        """Whether nothing was written next to the array."""
        end = ALIGNMENT + self.array.nbytes
        return bool((self.raw[:ALIGNMENT] == PATTERN).all() and (self.raw[end:] == PATTERN).all())


@dataclass(slots=True)
class Expected:
    """Reference result of one output; `scale` is max |reference|."""

    array: Array
    scale: float
    finite: bool


@dataclass(slots=True)
class Operands:
    """A task's inputs as given, reference results, and buffers to write to."""

    func: Func
    inputs: dict[str, Array]
    expected: dict[str, Expected]
    outputs: dict[str, Guarded]

    @property
    def nbytes(self) -> int:
        """Memory that the task holds."""
        arrays = [*self.inputs.values(), *(e.array for e in self.expected.values())]
        return sum(a.nbytes for a in arrays) + sum(g.raw.nbytes for g in self.outputs.values())


class Packed:
    """Constants in the layouts that candidates asked for, of all tasks; what was not used longest gives way."""

    def __init__(self, most_bytes: int = PACKED_BYTES) -> None:
        self._kept: OrderedDict[tuple[str, str, object], Array] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def get(self, task: str, buffer: Buffer, array: Array) -> Array:
        """Return the array as this buffer wants it."""
        cheap = len(buffer.layout)
        while cheap and isinstance(buffer.layout[cheap - 1], LayoutStep):
            cheap -= 1
        array = self._after(task, buffer, cheap, array)
        return self._after(task, buffer, len(buffer.layout), array, cheap)

    def _after(self, task: str, buffer: Buffer, count: int, array: Array, begin: int = 0) -> Array:
        """Return the array after the layout's first `count` steps, `begin` of which were made before."""
        if count == begin:
            return array
        key = (task, buffer.name, buffer.layout[:count])
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        for step in buffer.layout[begin:count]:
            array = step.apply(array)
        packed = aligned_empty(array.shape, array.dtype)
        np.copyto(packed, array)
        self._kept[key] = packed
        self._bytes += packed.nbytes
        while self._bytes > self._most and len(self._kept) > 2:
            _, old = self._kept.popitem(last=False)
            self._bytes -= old.nbytes
        return packed

    def forget(self, task: str) -> None:
        """Drop a task's arrays."""
        for key in [k for k in self._kept if k[0] == task]:
            self._bytes -= self._kept.pop(key).nbytes


def make_inputs(func: Func, seed: int, positive: bool = False) -> dict[str, Array]:
    """Return seeded inputs and constant operands; `positive` keeps to where logarithms and roots are defined."""
    from workbench.ir.interp import random_inputs

    arrays = random_inputs(func, seed)
    if positive:
        arrays = {n: (np.abs(a) + a.dtype.type(0.5) if is_float(a.dtype) else a) for n, a in arrays.items()}
    return {name: as_aligned(array) for name, array in arrays.items()}


def _references(func: Func, inputs: dict[str, Array]) -> dict[str, Expected]:
    from workbench.ir.reference import evaluate

    with np.errstate(all="ignore"):
        results = evaluate(func, inputs)
    expected = {}
    for buffer in func.outputs:
        array = np.ascontiguousarray(results[buffer.name]).astype(buffer.dtype, copy=False)
        finite = bool(np.isfinite(array).all()) if is_float(array.dtype) else True
        scale = float(np.max(np.abs(array[np.isfinite(array)]), initial=0.0)) if is_float(array.dtype) else 0.0
        expected[buffer.name] = Expected(array, scale, finite)
    return expected


def prepare(func: Func, seed: int) -> Operands:
    """Make inputs and reference results; raises whatever the reference raises."""
    inputs = make_inputs(func, seed)
    expected = _references(func, inputs)
    if not all(e.finite for e in expected.values()):
        inputs = make_inputs(func, seed, positive=True)
        expected = _references(func, inputs)
    outputs = {b.name: Guarded.make(concrete_shape(b.shape), b.dtype) for b in func.outputs}
    return Operands(func, inputs, expected, outputs)


def relative_error(result: Array, expected: Expected) -> float:
    """Return the largest difference over max |reference|; infinite where only one of the two is a number."""
    reference = expected.array
    if not is_float(result.dtype):
        return 0.0 if np.array_equal(result, reference) else math.inf
    with np.errstate(all="ignore"):
        difference = _largest(result, reference) if expected.finite else _largest_of_odd(result, reference)
    if not math.isfinite(difference):
        return math.inf
    if expected.scale == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return difference / expected.scale


def _largest(result: Array, reference: Array) -> float:
    """The largest difference, piece by piece in one small array; NaN when there is one anywhere."""
    mine, other = result.reshape(-1), reference.reshape(-1)
    wide = mine.dtype if mine.dtype.itemsize >= 4 else np.dtype("float32")
    scratch = np.empty(min(_CHUNK, mine.size), wide)
    largest = 0.0
    for begin in range(0, mine.size, _CHUNK):
        piece = scratch[: mine.size - begin]
        np.subtract(_wide(mine[begin : begin + _CHUNK]), _wide(other[begin : begin + _CHUNK]), out=piece)
        high, low = float(piece.max()), float(piece.min())
        if math.isnan(high):
            return math.nan
        largest = max(largest, high, -low)
    return largest


def _largest_of_odd(result: Array, reference: Array) -> float:
    """The same where infinities and what is no number are expected at some places."""
    result, reference = _wide(result), _wide(reference)
    if not np.array_equal(np.isnan(result), np.isnan(reference)):
        return math.inf
    same = np.isnan(reference) | (result == reference)
    difference = np.where(same, 0, result) - np.where(same, 0, reference)
    return float(np.max(np.abs(difference), initial=0.0))


def _wide(x: Array) -> Array:
    """The same values in a type whose differences are exact enough to judge."""
    return x.astype("float32") if x.dtype.itemsize < 4 else x


def describe_mismatch(name: str, result: Array, expected: Expected) -> str:
    """Say where a result differs from the reference, for the log."""
    reference = expected.array
    unwritten = int(np.isnan(result).sum()) if is_float(result.dtype) else 0
    with np.errstate(all="ignore"):
        if is_float(result.dtype):
            mine, other = _wide(result), _wide(reference)
            wrong = ~(np.abs(mine - other) <= TOLERANCE.get(str(result.dtype), 0.0) * expected.scale)
            wrong &= ~((np.isnan(mine) & np.isnan(other)) | (mine == other))
        else:
            wrong = result != reference
    if not wrong.any():
        return f"{name} is right"
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    missing = f"; {unwritten} are NaN, as before the run" if unwritten else ""
    return (
        f"{name}: {int(wrong.sum())} of {wrong.size} elements differ from the reference{missing}; "
        f"first at {list(at)}: {result[at]} instead of {reference[at]}"
    )
