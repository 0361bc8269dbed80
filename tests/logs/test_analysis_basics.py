"""Best so far, distribution, failures: against loops over the records; nothing is mixed that cannot be compared."""

import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs.made_logs import grid, records

from workbench.errors import UsageError
from workbench.logs import analysis
from workbench.logs.analysis.parameters import Parameters, combined
from workbench.logs.analysis.selection import groups, in_one_unit, one_group

values = st.lists(st.one_of(st.none(), st.floats(0.01, 100)), min_size=1, max_size=30)


@given(values, st.sampled_from(["min", "max"]))
def test_the_best_after_each_evaluation(some, direction):
    frame = analysis.best_so_far(records([{"a": k} for k in range(len(some))], some, direction=direction))
    better, best, expected = (min if direction == "min" else max), None, []
    for value in some:
        best = value if best is None else best if value is None else better(best, value)
        expected.append(math.nan if best is None else best)
    np.testing.assert_array_equal(frame["best"], expected)
    assert list(frame["evaluation"]) == list(range(1, len(some) + 1))
    if best is not None:
        assert frame["share"].iloc[-1] == pytest.approx(1)
        assert (frame["share"].dropna() <= 1 + 1e-12).all()


@pytest.mark.parametrize(
    ("more", "clock", "at"),
    [
        ({"elapsed_s": [1.0, 2.0, 4.0]}, "told", [1, 2, 4]),
        ({"timestamp": [100.0, 130.0, 110.0]}, "timestamps", [0, 30, 10]),
        ({"compile_s": 1.0, "run_s": 0.5}, "sum", [1.5, 3, 4.5]),
        ({"spent_s": 2.0}, "sum", [2, 4, 6]),
        ({}, "", [math.nan] * 3),
    ],
)
def test_the_clock_of_a_curve(more, clock, at):
    frame = analysis.best_so_far(records([{}] * 3, [3.0, 2.0, 1.0], **more))
    assert set(frame["clock"]) == {clock}
    np.testing.assert_array_equal(frame["elapsed_s"], at)


def test_an_optimum_from_elsewhere():
    frame = analysis.best_so_far(records([{}] * 2, [4.0, 2.0]), optimum=1.0)
    assert list(frame["share"]) == [0.25, 0.5]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=40))
def test_the_distribution(some):
    row = analysis.distribution(records([{}] * len(some), some)).iloc[0]
    assert row["best"] == min(some)
    assert row["median"] == pytest.approx(np.median(some))
    assert row["gain"] == pytest.approx(np.median(some) / min(some))
    for near in (5, 10, 20):
        low, high = (sum(v <= min(some) * (1 + near / 100) * tie for v in some) for tie in (1 - 1e-9, 1 + 1e-9))
        assert low / len(some) <= row[f"within_{near}"] <= high / len(some)


def test_large_values_may_be_good():
    row = analysis.distribution(records([{}] * 4, [10.0, 9.6, 5.0, 1.0], direction="max", unit="GFLOP/s")).iloc[0]
    assert (row["best"], row["worst"], row["within_5"]) == (10, 1, 0.5)
    assert row["gain"] == pytest.approx(10 / 7.3)


def test_groups_are_not_mixed():
    a = records([{}] * 2, [1.0, 2.0], task="a")
    b = records([{}] * 2, [1000.0, 3000.0], task="a", unit="us")
    both = pandas.concat([a, b], ignore_index=True)
    assert list(analysis.distribution(both)["best"]) == [1, 1000]
    assert len(groups(both)) == 2
    with pytest.raises(UsageError) as caught:
        one_group(both)
    assert caught.value.code == "usage.one_task"
    assert "unit" in caught.value.message
    unit, factors = in_one_unit(groups(both))
    assert unit == "ms"
    assert factors == pytest.approx([1, 1e-3])
    score = records([{}], [0.5], unit="", objective="score", direction="max")
    with pytest.raises(UsageError) as caught:
        in_one_unit([*groups(a), *groups(score)])
    assert caught.value.code == "usage.units"


def test_a_task_that_is_not_there():
    with pytest.raises(UsageError) as caught:
        analysis.failures(records([{}], [1.0], task="a"), "b")
    assert caught.value.code == "usage.task"
    with pytest.raises(UsageError) as caught:
        analysis.failures(pandas.DataFrame({"a": [1]}))
    assert caught.value.code == "usage.records"


def test_failures_by_value():
    params = grid(x=[1, 2, 4], y=["a", "b"])
    status = ["ok", "run", "ok", "compile", "run", "run"]
    frame = analysis.failures(records(params, [1.0 if s == "ok" else None for s in status], status=status))
    rows = {(r.parameter, r.value, r.status): (r.records, r.of) for r in frame.itertuples()}
    for name in ("x", "y"):
        for value in {str(one[name]) for one in params}:
            mine = [s for one, s in zip(params, status, strict=True) if str(one[name]) == value]
            assert rows[name, value, "any"] == (sum(s != "ok" for s in mine), len(mine))
            assert rows[name, value, "run"] == (mine.count("run"), len(mine))
    assert rows["", "", "any"] == (4, 6)
    assert frame.set_index(["parameter", "value", "status"])["lift"]["x", "4", "any"] == pytest.approx(1 / (4 / 6))
    assert "4 of 6 configurations failed" in frame.attrs["finding"]


def test_codes_are_in_the_order_of_values():
    some = Parameters.of(
        [{"a": 16, "b": [1, 4]}, {"a": 2, "b": [1, 2]}, {"b": "x", "c": None}, {"a": 2.0, "b": [1, 2]}]
    )
    assert some.names == ("a", "b", "c")
    assert some.levels[0] == [2, 16]
    assert some.codes[:, 0].tolist() == [1, 0, -1, 0]
    assert some.at(0) == {"a": 16, "b": [1, 4]}
    assert some.configuration[1] == some.configuration[3] != some.configuration[0]


@given(st.lists(st.tuples(*[st.integers(-1, 3)] * 3), min_size=1, max_size=30))
def test_rows_and_their_numbers(rows):
    numbers = combined(np.array(rows, np.int32))
    assert len(set(numbers.tolist())) == len(set(rows))
    assert all(
        (a == b) == (r == s) for a, r in zip(numbers, rows, strict=True) for b, s in zip(numbers, rows, strict=True)
    )


def drawn(name, source, **options):
    draw = getattr(analysis, name)
    return draw(source, source, **options) if name.startswith("compare") else draw(source, **options)


FIGURES = [name for name in analysis.__all__ if name.endswith("_figure")]
HOSTILE = "<script>alert(1)</script>\n<b>x"


@pytest.mark.parametrize("name", FIGURES)
def test_figures_show_names_as_text(name):
    params = [{HOSTILE: k % 3, "b" * 200: HOSTILE * (k % 2 + 1)} for k in range(12)]
    some = records(
        params, [None if k % 4 == 0 else 1.0 + k for k in range(12)], task=HOSTILE, device=HOSTILE, run=HOSTILE
    )
    text = drawn(name, some).to_json()
    assert "<script" not in text.replace("\\u003c", "<")


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_figures_of_odd_logs(name, theme):
    alike = {"params": [{"a": 1}] * 3, "values": [2.0] * 3}
    odd = [
        records([], []),
        records([{"a": 1}], [1.0]),
        records([{"a": 1}, {"a": 2}], [None, None]),
        records(**alike),
        records([{"a": 1}, {"a": 2}], [0.0, -1.0], unit="", objective="score", direction="max"),
        records([{}, {"b": [[1, 2], "x"]}, {"c": None}], [1.0, 2.0, None]),
    ]
    for some in odd:
        assert drawn(name, some, theme=theme).layout.annotations
