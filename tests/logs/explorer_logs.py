"""Logs for the tests of the explorer: random records with everything that a column can be, and large ones."""

from __future__ import annotations

import numpy as np
import pandas

from workbench.logs.evaluation import Evaluation
from workbench.logs.opening import open as open_log
from workbench.logs.tuning_log import TuningLog

HOSTILE = "<img src=x onerror=alert(1)>"


def random_log(n: int, seed: int = 0, tasks: int = 1, hostile: bool = False, failed: float = 0.2) -> TuningLog:
    """Records of some tasks with numbers, words, lists, missing values, and failures."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(n):
        x, y = int(rng.choice([1, 2, 4, 8, 16])), float(rng.uniform(1, 100))
        params = {"x": x, "y": y, "kind": str(rng.choice(["a", "b", HOSTILE if hostile else "c"])), "t": [x, 2 * x]}
        if rng.random() < 0.3:
            params["rare"] = bool(rng.random() < 0.5)
        ok = rng.random() >= failed
        made.append(
            Evaluation(
                params=params, status="ok" if ok else str(rng.choice(["run", "compile"])), unit="ms",  # type: ignore[arg-type]
                value=float(x * 0.1 + y * 0.01 + rng.exponential(0.2)) if ok else None, task=f"task{k % tasks}",
                error="" if ok else f"no {HOSTILE}" if hostile else "out of memory", elapsed_s=float(k),
                where=f"line {k + 1}", raw={"k": k},
            )
        )  # fmt: skip
    return log_of(made)


def log_of(evaluations: list[Evaluation], name: str = "made") -> TuningLog:
    """Return evaluations as a log, through the table that `open` makes."""
    from workbench.logs import opening

    frame = opening.records_frame(evaluations, name)
    params: dict[str, list[object]] = {}
    for e in evaluations:
        for key, value in e.params.items():
            if value not in params.setdefault(key, []):
                params[key].append(value)
    return TuningLog(name, [f"{name}.json"], frame, params, lambda k: evaluations[k].raw)


def oracle(log: TuningLog) -> pandas.DataFrame:
    """The same records as a plain table, a column per parameter."""
    rows = log.records
    wide = pandas.DataFrame(rows["params"].tolist(), index=rows.index)
    wide["status"], wide["task"] = rows["status"].astype(str), rows["task"].astype(str)
    wide["cost"] = rows["value"].where(rows["status"].astype(str) == "ok")
    wide["elapsed_s"] = rows["elapsed_s"]
    return wide


__all__ = ["HOSTILE", "log_of", "open_log", "oracle", "random_log"]
