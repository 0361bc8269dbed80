"""Sums and other reductions, with bounds that hold for every order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.ir.dtypes import is_float
from workbench.ir.expr import Expr, all_index_forms
from workbench.ir.numpy_reference.product import sum_of_products
from workbench.ir.rounding_bounds.expressions import OPERAND, Box, Domain, boxes, boxes_of
from workbench.ir.rounding_bounds.operations import LARGEST, LEAST, UNIT, Array, Near, binary, double, rounded

#: Elements of an intermediate array, 512 KB of doubles: few enough to stay in a cache of the second level.
PIECE = 1 << 16
#: Points; reductions over at most so many run point by point: NumPy is slow on short inner axes. Chosen.
_SHORT = 64
#: Part of the largest number; what is below it counts as that much in a bound: products in float32 would be denormal
#: (below 1e-38), which is slow.
_FAINT = 1e-18
_FOLD: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True, slots=True)
class Sums:
    """A reduction: its operator, the dtype of its terms, all axes, those that are reduced, and roundings of a sum."""

    op: str
    dtype: str
    axes: dict[str, int]
    reduced: dict[str, int]
    roundings: float

    @property
    def side(self) -> int:
        """Points of the reduced axes that are evaluated at once."""
        count = math.prod(self.reduced.values())
        return 1 if count <= _SHORT else count

    def folded(self, domain: Domain, term: Expr) -> Near:
        """Evaluate the term over the domain and fold it, piece by piece."""
        totals: list[Array] = []
        ufunc = _FOLD[self.op]
        for box in boxes(self.reduced, min(self.side, PIECE)):
            parts = [self._piece(ufunc, part, box) for part in self._parts(domain.inside(box).near(term))]
            if totals and len(parts) != len(totals):  # exact in one box, where a condition chose so
                totals, parts = self._bounded(totals), self._bounded(parts)
            totals = [ufunc(t, p) for t, p in zip(totals, parts, strict=True)] if totals else parts
        return self._near(totals)

    def _piece(self, ufunc: Any, part: Array, box: Box) -> Array:
        """Fold one array; an axis that it ignores counts once per point."""
        sides = zip(self.axes, part.shape, strict=True)
        full = np.broadcast_to(part, [len(box[n]) if n in box else size for n, size in sides])
        along = tuple(k for k, n in enumerate(self.axes) if n in box)
        return np.asarray(ufunc.reduce(full, axis=along, keepdims=True, dtype=part.dtype))

    def _parts(self, term: Near) -> list[Array]:
        """What is folded: the values, and what bounds on the result are made of."""
        if term.error is None and not is_float(self.dtype):
            return [term.value]
        if term.value.dtype == bool:
            return [term.value, term.value & ~term.margin, term.value | term.margin]
        value = term.value.astype(np.float64)
        if self.op == "add":
            return [term.value, np.abs(value), np.broadcast_to(term.margin, value.shape)]
        if self.op == "mul":
            return [term.value, np.abs(value), np.abs(value) + term.margin]
        return [term.value] if term.error is None else [term.value, value - term.margin, value + term.margin]

    def _bounded(self, totals: list[Array]) -> list[Array]:
        """What `_parts` would have led to with bounds of nothing."""
        value, *rest = totals
        if rest:
            return totals
        end = value if self.op in ("max", "min") or value.dtype == bool else np.abs(value.astype(np.float64))
        return [value, end, np.zeros_like(end) if self.op == "add" and value.dtype != bool else end]

    def _near(self, totals: list[Array]) -> Near:
        value, *rest = totals
        if not rest:
            return Near(value)
        low, high = rest
        if value.dtype == bool:
            return Near(value, low != high)
        if self.op == "add":
            return self._summed(value, low, high)
        if self.op == "mul":
            return rounded(value, high - low, self.dtype, self.roundings)
        return Near(value, np.where(low == high, 0.0, np.maximum(high - value, value - low)))

    def _summed(self, value: Array, size: Array, error: Array) -> Near:
        """Add the roundings of a sum to the errors of its terms."""
        if not is_float(self.dtype):
            return rounded(value, error, self.dtype)
        margin = error + self.roundings * UNIT[self.dtype] * (size + error) + self._flushed(size)
        margin = np.where(np.isinf(value), error, np.where(size > LARGEST[self.dtype], np.inf, margin))
        return rounded(value, margin, self.dtype, 0.0)

    def _flushed(self, size: Array | float) -> Array:
        """What flushing of small sums may take away, of terms whose magnitudes add up to `size`."""
        faint = math.prod(self.reduced.values()) * LEAST[self.dtype]
        return np.where((np.asarray(size) > 0) & (np.asarray(size) < faint / UNIT[self.dtype]), faint, 0.0)

    def contracted(self, domain: Domain, factors: list[Expr]) -> Near:
        """Sum of products, as matrix products of two operands; the reduction is cut where an operand is too large."""
        total: Near | None = None
        for box in self.cuts(domain, factors, self.reduced):
            inner = domain.inside(box)
            part = self._product(inner, factors)
            total = part if total is None else _sum(total, part)
        assert total is not None
        return total

    def cuts(self, domain: Domain, factors: list[Expr], along: Mapping[str, int]) -> Iterator[Box]:
        """Cut a domain along some axes until no operand is too large."""
        used = [{v for form in all_index_forms(f) for v in form.vars if v in self.axes} for f in factors]
        counts = {n: domain.values.size(n) for n in self.axes}
        for name in along:
            largest = max(used, key=lambda axes: math.prod(counts[n] for n in axes))
            size = math.prod(counts[n] for n in largest)
            if size > OPERAND and name in largest:
                counts[name] = max(1, counts[name] * OPERAND // size)
        return boxes_of(along, counts)

    def _product(self, domain: Domain, factors: list[Expr]) -> Near:
        operands = [domain.operand(f) for f in factors]
        while len(operands) > 2:
            operands.sort(key=lambda o: o[0].value.size)
            (a, see_a), (b, see_b), *rest = operands
            near = binary("mul", _seen(a, see_a), _seen(b, see_b), self.dtype, domain.memory.ulps)
            operands = [(near, lambda x: x), *rest]
        (a, see_a), (b, see_b) = sorted(operands, key=lambda o: o[1](o[0].value).size, reverse=True)

        def product(x: Array, y: Array) -> Array:
            names = list(self.axes)
            sizes = [domain.values.size(n) for n in names]
            return sum_of_products(see_a(x), see_b(y), [names.index(n) for n in self.reduced], sizes)

        value = product(double(a.value), double(b.value))
        floating = is_float(self.dtype)
        if not floating and a.error is None and b.error is None:
            return Near(value)
        count, unit = math.prod(self.reduced.values()), self.roundings * UNIT[self.dtype] if floating else 0.0
        margin = self._bound(product, _most(a, unit), _most(b))
        if b.error is not None:
            margin += self._bound(product, _Magnitudes(a.value), _Magnitudes(b.error))
        if not floating:
            return rounded(value, margin, self.dtype)
        most = _top(a.value) * _top(b.value) * count
        margin += self._flushed(most)
        if not most < LARGEST[self.dtype]:  # parts of the sum may leave the range
            margin = np.where(margin < unit * LARGEST[self.dtype], margin, np.inf)
        return Near(value, margin)

    def _bound(self, product: Callable[[Array, Array], Array], x: _Magnitudes, y: _Magnitudes) -> Array:
        """Sum of products of magnitudes in single precision, a hundredth too large."""
        (a, of_a), (b, of_b) = x.single(), y.single()
        out = np.multiply(product(a, b), 1.01 * of_a * of_b, dtype=np.float64)
        out += 2 * _FAINT * math.prod(self.reduced.values()) * of_a * of_b
        return out


@dataclass(frozen=True, slots=True)
class _Magnitudes:
    """Magnitudes of an array times a factor."""

    array: Array
    factor: float = 1.0

    def single(self) -> tuple[Array, float]:
        """Single-precision numbers up to 1, and what to multiply them with; faint ones are 0."""
        top = _top(self.array)
        if not 0 < top < math.inf:
            return np.abs(self.array).astype(np.float64), self.factor
        out = np.empty(self.array.shape, np.float32)
        np.multiply(self.array, 1 / top, out=out, casting="unsafe")
        np.abs(out, out=out)
        np.copyto(out, 0.0, where=out < _FAINT)
        return out, top * self.factor


def _most(near: Near, unit: float | None = None) -> _Magnitudes:
    """What an operand may be at most; with `unit`, so many times that and its error besides."""
    if near.error is None:
        return _Magnitudes(near.value, 1.0 if unit is None else unit)
    size = np.abs(near.value)
    return _Magnitudes(size + near.error if unit is None else size * unit + near.error)


def _top(x: Array) -> float:
    """Largest magnitude."""
    return max(float(x.max()), -float(x.min())) if x.size else 0.0


def _sum(a: Near, b: Near) -> Near:
    return Near(a.value + b.value, None if a.error is None and b.error is None else a.margin + b.margin)


def _seen(near: Near, see: Callable[[Array], Array]) -> Near:
    return Near(double(see(near.value)), None if near.error is None else see(near.error))
