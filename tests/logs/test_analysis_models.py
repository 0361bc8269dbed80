"""Rules for failures, importance, noise, budget: against closed forms and sums."""

import math
import statistics

import numpy as np
import pytest
from logs.made_logs import grid, records

from workbench.logs import analysis
from workbench.logs.analysis.noise import quantile

DENSE = grid(a=range(8), b=range(8), c=range(8), d=range(2))


def test_the_rule_that_made_the_failures_is_found():
    params = grid(x=[1, 2, 4, 8, 16, 32], y=[1, 2, 4, 8, 16, 32], shared=[0, 1], unused=[0, 1, 2])
    values = [None if p["x"] * p["y"] >= 256 and p["shared"] == 1 else 1.0 for p in params]
    frame = analysis.failure_rule(records(params, values))
    whole = frame[frame["term"] == 0].iloc[0]
    assert (whole["precision"], whole["recall"]) == (1, 1)
    assert set(whole["rule"].split(" and ")) == {"x × y ≥ 256", "shared = 1"}


def test_a_rule_of_two_terms_and_a_text():
    params = grid(x=range(1, 41), mode=["fast", "slow", "odd"])
    values = [None if p["x"] <= 4 or p["mode"] == "odd" else 1.0 for p in params]
    whole = analysis.failure_rule(records(params, values)).iloc[-1]
    assert (whole["precision"], whole["recall"]) == (1, 1)
    assert set(whole["rule"].split(" or ")) == {"x ≤ 4", "mode = odd"}


def test_failures_without_a_reason_have_no_rule():
    rng = np.random.default_rng(0)
    params = grid(x=range(1, 21), y=range(1, 21))
    values = [None if rng.random() < 0.3 else 1.0 for _ in params]
    frame = analysis.failure_rule(records(params, values))
    assert frame.empty or frame.iloc[-1]["f1"] < 0.6
    few = analysis.failure_rule(records(params[:9], [1.0] * 8 + [None]))
    assert few.empty
    assert "too few" in few.attrs["finding"]


def test_the_rule_is_judged_on_records_that_it_has_not_seen():
    params = grid(x=range(1, 41), y=range(20))
    values = [None if p["x"] >= 30 else 1.0 for p in params]
    whole = analysis.failure_rule(records(params, values)).iloc[-1]
    assert whole["records"] == pytest.approx(0.3 * 11 * 20, rel=0.35)


def test_importance_of_a_sum():
    """The variance of log cost is 4 parts a, 1 part b. A drop of R² is twice the share of the variance."""
    cost = [math.exp(2 * p["a"] / 7 + p["b"] / 7) for p in DENSE]
    frame = analysis.importance(records(DENSE, cost)).set_index("parameter")
    assert frame["r2"].iloc[0] > 0.99
    assert frame.loc["a", "importance"] == pytest.approx(2 * 0.8, rel=0.15)
    assert frame.loc["b", "importance"] == pytest.approx(2 * 0.2, rel=0.15)
    assert (frame.loc[["c", "d"], "importance"].abs() < 0.02).all()
    pairs = analysis.interactions(records(DENSE, cost))
    assert (pairs["interaction"].abs() < 0.1).all(), "a sum has no interactions"


def test_an_interaction_alone():
    """Whether a and d are both high decides, and nothing else."""
    cost = [math.exp(1.0 if (p["a"] >= 4) == (p["d"] == 1) else 0.0) for p in DENSE]
    first = analysis.interactions(records(DENSE, cost)).iloc[0]
    assert {first["first"], first["second"]} == {"a", "d"}
    assert first["interaction"] == pytest.approx(2, rel=0.15)


def test_noise_is_not_explained():
    rng = np.random.default_rng(1)
    frame = analysis.importance(records(DENSE, list(np.exp(rng.normal(size=len(DENSE))))))
    assert frame["r2"].iloc[0] < 0.1
    assert "cannot be told" in frame.attrs["finding"]


@pytest.mark.parametrize(
    ("degrees", "t"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (9, 2.2622), (31, 2.0395), (1e6, 1.96)]
)
def test_students_t(degrees, t):
    assert quantile(np.array([degrees]))[0] == pytest.approx(t, rel=1.5e-3)


def test_noise_of_repeats():
    repeats = [(1.0, 1.1, 0.9, 1.0), (1.02, 0.98, 1.05, 0.99), (2.0, 2.1, 1.9, 2.0), (3.0,)]
    some = records([{"a": k} for k in range(4)], [statistics.fmean(r) for r in repeats], repeats=list(repeats))
    frame = analysis.noise(some).set_index("record")
    assert list(frame["equal_to_best"].fillna(False)) == [True, True, False, False]
    assert frame.loc[3, "repeats"] == 1
    for k, r in enumerate(repeats[:3]):
        mean, std = statistics.fmean(r), statistics.stdev(r)
        assert frame.loc[k, "spread"] == pytest.approx(std / mean)
        assert frame.loc[k, "high"] - mean == pytest.approx(3.18245 * std / 2, rel=1.5e-3)
        assert frame.loc[k, "first"] == pytest.approx(r[0] / statistics.median(r[1:]))


def test_a_winner_of_one_slow_repeat():
    """By the mean the second wins, by the median the first."""
    repeats = [(9.0, 1.0, 1.0, 1.0), (2.0, 2.0, 2.0, 2.0)]
    frame = analysis.noise(records([{"a": 0}, {"a": 1}], [3.0, 2.0], repeats=repeats, statistic="mean"))
    assert list(frame["record"]) == [1, 0]
    assert frame.attrs["median_winner"] == 0
    assert frame["rank_by_median"].iloc[0] == 2


def test_values_that_contradict_their_repeats_are_counted():
    some = records([{"a": k} for k in range(3)], [1.0, 2.0, 9.0], repeats=[(1.0, 1.2, 1.1), (2.0, 2.0), (3.0, 3.0)])
    assert "1 values are neither" in analysis.noise(some).attrs["finding"]


def test_the_budget_adds_up():
    some = records(
        [{"a": k} for k in range(4)], [1.0, None, 2.0, None], status=["ok", "run", "ok", "started-only"],
        compile_s=[1.0, 2.0, 3.0, None], run_s=[0.5, None, 0.5, None], spent_s=[2.0, 2.0, 4.0, None],
        timestamp=[10.0, 11.0, 12.0, 500.0],
    )  # fmt: skip
    frame = analysis.budget(some)
    table = {(r.status, r.part): r.seconds for r in frame.itertuples()}
    assert table == {
        ("ok", "compile"): 4, ("ok", "run"): 1, ("ok", "not told apart"): 1, ("run", "compile"): 2,
    }  # fmt: skip
    assert frame["share"].sum() == pytest.approx(1)
    assert set(frame["wall_s"]) == {490}
    assert frame.attrs["unfinished"] == 1
    assert frame.attrs["stalls"] == [{"record": 3, "seconds": 488.0}]


def test_numbers_of_any_size_are_parameters():
    values = [10**400, -(10**400), float("inf"), 2**70, 0.1, 5e-324, -1, float("nan")]
    params = [{"x": x, "y": [y, x]} for x in values for y in range(8)]
    log = records(params, [None if k % 3 == 0 else 1.0 + k for k in range(len(params))])
    for ask in ("failures", "failure_rule", "importance", "interactions", "traits"):
        getattr(analysis, ask)(log)
        getattr(analysis, f"{ask}_figure")(log)


@pytest.mark.parametrize("numbers", [[k / 10 for k in range(10)], [20_000_001 + k for k in range(10)]])
def test_a_rule_says_the_number_that_the_log_has(numbers):
    params = [{"x": x, "other": k} for x in numbers for k in range(20)]
    found = analysis.failure_rule(records(params, [None if p["x"] >= numbers[7] else 1.0 for p in params]))
    assert f"x ≥ {numbers[7]}: " in found.attrs["finding"]
    assert found["precision"].iloc[-1] == found["recall"].iloc[-1] == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("value", "unit"), [(0.003, "ms"), (1e-9, "ms"), (-2.0, "loss"), (0.0, "loss")])
def test_a_distribution_of_one_value_has_one_bar(value, unit):
    figure = analysis.distribution_figure(records([{"a": 1}], [value], unit=unit))
    assert list(figure.data[0].y) == [1]
    assert np.isfinite(figure.data[0].x).all()
