"""Integer polynomials over holes, and the relations that hold between them.

A `Dim` is what stands for a number in a loop nest: an ``int`` where it is known, a `Poly` where it depends on holes
(open numbers of a schedule). Arithmetic falls back to ``int`` as soon as a result is constant, so concrete nests hold
plain ints.

Every split with holes states one relation: the product of its factors is the extent. New holes lead their relation
and no two relations share a leading hole, so rewriting ``h0*h1 -> E`` has a unique normal form: two dims are equal
exactly when their normal forms are (`normal`, `equal`). `nonneg` is three-valued; a caller that changes structure
treats ``None`` as "no".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Mono: TypeAlias = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """Sum of ``coefficient * product(hole ** exponent)``; never constant (a constant is an ``int``)."""

    terms: tuple[tuple[Mono, int], ...]

    def __add__(self, other: Dim) -> Dim:
        acc = dict(self.terms)
        for mono, c in _terms(other):
            acc[mono] = acc.get(mono, 0) + c
        return _make(acc)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other

    def __mul__(self, other: Dim) -> Dim:
        acc: dict[Mono, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in _terms(other):
                mono = _mono_mul(m1, m2)
                acc[mono] = acc.get(mono, 0) + c1 * c2
        return _make(acc)

    __rmul__ = __mul__

    def __str__(self) -> str:
        return sum_text((c < 0, mono_text(m, abs(c))) for m, c in self.terms)

    __repr__ = __str__


Dim: TypeAlias = int | Poly


@dataclass(frozen=True, slots=True)
class Relation:
    """``product(lhs) == rhs``; `lhs` are hole names, outermost factor first."""

    lhs: tuple[str, ...]
    rhs: int

    def __str__(self) -> str:
        return f"{'*'.join(self.lhs)} = {self.rhs}"


def hole(name: str) -> Poly:
    """Return the polynomial that is just the hole `name`."""
    return Poly(((((name, 1),), 1),))


def holes_of(dim: Dim) -> set[str]:
    """Names of the holes that `dim` depends on."""
    return set() if isinstance(dim, int) else {h for m, _ in dim.terms for h, _ in m}


def single_hole(dim: Dim) -> str | None:
    """Return the hole's name when `dim` is exactly one hole."""
    if isinstance(dim, int) or len(dim.terms) != 1:
        return None
    (mono, c), *_ = dim.terms
    return mono[0][0] if c == 1 and len(mono) == 1 and mono[0][1] == 1 else None


def substitute(dim: Dim, env: Mapping[str, Dim]) -> Dim:
    """Replace holes by the dims in `env`; holes that are not in `env` stay."""
    if isinstance(dim, int):
        return dim
    if not any(h in env for m, _ in dim.terms for h, _ in m):
        return dim
    out: Dim = 0
    for mono, c in dim.terms:
        prod: Dim = c
        for h, e in mono:
            value = env.get(h)
            factor: Dim = hole(h) if value is None else value
            for _ in range(e):
                prod = prod * factor
        out = out + prod
    return out


def evaluate(dim: Dim, columns: Mapping[str, Any], memo: dict[object, Any]) -> Any:
    """Evaluate over columns of hole values (ints or NumPy arrays ``[N]``); `memo` is shared by one whole pass."""
    if isinstance(dim, int):
        return dim
    got = memo.get(dim)
    if got is None:
        got = 0
        for mono, c in dim.terms:
            value = memo.get(mono)
            if value is None:
                value = 1
                for h, e in mono:
                    value = value * (columns[h] if e == 1 else columns[h] ** e)
                memo[mono] = value
            got = got + (value if c == 1 else c * value)
        memo[dim] = got
    return got


def normal(dim: Dim, relations: Sequence[Relation]) -> Dim:
    """Unique normal form modulo `relations` (each product of leading holes is rewritten to its extent)."""
    if isinstance(dim, int) or not relations:
        return dim
    changed = True
    while changed and not isinstance(dim, int):
        changed = False
        for rel in reversed(relations):
            if isinstance(dim, int):
                break
            lead = set(rel.lhs)
            hit = [(m, c) for m, c in dim.terms if lead <= {h for h, _ in m}]
            if hit:
                changed = True
                kept: Dim = _make({m: c for m, c in dim.terms if (m, c) not in hit})
                for m, c in hit:
                    kept = kept + (_divide_term(m, c * rel.rhs, _lead(rel), 1) or 0)
                dim = kept
    return dim


def concrete(dim: object) -> int:
    """Return a dim of a function without holes, which is a number."""
    assert isinstance(dim, int), dim
    return dim


def equal(a: Dim, b: Dim, relations: Sequence[Relation] = ()) -> bool:
    """Decide whether two dims are equal for every legal filling."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a == b or normal(a - b, relations) == 0


def nonneg(dim: Dim, relations: Sequence[Relation] = ()) -> bool | None:
    """``dim >= 0`` for every filling (holes are >= 1): True proved, False refuted (constants only), None undecided."""
    if not isinstance(dim, int):
        dim = normal(dim, relations)
    if isinstance(dim, int):
        return dim >= 0
    if _nonneg_at_least_one(dim):
        return True
    for rel in relations:
        for mono, c in dim.terms:
            # A constant E (or E times holes) may be unfolded into the product that it stands for.
            if c > 0 and _nonneg_at_least_one(_unfold(dim, rel, mono, c)):
                return True
    return None


def negative(dim: Dim) -> bool:
    """Whether ``dim < 0`` for every filling, seen from its terms alone: the sign of a step that an index takes."""
    return dim < 0 if isinstance(dim, int) else all(c < 0 for _, c in dim.terms)


def divide(dim: Dim, by: Dim, relations: Sequence[Relation] = ()) -> Dim | None:
    """Exact quotient by a single-term dim, or None when it is not provable."""
    if isinstance(dim, int) and isinstance(by, int) and by:
        return None if dim % by else dim // by
    dim, by = normal(dim, relations), normal(by, relations)
    if by == 1:
        return dim
    by_terms = _terms(by)
    if len(by_terms) != 1:
        return 1 if dim == by else None
    (dm, dc) = by_terms[0]
    out: Dim = 0
    for mono, c in _terms(dim):
        q = _divide_term(mono, c, dm, dc)
        if q is None:
            q = next((r for rel in relations if (r := _divide_unfolded(mono, c, dm, dc, rel)) is not None), None)
        if q is None:
            return None
        out = out + q
    return normal(out, relations)


def product(dims: Iterable[Dim]) -> Dim:
    """Product of dims; 1 for none."""
    out: Dim = 1
    for d in dims:
        out = out * d
    return out


def sum_text(parts: Iterable[tuple[bool, str]]) -> str:
    """Text of a sum, from its summands: whether each is negative, and its text without the sign."""
    text = "".join(f" - {part}" if negative else f" + {part}" for negative, part in parts)
    return text[3:] if text.startswith(" + ") else f"-{text[3:]}"


def mono_text(mono: Mono, c: int, hole: Callable[[str], str] = str) -> str:
    """Text of a product of holes and a number that is not negative; `hole` writes a hole's name."""
    factors = [hole(h) if e == 1 else f"{hole(h)}**{e}" for h, e in mono]
    return "*".join(factors if mono and c == 1 else [str(c), *factors])


def _terms(dim: Dim) -> tuple[tuple[Mono, int], ...]:
    if isinstance(dim, Poly):
        return dim.terms
    return (((), int(dim)),) if dim else ()


def _make(acc: Mapping[Mono, int]) -> Dim:
    terms = tuple(sorted((m, c) for m, c in acc.items() if c))
    if not terms:
        return 0
    if len(terms) == 1 and terms[0][0] == ():
        return terms[0][1]
    return Poly(terms)


def _mono_mul(a: Mono, b: Mono) -> Mono:
    if not a or not b:
        return a or b
    acc = dict(a)
    for h, e in b:
        acc[h] = acc.get(h, 0) + e
    return tuple(sorted(acc.items()))


def _lead(rel: Relation) -> Mono:
    """The product that a relation stands for."""
    return tuple(sorted((h, 1) for h in rel.lhs))


def _nonneg_at_least_one(dim: Dim) -> bool:
    shifted = substitute(dim, {h: hole(h) + 1 for h in holes_of(dim)})
    return all(c >= 0 for _, c in _terms(shifted))


def _unfold(dim: Dim, rel: Relation, mono: Mono, c: int) -> Dim:
    times = max(1, c // rel.rhs)  # once even below E: E - 1 is most of what is asked
    return dim - _make({mono: times * rel.rhs}) + _make({_mono_mul(mono, _lead(rel)): times})


def _divide_term(mono: Mono, c: int, dm: Mono, dc: int) -> Dim | None:
    if c % dc:
        return None
    acc = dict(mono)
    for h, e in dm:
        if acc.get(h, 0) < e:
            return None
        acc[h] -= e
    return _make({tuple(sorted((h, e) for h, e in acc.items() if e)): c // dc})


def _divide_unfolded(mono: Mono, c: int, dm: Mono, dc: int, rel: Relation) -> Dim | None:
    if c % rel.rhs:
        return None
    return _divide_term(_mono_mul(mono, _lead(rel)), c // rel.rhs, dm, dc)
