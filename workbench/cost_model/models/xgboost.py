"""Gradient-boosted trees on top of the analytic estimate."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from workbench.cost_model.base import Flags, Matrix, Rows, Scores, cost_model, seed_of
from workbench.cost_model.model_file import (
    MAX_NUMBERS,
    Saved,
    damaged,
    list_in,
    number_in,
    pack,
    unpack,
    whole_in,
)
from workbench.cost_model.models.untrained import AnalyticModel, analytic_terms, constants_in, estimated
from workbench.cost_model.xgboost_binding import MOST_TREES, Trees, warm_up
from workbench.machine_model.features import COLUMNS, VERSION
from workbench.machine_model.machine_parameters import Machine


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
class XGBoostModel(Saved):
    """Gradient-boosted trees that correct the analytic estimate, trained on all tasks of a session together.

    What is learned is the difference between log2 of the measured speed and the estimate, centred per task, so a few
    trials already help and tasks without any still get the estimate corrected by what others showed. Training takes
    place now and then (`GROWTH`); between, some trees for the newest rows are added, so that a round of trials costs
    a few hundredths of a second however many have gone before.

    How often it learns follows from what that costs (`bench_search.py --overhead`): 0.3 s for 10,000 rows. The other
    numbers, like those in `boosted_trees.OPTIONS`, were chosen; ``bench_model.py evaluate`` tells what comes of them.

    Several searches may share a model, from any threads: one learns at a time, and all ask the trees that there are.

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

    #: Rows of which at least a model is made: fewer teach nothing.
    MINIMUM_ROWS: ClassVar[int] = 8
    #: Trees of a model that was trained anew, and those that a small step adds to it.
    TREES: ClassVar[int] = 60
    STEP_TREES: ClassVar[int] = 6
    #: Share by which the rows of its own run have to grow before a model is trained anew; in between, small steps.
    GROWTH: ClassVar[float] = 0.06
    #: Rows of a small step: the newest of the task, and as many of all others.
    WINDOW: ClassVar[int] = 128
    #: New rows before a model of many learns from them, as a share of the rows of its own run. A training from scratch
    #: waits for such a share of all rows: the more there are, the longer it takes, whoever measured them.
    SHARE: ClassVar[float] = 0.01
    #: Weight of rows that came from other runs.
    FOREIGN: ClassVar[float] = 0.5

    def __init__(self, seed: int = 0, machine: Machine | None = None, rounds: int = TREES, every: int = 12) -> None:
        self._seed, self._rounds, self._every = seed_of(seed), rounds, every
        self._estimate = AnalyticModel(seed, machine)
        self._tasks: dict[str, _Measured] = {}
        self._trees: Trees | None = None
        self._rows = self._own_rows = self._trained_rows = self._warm_starts = 0
        self._recent: list[str] = []
        self._elsewhere: set[bytes] = set()
        self._learning = threading.RLock()

    @property
    def version(self) -> str:
        """The version of the features and the number of rows that the trees have seen."""
        trees = self._trees
        return self._estimate.version if trees is None else f"xgboost-{VERSION}-{self._estimate.constants}.{trees.rows}"

    @property
    def trained(self) -> bool:
        """Whether there are trees."""
        return self._trees is not None

    @property
    def rows(self) -> int:
        """Measurements that were taken, failures included."""
        return self._rows

    @property
    def own_rows(self) -> int:
        """Those of them that no other run has taken."""
        return self._own_rows

    @property
    def bias(self) -> float:
        """Mean of the correction over the training rows."""
        trees = self._trees
        return 0.0 if trees is None else trees.bias

    def predict(self, x: Matrix) -> Scores:
        """Score by the estimate and its correction."""
        score, trees = self._estimate.predict(x), self._trees
        return score + trees.predict(x) if trees is not None and len(x) else score

    def contributions(self, x: Matrix) -> Scores:
        """What the estimate consists of, and Shapley values of the correction."""
        out, trees = analytic_terms(x), self._trees
        return out + trees.shapley(x)[:, :-1] if trees is not None and len(x) else out

    def seen(self, x: Matrix) -> Flags:
        """Whether rows are among those of other runs: what is predicted for them was learned from their measurement."""
        known = self._elsewhere
        return np.array([row.tobytes() in known for row in np.asarray(x, np.float32)], np.bool_)

    def prepare(self) -> None:
        """Load the library of trees in the background: that takes longer than a round of trials."""
        threading.Thread(target=_warm_up, name="workbench-cost-model", daemon=True).start()

    # ---- learning ----

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Take measurements of one task."""
        with self._learning:
            self._take(task, x, speed, 1.0)
            if task not in self._recent:
                self._recent.append(task)
            fresh = self._rows - self._seen_rows
            if fresh >= max(self._every, self.SHARE * self._own_rows) or (self._rows < 64 and fresh > 0):
                self._learn()

    def warm_start(self, rows: Rows) -> None:
        """Take measurements of other runs; each task of each call is centred by itself."""
        with self._learning:
            self._warm_starts += 1
            for task, (x, speed) in rows.items():
                self._take(f"{task}@{self._warm_starts}", x, speed, self.FOREIGN)
            if self._rows > self._seen_rows:
                self._train()

    def measured(self) -> Rows:
        """All measurements that were taken, as the `warm_start` of another model takes them."""
        with self._learning:
            return {name: m.whole() for name, m in self._tasks.items()}

    @property
    def _seen_rows(self) -> int:
        return 0 if self._trees is None else self._trees.rows

    def _take(self, task: str, x: Matrix, speed: Scores, weight: float) -> None:
        x, speed = np.asarray(x, np.float32), np.asarray(speed, np.float64)
        usable = np.isfinite(x).all(axis=1)  # the library refuses others, and with them all that stand beside them
        if not usable.any():
            return
        measured = self._tasks.setdefault(task, _Measured(weight=weight))
        measured.x.append(x[usable])
        measured.speed.append(speed[usable])
        self._rows += int(usable.sum())
        if weight == 1.0:
            self._own_rows += int(usable.sum())
        else:
            self._elsewhere.update(row.tobytes() for row in x[usable])

    def _learn(self) -> None:
        grown = self._rows - self._trained_rows
        own = self._own_rows - grown  # a warm start trains, so whatever came since is of this run
        if self._trees is None or grown >= max(self._every, self.GROWTH * own, self.SHARE * self._rows):
            self._train()
        else:
            self._step()

    def _train(self) -> None:
        x, y, w = training_set([(*m.whole(), m.weight) for m in self._tasks.values()])
        if len(x) < self.MINIMUM_ROWS:
            return
        self._trees = Trees.grown(x, y, w, self._rounds, self._seed, self._rows, None)
        self._trained_rows = self._rows
        self._recent.clear()

    def _step(self) -> None:
        """Add trees for the newest rows, and as many others so that what is known is not forgotten."""
        rng = np.random.default_rng([self._seed, self._rows])
        sets = [training_set([(*m.whole(), m.weight)]) for m in self._tasks.values()]
        new = [tuple(a[-self.WINDOW :] for a in s) for t, s in zip(self._tasks, sets, strict=True) if t in self._recent]
        x, y, w = (np.concatenate([s[k] for s in sets]) for k in range(3))
        if not len(x):
            return  # nothing has worked so far: nothing to compare with
        others = rng.choice(len(x), min(self.WINDOW, len(x)), replace=False)
        parts = [*new, (x[others], y[others], w[others])]
        x, y, w = (np.concatenate([p[k] for p in parts]) for k in range(3))
        self._trees = Trees.grown(x, y, w, self.STEP_TREES, self._seed, self._rows, self._trees)
        self._recent.clear()

    # ---- files ----

    def to_json(self) -> dict[str, Any]:
        """What `from_json` needs: a model that was read back goes on learning as this one would."""
        with self._learning:
            tasks = []
            for name, m in self._tasks.items():
                x, speed = m.whole()
                tasks.append({"task": name, "weight": m.weight, "x": pack(x), "speed": pack(speed)})
            return {
                "seed": self._seed,
                "rounds": self._rounds,
                "every": self._every,
                "counts": [self._seen_rows, self._trained_rows, self._warm_starts],
                "constants": self._estimate.constants,
                "recent": list(self._recent),
                "tasks": tasks,
                "trees": None if self._trees is None else self._trees.to_json(),
            }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> XGBoostModel:
        """Read a model back."""
        seed, rounds, every = (whole_in(data, n, low, high) for n, low, high in _LIMITS)
        model = cls(seed, None, rounds, every)
        model._estimate.constants = constants_in(data)
        room = MAX_NUMBERS
        for entry in list_in(data, "tasks", dict):
            name, x, speed = _rows_of(entry, room)
            room -= x.size + speed.size
            model._take(name, x, speed, number_in(entry, "weight", 1e-3, 1.0))
        seen, trained, model._warm_starts = _counts(data, model._rows)
        model._recent = list_in(data, "recent", str)
        if data.get("trees") is not None:
            model._trained_rows, model._trees = trained, Trees.from_json(data["trees"], seen)
        return model


#: Numbers that say how a model learns, and what they may be in a file.
_LIMITS = (("seed", 0, 0x7FFFFFFF), ("rounds", 1, MOST_TREES), ("every", 1, 1 << 20))


def _counts(data: Mapping[str, Any], rows: int) -> tuple[int, int, int]:
    """Rows that the trees have seen, rows of the last training, number of warm starts."""
    counts = list_in(data, "counts", int)
    if len(counts) != 3 or not (0 <= counts[1] <= counts[0] <= rows and 0 <= counts[2] < 1 << 31):
        raise damaged("its counts are not those of its rows")
    return counts[0], counts[1], counts[2]


def _rows_of(entry: Mapping[str, Any], most: int) -> tuple[str, Matrix, Scores]:
    """Name, features and speeds of one task."""
    name, x = entry.get("task"), unpack(entry.get("x"), len(COLUMNS), most)
    speed = unpack(entry.get("speed"), None, most - x.size)
    if not isinstance(name, str):
        raise damaged("a task has no name")
    if speed.shape != x.shape[:1]:
        raise damaged("a task has not as many speeds as rows")
    if not np.isfinite(x).all() or np.isinf(speed).any():
        raise damaged("a feature or a speed is no number")
    return name, x.astype(np.float32), speed.astype(np.float64)


def _warm_up() -> None:
    with contextlib.suppress(Exception):  # what cannot be loaded is told where it is needed
        warm_up()


SLOWEST = 0.3
"""Weight of a task's slowest rows against its fastest: the model has to tell the fast ones apart. Chosen."""


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
        y = filled - estimated(x)
        xs.append(x)
        ys.append(np.clip(y - np.median(y[ok]), -4.0, 4.0))
        closeness = np.exp2(filled - filled.max())
        ws.append(weight * (SLOWEST + (1.0 - SLOWEST) * closeness))
    if not xs:
        return np.zeros((0, len(COLUMNS)), np.float32), np.zeros(0), np.zeros(0)
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(ws)
