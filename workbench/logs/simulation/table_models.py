"""Cost models of parameters: those of the workbench that need no program, and one that knows how unsure it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import Flags, Matrix, RandomModel, Scorer, Scores, XGBoostModel
from workbench.errors import UsageError
from workbench.logs.simulation.gaussian_process import GaussianProcess, log_improvement
from workbench.registry import Registry

Floats: TypeAlias = NDArray[np.float64]

TABLE_MODELS: Registry[Callable[[int], Scorer]] = Registry("cost model", "cost models", "usage.cost_model")
"""Cost models that a simulation can use: name -> what makes one from a seed."""


class GaussianProcessModel:
    """Expects of parameters what was measured nearby, and hopes for more where little was measured.

    Parameters
    ----------
    seed : int
        Not used: nothing here is drawn.

    Attributes
    ----------
    START : int
        Measurements that are spread over the space before the process says anything.
    CAPPED : float
        What is slower than this share of the measurements counts as if it were as fast as that; failures too. The
        process is to tell the fast ones apart, and a cliff bends it far away.
    EVERY : int
        Lengths are chosen anew when this share of the measurements (1 / EVERY) is new, at least three.
    """

    START = 12
    CAPPED = 0.25
    EVERY = 15

    def __init__(self, seed: int = 0) -> None:
        self._x: list[NDArray[np.float32]] = []
        self._speed: list[float] = []
        self._process: GaussianProcess | None = None
        self._next_fit = 0

    @property
    def version(self) -> str:
        """How many measurements it has."""
        return f"gaussian-process.{len(self._x)}"

    @property
    def trained(self) -> bool:
        """Whether measurements decide what is proposed."""
        return len(self._x) >= self.START and bool(np.isfinite(self._speed).any())

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Take measurements: log2 of speed, NaN for a failure."""
        for row, value in zip(x, speed, strict=True):
            self._x.append(row)
            self._speed.append(float(value))
            if self._process is not None:
                self._process.add(row.astype(np.float64))

    def seen(self, x: Matrix) -> Flags:
        """Nothing comes from other runs."""
        return np.zeros(len(x), np.bool_)

    def predict(self, x: Matrix) -> Scores:
        """Return the speeds to be expected, in log2 ``[N]``; 0 before it says anything."""
        if not self.trained:
            return np.zeros(len(x))
        y, middle, scale = self._labels()
        return self._fitted(y).posterior(x, y)[0] * scale + middle

    def hope(self, x: Matrix) -> Scores:
        """Return the logarithm of the gain to be expected over the best ``[N]``; at first, how far away a row is."""
        if not self.trained:
            return self._distance(x)
        y, _, _ = self._labels()
        mean, deviation = self._fitted(y).posterior(x, y)
        return log_improvement(mean, deviation, float(y.max()))

    def likeness(self, x: Matrix, row: NDArray[np.float32]) -> Scores:
        """Return how much the measurement of a row would tell about others ``[N]``, from 0 to 1."""
        if not self.trained or self._process is None:
            alike: Scores = np.exp(-_squares(x, row) / x.shape[1])
            return alike
        return self._process.likeness(x, row.astype(np.float64))

    def _labels(self) -> tuple[Floats, float, float]:
        """Speeds in units of their spread, and how to turn them back."""
        told = np.array(self._speed)
        ok = np.isfinite(told)
        least = float(np.quantile(told[ok], self.CAPPED))
        y = np.maximum(np.where(ok, told, least), least)
        middle, scale = float(y.mean()), float(y.std()) + 1e-9
        return (y - middle) / scale, middle, scale

    def _fitted(self, y: Floats) -> GaussianProcess:
        count = len(self._x)
        if self._process is None or count >= self._next_fit:
            points = np.stack(self._x).astype(np.float64)
            self._process = self._process or GaussianProcess(points.shape[1])
            self._process.fit(points, y)
            self._process.condition(points)
            self._next_fit = count + max(3, count // self.EVERY)
        return self._process

    def _distance(self, x: Matrix) -> Scores:
        """How far rows are from all that was measured; from the middle before anything was."""
        if not self._x:
            return -_squares(x, x.mean(axis=0))
        apart = np.full(len(x), np.inf)
        for row in self._x:
            apart = np.minimum(apart, _squares(x, row))
        return apart


def _squares(x: Matrix, row: NDArray[np.float32]) -> Floats:
    """Squared distances of rows ``[N, F]`` from one."""
    out: Floats = ((x - row) ** 2).sum(axis=1).astype(np.float64)
    return out


TABLE_MODELS["gaussian_process"] = GaussianProcessModel
TABLE_MODELS["xgboost"] = lambda seed: XGBoostModel(seed)
TABLE_MODELS["random"] = lambda seed: RandomModel(seed)


def make_table_model(name: str, seed: int) -> Scorer:
    """Make a cost model of parameters by its name.

    Raises
    ------
    UsageError
        ``usage.cost_model`` for a name that is not known, or for a model that estimates programs.
    """
    if name == "analytic":
        message = "The analytic model estimates programs; the parameters of a log are none"
        raise UsageError("usage.cost_model", message, (name,), f"take {', '.join(TABLE_MODELS)}")
    return TABLE_MODELS.find(name)(seed)
