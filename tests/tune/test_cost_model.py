"""Cost models: what they learn, what they say about it, and what they refuse to read."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from workbench.errors import InputError, UsageError
from workbench.tune import cost_model
from workbench.tune.cost_model import (
    MODELS,
    AnalyticModel,
    HeldOut,
    Quality,
    RandomModel,
    XGBoostModel,
    load,
    make_model,
    spearman,
    training_set,
)
from workbench.tune.cost_model.storage import _checksum, pack
from workbench.tune.cost_model.trees import checked_trees
from workbench.tune.features import COLUMNS, INDEX


def _rows(n=400, seed=0):
    """Features and log2 speeds that the estimate alone explains in part."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, len(COLUMNS))).astype(np.float32)
    truth = (
        x[:, INDEX["speed"]]
        + np.where(x[:, INDEX["main.accumulators"]] > 0, 1.5, 0.0)
        + 0.5 * x[:, INDEX["main.tasks"]]
    )
    return x, truth.astype(np.float64)


def _taught(rows=300, seed=0, **options):
    model, (x, y) = XGBoostModel(seed, **options), _rows()
    model.update("a", x[:rows], y[:rows])
    return model, x, y


def _tau(a, b) -> float:
    value = HeldOut().observe(list(a), list(b)).tau
    assert value is not None
    return value


# ---- learning


def test_boosted_trees_correct_the_estimate():
    model, x, y = _taught()
    before = AnalyticModel().predict(x)
    assert model.trained
    assert _tau(model.predict(x[300:]), y[300:]) > _tau(before[300:], y[300:]) + 0.1
    assert model.version != XGBoostModel().version


def test_the_same_measurements_give_the_same_model():
    """Small steps too, and whatever other models have done in between."""
    (one, x, y), (two, _, _) = _taught(300), _taught(300)
    one.update("a", x[300:316], y[300:316])
    _taught(20)
    two.update("a", x[300:316], y[300:316])
    assert one._trained_rows == 300
    np.testing.assert_array_equal(one.predict(x), two.predict(x))
    assert one.version == two.version


def test_small_steps_learn_what_is_new_and_keep_what_is_known(monkeypatch):
    model, x, y = _taught(400)
    assert model._trained_rows == 400
    new, speed = _rows(16, seed=5)
    score, seen, boost = model.predict(x), [], model._boost
    monkeypatch.setattr(model, "_boost", lambda x, *rest: seen.append(x) or boost(x, *rest))
    model.update("b", new, speed)
    assert model._trained_rows == 400, "too few rows for a training from scratch"
    assert model.version.endswith(".416")
    assert all((seen[0] == row).all(axis=1).any() for row in new), "every new row takes part"
    assert len(seen[0]) > 100, "and some of the others"
    assert not np.array_equal(model.predict(x), score)
    assert _tau(model.predict(x), y) > 0.6


def test_training_from_scratch_becomes_rare(monkeypatch):
    trained = []
    monkeypatch.setattr(XGBoostModel, "_boost", lambda self, x, y, w, rounds, before: trained.append((len(x), rounds)))
    model, (x, y) = XGBoostModel(), _rows(16)
    model._booster = object()
    for k in range(300):
        model.update(f"task {k % 5}", x, y)
        model._booster = object()
    work = sum(n for n, _ in trained)
    assert work < 30 * 4800, "training anew every round would take 150 times the rows"
    assert max(n for n, rounds in trained if rounds < 60) <= 6 * 128


def test_labels_are_centred_per_task_and_failures_are_slow():
    x, y = _rows(20)
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
    x, y = _rows(200)
    warm = XGBoostModel()
    warm.warm_start({"a": (x[:150], y[:150] - 30.0)})  # a machine a billion times slower
    assert warm.trained
    cold = AnalyticModel()
    assert _tau(warm.predict(x[150:]), y[150:]) > _tau(cold.predict(x[150:]), y[150:]) + 0.05
    same = XGBoostModel()
    same.warm_start({"a": (x[:150], y[:150])})
    for model in (warm, same):
        model.update("a", x[150:200], y[150:200])
    np.testing.assert_allclose(
        warm.predict(x), same.predict(x), atol=0.2, err_msg="speeds of two runs are not compared"
    )


def test_analytic_and_random_models_do_not_learn():
    x, y = _rows(50)
    for model in (AnalyticModel(), RandomModel(3)):
        before = model.predict(x)
        model.update("a", x, y)
        model.warm_start({"a": (x, y)})
        model.prepare()
        np.testing.assert_array_equal(before, model.predict(x))
        assert not model.trained
    assert abs(_tau(RandomModel(0).predict(x), y)) < 0.4
    assert not np.array_equal(RandomModel(0).predict(x), RandomModel(1).predict(x))


def test_models_by_name():
    assert list(MODELS) == ["analytic", "random", "xgboost"]
    assert all(kind.doc for kind in MODELS.values())
    assert {make_model(n).version.split("-")[0] for n in MODELS} == {"analytic", "random"}, "not trained yet"
    with pytest.raises(UsageError, match="no cost model") as refused:
        make_model("magic")
    assert "analytic, random, xgboost" in refused.value.hint


def test_a_model_of_ones_own_is_one_declaration(monkeypatch, tmp_path):
    monkeypatch.setattr("workbench.tune.cost_model.base.MODELS", MODELS)

    @cost_model.cost_model("longest vector")
    class Longest(AnalyticModel):
        """Believes in vectors."""

        def predict(self, x):
            return x[:, INDEX["main.vector"]].astype(np.float64)

    try:
        x, _ = _rows(10)
        assert make_model("longest vector").predict(x).argmax() == x[:, INDEX["main.vector"]].argmax()
        assert MODELS["longest vector"].doc == "Believes in vectors."
    finally:
        del MODELS["longest vector"]


# ---- contributions


@pytest.mark.parametrize("name", ["analytic", "random", "xgboost"])
def test_contributions_sum_to_the_score(name):
    from workbench import workloads
    from workbench.target import Target
    from workbench.tune.space import make_space

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
    model, x, _ = _taught(200)
    learned = np.abs(model.contributions(x) - AnalyticModel().contributions(x)).mean(axis=0)
    assert {COLUMNS[k].name for k in np.argsort(learned)[-2:]} == {"main.accumulators", "main.tasks"}


# ---- files


@pytest.mark.parametrize("name", ["analytic", "random", "xgboost"])
def test_a_model_comes_back_from_its_file_and_goes_on_learning(name, tmp_path):
    model, (x, y) = make_model(name, 3), _rows()
    for k in range(0, 300, 100):
        model.update("a", x[k : k + 100], y[k : k + 100])
    model.warm_start({"b": (x[380:], y[380:])})
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert type(again) is type(model)
    assert again.version == model.version
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    np.testing.assert_array_equal(again.contributions(x), model.contributions(x))
    for m in (model, again):
        m.update("a", x[300:316], y[300:316])  # a small step, for both
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert again.version == model.version


def test_a_model_without_trees_comes_back(tmp_path):
    model = XGBoostModel(1)
    model.save(tmp_path / "m.json")
    assert not load(tmp_path / "m.json").trained
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"], "nothing is left beside the file"


def _resealed(change):
    """A change of the contents with a checksum that fits them."""

    def apply(content):
        change(content)
        body = {k: content.get(k) for k in ("kind", "features", "columns", "data")}
        content["checksum"] = _checksum(body)

    return apply


def _first_tree(content):
    return content["data"]["trees"]["learner"]["gradient_booster"]["model"]["trees"][0]


def _rows_in(content):
    return content["data"]["tasks"][0]


def _loop(content):
    _first_tree(content)["left_children"][0] = 0


DAMAGE = {
    "another version": (lambda c: c.update(workbench_cost_model=2), "cost_model.version"),
    "no checksum": (lambda c: c.pop("checksum"), "cost_model.damaged"),
    "a changed number": (lambda c: c["data"].update(seed=8), "cost_model.damaged"),
    "other features": (_resealed(lambda c: c.update(features="0")), "cost_model.features"),
    "other columns": (_resealed(lambda c: c.update(columns=3)), "cost_model.features"),
    "another kind": (_resealed(lambda c: c.update(kind="oracle")), "cost_model.kind"),
    "no data": (_resealed(lambda c: c.update(data=[])), "cost_model.damaged"),
    "no seed": (_resealed(lambda c: c["data"].pop("seed")), "cost_model.damaged"),
    "no counts": (_resealed(lambda c: c["data"].update(counts=[1])), "cost_model.damaged"),
    "no tasks": (_resealed(lambda c: c["data"].update(tasks=3)), "cost_model.damaged"),
    "rows of another width": (_resealed(lambda c: _rows_in(c)["x"].update(shape=[9, 9])), "cost_model.damaged"),
    "a huge shape": (_resealed(lambda c: _rows_in(c)["speed"].update(shape=[1 << 40])), "cost_model.damaged"),
    "fewer numbers": (_resealed(lambda c: _rows_in(c)["speed"].update(shape=[7])), "cost_model.damaged"),
    "fewer speeds": (_resealed(lambda c: _rows_in(c).update(speed=pack(np.zeros(3)))), "cost_model.damaged"),
    "no base64": (_resealed(lambda c: _rows_in(c)["x"].update(data="§")), "cost_model.damaged"),
    "not compressed": (_resealed(lambda c: _rows_in(c)["x"].update(data="AAAA")), "cost_model.damaged"),
    "a text as trees": (_resealed(lambda c: c["data"].update(trees="x")), "cost_model.damaged"),
    "other boosting": (
        _resealed(lambda c: c["data"]["trees"]["learner"]["gradient_booster"].update(name="gblinear")),
        "cost_model.damaged",
    ),
    "a loop in a tree": (_resealed(_loop), "cost_model.damaged"),
    "half a tree": (_resealed(lambda c: _first_tree(c)["parents"].pop()), "cost_model.damaged"),
    "a missing array": (_resealed(lambda c: _first_tree(c).pop("default_left")), "cost_model.damaged"),
    "a feature that does not exist": (
        _resealed(lambda c: _first_tree(c)["split_indices"].__setitem__(0, len(COLUMNS))),
        "cost_model.damaged",
    ),
    "no split": (
        _resealed(lambda c: _first_tree(c)["split_conditions"].__setitem__(0, "x")),
        "cost_model.damaged",
    ),
    "no objective": (_resealed(lambda c: c["data"]["trees"]["learner"].pop("objective")), "cost_model.damaged"),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model, _, _ = _taught(100)
    path = tmp_path_factory.mktemp("models") / "m.json"
    model.save(path)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("what", sorted(DAMAGE))
def test_damaged_models_are_refused(what, saved, tmp_path):
    change, code = DAMAGE[what]
    content = json.loads(saved)
    change(content)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load(path)
    assert refused.value.code == code
    assert refused.value.where == (str(path),)


def test_trees_are_checked_before_the_library_sees_them(saved):
    whole = json.loads(saved)
    checked_trees(whole["data"]["trees"], len(COLUMNS))
    found = 0
    for what in ("a loop in a tree", "half a tree", "a missing array", "a feature that does not exist", "no split"):
        content = json.loads(saved)
        DAMAGE[what][0](content)
        with pytest.raises(InputError) as refused:
            checked_trees(content["data"]["trees"], len(COLUMNS))
        found += refused.value.code == "cost_model.damaged"
    assert found == 5


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"[]", b"{", b"[" * 100_000, b"cos\nsystem\n(S'true'\ntR."])
def test_other_files_are_no_models(text, tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as refused:
        load(path)
    assert refused.value.code == "cost_model.damaged"


def test_files_that_cannot_be_read_or_written(tmp_path, monkeypatch):
    with pytest.raises(InputError) as refused:
        load(tmp_path / "none.json")
    assert refused.value.code == "cost_model.missing"
    with pytest.raises(InputError) as refused:
        AnalyticModel().save(tmp_path / "no folder" / "m.json")
    assert refused.value.code == "cost_model.unwritable"
    monkeypatch.setattr("workbench.tune.cost_model.storage.MAX_BYTES", 10)
    AnalyticModel().save(tmp_path / "m.json")
    with pytest.raises(InputError) as refused:
        load(tmp_path / "m.json")
    assert refused.value.code == "cost_model.damaged"


# ---- quality


def test_held_out_correlation_compares_within_a_round():
    held = HeldOut()
    assert held.correlation() is None
    assert held.observe([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).tau == 1.0
    assert held.correlation() == 1.0
    held.observe([1.0, 2.0], [2.0, 1.0])
    assert held.correlation() == pytest.approx((3 - 1) / 4)
    assert held.observe([1.0, float("nan")], [1.0, 2.0]) == Quality(None, None, 0), "not predicted"
    assert held.correlation() == pytest.approx((3 - 1) / 4)
    assert held.quality().pairs == 4


def test_quality_per_task_and_overall():
    held = HeldOut()
    held.observe([1, 2, 3, 4], [10, 20, 40, 30], "a")
    held.observe([1, 2], [1, 2], "b")
    held.observe([4, 3, 2, 1], [1, 2, 3, 4], "a")
    a, b = held.quality("a"), held.quality("b")
    assert (a.pairs, b.pairs, held.quality().pairs) == (12, 1, 13)
    assert a.tau == pytest.approx((5 - 1 - 6) / 12)
    assert a.spearman == pytest.approx((0.8 - 1.0) / 2)
    assert (b.tau, b.spearman) == (1.0, pytest.approx(1.0))
    assert held.quality("a", last=1).tau == -1.0
    assert held.quality("c") == held.quality("d")
    assert held.quality("c").tau is None
    assert list(held.tasks()) == ["a", "b"]


def test_equal_values_share_their_rank():
    assert spearman([1, 2, 3], [1, 8, 27]) == pytest.approx(1.0)
    assert spearman([1, 1, 2], [1, 2, 2]) == pytest.approx(0.5)
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([], []) is None


def test_quality_of_a_log():
    def record(round_, task, predicted, ms):
        return SimpleNamespace(round=round_, task_key=task, predicted=predicted, latency_ms=ms, ok=ms is not None)

    records = [record(0, "a", None, 5.0), record(0, "a", None, 4.0)]
    records += [record(1, "a", p, ms) for p, ms in ((1.0, 4.0), (2.0, 2.0), (3.0, 3.0), (9.0, None))]
    records += [
        record(3, "a", p, ms) for p, ms in ((0.0, 1.0), (-1.0, 1.5))
    ]  # faster, and compared with each other only
    records += [record(2, "b", p, ms) for p, ms in ((1.0, 4.0), (2.0, 2.0))]
    held = HeldOut.of_records(records)
    assert [r.task for r in held.rounds] == ["a", "b", "a"], "nothing was predicted before the first round"
    assert held.quality("a").pairs == 3 + 1
    assert held.quality("a").tau == pytest.approx((1 + 1) / 4)
    assert math.isclose(held.quality().tau or 0, 3 / 5)
