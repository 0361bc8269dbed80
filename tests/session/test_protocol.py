"""The difference of two snapshots, and how often patches go out."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from workbench.errors import ScheduleError
from workbench.session import apply_delta, delta
from workbench.session.core.protocol import error_json
from workbench.session.core.publisher import RateLimit

VALUES = st.none() | st.integers(0, 3) | st.text("ab", max_size=2)
ROWS = st.lists(
    st.builds(lambda i, v: {"id": i, "v": v}, st.integers(0, 6) | st.sampled_from("abc"), VALUES), max_size=6
)
UNIQUE = ROWS.map(lambda rows: list({r["id"]: r for r in rows}.values()))
SLICE = (
    st.fixed_dictionaries({"x": VALUES}, optional={"y": VALUES})
    | VALUES
    | st.builds(lambda rows, n: {"rows": rows, "n": n}, UNIQUE | ROWS, VALUES)
    | st.lists(VALUES, max_size=2)
)
SLICES = st.fixed_dictionaries({"a": SLICE, "b": SLICE})


@given(SLICES, SLICES)
def test_applying_the_difference_gives_the_new_value(old, new):
    assert apply_delta(old, delta(old, new)) == new


@given(SLICES)
def test_equal_snapshots_have_no_difference(value):
    assert delta(value, dict(value)) == {}


def test_only_changed_rows_travel():
    old = {"a": {"rows": [{"id": i, "v": 0} for i in range(5)], "n": 1}}
    new = {"a": {"rows": [*old["a"]["rows"][:4], {"id": 4, "v": 1}], "n": 1}}
    assert delta(old, new) == {"a": {"~": {"set": [{"id": 4, "v": 1}]}}}
    wide = {"a": {"rows": [{"id": 1, "v": 0, "w": 7}]}}
    assert delta(wide, {"a": {"rows": [{"id": 1, "v": 2, "w": 7}]}}) == {"a": {"~": {"set": [{"id": 1, "v": 2}]}}}
    less = {"a": {"rows": old["a"]["rows"][1:], "n": 2}}
    assert delta(old, less) == {"a": {"~": {"order": [1, 2, 3, 4], "rest": {"n": 2}}}}


def test_a_new_row_says_where_it_differs_from_the_last_one_as_that_was():
    old = {"a": {"rows": [{"id": 1, "v": 0, "w": 7}, {"id": 2, "v": 0, "w": 8}]}}
    new = {"a": {"rows": [*old["a"]["rows"][:1], {"id": 2, "v": 5, "w": 8}, {"id": 3, "v": 0, "w": 9}]}}
    ops = delta(old, new)
    assert ops == {"a": {"~": {"set": [{"id": 2, "v": 5}, {"like": 2, "id": 3, "w": 9}]}}}
    assert apply_delta(old, ops) == new
    other = {"a": {"rows": [*old["a"]["rows"], {"id": 3, "x": 1}]}}
    assert apply_delta(old, delta(old, other)) == other


def test_of_a_slice_without_rows_what_changed_travels():
    old, new = {"a": {"x": 1, "y": [1]}}, {"a": {"x": 2, "y": [1]}}
    assert delta(old, new) == {"a": {"~": {"rest": {"x": 2}}}}
    assert delta(old, {"a": {"x": 1}}) == {"a": {"=": {"x": 1}}}


def test_errors_as_data():
    error = ScheduleError("split.divides", "No.", ("i",), "try 8")
    assert error_json(error) == {"code": "split.divides", "message": "No.", "where": ["i"], "hint": "try 8"}
    odd = error_json(KeyError("x"))
    assert odd["code"] == "internal"
    assert "KeyError: 'x'" in odd["message"]
    assert odd["hint"]


@given(st.lists(st.sampled_from([0.0, 0.01, 0.1]) | st.floats(0, 0.5), max_size=60), st.booleans())
@example([0.01] * 200, True)
@example([0.01] * 200, False)
def test_never_more_than_eight_patches_a_second(gaps, urgent):
    pace, now, sent = RateLimit(), 100.0, []
    for gap in gaps:
        now += gap
        wait = pace.wait(now, urgent)
        if wait <= 0:
            pace.sent(now)
            sent.append(now)
    for t in sent:
        assert sum(t <= x < t + 1.0 for x in sent) <= (8 if urgent else 4)
