"""A machine that answers at once: trees that were fitted to many really measured rows, for comparing searches.

`record` measures rows of a space (uniformly drawn ones, then those that searches ask for) and writes them down; `World`
fits trees to their features and variants. What the trees cannot explain is drawn again for each program, from its
key, so that a search cannot know more about the machine than its features say. Measured rows give what was measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from workbench.cost_model import make_model
from workbench.search import SearchOptions, make_search

OPTIONS = {
    "objective": "reg:squarederror", "eta": 0.05, "max_depth": 8, "subsample": 0.8, "colsample_bytree": 0.5,
    "nthread": 1, "tree_method": "hist", "seed": 1,
}  # fmt: skip
TREES = 300

Measure = Callable[[Sequence[Any]], Iterable[tuple[int, Any]]]


def record(path: Path, name: str, flops: int, space: Any, measure: Measure, uniform: int, searched: int) -> None:
    """Measure `uniform` random rows and those of two searches of `searched` trials each; append them to a file."""
    rng, seen = np.random.default_rng(5), set[str]()
    drawn = []
    for v in space.variants:
        picks = v.sampler.draw(max(8, uniform // len(space.variants)), rng)
        drawn += [
            SimpleNamespace(variant=v.index, row=v.sampler.row(p), key=f"{int(k):016x}")
            for p, k in zip(picks, v.keys(picks), strict=True)
        ]
    _write(path, name, space.id, flops, [c for c in drawn if not (c.key in seen or seen.add(c.key))], measure)  # type: ignore[func-returns-value]
    for seed in range(2):
        task = SimpleNamespace(key=name, flops=flops)
        search = make_search("evolutionary", task, space, make_model("xgboost", seed), seed, SearchOptions(epsilon=0.2))
        for _ in range(searched // 16):
            batch = search.ask(16)
            search.tell(_write(path, name, space.id, flops, batch, measure))


def _write(path: Path, name: str, space: str, flops: int, batch: Sequence[Any], measure: Measure) -> list[Any]:
    results = [(batch[k], m) for k, m in sorted(measure(batch), key=lambda r: r[0])]
    with path.open("a") as out:
        for c, m in results:
            line = {"workload": name, "space": space, "variant": c.variant, "row": dict(c.row), "key": c.key,
                    "speed": math.log2(flops / m.ms / 1e6) if m.status == "ok" else None}  # fmt: skip
            out.write(json.dumps(line) + "\n")
    return results


class World:
    """Answers for every row of a space.

    Attributes
    ----------
    doubt : float
        Spread of what the trees could not explain in rows they had not seen, in log2.
    best : float
        Fastest measured row, in log2 of operations per nanosecond.
    """

    def __init__(self, path: Path, name: str, space: Any) -> None:
        import xgboost

        self.space, self._told = space, dict[str, float]()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [r for r in lines if r["workload"] == name and r["space"] == space.id and r["speed"] is not None]
        if len(rows) < 100:
            raise SystemExit(f"{path} has {len(rows)} rows of {name} in {space.id}: record them first")
        y = np.array([r["speed"] for r in rows])
        kept = y < np.sort(y)[-6] + 0.02  # a clock that jumped makes a row look impossibly fast
        rows, y = [r for r, k in zip(rows, kept, strict=True) if k], y[kept]
        x = self._features(rows)
        fold, off = np.random.default_rng(0).integers(0, 5, len(y)), np.zeros(len(y))
        for k in range(5):
            part = xgboost.train(OPTIONS, xgboost.DMatrix(x[fold != k], label=y[fold != k]), TREES)
            off[fold == k] = y[fold == k] - part.predict(xgboost.DMatrix(x[fold == k]))
        self.doubt = float(1.48 * np.median(abs(off[y >= np.median(y)])))
        self._trees = xgboost.train(OPTIONS, xgboost.DMatrix(x, label=y), TREES)
        self._measured = {r["key"]: float(s) for r, s in zip(rows, y, strict=True)}
        self.best = float(y.max())

    def _features(self, rows: Sequence[dict[str, Any]]) -> np.ndarray:
        variants = self.space.variants
        x = np.concatenate([variants[r["variant"]].features(self._picks(r)) for r in rows])
        return np.concatenate([x, np.eye(len(variants), dtype=np.float32)[[r["variant"] for r in rows]]], axis=1)

    def _picks(self, r: dict[str, Any]) -> np.ndarray:
        return self.space.variants[r["variant"]].sampler.find(r["row"])[None]

    def speeds(self, batch: Sequence[Any]) -> list[float]:
        """Log2 of operations per nanosecond of each candidate; the same whenever it is asked."""
        new = [c for c in batch if c.key not in self._told]
        if new:
            guesses = self._trees.inplace_predict(self._features([{"variant": c.variant, "row": c.row} for c in new]))
            for c, guess in zip(new, guesses, strict=True):
                noise = self.doubt * np.random.default_rng(int(c.key, 16)).standard_normal()
                self._told[c.key] = self._measured.get(c.key, float(guess) + noise)
        return [self._told[c.key] for c in batch]
