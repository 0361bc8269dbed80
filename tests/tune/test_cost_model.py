"""Cost models: what they learn, and what they say about it."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from tune.worlds import rows, speed_of, tau, taught

from workbench import cost_model
from workbench.cost_model import MODELS, AnalyticModel, RandomModel, XGBoostModel, load, make_model, training_set
from workbench.cost_model.xgboost_binding import Trees
from workbench.errors import CostModelError, UsageError
from workbench.machine_model.features import COLUMNS, INDEX
from workbench.registry import summary

# ---- learning


def test_boosted_trees_correct_the_estimate():
    model, x, y = taught()
    before = AnalyticModel().predict(x)
    assert model.trained
    assert tau(model.predict(x[300:]), y[300:]) > tau(before[300:], y[300:]) + 0.1
    assert model.version != XGBoostModel().version


def test_the_same_measurements_give_the_same_model():
    """Small steps too, and whatever other models have done in between."""
    (one, x, y), (two, _, _) = taught(300), taught(300)
    one.update("a", x[300:316], y[300:316])
    taught(20)
    two.update("a", x[300:316], y[300:316])
    assert one._trained_rows == 300
    np.testing.assert_array_equal(one.predict(x), two.predict(x))
    assert one.version == two.version


def test_small_steps_learn_what_is_new_and_keep_what_is_known(monkeypatch):
    model, x, y = taught(400)
    assert model._trained_rows == 400
    new, speed = rows(16, seed=5)
    score, seen, grown = model.predict(x), [], Trees.grown
    monkeypatch.setattr(Trees, "grown", lambda x, *rest: seen.append(x) or grown(x, *rest))
    model.update("b", new, speed)
    assert model._trained_rows == 400, "too few rows for a training from scratch"
    assert model.version.endswith(".416")
    assert all((seen[0] == row).all(axis=1).any() for row in new), "every new row takes part"
    assert len(seen[0]) > 100, "and some of the others"
    assert not np.array_equal(model.predict(x), score)
    assert tau(model.predict(x), y) > 0.6


def test_training_from_scratch_becomes_rare(monkeypatch):
    trained = []

    def grown(x, y, weight, rounds, seed, rows, before):
        trained.append((len(x), rounds))
        return Trees(None, rows)

    monkeypatch.setattr(Trees, "grown", grown)
    model, (x, y) = XGBoostModel(), rows(16)
    for k in range(300):
        model.update(f"task {k % 5}", x, y)
    work = sum(n for n, _ in trained)
    assert work < 30 * 4800, "training anew every round would take 150 times the rows"
    assert max(n for n, rounds in trained if rounds < 60) <= 6 * 128


def test_a_run_that_starts_from_many_rows_learns_from_its_own_few():
    """What a file brings along is no reason to wait: 64 trials show what none of its rows could."""
    (x, _), (own, speed) = rows(8000), rows(264, seed=1)
    x[:, INDEX["main.reloads"]] = 0.0
    speed = speed - np.where(own[:, INDEX["main.reloads"]] > 0, 3.0, 0.0)
    model = XGBoostModel(rounds=4)
    model.warm_start({"a": (x, speed_of(x))})
    before, version = tau(model.predict(own[64:]), speed[64:]), model.version
    for k in range(0, 64, 8):
        model.update("a", own[k : k + 8], speed[k : k + 8])
    assert (model.rows, model.own_rows) == (8064, 64)
    assert (version.rsplit(".", 1)[1], model.version.rsplit(".", 1)[1]) == ("8000", "8064")
    assert tau(model.predict(own[64:]), speed[64:]) > before + 0.2


def test_many_rows_of_other_runs_are_not_trained_anew_with_every_few_own_ones(monkeypatch):
    trained = []

    def grown(x, y, weight, rounds, seed, rows, before):
        trained.append((len(x), rounds))
        return Trees(None, rows)

    monkeypatch.setattr(Trees, "grown", grown)
    model, (x, y) = XGBoostModel(), rows(8000)
    model.warm_start({"a": (x, y)})
    trained.clear()
    for k in range(0, 640, 16):
        model.update("a", x[k : k + 16], y[k : k + 16])
    assert len(trained) == 40, "it learns from every round"
    assert 5 <= sum(rounds == 60 for _, rounds in trained) <= 8, "from scratch after a hundredth of all rows"
    assert max(n for n, rounds in trained if rounds < 60) <= 2 * 128


def test_labels_are_centred_per_task_and_failures_are_slow():
    x, y = rows(20)
    y[0] = np.nan
    tasks = [(x[:10], y[:10] + 100.0, 1.0), (x[10:], y[10:], 0.5), (x[:2], np.array([np.nan, np.nan]), 1.0)]
    xs, labels, weights = training_set(tasks)
    assert len(xs) == len(labels) == len(weights) == 20
    assert abs(np.median(labels[1:10])) < 0.5
    assert np.isfinite(labels).all()
    assert labels[0] == pytest.approx(np.clip(labels[0], -4, 4))
    assert weights[:10].max() == 1.0, "the fastest of a task weighs most"
    assert weights[1:10].argmax() == np.nanargmax(y[1:10])
    assert weights[10:].max() == 0.5


def test_other_runs_help_and_do_not_mix_with_own_measurements():
    x, y = rows(200)
    warm = XGBoostModel()
    warm.warm_start({"a": (x[:150], y[:150] - 30.0)})  # a machine a billion times slower
    assert warm.trained
    cold = AnalyticModel()
    assert tau(warm.predict(x[150:]), y[150:]) > tau(cold.predict(x[150:]), y[150:]) + 0.05
    same = XGBoostModel()
    same.warm_start({"a": (x[:150], y[:150])})
    for model in (warm, same):
        model.update("a", x[150:200], y[150:200])
    np.testing.assert_allclose(
        warm.predict(x), same.predict(x), atol=0.2, err_msg="speeds of two runs are not compared"
    )


def test_rows_of_other_runs_are_known_as_such():
    """What is predicted for them was learned from their measurement: it says nothing about the model."""
    model, x, y = taught(40)
    assert not model.seen(x).any(), "its own measurements come after their predictions"
    model.warm_start({"b": (x[50:60], y[50:60])})
    assert np.flatnonzero(model.seen(x[:100])).tolist() == list(range(50, 60))


def test_nothing_to_compare_with_is_learned_when_all_trials_fail():
    x, y = rows(64)
    model, failed = XGBoostModel(), np.full(32, np.nan)
    for k in range(0, 32, 8):
        model.update("a", x[k : k + 8], failed[k : k + 8])
    assert not model.trained
    np.testing.assert_array_equal(model.predict(x), AnalyticModel().predict(x))
    model.update("b", x[32:], y[32:])
    before = model.predict(x)
    assert model.trained
    model.update("a", x[:2], failed[:2])
    assert np.isfinite(before).all()
    assert np.isfinite(model.predict(x)).all()


def test_a_task_that_fails_mostly_ranks_failures_last():
    x, _ = rows(120)
    y = np.where(x[:, INDEX["main.accumulators"]] > 0.8, np.nan, x[:, INDEX["speed"]].astype(np.float64))
    model = XGBoostModel()
    model.update("a", x[:100], y[:100])
    off = model.predict(x[100:]) - AnalyticModel().predict(x[100:])
    failing = x[100:, INDEX["main.accumulators"]] > 0.8
    assert off[failing].max() < off[~failing].min()


def test_rows_without_numbers_teach_nothing_and_hinder_nobody():
    x, y = rows(64)
    x[3, 5], x[4, 7] = np.inf, np.nan
    model = XGBoostModel()
    model.update("a", x, y)
    assert (model.trained, model.rows) == (True, 62)
    assert np.isfinite(model.predict(x[10:])).all()


@pytest.mark.parametrize("seed", [-1, 2**31, -(2**62)])
@pytest.mark.parametrize("name", MODELS)
def test_any_whole_number_is_a_seed(name, seed, tmp_path):
    x, y = rows(64)
    model, same = make_model(name, seed), make_model(name, seed)
    for m in (model, same):
        for part in (slice(0, 40), slice(40, 60), slice(60, 64)):
            m.update("a", x[part], y[part])
    np.testing.assert_array_equal(model.predict(x), same.predict(x))
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(load(tmp_path / "m.json").predict(x), model.predict(x))


def test_searches_in_several_threads_may_share_a_model():
    """One thread shows contributions while others teach: scores, contributions and bias are of the same trees."""
    model, x, y = taught(60, rounds=4)
    wrong: list[str] = []

    def teach(task):
        for k in range(60, 96, 12):
            model.update(task, x[k : k + 12], y[k : k + 12])

    def show():
        for _ in range(10):
            version = model.version
            parts, bias, score = model.contributions(x[:8]), model.bias, model.predict(x[:8])
            if model.version != version:
                continue  # it has learned meanwhile, so they need not be of the same trees
            if abs(parts.sum(axis=1) + bias - score).max() > 1e-4:
                wrong.append(f"{version}: contributions, bias and score are of different trees")

    threads = [threading.Thread(target=teach, args=(f"task {k}",)) for k in range(3)] + [threading.Thread(target=show)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    show()  # once more, when nobody teaches
    assert not wrong
    assert model.rows == 60 + 3 * 36
    assert sum(len(v) for _, v in model.measured().values()) == model.rows


def test_a_first_update_may_come_while_the_library_is_loaded():
    model, (x, y) = XGBoostModel(), rows(40)
    model.prepare()
    model.update("a", x, y)
    other = XGBoostModel()
    other.update("a", x, y)
    np.testing.assert_array_equal(model.predict(x), other.predict(x))


def test_a_library_that_cannot_be_loaded_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    model, (x, y) = XGBoostModel(), rows(40)
    with pytest.raises(CostModelError) as refused:
        model.update("a", x, y)
    assert refused.value.code == "cost_model.library"
    assert "analytic" in refused.value.hint


def test_what_was_learned_of_one_task_ranks_another_from_its_first_round(tmp_path):
    """Round 0 of a new task, on another machine: save, load, warm start."""
    first, x, _ = taught(200)
    first.save(tmp_path / "m.json")
    saved = load(tmp_path / "m.json")
    assert isinstance(saved, XGBoostModel)
    rng = np.random.default_rng(7)
    new = (rng.standard_normal(x.shape) * 0.7 + 0.3).astype(np.float32)
    truth = speed_of(new) - 4.0  # a slower machine
    second = XGBoostModel(seed=5)
    second.warm_start(saved.measured())
    cold = tau(AnalyticModel().predict(new), truth)
    assert tau(saved.predict(new), truth) > cold + 0.1, "the task was another one"
    assert tau(second.predict(new), truth) > cold + 0.1, "and so was the run"
    assert not second.seen(new).any()
    assert second.seen(x[:200]).all()


def test_analytic_and_random_models_do_not_learn():
    x, y = rows(50)
    for model in (AnalyticModel(), RandomModel(3)):
        before = model.predict(x)
        model.update("a", x, y)
        model.warm_start({"a": (x, y)})
        model.prepare()
        np.testing.assert_array_equal(before, model.predict(x))
        assert not model.trained
        assert not model.seen(x).any()
    assert abs(tau(RandomModel(0).predict(x), y)) < 0.4
    assert not np.array_equal(RandomModel(0).predict(x), RandomModel(1).predict(x))


def test_models_by_name():
    assert {"analytic", "random", "xgboost"} <= set(MODELS)
    assert all(map(summary, MODELS.values()))
    assert not any(make_model(name).trained for name in MODELS)
    assert make_model("xgboost").version == make_model("analytic").version, "not trained yet"
    with pytest.raises(UsageError, match="no cost model") as refused:
        make_model("magic")
    assert ", ".join(MODELS) in refused.value.hint
    for odd in ([], None, 3):
        with pytest.raises(UsageError):
            make_model(odd)


def test_a_model_of_ones_own_is_one_declaration(monkeypatch, tmp_path):
    monkeypatch.setattr("workbench.cost_model.base.MODELS", MODELS)

    @cost_model.cost_model("longest vector")
    class Longest(AnalyticModel):
        """Believes in vectors."""

        def predict(self, x):
            return x[:, INDEX["main.vector"]].astype(np.float64)

    try:
        x, _ = rows(10)
        assert make_model("longest vector").predict(x).argmax() == x[:, INDEX["main.vector"]].argmax()
        assert summary(MODELS["longest vector"]) == "Believes in vectors."
        make_model("longest vector").save(tmp_path / "m.json")
        assert isinstance(load(tmp_path / "m.json"), Longest), "not the class that it was made from"
    finally:
        del MODELS["longest vector"]


def test_a_model_of_ones_own_may_be_careless(tmp_path):
    @cost_model.cost_model("careless")
    class Careless(AnalyticModel):
        def to_json(self):
            return {"what": self.what}

        @classmethod
        def from_json(cls, data):
            return data["nothing"][3].x

    try:
        model = make_model("careless")
        for what in (object(), {1, 2}):
            model.what = what
            with pytest.raises(CostModelError) as refused:
                model.save(tmp_path / "m.json")
            assert refused.value.code == "cost_model.unwritable"
        assert not list(tmp_path.iterdir())
        model.what = 3
        model.save(tmp_path / "m.json")
        with pytest.raises(CostModelError, match="KeyError") as refused:
            load(tmp_path / "m.json")
        assert refused.value.code == "cost_model.damaged"
    finally:
        del MODELS["careless"]


# ---- contributions


@pytest.mark.parametrize("name", MODELS)
def test_contributions_sum_to_the_score(name):
    from workbench import workloads
    from workbench.space.space import make_space
    from workbench.target import Target

    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
    variant = make_space(workloads.matmul(96, 64, 128, constant_b=True), target).variants[0]
    x = variant.features(variant.sampler.draw(64, np.random.default_rng(0)))
    model = make_model(name)
    for _ in range(2):
        parts = model.contributions(x)
        assert parts.shape == x.shape
        np.testing.assert_allclose(parts.sum(axis=1) + model.bias, model.predict(x), atol=1e-4)
        model.update("a", x, x[:, INDEX["speed"]] + 0.4 * x[:, INDEX["main.vector"]])


def test_contributions_name_what_made_the_difference():
    model, x, _ = taught(200)
    learned = np.abs(model.contributions(x) - AnalyticModel().contributions(x)).mean(axis=0)
    assert {COLUMNS[k].name for k in np.argsort(learned)[-2:]} == {"main.accumulators", "main.tasks"}
