from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import ScheduleError
from workbench.ir import Affine, Bound, Digit, Relation
from workbench.ir.affine import bijective, digit_of, split_base, width
from workbench.ir.interval import interval, overlaps
from workbench.ir.poly import hole

EXTENTS = {"i": 4, "j": 6, "f": 24}
digits = st.sampled_from(
    [Digit("i"), Digit("j"), Digit("f"), Digit("f", 6, 4), Digit("f", 1, 6), Digit("f", 2, 3), Digit("j", 2)]
)
forms = st.builds(Affine.make, st.lists(st.tuples(digits, st.integers(-5, 9)), max_size=3), st.integers(-9, 9))
POINTS = [dict(zip(EXTENTS, p, strict=True)) for p in itertools.product(*(range(n) for n in EXTENTS.values()))]


def value(form, point):
    total = form.const
    for d, c in form.terms:
        v = point[d.var] // d.lower
        total += c * (v if d.extent is None else v % d.extent)
    return total


@settings(max_examples=100, deadline=None)
@given(forms, forms, st.integers(-3, 3))
def test_arithmetic_is_that_of_the_values(a, b, k):
    for p in POINTS[::37]:
        assert value(a + b, p) == value(a, p) + value(b, p)
        assert value(a - b, p) == value(a, p) - value(b, p)
        assert value(a * k, p) == value(a, p) * k


@settings(max_examples=100, deadline=None)
@given(forms, st.lists(st.tuples(forms, st.integers(-9, 9), st.integers(-9, 30)), max_size=2))
def test_intervals_hold_at_every_point_that_the_bounds_admit(form, known):
    bounds = [Bound(f, lo, hi) for f, lo, hi in known]
    got = interval(form, EXTENTS, bounds, ())
    for p in POINTS[::7]:
        if all(b.lo <= value(b.form, p) < b.hi for b in bounds):
            v = value(form, p)
            assert all(lo <= v for lo in got.lows)
            assert all(v <= hi for hi in got.highs)


@settings(max_examples=200, deadline=None)
@given(forms)
def test_a_bijective_form_takes_every_value_once(form):
    used = {v: EXTENTS[v] for v in form.vars}
    points = [dict(zip(used, p, strict=True)) for p in itertools.product(*(range(n) for n in used.values()))]
    values = sorted(value(form, p) for p in points)
    if bijective(form, used, len(values), ()):
        assert values == list(range(len(values)))
    plain = all(d.plain for d, _ in form.terms) and all(c > 0 for _, c in form.terms)
    if plain and overlaps(form, used, ()):
        assert len(set(values)) < len(values)


@settings(max_examples=100, deadline=None)
@given(forms, st.sampled_from([("i",), ("j",), ("i", "j"), ("f",)]))
def test_base_and_width_span_what_the_inner_loops_touch(form, inner):
    run = {v: EXTENTS[v] for v in inner}
    base, size = split_base(form, run), width(form, run)
    for p in POINTS[::11]:
        assert value(base, p) <= value(form, p) < value(base, p) + size


def test_digits_of_digits():
    f, fused = Affine.var("f"), Affine(((Digit("f", 2, 12), 1),))
    assert digit_of(f, Digit("x", 4, 3)) == Affine(((Digit("f", 4, 3), 1),))
    for inner in (Digit("x", 3), Digit("x", 3, 4), Digit("x", 1, 4), Digit("x", 2, 3), Digit("x", 4, 9)):
        got = digit_of(fused, inner)
        for p in POINTS[::5]:
            v = value(fused, p) // inner.lower
            assert value(got, p) == (v if inner.extent is None else v % inner.extent)
    for wrong in (Digit("x", 5), Digit("x", 2, 4)):
        with pytest.raises(ScheduleError) as e:
            digit_of(fused, wrong)
        assert e.value.code == "index.affine"
    with pytest.raises(ValueError, match="not affine"):
        digit_of(f + 1, Digit("x", 2))


parts = st.sampled_from([Digit("f", 6, 4), Digit("f", 1, 6), Digit("f", 2, 3), Digit("f", 1, 2), Digit("f", 2, 12)])
others = st.sampled_from([Digit("i", 1, 4), Digit("i", 2, 2), Digit("j", 1, 6), Digit("j", 3, 2)])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(parts | others, st.sampled_from([1, 2, 3, 4, 6, 12, 24])), max_size=3, unique_by=lambda t: t[0].var
    ),
    st.builds(Digit, st.just("x"), st.sampled_from([1, 2, 3, 4, 6, 12]), st.sampled_from([None, 2, 3, 4, 12])),
)
def test_digits_of_sums_are_those_of_the_values(terms, digit):
    form = Affine.make(terms)
    try:
        got = digit_of(form, digit)
    except ScheduleError:
        return
    for p in POINTS[::7]:
        v = value(form, p) // digit.lower
        assert value(got, p) == (v if digit.extent is None else v % digit.extent)


def test_a_sum_has_parts_where_its_digits_end():
    """``2 a + b`` with b below 2: its quotient by 2 is a, its remainder b; a digit that reaches beyond is cut."""
    a, b = Digit("f", 2, 12), Digit("j", 1, 2)
    assert digit_of(Affine.make([(a, 2), (b, 1)]), Digit("x", 2)) == Affine(((a, 1),))
    assert digit_of(Affine.make([(a, 2), (b, 1)]), Digit("x", 1, 2)) == Affine(((b, 1),))
    assert digit_of(Affine.make([(a, 2), (b, 1)]), Digit("x", 6, 4)) == Affine(((Digit("f", 6, 4), 1),))
    with pytest.raises(ScheduleError, match="not affine"):
        digit_of(Affine.make([(a, 2), (b, 2)]), Digit("x", 2, 2))


def test_symbolic_cover():
    a, b = hole("a"), hole("b")
    rel = (Relation(("a", "b"), 12),)
    form = Affine.var("i") * b + Affine.var("j")
    assert bijective(form, {"i": a, "j": b}, 12, rel)
    assert not bijective(form, {"i": b, "j": a}, 12, rel)
    assert width(form, {"j": b}) == b
