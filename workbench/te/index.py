"""Index expressions of tensor expressions: affine in the axes, with ``//`` and ``%`` where the result stays a digit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.errors import ExpressionError
from workbench.ir import Affine, Bound, Digit
from workbench.ir.poly import concrete
from workbench.ir.size_limits import EXTENT_LIMIT


@dataclass(frozen=True, slots=True)
class Axis:
    """An index expression: affine in iteration axes. Supports ``+ - *`` with ints and ``// %`` by positive ints."""

    form: Affine
    extents: tuple[tuple[str, int], ...]
    reduce: tuple[str, ...] = ()

    def __add__(self, o: Axis | int) -> Axis:
        if _is_value(o):
            return NotImplemented
        return _axis_add(self, o, 1)

    __radd__ = __add__

    def __sub__(self, o: Axis | int) -> Axis:
        if _is_value(o):
            return NotImplemented
        return _axis_add(self, o, -1)

    def __rsub__(self, o: int) -> Axis:
        return Axis(self.form * -1 + _whole(o), self.extents, self.reduce)

    def __mul__(self, o: int) -> Axis:
        if _is_value(o):
            return NotImplemented
        return Axis(self.form * _whole(o), self.extents, self.reduce)

    __rmul__ = __mul__

    def __floordiv__(self, o: int) -> Axis:
        return Axis(_divmod("//", self.form, _divisor(o), dict(self.extents))[0], self.extents, self.reduce)

    def __mod__(self, o: int) -> Axis:
        return Axis(_divmod("%", self.form, _divisor(o), dict(self.extents))[1], self.extents, self.reduce)

    def __ge__(self, o: int) -> Cond:
        return NotImplemented if _is_value(o) else Cond((Bound(self.form, _whole(o), EXTENT_LIMIT),))

    def __gt__(self, o: int) -> Cond:
        return NotImplemented if _is_value(o) else self >= _whole(o) + 1

    def __lt__(self, o: int) -> Cond:
        return NotImplemented if _is_value(o) else Cond((Bound(self.form, -EXTENT_LIMIT, _whole(o)),))

    def __le__(self, o: int) -> Cond:
        return NotImplemented if _is_value(o) else self < _whole(o) + 1

    def equal(self, o: int) -> Cond:
        """Condition ``self == o`` (``==`` itself keeps its Python meaning)."""
        return Cond((Bound(self.form, _whole(o), _whole(o) + 1),))


def _is_value(o: object) -> bool:
    """Whether `o` is an expression rather than an index: it knows how to deal with indices."""
    return hasattr(o, "expr")


def _whole(o: object) -> int:
    """Return a whole number; nothing else is part of an index, and nothing is rounded."""
    if not isinstance(o, int | np.integer):
        text = f"An index can be combined with an int, not with {type(o).__name__}."
        raise ExpressionError("te.affine", text, (), "as data, an index is te.cast(i, 'float32')")
    return int(o)


def _divisor(o: object) -> int:
    if (by := _whole(o)) < 1:
        raise ExpressionError("te.affine", f"An index can be divided by a positive int, not by {by}.")
    return by


@dataclass(frozen=True, slots=True)
class Cond:
    """Conjunction of index bounds, for `select`."""

    bounds: tuple[Bound, ...]

    def __and__(self, o: Cond) -> Cond:
        merged = {b.form: b for b in self.bounds}
        for b in o.bounds:
            old = merged.get(b.form)
            lo = b.lo if old is None else max(concrete(old.lo), concrete(b.lo))
            hi = b.hi if old is None else min(concrete(old.hi), concrete(b.hi))
            merged[b.form] = Bound(b.form, lo, hi)
        return Cond(tuple(merged.values()))


def merge_extents(*parts: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """Union of axis extents, by name."""
    return tuple({n: (n, e) for p in parts for n, e in p}.values())


def merge_names(*parts: tuple[str, ...]) -> tuple[str, ...]:
    """Union of names in order of first occurrence."""
    return tuple(dict.fromkeys(n for p in parts for n in p))


def _axis_add(a: Axis, o: Axis | int, sign: int) -> Axis:
    if isinstance(o, Axis):
        return Axis(a.form + o.form * sign, merge_extents(a.extents, o.extents), merge_names(a.reduce, o.reduce))
    return Axis(a.form + _whole(o) * sign, a.extents, a.reduce)


def _divmod(sign: str, form: Affine, by: int, extents: dict[str, int]) -> tuple[Affine, Affine]:
    """``form // by`` and ``form % by``: terms that `by` divides leave; the rest must stay below `by`, or be one bare
    axis.
    """
    if by == 1:
        return form, Affine()
    quotient, rest = _divmod_terms(form, by)
    if _within(rest, by, extents):
        return quotient, rest
    digit = _bare(rest, by)
    if digit is None:
        raise ExpressionError(
            "te.affine",
            f"({form}) {sign} {by} is not affine.",
            (),
            "only sums of whole multiples and one axis can be divided",
        )
    above = Digit(digit.var, concrete(digit.lower) * by, _div_extent(digit, by))
    return quotient + Affine(((above, 1),)), Affine(((Digit(digit.var, digit.lower, by), 1),))


def _divmod_terms(form: Affine, by: int) -> tuple[Affine, Affine]:
    q = [(d, concrete(c) // by) for d, c in form.terms if concrete(c) % by == 0]
    r = [(d, c) for d, c in form.terms if concrete(c) % by]
    const = concrete(form.const)
    return Affine.make(q, const // by), Affine.make(r, const % by)


def _within(rest: Affine, by: int, extents: dict[str, int]) -> bool:
    hi = concrete(rest.const)
    for d, c in rest.terms:
        size = concrete(d.extent) if d.extent is not None else -(-extents[d.var] // concrete(d.lower))
        if concrete(c) < 0:
            return False
        hi += concrete(c) * (size - 1)
    return hi < by


def _bare(rest: Affine, by: int) -> Digit | None:
    """The digit of ``1 * digit + 0`` when dividing by `by` leaves a digit."""
    if len(rest.terms) != 1 or rest.const != 0 or rest.terms[0][1] != 1:
        return None
    digit = rest.terms[0][0]
    return digit if digit.extent is None or concrete(digit.extent) % by == 0 else None


def _div_extent(digit: Digit, by: int) -> int | None:
    return None if digit.extent is None else -(-concrete(digit.extent) // by)
