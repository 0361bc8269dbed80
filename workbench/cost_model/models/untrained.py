"""Models that need no training: the analytic estimate, and chance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.cost_model.base import Flags, Matrix, Rows, Scores, cost_model, seed_of
from workbench.cost_model.model_file import Saved, damaged, whole_in
from workbench.machine_model.features import COLUMNS, INDEX, VERSION
from workbench.machine_model.machine_parameters import Machine


class _Untrained(Saved):
    """What models have in common that do not learn."""

    bias = 0.0
    trained = False

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Nothing to learn."""

    def warm_start(self, rows: Rows) -> None:
        """Nothing to learn."""

    def measured(self) -> Rows:
        """Nothing is kept."""
        return {}

    def seen(self, x: Matrix) -> Flags:
        """Nothing is learned, so every prediction counts."""
        return np.zeros(len(x), np.bool_)

    def prepare(self) -> None:
        """Nothing to load."""


@cost_model("analytic")
class AnalyticModel(_Untrained):
    """The roofline estimate of `roofline`: what the core has to issue and the caches have to deliver.

    Parameters
    ----------
    machine : Machine, optional
        Where its constants come from; they are in the features, here they are only named.
    """

    def __init__(self, seed: int = 0, machine: Machine | None = None) -> None:
        self.constants = "fitted" if machine is None else machine.constants

    @property
    def version(self) -> str:
        """The version of the features and where the constants come from."""
        return f"analytic-{VERSION}-{self.constants}"

    def predict(self, x: Matrix) -> Scores:
        """Score by the column "speed"."""
        return estimated(x)

    def contributions(self, x: Matrix) -> Scores:
        """Split log2 of the estimated cycles over what takes them, in proportion; "flops" stands for the work."""
        return analytic_terms(x)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` needs."""
        return {"constants": self.constants}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AnalyticModel:
        """Read a model back."""
        model = cls()
        model.constants = constants_in(data)
        return model


def estimated(x: Matrix) -> Scores:
    """Return the estimate ``[N]`` that feature rows bring along; 0 for rows of other columns, which are no programs."""
    if x.shape[1] != len(COLUMNS):
        return np.zeros(len(x))
    return x[:, INDEX["speed"]].astype(np.float64)


def constants_in(data: Mapping[str, Any]) -> str:
    """Read from the contents of a file where a model's constants come from, as `Machine.constants` says it."""
    value, known = data.get("constants"), r"(fitted|measured\([0-9.]{1,8},[0-9.]{1,8}\))(-halves)?"
    if not isinstance(value, str) or re.fullmatch(known, value) is None:
        raise damaged("it does not say where its constants come from")
    return value


#: Columns that hold log2(1 + cycles) of a part of the estimate.
_PARTS = ("main.compute", "main.memory", "before.compute", "before.memory", "after.compute", "after.memory")


def analytic_terms(x: Matrix) -> Scores:
    """Contributions of the analytic estimate ``[N, F]``; their sum is the column "speed"."""
    out = np.zeros((len(x), len(COLUMNS)))
    total = x[:, INDEX["estimate"]].astype(np.float64)
    parts = np.exp2(x[:, [INDEX[p] for p in _PARTS]].astype(np.float64)) - 1.0
    # Starting parallel work is no part of a block; what overlaps is in the parts but not in the sum.
    launching = np.maximum(0.0, np.exp2(total) - parts.sum(axis=1))
    shares = np.concatenate([parts, launching[:, None]], axis=1)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    out[:, [INDEX[p] for p in (*_PARTS, "regions")]] = -total[:, None] * shares
    out[:, INDEX["flops"]] += x[:, INDEX["speed"]] + total
    return out


@cost_model("random")
class RandomModel(_Untrained):
    """Scores without meaning, a function of the features and the seed only; the baseline for comparisons."""

    def __init__(self, seed: int = 0, machine: Machine | None = None) -> None:
        self.seed = seed_of(seed)

    @property
    def version(self) -> str:
        """The seed."""
        return f"random-{self.seed}"

    def predict(self, x: Matrix) -> Scores:
        """Score by chance, the same for equal rows."""
        weights = np.random.default_rng(self.seed).standard_normal(x.shape[1])
        noise = np.sin((x.astype(np.float64) @ weights) * 12.9898) * 43758.5453
        return noise - np.floor(noise)

    def contributions(self, x: Matrix) -> Scores:
        """Equal parts: no feature means anything here."""
        return np.repeat(self.predict(x)[:, None] / len(COLUMNS), len(COLUMNS), axis=1)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` needs."""
        return {"seed": self.seed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RandomModel:
        """Read a model back."""
        return cls(whole_in(data, "seed", 0, 0x7FFFFFFF))
