"""What a kernel has to give: values in double precision, and for each element how far rounding may carry it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from workbench.codegen.llvm.vmath import DECLARED, HALF_ULP
from workbench.ir import Func, blocks
from workbench.ir.dtypes import is_float
from workbench.ir.rounding_bounds.bounds import Results, evaluate
from workbench.ir.rounding_bounds.operations import UNIT, Near
from workbench.runtime.buffers import Array
from workbench.schedule.primitives.winograd import Winograd

#: Elements that are compared at once; few enough to stay in a core's own cache.
#: Chosen, not measured: 256 KiB of float64.
_CHUNK = 1 << 15
#: Distance that counts for nothing in floats: denormal numbers may be flushed.
_NOTHING = {"float64": 2.0**-1022}


@dataclass(frozen=True, slots=True)
class Expected:
    """Result of one output.

    Attributes
    ----------
    array : ndarray
        In the output's dtype.
    bound : ndarray or None
        Largest distance that is right, for each element: infinite where any value is, None where all values are exact
        whole numbers.
    share : float
        Part of the elements that can be judged: finite ones with a finite bound.
    """

    array: Array
    bound: Array | None
    share: float = 1.0

    @classmethod
    def of(cls, near: Near, dtype: str) -> Expected:
        """What is expected where a function gives `near`."""
        with np.errstate(all="ignore"):
            array = np.asarray(near.value.astype(dtype, copy=False), order="C")
            if not is_float(dtype):
                return cls(array, None).within(near.margin)
            apart = np.nan_to_num(np.abs(near.value - array.astype(np.float64)), posinf=0.0)
            return cls(array, None)._bounded(near.margin + apart)

    def within(self, margin: Array) -> Expected:
        """The same values with other bounds."""
        if is_float(self.array.dtype):
            size = np.abs(self.array.astype(np.float64))
            room = np.where(np.isfinite(size), size * UNIT[self.array.dtype.name], 0.0)
            return self._bounded(margin + room)
        loose = margin.astype(np.float64)
        share = float(np.mean(np.isfinite(loose))) if loose.size else 1.0
        bound = np.broadcast_to(np.maximum(loose, 0.5), self.array.shape)  # less than the least distance of two
        return replace(self, bound=bound if loose.any() else None, share=share)

    def _bounded(self, margin: Array) -> Expected:
        """Bounds of floats, in the type in which differences are worked out."""
        kind = np.dtype("float64") if self.array.dtype.itemsize > 4 else np.dtype("float32")
        margin = np.maximum(np.nan_to_num(margin, nan=np.inf, posinf=np.inf), _NOTHING.get(kind.name, 2.0**-126))
        bound = np.asarray(np.broadcast_to(margin * (1 + 2.0**-20), self.array.shape), kind, order="C")
        judged = np.isfinite(bound) & np.isfinite(_wide(self.array))
        return replace(self, bound=bound, share=float(np.mean(judged)) if bound.size else 1.0)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What takes memory."""
        return (self.array,) if self.bound is None else (self.array, self.bound)

    def worst(self, result: Array) -> float:
        """Return the largest error over its bound: up to 1 is right, infinite where there is no bound for it."""
        if self.bound is None:
            return 0.0 if np.array_equal(result, self.array) else math.inf
        with np.errstate(all="ignore"):
            largest = self._largest(result)
            return float(np.max(self._ratios(result), initial=0.0)) if math.isnan(largest) else largest

    def _largest(self, result: Array) -> float:
        """The largest ratio, piece by piece in one small array; NaN where differences are no numbers."""
        assert self.bound is not None
        mine, other, bound = result.reshape(-1), self.array.reshape(-1), self.bound.reshape(-1)
        scratch = np.empty(min(_CHUNK, mine.size), bound.dtype)
        largest = 0.0
        for begin in range(0, mine.size, _CHUNK):
            piece, part = scratch[: mine.size - begin], slice(begin, begin + _CHUNK)
            np.subtract(_wide(mine[part]), _wide(other[part]), out=piece, casting="unsafe")
            np.abs(piece, out=piece)
            np.divide(piece, bound[part], out=piece)
            high = float(piece.max())
            if math.isnan(high):
                return math.nan
            largest = max(largest, high)
        return largest

    def _ratios(self, result: Array) -> Array:
        """Error over bound of every element, where some are infinite or no numbers too."""
        mine, other = _wide(result), _wide(self.array)
        if self.bound is None:
            return np.where(mine == other, 0.0, np.inf)
        right = (mine == other) | (np.isnan(mine) & np.isnan(other)) | np.isinf(self.bound)
        ratios = np.abs(np.where(right, 0, mine) - np.where(right, 0, other)) / self.bound
        return np.where(right, 0.0, np.where(np.isnan(ratios), np.inf, ratios))

    def mismatch(self, name: str, result: Array) -> str:
        """Say where a result differs from the reference by more than rounding, for the log."""
        with np.errstate(all="ignore"):
            ratios = self._ratios(result)
        wrong = int((ratios > 1).sum())
        if not wrong:
            return f"{name} is right"
        at = np.unravel_index(int(ratios.argmax()), ratios.shape)
        unwritten = int(np.isnan(result).sum()) if is_float(result.dtype) else 0
        missing = f"; {unwritten} are NaN, as before the run" if unwritten else ""
        room = 0.0 if self.bound is None else float(self.bound[at])
        allowed = f"rounding explains {room:.3g}" if room > 2.0**-126 else "it is exact"
        return (
            f"{name}: {wrong} of {ratios.size} elements differ from the reference{missing}; "
            f"worst at {[int(i) for i in at]}: {result[at]} instead of {self.array[at]}, where {allowed}"
        )


def _wide(x: Array) -> Array:
    """The same values in a type whose differences are exact enough to judge."""
    if is_float(x.dtype):
        return x.astype("float32") if x.dtype.itemsize < 4 else x
    return x if x.dtype.itemsize > 4 else x.astype("float64")


def near_results(func: Func, inputs: dict[str, Array]) -> Results:
    """Evaluate an unscheduled function; its functions are as exact as the code generator declares them."""

    def ulps(op: str, dtype: str) -> float:
        return DECLARED[op, dtype].ulp if (op, dtype) in DECLARED else HALF_ULP

    return evaluate(func, inputs, ulps)


def with_winograd(func: Func, tiles: tuple[tuple[str, int], ...]) -> Func:
    """Return the function with Winograd's algorithm for the convolutions with these weights."""
    for weights, tile in tiles:
        block = next(b for b, _ in blocks(func.body) if any(ld.buffer == weights for ld in b.loads()))
        func, _ = Winograd(block.name, tile).apply(func)
    return func
