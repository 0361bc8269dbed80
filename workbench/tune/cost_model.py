"""Cost models: which of many candidates is worth measuring.

A model scores feature rows; higher is faster. Scores are log2 of arithmetic operations per cycle as far as the model
knows, so that differences mean the same for every task. All models are deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.tune.features import COLUMNS, INDEX, VERSION

Matrix = NDArray[np.float32]
Scores = NDArray[np.float64]


class CostModel(Protocol):
    """What the search needs from a model."""

    @property
    def version(self) -> str:
        """Names the model and everything that its scores depend on, for the log."""

    @property
    def trained(self) -> bool:
        """Whether measurements have changed the scores."""

    def predict(self, x: Matrix) -> Scores:
        """Score feature rows ``[N, F]`` -> ``[N]``."""

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Take measurements of one task: log2 of operations per second, NaN for a failed trial."""


@dataclass(slots=True)
class AnalyticModel:
    """The roofline estimate of `roofline`; needs no measurements."""

    @property
    def version(self) -> str:
        return f"analytic-{VERSION}"

    @property
    def trained(self) -> bool:
        return False

    def predict(self, x: Matrix) -> Scores:
        return x[:, INDEX["speed"]].astype(np.float64)

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Nothing to learn."""


@dataclass(slots=True)
class RandomModel:
    """Scores without meaning, a function of the features and the seed only; the baseline for comparisons."""

    seed: int = 0

    @property
    def version(self) -> str:
        return f"random-{self.seed}"

    @property
    def trained(self) -> bool:
        return False

    def predict(self, x: Matrix) -> Scores:
        weights = np.random.default_rng(self.seed).standard_normal(x.shape[1])
        noise = np.sin((x.astype(np.float64) @ weights) * 12.9898) * 43758.5453
        return noise - np.floor(noise)

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Nothing to learn."""


@dataclass(slots=True)
class _Measured:
    """Measurements of one task."""

    x: list[Matrix] = field(default_factory=list)
    speed: list[Scores] = field(default_factory=list)


class XGBoostModel:
    """Gradient-boosted trees that correct the analytic estimate, trained on all tasks of a session together.

    What is learned is the difference between log2 of the measured speed and the estimate, centred per task, so a few
    trials already help and tasks without any still get the estimate corrected by what others showed.

    Parameters
    ----------
    seed : int
    rounds : int
        Trees.
    every : int
        Retrain once this many new rows have come in (always while there are fewer than 64).
    """

    def __init__(self, seed: int = 0, rounds: int = 60, every: int = 12) -> None:
        self._seed, self._rounds, self._every = seed, rounds, every
        self._tasks: dict[str, _Measured] = {}
        self._booster: Any = None
        self._rows = self._trained_rows = 0

    @property
    def version(self) -> str:
        return f"xgboost-{VERSION}.{self._trained_rows}" if self._booster is not None else f"analytic-{VERSION}"

    @property
    def trained(self) -> bool:
        return self._booster is not None

    def predict(self, x: Matrix) -> Scores:
        score: Scores = x[:, INDEX["speed"]].astype(np.float64)
        if self._booster is not None:
            score = score + np.asarray(self._booster.inplace_predict(x), np.float64)
        return score

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        measured = self._tasks.setdefault(task, _Measured())
        measured.x.append(x)
        measured.speed.append(speed)
        self._rows += len(x)
        fresh = self._rows - self._trained_rows
        if fresh >= self._every or (self._rows < 64 and fresh > 0):
            self._train()

    def _train(self) -> None:
        x, y = training_set([(np.concatenate(m.x), np.concatenate(m.speed)) for m in self._tasks.values()])
        if len(x) < MINIMUM_ROWS:
            return
        import xgboost

        data = xgboost.QuantileDMatrix(x, label=y, nthread=1, max_bin=64)
        options = {
            "objective": "reg:squarederror", "eta": 0.12, "max_depth": 5, "min_child_weight": 2.0, "lambda": 2.0,
            "subsample": 0.9, "colsample_bytree": 0.6, "tree_method": "hist", "max_bin": 64, "nthread": 1,
            "base_score": 0.0, "seed": self._seed, "verbosity": 0,
        }  # fmt: skip
        self._booster = xgboost.train(options, data, self._rounds)
        self._trained_rows = self._rows


MINIMUM_ROWS = 8


def training_set(tasks: Sequence[tuple[Matrix, Scores]]) -> tuple[Matrix, Scores]:
    """Rows and labels over all tasks: measured minus estimated log2 speed, centred per task; failures count as slow."""
    xs, ys = [], []
    for x, speed in tasks:
        ok = np.isfinite(speed)
        if not ok.any():
            continue
        filled = np.where(ok, speed, speed[ok].min() - 1.0)
        y = filled - x[:, INDEX["speed"]]
        xs.append(x)
        ys.append(np.clip(y - np.median(y[ok]), -4.0, 4.0))
    if not xs:
        return np.zeros((0, len(COLUMNS)), np.float32), np.zeros(0)
    return np.concatenate(xs), np.concatenate(ys)


def make_model(name: str, seed: int = 0) -> CostModel:
    """Model by name: "xgboost", "analytic" or "random"."""
    if name == "xgboost":
        return XGBoostModel(seed)
    if name == "analytic":
        return AnalyticModel()
    if name == "random":
        return RandomModel(seed)
    raise UsageError("usage.model", f"There is no cost model {name!r}.", (name,), "known: xgboost, analytic, random")


# ------------------------------------------------------------------------------------------------------------- honesty


@dataclass(slots=True)
class HeldOut:
    """Compares predictions with measurements that came later; only pairs of one task and one round count."""

    rounds: list[tuple[int, int]] = field(default_factory=list)

    def observe(self, predicted: Sequence[float], speed: Sequence[float]) -> None:
        """Take one round: scores from before the measurement, and log2 speeds (NaN for failures)."""
        good = discordant = 0
        for i in range(len(speed)):
            for j in range(i):
                a, b = predicted[i] - predicted[j], speed[i] - speed[j]
                if a and b and math.isfinite(a) and math.isfinite(b):
                    good += (a > 0) == (b > 0)
                    discordant += (a > 0) != (b > 0)
        self.rounds.append((good, discordant))

    def correlation(self, last: int = 8) -> float | None:
        """Kendall's tau over the last rounds, or None without a pair."""
        good = sum(g for g, _ in self.rounds[-last:])
        bad = sum(b for _, b in self.rounds[-last:])
        return (good - bad) / (good + bad) if good + bad else None
