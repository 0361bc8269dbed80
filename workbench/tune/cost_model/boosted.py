"""Gradient-boosted trees on top of the analytic estimate."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.tune.cost_model.base import Matrix, Rows, Scores, cost_model
from workbench.tune.cost_model.plain import AnalyticModel, analytic_terms
from workbench.tune.cost_model.storage import damaged, number_in, pack, unpack, write
from workbench.tune.cost_model.trees import checked_trees
from workbench.tune.features import COLUMNS, INDEX, VERSION
from workbench.tune.machine import Machine

#: Fewer rows teach nothing.
MINIMUM_ROWS = 8
#: Trees of a model that was trained anew, and those that a small step adds to it.
ROUNDS, STEP_ROUNDS = 60, 6
#: A model is trained anew when its rows have grown by this share; in between, small steps add trees.
GROWTH = 0.06
#: Rows of a small step: the newest of the task, and as many of all others.
WINDOW = 128
#: New rows before a model of many learns from them, as a share of those.
SHARE = 0.01
#: Weight of rows that came from other runs; of the task's slowest rows against its fastest.
FOREIGN, SLOW = 0.5, 0.3


@dataclass(slots=True)
class _Measured:
    """Measurements of one task; `weight` is that of its rows."""

    x: list[Matrix] = field(default_factory=list)
    speed: list[Scores] = field(default_factory=list)
    weight: float = 1.0

    def whole(self) -> tuple[Matrix, Scores]:
        """All rows as one matrix, which takes the place of the pieces."""
        if len(self.x) > 1:
            self.x, self.speed = [np.concatenate(self.x)], [np.concatenate(self.speed)]
        return self.x[0], self.speed[0]


@cost_model("xgboost")
class XGBoostModel:
    """Gradient-boosted trees that correct the analytic estimate, trained on all tasks of a session together.

    What is learned is the difference between log2 of the measured speed and the estimate, centred per task, so a few
    trials already help and tasks without any still get the estimate corrected by what others showed. Training takes
    place now and then (`GROWTH`); between, some trees for the newest rows are added, so that a round of trials costs
    a few hundredths of a second however many have gone before.

    Parameters
    ----------
    seed : int
    machine : Machine, optional
        What the features were computed for.
    rounds : int
        Trees of one training.
    every : int
        New rows before anything is learned from them (any, while there are fewer than 64).
    """

    def __init__(self, seed: int = 0, machine: Machine | None = None, rounds: int = ROUNDS, every: int = 12) -> None:
        self._seed, self._rounds, self._every = seed, rounds, every
        self._estimate = AnalyticModel(seed, machine)
        self._tasks: dict[str, _Measured] = {}
        self._booster: Any = None
        self._rows = self._seen_rows = self._trained_rows = self._warm_starts = 0
        self._recent: list[str] = []
        self._bias: float | None = None

    @property
    def version(self) -> str:
        """The version of the features and the number of rows that the trees have seen."""
        if self._booster is None:
            return self._estimate.version
        return f"xgboost-{VERSION}-{self._estimate.constants}.{self._seen_rows}"

    @property
    def trained(self) -> bool:
        """Whether there are trees."""
        return self._booster is not None

    @property
    def rows(self) -> int:
        """Measurements that were taken, failures included."""
        return self._rows

    @property
    def bias(self) -> float:
        """Mean of the correction over the training rows."""
        if self._booster is None:
            return 0.0
        if self._bias is None:
            self._bias = float(self._shap(np.zeros((1, len(COLUMNS)), np.float32))[0, -1])
        return self._bias

    def predict(self, x: Matrix) -> Scores:
        """Score by the estimate and its correction."""
        score = self._estimate.predict(x)
        if self._booster is not None and len(x):
            score += self._booster.inplace_predict(x, base_margin=None)
        return score

    def contributions(self, x: Matrix) -> Scores:
        """What the estimate consists of, and Shapley values of the correction."""
        out = analytic_terms(x)
        if self._booster is not None and len(x):
            out += self._shap(x)[:, :-1]
        return out

    def _shap(self, x: Matrix) -> Scores:
        import xgboost

        data = xgboost.DMatrix(np.ascontiguousarray(x, np.float32), nthread=1)
        return np.asarray(self._booster.predict(data, pred_contribs=True), np.float64)

    def prepare(self) -> None:
        """Load the library of trees in the background: that takes longer than a round of trials."""
        threading.Thread(target=_load_library, name="workbench-cost-model", daemon=True).start()

    # ---- learning ----

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Take measurements of one task."""
        self._take(task, x, speed, 1.0)
        if task not in self._recent:
            self._recent.append(task)
        fresh = self._rows - self._seen_rows
        if fresh >= max(self._every, SHARE * self._rows) or (self._rows < 64 and fresh > 0):
            self._learn()

    def warm_start(self, rows: Rows) -> None:
        """Take measurements of other runs; each task of each call is centred by itself."""
        self._warm_starts += 1
        for task, (x, speed) in rows.items():
            self._take(f"{task}@{self._warm_starts}", x, speed, FOREIGN)
        if self._rows > self._seen_rows:
            self._train()

    def _take(self, task: str, x: Matrix, speed: Scores, weight: float) -> None:
        if not len(x):
            return
        measured = self._tasks.setdefault(task, _Measured(weight=weight))
        measured.x.append(np.asarray(x, np.float32))
        measured.speed.append(np.asarray(speed, np.float64))
        self._rows += len(x)

    def _learn(self) -> None:
        grown = self._rows - self._trained_rows
        if self._booster is None or grown >= max(self._every, GROWTH * self._trained_rows):
            self._train()
        else:
            self._step()

    def _train(self) -> None:
        x, y, w = training_set([(*m.whole(), m.weight) for m in self._tasks.values()])
        if len(x) < MINIMUM_ROWS:
            return
        self._booster = self._boost(x, y, w, self._rounds, None)
        self._seen_rows = self._trained_rows = self._rows
        self._recent.clear()

    def _step(self) -> None:
        """Add trees for the newest rows, and as many others so that what is known is not forgotten."""
        rng = np.random.default_rng([self._seed, self._rows])
        sets = [training_set([(*m.whole(), m.weight)]) for m in self._tasks.values()]
        new = [tuple(a[-WINDOW:] for a in s) for t, s in zip(self._tasks, sets, strict=True) if t in self._recent]
        x, y, w = (np.concatenate([s[k] for s in sets]) for k in range(3))
        others = rng.choice(len(x), min(WINDOW, len(x)), replace=False)
        parts = [*new, (x[others], y[others], w[others])]
        x, y, w = (np.concatenate([p[k] for p in parts]) for k in range(3))
        self._booster = self._boost(x, y, w, STEP_ROUNDS, self._booster)
        self._seen_rows = self._rows
        self._recent.clear()

    def _boost(self, x: Matrix, y: Scores, w: Scores, rounds: int, before: Any) -> Any:
        import xgboost

        self._bias = None
        data = xgboost.QuantileDMatrix(x, label=y, weight=w, nthread=1, max_bin=64)
        return xgboost.train({**OPTIONS, "seed": self._seed}, data, rounds, xgb_model=before)

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write trees and rows as JSON."""
        write(path, "xgboost", self.to_json())

    def to_json(self) -> dict[str, Any]:
        """What `from_json` needs: a model that was read back goes on learning as this one would."""
        trees = None if self._booster is None else json.loads(bytes(self._booster.save_raw("json")))
        tasks = []
        for name, m in self._tasks.items():
            x, speed = m.whole()
            tasks.append({"task": name, "weight": m.weight, "x": pack(x), "speed": pack(speed)})
        counts = [self._seen_rows, self._trained_rows, self._warm_starts]
        own = {"seed": self._seed, "rounds": self._rounds, "every": self._every, "counts": counts}
        return {**own, "constants": self._estimate.constants, "recent": self._recent, "tasks": tasks, "trees": trees}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> XGBoostModel:
        """Read a model back."""
        seed, rounds, every = (int(number_in(data, n)) for n in ("seed", "rounds", "every"))
        model = cls(seed, None, rounds, every)
        model._estimate.constants = str(data.get("constants", "fitted"))
        for entry in _list(data, "tasks"):
            x, speed = unpack(entry.get("x"), len(COLUMNS)), unpack(entry.get("speed"))
            if speed.shape != x.shape[:1]:
                raise damaged("a task has not as many speeds as rows")
            model._take(str(entry.get("task")), x, speed, number_in(entry, "weight"))
        names = ("seen", "trained", "warm")
        counts = dict(zip(names, _list(data, "counts", int), strict=False))
        if len(counts) != len(names):
            raise damaged("counts are missing")
        model._seen_rows, model._trained_rows, model._warm_starts = (counts[n] for n in names)
        model._recent = [str(t) for t in _list(data, "recent", str)]
        if data.get("trees") is not None:
            model._booster = _booster(checked_trees(data["trees"], len(COLUMNS)))
        return model


OPTIONS: Mapping[str, Any] = {
    "objective": "reg:squarederror", "eta": 0.12, "max_depth": 5, "min_child_weight": 2.0, "lambda": 2.0,
    "subsample": 0.9, "colsample_bytree": 0.6, "tree_method": "hist", "max_bin": 64, "nthread": 1, "base_score": 0.0,
    "verbosity": 0,
    "seed_per_iteration": True,  # else a step would go on with random numbers that anything before has left behind
}  # fmt: skip


def _load_library() -> None:
    import xgboost

    # The first training of a process takes longer than others, however small.
    data = xgboost.QuantileDMatrix(np.eye(8, dtype=np.float32), label=np.arange(8.0), nthread=1, max_bin=64)
    xgboost.train(dict(OPTIONS), data, 1).inplace_predict(np.eye(8, dtype=np.float32))


def _booster(trees: Mapping[str, Any]) -> Any:
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    try:
        booster.load_model(bytearray(json.dumps(trees).encode()))
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise damaged(f"its trees cannot be read ({str(error).splitlines()[0]})") from None
    return booster


def _list(data: Mapping[str, Any], name: str, kind: type = dict) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list) or not all(isinstance(v, kind) for v in value):
        raise damaged(f"{name!r} is no list of what it should be")
    return value


def training_set(tasks: Sequence[tuple[Matrix, Scores, float]]) -> tuple[Matrix, Scores, Scores]:
    """Rows, labels and weights over all tasks: measured minus estimated log2 speed, centred per task.

    Failures count as slower than everything. The faster a row was within its task, the more it weighs.
    """
    xs, ys, ws = [], [], []
    for x, speed, weight in tasks:
        ok = np.isfinite(speed)
        if not ok.any():
            continue
        filled = np.where(ok, speed, speed[ok].min() - 1.0)
        y = filled - x[:, INDEX["speed"]]
        xs.append(x)
        ys.append(np.clip(y - np.median(y[ok]), -4.0, 4.0))
        closeness = np.exp2(filled - filled.max())
        ws.append(weight * (SLOW + (1.0 - SLOW) * closeness))
    if not xs:
        return np.zeros((0, len(COLUMNS)), np.float32), np.zeros(0), np.zeros(0)
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(ws)
