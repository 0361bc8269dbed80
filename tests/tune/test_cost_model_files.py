"""Files of cost models: they come back as they were, and what is in a damaged or hostile one harms nobody."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from tune.worlds import rows, taught

from workbench.cost_model import MODELS, AnalyticModel, XGBoostModel, load, make_model
from workbench.cost_model.model_file import _checksum, pack
from workbench.cost_model.xgboost_binding import MOST_DEPTH, Trees, checked_trees
from workbench.errors import CostModelError, InputError, UsageError, WorkbenchError
from workbench.machine_model.features import COLUMNS

# ---- files


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_from_its_file_and_goes_on_learning(name, tmp_path):
    model, (x, y) = make_model(name, 3), rows()
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


def _put(name, at, value):
    """A change of one number of the first tree."""
    return _resealed(lambda c: _first_tree(c)[name].__setitem__(at, value))


def _set(**values):
    return _resealed(lambda c: c["data"].update(values))


def _chain(content, length=MOST_DEPTH + 1):
    """A tree that is nothing but deep."""
    size = 2 * length + 1
    left = [k + 1 if k % 2 == 0 and k < size - 1 else -1 for k in range(size)]
    right = [k + 2 if k % 2 == 0 and k < size - 1 else -1 for k in range(size)]
    parents = [2**31 - 1] + [(k - 1) // 2 * 2 for k in range(1, size)]
    tree = _first_tree(content)
    tree.update(left_children=left, right_children=right, parents=parents)
    for name in ("split_indices", "default_left", "split_type"):
        tree[name] = [0] * size
    for name in ("split_conditions", "base_weights", "loss_changes", "sum_hessian"):
        tree[name] = [1.0] * size
    tree["tree_param"]["num_nodes"] = str(size)


def _not_finite(content):
    x, _ = rows(3)
    x[1, 1] = np.inf
    content["data"]["tasks"].append({"task": "b", "weight": 1.0, "x": pack(x), "speed": pack(np.zeros(3))})


HUGE = 10**400  # no float can hold it


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
    "a negative seed": (_set(seed=-1), "cost_model.damaged"),
    "a seed in words": (_set(seed="3"), "cost_model.damaged"),
    "a huge seed": (_set(seed=HUGE), "cost_model.damaged"),
    "trees for hours": (_set(rounds=10**9), "cost_model.damaged"),
    "no rows between": (_set(every=0), "cost_model.damaged"),
    "counts of more rows": (_set(counts=[10**6, 0, 0]), "cost_model.damaged"),
    "negative counts": (_set(counts=[8, -5, 0]), "cost_model.damaged"),
    "counts that are truths": (_set(counts=[True, True, True]), "cost_model.damaged"),
    "four counts": (_set(counts=[8, 8, 0, 0]), "cost_model.damaged"),
    "constants of one's own": (_set(constants="\n" * 50), "cost_model.damaged"),
    "constants of another type": (_set(constants={}), "cost_model.damaged"),
    "recent numbers": (_set(recent=[3]), "cost_model.damaged"),
    "a task without a name": (_resealed(lambda c: _rows_in(c).update(task=None)), "cost_model.damaged"),
    "a negative weight": (_resealed(lambda c: _rows_in(c).update(weight=-1.0)), "cost_model.damaged"),
    "a huge weight": (_resealed(lambda c: _rows_in(c).update(weight=HUGE)), "cost_model.damaged"),
    "infinite features": (_resealed(_not_finite), "cost_model.damaged"),
    "many dimensions": (_resealed(lambda c: _rows_in(c)["speed"].update(shape=[1] * 100)), "cost_model.damaged"),
    "an unknown type": (_resealed(lambda c: _rows_in(c)["speed"].update(dtype=["<f8"])), "cost_model.damaged"),
    "a file of nothing": (_resealed(lambda c: c.update(kind=[])), "cost_model.kind"),
    "trees in a list": (_set(trees=[]), "cost_model.damaged"),
    "another base": (
        _resealed(lambda c: c["data"]["trees"]["learner"]["learner_model_param"].update(base_score="5E-1")),
        "cost_model.damaged",
    ),
    "a deep tree": (_resealed(_chain), "cost_model.damaged"),
    "a child of nobody": (_put("parents", 1, 2), "cost_model.damaged"),
    "a child that is a truth": (_put("left_children", 0, True), "cost_model.damaged"),
    "a root with a parent": (_put("parents", 0, 0), "cost_model.damaged"),
    "one child": (_put("right_children", 0, -1), "cost_model.damaged"),
    "a split beyond floats": (_put("split_conditions", 0, 1e300), "cost_model.damaged"),
    "a split beyond all": (_put("split_conditions", 0, HUGE), "cost_model.damaged"),
    "no weight": (_put("base_weights", 0, None), "cost_model.damaged"),
    "no rows in a node": (_put("sum_hessian", 0, 0.0), "cost_model.damaged"),
    "a third direction": (_put("default_left", 0, 2), "cost_model.damaged"),
    "categories": (_resealed(lambda c: _first_tree(c).update(categories=[1])), "cost_model.damaged"),
    "a split by category": (_put("split_type", 0, 1), "cost_model.damaged"),
    "no objective": (_resealed(lambda c: c["data"]["trees"]["learner"].pop("objective")), "cost_model.damaged"),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model, _, _ = taught(100, rounds=8)
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


def test_the_library_sees_nothing_of_a_file_but_numbers_that_were_looked_at(saved):
    """What a file says beside the trees (sizes, parameters, attributes) reaches the library from itself only."""
    content = json.loads(saved)["data"]["trees"]
    honest = Trees.from_json(content, 100)
    model = content["learner"]["gradient_booster"]["model"]
    model["gbtree_model_param"] = {"num_trees": "-1", "num_parallel_tree": "1000000000"}
    model["iteration_indptr"] = [0, 1 << 40]
    for tree in model["trees"]:
        tree["tree_param"] = {"num_nodes": "1073741824", "num_deleted": "-7", "size_leaf_vector": "99999999"}
        tree["id"] = -3
        for name in ("split_conditions", "base_weights", "sum_hessian"):
            tree[name] = [int(v) if v == int(v) else v for v in tree[name]]  # as JavaScript writes them
    content["learner"]["attributes"] = {"best_iteration": "x"}
    content["version"] = [99, 0, 0]
    x, _ = rows(20)
    hostile = Trees.from_json(content, 100)
    np.testing.assert_array_equal(hostile.predict(x), honest.predict(x))
    np.testing.assert_array_equal(hostile.shapley(x), honest.shapley(x))
    assert hostile.to_json() == honest.to_json()


@pytest.mark.parametrize("limit", ["MOST_TREES", "MOST_NODES"])
def test_a_forest_larger_than_that_of_any_model_is_refused(limit, saved, tmp_path, monkeypatch):
    (tmp_path / "m.json").write_text(saved, encoding="utf-8")
    load(tmp_path / "m.json")
    monkeypatch.setattr(f"workbench.cost_model.xgboost_binding.{limit}", 7)
    with pytest.raises(CostModelError, match=r"more than|larger than") as refused:
        load(tmp_path / "m.json")
    assert refused.value.code == "cost_model.damaged"


def _between(low=100, high=100_000):
    """The deepest nesting that can be read: what then writes it goes deeper."""
    while high - low > 1:
        middle = (low + high) // 2
        try:
            json.loads("[" * middle + "]" * middle)
            low = middle
        except RecursionError:
            high = middle
    return low


def test_contents_that_are_nested_as_deep_as_can_be_read(tmp_path):
    deepest, path = _between(), tmp_path / "m.json"
    for depth in range(deepest - 40, deepest + 2):
        nested = "[" * depth + "]" * depth
        path.write_text(f'{{"workbench_cost_model": 1, "kind": "analytic", "data": {{"x": {nested}}}}}')
        with pytest.raises(WorkbenchError) as refused:
            load(path)
        assert refused.value.code == "cost_model.damaged"


def test_arrays_are_limited_together(saved, tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text(saved, encoding="utf-8")
    load(path)
    monkeypatch.setattr("workbench.cost_model.models.xgboost.MAX_NUMBERS", 100 * (len(COLUMNS) + 1) - 1)
    with pytest.raises(CostModelError) as refused:
        load(path)
    assert refused.value.code == "cost_model.damaged"


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
    AnalyticModel().save(tmp_path / "m.json")
    monkeypatch.setattr("workbench.cost_model.model_file.MAX_BYTES", 10)
    with pytest.raises(InputError) as refused:
        load(tmp_path / "m.json")
    assert refused.value.code == "cost_model.damaged"


def test_paths_that_are_no_files(tmp_path):
    """A pipe would wait for ever, a device never ends; names that no file can have are told like those of none."""
    os.mkfifo(tmp_path / "pipe")
    codes = {
        tmp_path / "pipe": "cost_model.damaged",
        "/dev/zero": "cost_model.damaged",
        tmp_path: "cost_model.missing",
        "a\0b": "usage.path",
        "a\ud800b": "usage.path",
        "x" * 5000: "usage.path",
        "": "cost_model.missing",
    }
    for path, code in codes.items():
        with pytest.raises(WorkbenchError) as refused:
            load(path)
        assert refused.value.code == code
        str(refused.value).encode("utf-8")
    for path in ("a\0b", "a\ud800b", "x" * 5000, "", tmp_path, "/", ".."):
        with pytest.raises(WorkbenchError) as refused:
            AnalyticModel().save(path)
        assert refused.value.code == codes.get(path, "cost_model.unwritable").replace("missing", "unwritable")
        str(refused.value).encode("utf-8")
    for call in (load, AnalyticModel().save):
        with pytest.raises(UsageError):
            call(3)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"], "nothing is left beside"


def test_a_model_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.cost_model.model_file.MAX_BYTES", 100)
    with pytest.raises(CostModelError) as refused:
        AnalyticModel().save(tmp_path / "m.json")
    assert refused.value.code == "cost_model.unwritable"
