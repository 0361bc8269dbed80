from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.ir import Poly, Relation
from workbench.ir.poly import divide, equal, evaluate, hole, holes_of, nonneg, normal, product, single_hole, substitute

A, B, C, D = (hole(n) for n in "abcd")
RELATIONS = (Relation(("a", "b"), 12), Relation(("c", "d"), 8))
#: Every filling that the relations admit.
ROWS = [{"a": a, "b": 12 // a, "c": c, "d": 8 // c} for a, c in itertools.product([1, 2, 3, 4, 6, 12], [1, 2, 4, 8])]

dims = st.recursive(
    st.integers(-12, 12) | st.sampled_from([A, B, C, D]),
    lambda d: st.one_of(
        st.tuples(d, d).map(lambda p: p[0] + p[1]),
        st.tuples(d, d).map(lambda p: p[0] - p[1]),
        st.tuples(d, d).map(lambda p: p[0] * p[1]),
    ),
    max_leaves=6,
)


def at(dim, row):
    return evaluate(dim, row, {})


@settings(max_examples=200, deadline=None)
@given(dims, dims)
def test_arithmetic_is_that_of_the_values(x, y):
    for row in ROWS[::5]:
        assert at(x + y, row) == at(x, row) + at(y, row)
        assert at(x - y, row) == at(x, row) - at(y, row)
        assert at(x * y, row) == at(x, row) * at(y, row)


@settings(max_examples=200, deadline=None)
@given(dims)
def test_a_constant_is_an_int(x):
    assert isinstance(x - x, int)
    assert not isinstance(x, Poly) or holes_of(x)


@settings(max_examples=200, deadline=None)
@given(dims)
def test_the_normal_form_has_the_same_values(x):
    n = normal(x, RELATIONS)
    assert normal(n, RELATIONS) == n
    for row in ROWS:
        assert at(n, row) == at(x, row)


@settings(max_examples=300, deadline=None)
@given(dims, dims)
def test_answers_hold_for_every_filling(x, y):
    if equal(x, y, RELATIONS):
        assert all(at(x, row) == at(y, row) for row in ROWS)
    verdict = nonneg(x, RELATIONS)
    if verdict is not None:
        assert all((at(x, row) >= 0) == verdict for row in ROWS)
    q = divide(x, y, RELATIONS) if y != 0 else None
    if q is not None:
        assert all(at(x, row) == at(q, row) * at(y, row) for row in ROWS)


def test_the_product_of_a_split_is_its_extent():
    assert equal(A * B * 4 + C * D, 56, RELATIONS)
    assert normal((A - 1) * B + B - 1, RELATIONS) == 11
    assert nonneg(12 - A, RELATIONS)
    assert nonneg(12 - A * C, RELATIONS) is None
    assert divide(12, A, RELATIONS) == B
    assert divide(96, A * C, RELATIONS) in (B * D, None)
    assert divide(A, B, RELATIONS) is None


def test_evaluation_takes_columns_and_shares_work():
    columns = {"a": np.array([1, 2, 3]), "b": np.array([12, 6, 4]), "c": 2}
    memo: dict[object, object] = {}
    np.testing.assert_array_equal(evaluate(A * B + C * A, columns, memo), [14, 16, 18])
    assert A * B + C * A in memo


def test_substitution_and_names():
    assert substitute(A * A + B, {"a": 3}) == 9 + B
    assert substitute(A, {"a": B * C}) == B * C
    assert single_hole(A) == "a"
    assert single_hole(A * 2) is None
    assert single_hole(A * A) is None
    assert product([A, 2, B]) == A * B * 2
    assert str(A * A * 2 - B + 1).count("a**2") == 1
