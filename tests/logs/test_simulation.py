"""Searches on complete logs: the score against brute force, what a search may ask, and that ours are good ones."""

import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs.made_logs import grid, records
from logs.real_files import EXCERPTS

import workbench as wb
from workbench.errors import UsageError, WorkbenchError
from workbench.logs import random_baseline, score, scores, simulate, simulation_curves, simulation_figure
from workbench.logs.simulation import STRATEGIES, TABLE_MODELS
from workbench.logs.simulation.configurations import Configurations
from workbench.logs.simulation.gaussian_process import GaussianProcess, log_improvement
from workbench.logs.simulation.table_space import coordinates

some_costs = st.lists(st.one_of(st.just(math.inf), st.integers(1, 9).map(float)), min_size=1, max_size=7).filter(
    lambda costs: any(map(math.isfinite, costs))
)


def valley(failing=lambda p: False, **more):
    """A small space with one best configuration, a=4 b=2."""
    params = grid(a=[1, 2, 4, 8, 16], b=[0, 1, 2, 3], c=["x", "y"])
    values = [2 + (math.log2(p["a"]) - 2) ** 2 + (p["b"] - 2) ** 2 + (p["c"] == "y") for p in params]
    return records(params, [None if failing(p) else v for p, v in zip(params, values, strict=True)], **more)


# ---- the score ----


@given(some_costs)
def test_the_baseline_is_the_mean_over_all_draws(costs):
    worst = max(c for c in costs if math.isfinite(c))
    filled = [min(c, worst) for c in costs]
    expected = [np.mean([min(d) for d in itertools.combinations(filled, k)]) for k in range(1, len(costs) + 1)]
    np.testing.assert_allclose(random_baseline(costs, 99), expected)


def test_the_baseline_of_one_to_n():
    """The least of k of the numbers 1 … N is expected to be (N + 1) / (k + 1)."""
    k = np.arange(1, 201)
    np.testing.assert_allclose(random_baseline(np.arange(1.0, 5001.0), 200), 5001 / (k + 1))


@settings(max_examples=30)
@given(some_costs, st.randoms(use_true_random=False), st.integers(1, 7))
def test_the_score_is_its_formula(costs, random, budget):
    runs = {seed: random.sample(costs, random.randint(1, len(costs))) for seed in (3, 5)}
    frame = pandas.DataFrame(
        [(seed, k + 1, cost) for seed, run in runs.items() for k, cost in enumerate(run)],
        columns=["seed", "evaluation", "cost_s"],
    )
    told = scores(frame.sample(frac=1, random_state=0), costs, budget=budget)
    worst, best = max(c for c in costs if math.isfinite(c)), min(costs)
    chance = random_baseline(costs, budget)
    for seed, run in runs.items():
        parts = [(r - min([worst, *run[: k + 1]])) / (r - best) for k, r in enumerate(chance) if r > best + 1e-9]
        assert told[seed] == pytest.approx(np.mean(parts) if parts else 0.0)
    assert score(frame, costs, budget=budget) == pytest.approx(told.mean())


def test_chance_scores_nothing_and_the_optimum_at_once_everything():
    log = valley(lambda p: p["a"] == 16)
    runs = simulate(log, strategy="random", budget=20, seeds=300)
    costs = Configurations.of(log).costs
    assert abs(score(runs, costs)) < 0.05
    first = pandas.DataFrame({"seed": 0, "evaluation": 1, "cost_s": [costs.min()]})
    assert score(first, costs, budget=20) == 1.0


# ---- runs ----


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", TABLE_MODELS)
def test_every_search_with_every_model(strategy, model):
    log = valley(lambda p: p["a"] == 16 and p["b"] == 3)
    runs = simulate(log, strategy=strategy, model=model, budget=30, seeds=[7], batch=4)
    costs = Configurations.of(log).costs
    assert list(runs["evaluation"]) == list(range(1, 31))
    assert runs["record"].is_unique  # nothing is measured twice
    assert list(runs["cost_s"]) == [costs[r] for r in runs["record"]]  # one record each, so its number is its place
    again = simulate(log, strategy=strategy, model=model, budget=30, seeds=[7], batch=4)
    pandas.testing.assert_frame_equal(runs, again)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_budget_for_everything_finds_everything(strategy):
    log = valley(lambda p: p["b"] == 0)
    runs = simulate(log, strategy=strategy, budget=1000, seeds=1)
    assert sorted(runs["record"]) == list(range(40))
    assert np.isinf(runs["cost_s"]).sum() == 10


def test_large_values_may_be_good():
    log = valley(direction="max", unit="GFLOP/s")
    runs = simulate(log, strategy="improvement", budget=30, seeds=2)
    assert runs["cost_s"].isna().all()
    assert runs["value"].max() == 2 + 4 + 4 + 1
    assert score(runs, log) > 0.3


def test_repeats_count_once_by_their_median():
    frame = records([{"a": 1}, {"a": 2}, {"a": 1}, {"a": 1}], [3.0, 5.0, 9.0, 4.0])
    table = Configurations.of(frame)
    np.testing.assert_allclose(table.costs, [0.004, 0.005])
    assert list(table.records) == [0, 1]


def test_a_strategy_of_ones_own():
    asked = []

    def by_the_book(space, measure, rng):
        assert {"a": 4, "b": 2, "c": "x"} in space
        assert {"a": 5, "b": 2, "c": "x"} not in space
        assert {"a": 4} not in space
        assert space.params["a"] == [1, 2, 4, 8, 16]
        here = space.draw(rng)
        while True:  # ended by the budget
            asked.append(measure(here))
            assert measure(here) == asked[-1]  # asking again costs nothing
            assert measure({**here, "a": 5}) == math.inf  # and neither does what does not exist
            best = min(space.neighbours(here), key=measure)
            here = best if measure(best) < measure(here) else space.draw(rng)

    runs = simulate(valley(), strategy=by_the_book, budget=25, seeds=2)
    assert list(runs.groupby("seed").size()) == [25, 25]
    assert runs.attrs["strategy"] == "by_the_book"
    assert runs["cost_s"].min() < np.median(runs["cost_s"])


def test_values_are_found_as_python_compares_them():
    table = Configurations.of(records([{"a": v} for v in (16, 0.5, "16", True, "", [1, 2])] + [{}], [1.0] * 7))
    asked = [16.0, np.int64(16), np.float64(0.5), "16", True, "", [1, 2], (1, 2), 17, None, "0.5", math.nan]
    assert [table.find({"a": v}) for v in asked] == [0, 0, 1, 2, 3, 4, 5, 5, None, None, None, None]
    assert table.find({}) == 6
    circle = []
    circle.append(circle)
    assert [table.find({"a": v}) for v in (circle, {object(): 1}, object())] == [None] * 3


def test_what_a_strategy_does_to_its_arguments_changes_nothing():
    def rude(space, measure, rng):
        space.params["a"].clear()
        for k in range(len(space)):
            params = space[k]
            measure(params)
            params["a"].append(9)
            space.params["a"][0].append(9)

    log = records([{"a": [1, 2]}, {"a": [3, 4]}], [1.0, 2.0])
    assert len(simulate(log, strategy=rude, seeds=2)) == 4
    assert list(log["params"]) == [{"a": [1, 2]}, {"a": [3, 4]}]


def test_how_much_of_the_space_the_log_has_is_told():
    params = grid(a=[1, 2], b=[1, 2, 3])
    runs = simulate(records(params[:5], [1.0] * 5), strategy="random", seeds=1)
    assert runs.attrs["finding"].endswith("The log has 5 of 6 combinations of the values that occur.")


def test_text_with_many_values_is_one_coordinate():
    params = [{"name": f"n{k}", "a": k % 7} for k in range(300)]
    table = Configurations.of(records(params, [1.0 + k for k in range(300)]))
    assert coordinates(table.parameters.features).shape == (300, 2)


def test_the_same_runs_whatever_the_hashes(tmp_path):
    """Two processes with other hashes of text."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from logs.test_simulation import valley, simulate, STRATEGIES\n"
        "for s in STRATEGIES: print(simulate(valley(), strategy=s, budget=20, seeds=[3])['record'].tolist())"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parents[1])]
    first, second = (
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": s}, capture_output=True, text=True, check=True)
        for s in ("1", "2")
    )
    assert first.stdout == second.stdout
    assert first.stdout.count("[") == len(STRATEGIES)


def test_runs_that_cannot_be_told_apart_or_have_no_times():
    log = valley(direction="max", unit="GFLOP/s")
    runs = simulate(log, strategy="random", budget=5, seeds=2)
    for wrong, of in ((pandas.concat([runs, runs]), log), (runs, Configurations.of(log).costs)):
        with pytest.raises(UsageError) as caught:
            score(wrong, of)
        assert caught.value.code == "usage.runs"


def test_a_strategy_that_has_no_more_ideas_is_ended():
    def stubborn(space, measure, rng):
        while True:
            try:
                measure(space[3])
            except Exception as error:
                raise AssertionError("the end of a run is no error to be caught") from error

    assert len(simulate(valley(), strategy=stubborn, seeds=1)) == 1


def test_the_errors_of_a_strategy_are_its_own():
    def wrong(space, measure, rng):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        simulate(valley(), strategy=wrong, seeds=1)


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("usage.search", {"strategy": "evolutionery"}),
        ("usage.cost_model", {"model": "nope"}),
        ("usage.cost_model", {"model": "analytic"}),
        ("usage.number", {"budget": 0}),
        ("usage.number", {"seeds": -1}),
        ("usage.number", {"seeds": [7, 7]}),
        ("usage.task", {"task": "another"}),
        ("usage.type", {"strategy": 3}),
        ("usage.number", {"seeds": "abc"}),
    ],
)
def test_what_is_refused(code, arguments):
    with pytest.raises(UsageError) as caught:
        simulate(valley(), **arguments)
    assert caught.value.code == code


@pytest.mark.parametrize("params", [[], [{"a": 1}], [{"a": 1}, {"a": 1}]])
def test_a_log_without_a_space(params):
    with pytest.raises(UsageError) as caught:
        simulate(records(params, [1.0] * len(params)))
    assert caught.value.code == "usage.no_space"


@pytest.mark.parametrize("odd", [None, 3, -1, math.nan, object(), "nope", [], [None], {}, b"x", True])
def test_odd_arguments(odd):
    log = valley()
    runs = simulate(log, strategy="random", budget=3, seeds=1)
    calls = [
        lambda: score(odd, [1.0]), lambda: score(runs, odd), lambda: score(runs, [1.0], budget=odd),
        lambda: simulate(odd), lambda: simulate(log, budget=odd, strategy="random", seeds=1),
        lambda: simulate(log, seeds=odd, strategy="random", budget=2), lambda: simulate(log, strategy=odd, seeds=1),
        lambda: simulate(log, model=odd, seeds=1), lambda: simulate(log, batch=odd, seeds=1, budget=2),
        lambda: simulation_figure(odd, log), lambda: simulation_figure({"a": odd}, log),
        lambda: random_baseline(odd, 3), lambda: random_baseline([1.0], odd),
    ]  # fmt: skip
    for call in calls:
        try:
            call()
        except WorkbenchError:
            continue


# ---- what a search is made of ----


def test_the_process_is_what_its_equations_say():
    rng = np.random.default_rng(0)
    x, y, at = rng.random((9, 2)), rng.normal(size=9), rng.random((5, 2))
    process = GaussianProcess(2)
    process.fit(x, y)
    process.condition(x[:6])
    for point in x[6:]:
        process.add(point)
    length, noise = np.exp(process.theta[:-1]), np.exp(process.theta[-1]) + 1e-8

    def covariance(a, b):
        r = np.sqrt(5 * (((a[:, None] - b[None]) / length) ** 2).sum(axis=2))
        return (1 + r + r**2 / 3) * np.exp(-r)

    matrix = covariance(x, x) + noise * np.eye(9)
    amplitude = y @ np.linalg.solve(matrix, y) / 9
    mean, deviation = process.posterior(at, y)
    cross = covariance(at, x)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(matrix, y), rtol=1e-4, atol=1e-5)
    variance = amplitude * (1 - np.einsum("ij,ji->i", cross, np.linalg.solve(matrix, cross.T)))
    np.testing.assert_allclose(deviation**2, variance, rtol=1e-3, atol=1e-5)


def test_the_gradient_of_the_process_is_that_of_its_value():
    rng = np.random.default_rng(1)
    x, y = rng.random((12, 3)), rng.normal(size=12)
    apart = np.ascontiguousarray(((x[:, None] - x[None]) ** 2).transpose(2, 0, 1)).reshape(3, -1)
    process, theta = GaussianProcess(3), np.array([-1.0, 0.2, 0.5, -3.0])
    _, slope = process._improbability(theta, apart, y)
    for k in range(4):
        step = 1e-5 * (np.arange(4) == k)
        above, below = (process._improbability(theta + s, apart, y)[0] for s in (step, -step))
        assert slope[k] == pytest.approx((above - below) / 2e-5, rel=1e-4)


@pytest.mark.parametrize("z", [-40.0, -25.1, -24.9, -9.0, -4.0, -1.0, 0.0, 2.0])
def test_the_expected_improvement(z):
    """Against the integral over what a normal value exceeds the best by, with its largest factor taken out."""
    gain = np.linspace(0, max(z, 0) + 40, 1_000_001)
    top = 0.5 * z * z if z < 0 else 0.0
    density = np.exp(top - 0.5 * (gain - z) ** 2) / math.sqrt(2 * math.pi)
    expected = math.log(np.sum(gain * density) * gain[1]) - top + math.log(3.0)
    told = log_improvement(np.array([5 + 3 * z]), np.array([3.0]), 5.0)[0]
    assert told == pytest.approx(expected, abs=1e-2 if z < -25 else 1e-6)


# ---- figure ----


def test_the_curves_of_runs_and_their_figure():
    log = valley()
    runs = {s: simulate(log, strategy=s, budget=12, seeds=5) for s in ("random", "improvement")}
    frame = simulation_curves(runs, log)
    best = runs["random"].pivot(index="seed", columns="evaluation", values="value").cummin(axis=1)
    told = frame[frame["strategy"] == "random"]
    np.testing.assert_allclose(told["median"], best.median())
    np.testing.assert_allclose(told["low"], best.quantile(0.25))
    np.testing.assert_allclose(told["random"], 1e3 * random_baseline(Configurations.of(log).costs, 12))
    assert set(frame["optimum"]) == {2.0}
    figure = simulation_figure({"<b>mine": runs["random"]}, log)
    assert "&lt;b>mine" in [trace.name for trace in figure.data]
    assert "The optimum is 2 ms" in frame.attrs["finding"]


# ---- real spaces ----


@pytest.mark.checks
@pytest.mark.parametrize(
    ("file", "least"),
    [("ktt/pnpoly-RTX_3090.json.gz", 0.68), ("kernel-tuner/convolution_milo-A100.json.gz", 0.45),
     ("kernel-tuner/convolution_milo-A4000.json.gz", 0.5)],
)  # fmt: skip
def test_our_search_is_good_on_real_spaces(file, least):
    log = wb.logs.open(EXCERPTS / file)
    assert score(simulate(log, budget=200, seeds=4), log) >= least
