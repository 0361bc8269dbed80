"""Affine index forms over loop digits.

An index is ``sum(coefficient * digit) + const``. A digit is a loop variable, or a mixed-radix digit of a fused loop:
``(var // lower) % extent``. Coefficients may depend on holes, so one form describes every filling of a schedule.

A digit may also stand for a number that is read at run time (`FREE`): it has any value below its extent, whatever the
loops do. Everything that asks where an access lies then takes the whole extent for touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import ScheduleError
from workbench.ir.poly import Dim, Poly, Relation, equal, negative, normal, product

#: First letter of the variables that stand for numbers read at run time; no loop or axis has such a name.
FREE = "@"


@dataclass(frozen=True, slots=True)
class Digit:
    """``(var // lower) % extent``; a plain loop variable has ``lower == 1`` and ``extent is None``.

    A free one always has an extent.
    """

    var: str
    lower: Dim = 1
    extent: Dim | None = None

    @property
    def plain(self) -> bool:
        """Whether this is the loop variable itself."""
        return self.extent is None and self.lower == 1

    @property
    def free(self) -> bool:
        """Whether this is (a part of) a number that is read at run time."""
        return self.var[:1] == FREE

    def __str__(self) -> str:
        if self.free and self.lower == 1:
            return f"(any below {self.extent})"
        text = self.var if self.lower == 1 else f"{self.var} // {_factor(self.lower)}"
        if self.extent is None:
            return text if self.lower == 1 else f"({text})"
        return f"({text} % {_factor(self.extent)})"


@dataclass(frozen=True, slots=True)
class Affine:
    """``sum(coefficient * digit) + const`` with terms in canonical order; build it with `make`, `var` or arithmetic."""

    terms: tuple[tuple[Digit, Dim], ...] = ()
    const: Dim = 0

    @staticmethod
    def var(name: str) -> Affine:
        """Form that is just the loop variable `name`."""
        return Affine(((Digit(name), 1),))

    @staticmethod
    def make(terms: Iterable[tuple[Digit, Dim]], const: Dim = 0) -> Affine:
        """Merge equal digits, drop zero coefficients, sort."""
        given = list(terms)
        if len(given) > 1:
            if len({d.var for d, _ in given}) == len(given):
                given.sort(key=_var)
            else:
                acc: dict[Digit, Dim] = {}
                for digit, c in given:
                    acc[digit] = acc.get(digit, 0) + c
                given = sorted(acc.items(), key=_digit_key)
        return Affine(tuple([t for t in given if t[1] != 0]), const)

    def __add__(self, other: Affine | Dim) -> Affine:
        if isinstance(other, Affine):
            if not self.terms or not other.terms:
                return Affine(self.terms or other.terms, self.const + other.const)
            return Affine.make(self.terms + other.terms, self.const + other.const)
        return Affine(self.terms, self.const + other)

    __radd__ = __add__

    def __sub__(self, other: Affine | Dim) -> Affine:
        return self + (other * -1)

    def __mul__(self, factor: Dim) -> Affine:
        if isinstance(factor, int) and factor != 0:  # the terms stay in order, and none becomes 0
            return self if factor == 1 else Affine(tuple([(d, c * factor) for d, c in self.terms]), self.const * factor)
        return Affine.make(((d, c * factor) for d, c in self.terms), self.const * factor)

    @property
    def vars(self) -> set[str]:
        """Loop variables that occur."""
        return {d.var for d, _ in self.terms if d.var[:1] != FREE}

    @property
    def free(self) -> bool:
        """Whether a number that is read at run time occurs."""
        return any(d.var[:1] == FREE for d, _ in self.terms)

    @property
    def is_const(self) -> bool:
        """Whether no loop variable occurs."""
        return not self.terms

    def single_var(self) -> str | None:
        """Return the variable's name when the form is exactly one plain variable."""
        if len(self.terms) == 1 and self.const == 0 and self.terms[0][1] == 1 and self.terms[0][0].plain:
            return self.terms[0][0].var
        return None

    def coefficient(self, var: str) -> Dim:
        """Coefficient of the plain digit of `var`; 0 when it does not occur."""
        return next((c for d, c in self.terms if d.var == var and d.plain), 0)

    def subst(self, env: Mapping[str, Affine | Callable[[Digit], Affine]]) -> Affine:
        """Replace variables by forms (plain digits only) or by a function of the digit."""
        kept: list[tuple[Digit, Dim]] = []
        new_forms: list[Affine] = []
        for digit, c in self.terms:
            new = env.get(digit.var)
            if new is None:
                kept.append((digit, c))
                continue
            form = new(digit) if not isinstance(new, Affine) else new if digit.plain else digit_of(new, digit)
            new_forms.append(form * c)
        if not new_forms:
            return self
        if len(new_forms) == 1 and not kept and self.const == 0:
            return new_forms[0]
        const = self.const
        for form in new_forms:
            kept += form.terms
            const = const + form.const
        return Affine.make(kept, const)

    def map_dims(self, fn: Callable[[Dim], Dim]) -> Affine:
        """Apply `fn` to every coefficient, digit bound and the constant; the same form where it changes nothing."""
        if (
            all(
                fn(c) is c and fn(d.lower) is d.lower and (d.extent is None or fn(d.extent) is d.extent)
                for d, c in self.terms
            )
            and (const := fn(self.const)) is self.const
        ):
            return self
        if not self.terms:
            return Affine((), const)
        return Affine.make(
            ((Digit(d.var, fn(d.lower), None if d.extent is None else fn(d.extent)), fn(c)) for d, c in self.terms),
            fn(self.const),
        )

    def normal(self, relations: Sequence[Relation]) -> Affine:
        """Normal form of every dim modulo `relations`."""
        return self.map_dims(lambda d: normal(d, relations)) if relations else self

    def __str__(self) -> str:
        parts = [str(d) if c == 1 else f"{d} * {_factor(c)}" for d, c in self.terms]
        if self.const != 0 or not parts:
            parts.append(str(self.const))
        return " + ".join(parts).replace("+ -", "- ")


def digit_of(form: Affine, digit: Digit) -> Affine:
    """Digit of a form: exact where the form is one digit or a constant, or a sum whose parts end where the digit does.

    Raises
    ------
    ScheduleError
        "index.affine" when the digit would cut through a sum; index expressions are then not affine any more.
    """
    if form.is_const and isinstance(form.const, int) and isinstance(digit.lower, int):
        value = form.const // digit.lower
        if isinstance(digit.extent, int):
            return Affine((), value % digit.extent)
        if digit.extent is None:
            return Affine((), value)
    if (var := form.single_var()) is not None:
        return Affine(((Digit(var, digit.lower, digit.extent), 1),))
    if len(form.terms) == 1 and form.const == 0 and form.terms[0][1] == 1:
        nested = _digit_of_digit(form.terms[0][0], digit)
        if nested is not None:
            return Affine(((nested, 1),))
    if (parts := _digit_of_sum(form, digit)) is not None:
        return parts
    raise ScheduleError(
        "index.affine",
        f"Part {digit} of the index {form} is not affine.",
        (digit.var,),
        "split and fuse loops where the parts of the index meet",
    )


def _digit_of_sum(form: Affine, digit: Digit) -> Affine | None:
    """Digit of a sum of digits: those below it never reach it, those above it are multiples of its end."""
    if not isinstance(digit.lower, int) or not isinstance(digit.extent, int | None) or form.const != 0:
        return None
    end = None if digit.extent is None else digit.lower * digit.extent
    terms: list[tuple[Digit, int]] = []
    for d, c in form.terms:
        if end is not None and isinstance(c, int) and c % end == 0:
            continue
        if not isinstance(c, int) or c < 1 or not isinstance(d.lower, int) or not isinstance(d.extent, int):
            return None
        terms.append((d, c))
    terms = _cut_at(terms, digit.lower)
    if end is not None:
        terms = [(d, c) for d, c in _cut_at(terms, end) if c % end]
    below = [(d, c) for d, c in terms if c % digit.lower]
    kept = [(d, c // digit.lower) for d, c in terms if c % digit.lower == 0]
    fits = _reach(below) < digit.lower and (digit.extent is None or _reach(kept) < digit.extent)
    return Affine.make(kept) if fits else None


def _reach(terms: Iterable[tuple[Digit, int]]) -> int:
    """Greatest value of a sum of digits, all of which have an extent."""
    return sum(c * (d.extent - 1) for d, c in terms if isinstance(d.extent, int))


def _cut_at(terms: Iterable[tuple[Digit, int]], end: int) -> list[tuple[Digit, int]]:
    """Terms that reach beyond a number in two, where a part of their digit ends there."""
    found: list[tuple[Digit, int]] = []
    for d, c in terms:
        size = end // c
        assert isinstance(d.lower, int)
        assert isinstance(d.extent, int)
        if end % c == 0 and 1 < size < d.extent and d.extent % size == 0:
            found.append((Digit(d.var, d.lower, size), c))
            found.append((Digit(d.var, d.lower * size, d.extent // size), c * size))
        else:
            found.append((d, c))
    return found


def _digit_of_digit(outer: Digit, inner: Digit) -> Digit | None:
    """``inner`` of the value of `outer`, where the parts of `outer` end where those of `inner` do."""
    if not (isinstance(outer.lower, int) and isinstance(inner.lower, int)):
        return None
    lower = outer.lower * inner.lower
    if outer.extent is None:
        return Digit(outer.var, lower, inner.extent)
    if not isinstance(outer.extent, int) or outer.extent % inner.lower:
        return None
    rest = outer.extent // inner.lower
    if inner.extent is None:
        return Digit(outer.var, lower, rest)
    if not isinstance(inner.extent, int):
        return None
    if inner.extent >= rest:
        return Digit(outer.var, lower, rest)
    return Digit(outer.var, lower, inner.extent) if rest % inner.extent == 0 else None


def digit_extent(digit: Digit, extents: Mapping[str, Dim]) -> Dim:
    """Number of values of a digit, given the extents of the loops."""
    if digit.extent is not None:
        return digit.extent
    whole = extents[digit.var]
    if digit.lower == 1:
        return whole
    if isinstance(whole, int) and isinstance(digit.lower, int):
        return -(-whole // digit.lower)
    raise ValueError(f"extent of {digit} depends on holes")


def width(form: Affine, extents: Mapping[str, Dim]) -> Dim:
    """Span of the form when the loops in `extents` run and all others stand still: ``1 + sum(|c| * (extent - 1))``.

    Numbers that are read at run time never stand still.
    """
    out: Dim = 1
    for digit, c in form.terms:
        if digit.free or digit.var in extents:
            size = digit_extent(digit, extents) - 1
            out = out + ((-c) * size if negative(c) else c * size)
    return out


def split_base(form: Affine, inner: Mapping[str, Dim]) -> Affine:
    """Part of the form that stands still while the `inner` loops run (negative steps move the base to the low end)."""
    const = form.const
    kept: list[tuple[Digit, Dim]] = []
    for digit, c in form.terms:
        if not digit.free and digit.var not in inner:
            kept.append((digit, c))
        elif negative(c):
            const = const + c * (digit_extent(digit, inner) - 1)
    return Affine(tuple(kept), const)  # in order, as they were


def bijective(form: Affine, extents: Mapping[str, Dim], total: Dim, relations: Sequence[Relation]) -> bool:
    """Mixed-radix test: the form takes every value of ``[0, total)`` exactly once over the loops in `extents`."""
    if form.const != 0:
        return False
    count = injective(form, extents, relations)
    return count is not None and equal(count, total, relations)


def injective(form: Affine, extents: Mapping[str, Dim], relations: Sequence[Relation]) -> Dim | None:
    """Size of ``[0, n)`` that the form (its constant aside) takes exactly once, or None: the mixed-radix test."""
    todo = [(c, digit_extent(d, extents)) for d, c in form.terms]
    weight: Dim = 1
    while todo:
        unit = next((x for x in todo if equal(x[1], 1, relations)), None)
        hit = unit or next((x for x in todo if equal(x[0], weight, relations)), None)
        if hit is None:
            return None
        todo.remove(hit)
        weight = weight if unit else normal(weight * hit[1], relations)
    return weight


def flat_index(index: Sequence[Affine], strides: Sequence[Dim]) -> Affine:
    """Offset of an element, from its index and the distances of neighbours along each dimension."""
    return sum((form * stride for form, stride in zip(index, strides, strict=True)), Affine())


def radix_boundaries(factors: Sequence[Dim], relations: Sequence[Relation]) -> list[Dim]:
    """Suffix products of `factors`, from 1 up to the whole: where a digit of the split loop may start or end."""
    return [normal(product(factors[k:]), relations) for k in range(len(factors), -1, -1)]


def _var(item: tuple[Digit, Dim]) -> str:
    return item[0].var


def _digit_key(item: tuple[Digit, Dim]) -> tuple[str, str, str]:
    digit = item[0]
    return digit.var, "" if digit.lower == 1 else str(digit.lower), str(digit.extent)


def _factor(dim: Dim) -> str:
    return f"({dim})" if isinstance(dim, Poly) and (len(dim.terms) > 1 or "*" in str(dim)) else str(dim)
