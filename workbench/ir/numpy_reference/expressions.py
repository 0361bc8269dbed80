"""Values of expressions over a whole domain at once, for the reference evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from workbench.errors import RunError
from workbench.ir.affine import FREE, Affine
from workbench.ir.dtypes import is_float
from workbench.ir.expr import Binary, Bound, Cast, Const, Expr, Index, Load, Pick, Select, Unary, Where, all_index_forms
from workbench.ir.numpy_reference.math import BINARY, UNARY, convert
from workbench.ir.poly import concrete

Array: TypeAlias = NDArray[Any]


def compute_dtype(dtype: str, precise: bool) -> np.dtype[Any]:
    """Return the type in which elements of a type are computed."""
    kind = np.dtype(dtype)
    if not is_float(kind):
        return kind
    return np.dtype("float64") if precise or kind.itemsize > 4 else np.dtype("float32")


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluates expressions over a domain; an axis in `part` takes these values only."""

    arrays: dict[str, Array]
    axes: dict[str, int]
    precise: bool
    part: Mapping[str, range] = field(default_factory=dict)

    def within(self, part: Mapping[str, range]) -> Evaluator:
        """Return an evaluator for the part of the domain where some axes have the given values."""
        return Evaluator(self.arrays, self.axes, self.precise, part)

    def size(self, axis: str) -> int:
        """Number of values that an axis takes."""
        return len(self.span(axis))

    def span(self, axis: str) -> range:
        """Values that an axis takes."""
        return self.part.get(axis) or range(self.axes[axis])

    def value(self, e: Expr, used: Array | None = None) -> Array:
        """Evaluate; under a `Select`, `used` says where the value counts: elsewhere loads may point outside."""
        match e:
            case Const(value, dtype):
                return np.asarray(value, compute_dtype(dtype, self.precise)).reshape((1,) * len(self.axes))
            case Load():
                return self.load(e, used)
            case Index(form):
                return self.form(form)
            case Unary(op, a):
                return np.asarray(UNARY[op](self.value(a, used)))
            case Binary(op, a, b):
                return np.asarray(BINARY[op](self.value(a, used), self.value(b, used)))
            case Cast(dtype, a):
                return convert(self.value(a, used), compute_dtype(dtype, self.precise))
            case Select(conds, a, b):
                inside = self.mask(conds)
                chosen, other = (inside, ~inside) if used is None else (inside & used, ~inside & used)
                return np.where(inside, self.value(a, chosen), self.value(b, other))
            case Where(cond, a, b):
                return np.where(self.value(cond, used), self.value(a, used), self.value(b, used))
        assert_never(e)

    def mask(self, conds: tuple[Bound, ...]) -> Array:
        out = np.ones((1,) * len(self.axes), bool)
        for c in conds:
            at = self.form(c.form)
            out = out & (at >= concrete(c.lo)) & (at < concrete(c.hi))
        return out

    def form(self, form: Affine, picked: Mapping[str, Array] | None = None) -> Array:
        """Value of an index form as int64, one dimension per axis; `picked` has the values of free digits."""
        out = np.full((1,) * len(self.axes), concrete(form.const), np.int64)
        for digit, c in form.terms:
            if digit.free:
                assert picked is not None
                assert digit.extent is not None
                out = out + picked[digit.var] // concrete(digit.lower) % concrete(digit.extent) * concrete(c)
                continue
            position = list(self.axes).index(digit.var)
            shape = [1] * len(self.axes)
            shape[position] = self.size(digit.var)
            values = np.asarray(self.span(digit.var)) // concrete(digit.lower)
            if digit.extent is not None:
                values = values % concrete(digit.extent)
            out = out + values.reshape(shape) * concrete(c)
        return out

    def view(self, load: Load) -> Array | None:
        """Strided view of an access whose indices are plain and stay inside, else None."""
        array = self.arrays[load.buffer]
        strides, offset = dict.fromkeys(self.axes, 0), 0
        for form, stride, extent in zip(load.index, array.strides, array.shape, strict=True):
            low = high = concrete(form.const)
            for digit, c in form.terms:
                if not digit.plain:
                    return None
                step, span = concrete(c), self.span(digit.var)
                first, last = step * span.start, step * (span.stop - 1)
                low, high = low + min(first, last), high + max(first, last)
                strides[digit.var] += step * stride
                offset += first * stride
            if low < 0 or high >= extent:
                return None
            offset += concrete(form.const) * stride
        used = {d.var for f in load.index for d, _ in f.terms}
        shape = [self.size(a) if a in used else 1 for a in self.axes]
        base = np.ndarray((1,), array.dtype, array, offset)
        return as_strided(base, shape, [strides[a] for a in self.axes])

    def load(self, load: Load, used: Array | None) -> Array:
        strided = self.view(load)
        return self.gather(load, used) if strided is None else strided

    def gather(self, load: Load, used: Array | None) -> Array:
        """Read by index arrays; whole trailing dimensions are copied as slices."""
        array, names = self.arrays[load.buffer], list(self.axes)
        picked = {f"{FREE}{k}": self.picked(p, used) for k, p in enumerate(load.at)}
        picking = {v for p in load.at for form in all_index_forms(p.value) for v in form.vars}
        tail: list[str] = []
        for d in range(array.ndim - 1, -1, -1):
            var = load.index[d].single_var()
            others = {n for k, f in enumerate(load.index) if k != d for n in f.vars} | picking
            if var is None or var in others or var in self.part or self.size(var) != array.shape[d]:
                break
            tail.insert(0, var)
        index = []
        kept = tuple(k for k, n in enumerate(names) if n in tail)
        for d, form in enumerate(load.index[: array.ndim - len(tail)]):
            at = self.form(form, picked)
            outside = (at < 0) | (at >= array.shape[d])
            if (outside if used is None else outside & used).any():
                raise RunError("reference.index", f"An access to {load.buffer!r} leaves dimension {d}.", (load.buffer,))
            index.append(np.clip(at, 0, array.shape[d] - 1).squeeze(kept))
        got: Array = array[tuple(index)]
        order = [n for n in names if n not in tail] + tail
        return got.transpose([order.index(n) for n in names])

    def picked(self, pick: Pick, used: Array | None) -> Array:
        """Numbers that the data give, cut to what there is."""
        value = self.value(pick.value, used)
        # Compared in their own type: the largest unsigned ones have no place among int64.
        low, high = value < 0, value >= concrete(pick.extent)
        return np.where(high, concrete(pick.extent) - 1, np.where(low, 0, value).astype(np.int64))

    def store(self, target: Load, value: Array) -> None:
        strided = self.view(target)
        if strided is not None:
            strided[...] = value
            return
        array = self.arrays[target.buffer]
        index = tuple(self.form(f) for f in target.index)
        if any(at.min() < 0 or at.max() >= n for at, n in zip(index, array.shape, strict=True)):
            raise RunError("reference.index", f"A store leaves buffer {target.buffer!r}.", (target.buffer,))
        array[index] = value
