"""A model of the values of one group: boosted trees, judged on configurations that they have not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model.xgboost_binding import library
from workbench.logs.analysis.parameters import Features, Parameters
from workbench.logs.analysis.selection import Floats, Group, sample

OPTIONS: dict[str, Any] = {
    "objective": "reg:squarederror", "eta": 0.15, "max_depth": 6, "min_child_weight": 2.0, "subsample": 0.9,
    "tree_method": "hist", "max_bin": 64, "nthread": 1, "verbosity": 0, "seed": 0,
}  # fmt: skip
"""Options of the trees. Chosen on the samples of complete spaces: more trees or deeper ones explain no more."""

ROUNDS = 100
"""Trees. Chosen likewise."""

FEWEST = 40
"""Configurations with a value that a model is made from, at least. Chosen: fewer leave ten to judge it by."""

ROWS = 10_000
"""Records that a model is made from at most; of more, an even sample is taken. Chosen: about 0.3 s."""

JUDGED = 1_000
"""Held-out records at most for which predictions are made again and again. Chosen for speed."""


@dataclass(frozen=True, eq=False)
class Model:
    """Trees that predict the logarithm of the value (the value itself where one is not positive).

    Attributes
    ----------
    names : tuple of str
        The parameters that vary.
    r2 : float
        How much of the variance of the held-out values is predicted; 0 is no better than their mean.
    rows : int
        Records that were looked at.
    """

    booster: Any
    features: Features
    x: NDArray[np.float64]
    y: Floats
    names: tuple[str, ...]
    owners: tuple[int, ...]
    r2: float
    rows: int

    def score(self, x: NDArray[np.float64]) -> float:
        """Return R² on the held-out records with other features."""
        return _r2(self.y, _predict(self.booster, x))

    def permuted(self, owners: tuple[int, ...], order: NDArray[np.intp]) -> float:
        """Return R² after some parameters have been taken, together, from other held-out records."""
        x = self.x.copy()
        columns = np.flatnonzero(np.isin(self.features.owner, owners))
        x[:, columns] = x[np.ix_(order, columns)]
        return self.score(x)


def held_out(configuration: NDArray[np.int64], share: float, seed: int = 0) -> NDArray[np.bool_]:
    """Return which records are held out: a share of the configurations, with all records of each."""
    count = int(configuration.max(initial=-1)) + 1
    return np.asarray((np.random.default_rng(seed).permutation(count) < share * count)[configuration], np.bool_)


def model_of(group: Group, seed: int = 0) -> Model | None:
    """Train a model of the ok records; None where there are too few, or nothing varies."""
    ok = np.flatnonzero(group.ok)
    rows = ok[sample(len(ok), ROWS, seed)]
    parameters = Parameters.of(group.params(rows))
    value = group.value[rows]
    y = np.log(value) if len(value) and value.min() > 0 else value
    features = parameters.features
    test = held_out(parameters.configuration, 0.25, seed)
    if int(parameters.configuration.max(initial=-1)) + 1 < FEWEST or not features.names or np.ptp(y) == 0:
        return None
    kinds = ["c" if named else "q" for named in features.categorical]
    data = library().QuantileDMatrix(
        features.x[~test], label=y[~test], nthread=1, max_bin=OPTIONS["max_bin"], feature_types=kinds,
        enable_categorical=True,
    )  # fmt: skip
    booster = library().train({**OPTIONS, "seed": seed}, data, ROUNDS)
    booster.set_param({"nthread": 1})
    at = np.flatnonzero(test)
    at = at[sample(len(at), JUDGED, seed)]
    owners = tuple(int(k) for k in dict.fromkeys(features.owner))
    names = tuple(parameters.names[k] for k in owners)
    x, y = features.x[at], y[at]
    return Model(booster, features, x, y, names, owners, _r2(y, _predict(booster, x)), len(rows))


def _predict(booster: Any, x: NDArray[np.float64]) -> Floats:
    return np.asarray(booster.inplace_predict(np.ascontiguousarray(x), validate_features=False), np.float64)


def _r2(y: Floats, predicted: Floats) -> float:
    spread = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / spread if spread else float("nan")
