"""Boosted trees: the library's, and what of a file is handed to it.

The library believes the numbers of the file that it loads, and follows them wherever they lead. It therefore never
sees one: `from_json` takes the trees out of it, looks at every number, and puts them into the frame of an empty model
that the library has written itself.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.cost_model.base import Matrix, Scores
from workbench.cost_model.model_file import damaged
from workbench.errors import CostModelError
from workbench.machine_model.features import COLUMNS

OPTIONS: Mapping[str, Any] = {
    "objective": "reg:squarederror", "eta": 0.12, "max_depth": 5, "min_child_weight": 2.0, "lambda": 2.0,
    "subsample": 0.9, "colsample_bytree": 0.6, "tree_method": "hist", "max_bin": 64, "nthread": 1, "base_score": 0.0,
    "verbosity": 0,
    "seed_per_iteration": True,  # else a step would go on with random numbers that anything before has left behind
}  # fmt: skip
#: What a file may hold: trees, nodes of all trees together, splits above a node.
MOST_TREES, MOST_NODES, MOST_DEPTH = 10_000, 1 << 20, 16
_LARGEST = float(np.finfo(np.float32).max)


class Trees:
    """Trees that have been trained; they never change, so any number of threads may ask them.

    Attributes
    ----------
    rows : int
        Measurements that they have learned from.
    """

    def __init__(self, booster: Any, rows: int) -> None:
        self._booster, self.rows = booster, rows

    @functools.cached_property
    def bias(self) -> float:
        """Mean of the predictions over the training rows."""
        return float(self.shapley(np.zeros((1, len(COLUMNS)), np.float32))[0, -1])

    def predict(self, x: Matrix) -> Scores:
        """Predict for feature rows ``[N, F]`` -> ``[N]``."""
        return np.asarray(self._booster.inplace_predict(x, base_margin=None), np.float64)

    def shapley(self, x: Matrix) -> Scores:
        """What each feature adds ``[N, F + 1]``; the last column is the bias."""
        data = library().DMatrix(np.ascontiguousarray(x, np.float32), nthread=1)
        return np.asarray(self._booster.predict(data, pred_contribs=True), np.float64)

    def to_json(self) -> Any:
        """What `from_json` reads."""
        return json.loads(bytes(self._booster.save_raw("json")))

    @classmethod
    def grown(
        cls, x: Matrix, y: Scores, weight: Scores, rounds: int, seed: int, rows: int, before: Trees | None
    ) -> Trees:
        """Train so many trees, or add them to those that there are."""
        data = library().QuantileDMatrix(x, label=y, weight=weight, nthread=1, max_bin=OPTIONS["max_bin"])
        earlier = None if before is None else before._booster
        return cls(library().train({**OPTIONS, "seed": seed}, data, rounds, xgb_model=earlier), rows)

    @classmethod
    def from_json(cls, model: Any, rows: int) -> Trees:
        """Read trees back.

        Raises
        ------
        CostModelError
            "cost_model.damaged"
        """
        trees = checked_trees(model, len(COLUMNS))
        xgboost = library()
        frame = json.loads(bytes(_empty().save_raw("json")))
        inside = frame["learner"]["gradient_booster"]["model"]
        inside["gbtree_model_param"]["num_trees"] = str(len(trees))
        inside["trees"], inside["tree_info"] = trees, [0] * len(trees)
        inside["iteration_indptr"] = list(range(len(trees) + 1))
        booster = xgboost.Booster({"nthread": 1})
        try:
            booster.load_model(bytearray(json.dumps(frame).encode()))
        except (xgboost.core.XGBoostError, ValueError) as error:
            raise damaged(f"its trees cannot be read ({str(error).splitlines()[0]})") from None
        return cls(booster, rows)


def library() -> Any:
    """The library of boosted trees, which takes long to load.

    Raises
    ------
    CostModelError
        "cost_model.library" when it cannot be loaded.
    """
    try:
        import xgboost
    except (ImportError, OSError, ValueError) as error:  # the library's own error for a missing part is a ValueError
        message = f"The library of boosted trees (xgboost) cannot be loaded: {error}."
        raise CostModelError("cost_model.library", message, (), "use the model 'analytic'") from error
    return xgboost


def warm_up() -> None:
    """Train and ask once: the first training of a process takes longer than others, however small."""
    x = np.eye(8, len(COLUMNS), dtype=np.float32)
    Trees.grown(x, np.arange(8.0), np.ones(8), 1, 0, 8, None).predict(x)


def _empty() -> Any:
    x = np.zeros((1, len(COLUMNS)), np.float32)
    data = library().QuantileDMatrix(x, label=np.zeros(1), nthread=1, max_bin=OPTIONS["max_bin"])
    return library().train(dict(OPTIONS), data, 0)


# --------------------------------------------------------------------------------------------------- trees of a file


def checked_trees(model: Any, columns: int) -> list[dict[str, Any]]:
    """Take the trees out of a saved model: children behind their parents, features that exist, numbers that are some.

    Returns
    -------
    list of dict
        Trees as the library writes them, made anew: nothing of the file is in them but numbers that were looked at.

    Raises
    ------
    CostModelError
        "cost_model.damaged"
    """
    try:
        learner = model["learner"]
        booster, shape = learner["gradient_booster"], learner["learner_model_param"]
        trees, info = booster["model"]["trees"], booster["model"]["tree_info"]
        kinds = (booster["name"], learner["objective"]["name"])
        base, features = float(str(shape["base_score"]).strip("[]")), int(str(shape["num_feature"]))
    except (KeyError, TypeError, ValueError):
        raise damaged("its trees are not where they should be") from None
    if kinds != ("gbtree", OPTIONS["objective"]) or (base, features) != (OPTIONS["base_score"], columns):
        raise damaged("its trees are of another kind")
    if not isinstance(trees, list) or not isinstance(info, list) or info != [0] * len(trees):
        raise damaged("its trees do not belong together")
    if len(trees) > MOST_TREES:
        raise damaged(f"it has more than {MOST_TREES} trees")
    out, left = [], MOST_NODES
    for number, tree in enumerate(trees):
        out.append(_checked(tree, number, columns, left))
        left -= len(out[-1]["parents"])
    return out


#: Arrays of a tree that hold whole numbers, and those that hold others.
_WHOLE = ("left_children", "right_children", "parents", "split_indices", "default_left")
_REAL = ("split_conditions", "base_weights", "loss_changes", "sum_hessian")
_NOWHERE = 2**31 - 1  # the parent of a root


def _checked(tree: Any, number: int, columns: int, most: int) -> dict[str, Any]:
    """One tree, made anew from its arrays."""
    if not isinstance(tree, dict) or any(not isinstance(tree.get(a), list) for a in (*_WHOLE, *_REAL)):
        raise damaged("a tree is incomplete")
    size = len(tree["parents"])
    if not 0 < size <= most:
        raise damaged("a tree is empty, or all together are larger than those of any model")
    if any(len(tree[a]) != size for a in (*_WHOLE, *_REAL)):
        raise damaged("a tree has arrays of different lengths")
    if tree.get("categories") or tree.get("split_type", []) not in ([], [0] * size):
        raise damaged("a tree is of another kind")
    if any(type(v) is not int for a in _WHOLE for v in tree[a]):
        raise damaged("a tree has children or features that are no numbers")
    if any(type(v) not in (int, float) or not -_LARGEST <= v <= _LARGEST for a in _REAL for v in tree[a]):
        raise damaged("a tree splits at no number")
    _check_form(tree, size, columns)
    nothing: dict[str, Any] = {f"categories{x}": [] for x in ("", "_nodes", "_segments", "_sizes")}
    counts = {"num_deleted": "0", "num_feature": str(columns), "num_nodes": str(size), "size_leaf_vector": "1"}
    arrays = {a: tree[a] for a in _WHOLE} | {a: list(map(float, tree[a])) for a in _REAL}
    return {"id": number, **arrays, **nothing, "split_type": [0] * size, "tree_param": counts}


def _check_form(tree: Mapping[str, Any], size: int, columns: int) -> None:
    """Every node but the first has one parent before it, is not too deep, and asks for a feature that exists."""
    left, right, parents = tree["left_children"], tree["right_children"], tree["parents"]
    depth = {0: 0}
    for node in range(size):
        if node not in depth:
            raise damaged("a tree has nodes that nothing leads to")
        if not 0 <= tree["split_indices"][node] < columns:
            raise damaged("a tree asks for a feature that does not exist")
        if (left[node], right[node]) == (-1, -1):
            continue
        for child in (left[node], right[node]):
            if not node < child < size or child in depth or parents[child] != node:
                raise damaged("a tree is no tree")
            depth[child] = depth[node] + 1
    if parents[0] != _NOWHERE or max(depth.values()) > MOST_DEPTH:
        raise damaged(f"a tree has no beginning, or more than {MOST_DEPTH} splits above a node")
    if any(v not in (0, 1) for v in tree["default_left"]) or min(tree["sum_hessian"]) <= 0.0:
        raise damaged("a tree has weights or directions that make no sense")
