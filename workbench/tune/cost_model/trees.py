"""Checks of trees from a file, before they are given to a library that believes what it reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.tune.cost_model.storage import damaged

_ARRAYS = ("left_children", "right_children", "parents", "split_indices", "split_conditions", "default_left")
_MOST_TREES, _MOST_NODES = 100_000, 1 << 20


def checked_trees(model: Any, columns: int) -> Mapping[str, Any]:
    """Return the model if each of its trees is one: children behind their parents, features that exist.

    Raises
    ------
    CostModelError
        "cost_model.damaged"
    """
    try:
        learner = model["learner"]
        booster = learner["gradient_booster"]
        trees, info = booster["model"]["trees"], booster["model"]["tree_info"]
        named, features = booster["name"], int(learner["learner_model_param"]["num_feature"])
    except (KeyError, TypeError, ValueError):
        raise damaged("its trees are not where they should be") from None
    if named != "gbtree" or features != columns or not isinstance(trees, list) or not isinstance(info, list):
        raise damaged("its trees are of another kind")
    if len(trees) > _MOST_TREES or len(info) != len(trees) or any(i != 0 for i in info):
        raise damaged("its trees do not belong together")
    for tree in trees:
        _check_tree(tree, columns)
    result: Mapping[str, Any] = model
    return result


def _check_tree(tree: Any, columns: int) -> None:
    if not isinstance(tree, dict) or any(not isinstance(tree.get(a), list) for a in _ARRAYS):
        raise damaged("a tree is incomplete")
    left, right = tree["left_children"], tree["right_children"]
    size = len(left)
    if not 0 < size <= _MOST_NODES or any(len(tree[a]) != size for a in _ARRAYS):
        raise damaged("a tree has arrays of different lengths")
    if any(not isinstance(v, int | float) or not math.isfinite(v) for v in tree["split_conditions"]):
        raise damaged("a tree splits at no number")
    seen: set[int] = set()
    for node in range(size):
        children = (left[node], right[node])
        if children == (-1, -1):
            continue
        if any(not isinstance(c, int) or not node < c < size or c in seen for c in children):
            raise damaged("a tree is no tree")
        seen.update(children)
        feature = tree["split_indices"][node]
        if not isinstance(feature, int) or not 0 <= feature < columns:
            raise damaged("a tree asks for a feature that does not exist")
    if tree.get("categories"):
        raise damaged("a tree is of another kind")
