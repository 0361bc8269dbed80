"""Logs as no run would write them: measured again, contradicted, disturbed, of several states of the caches."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.log import Best, Comparison, Header, Record, Round, TaskLedger
from workbench.log.lines import INSIDE
from workbench.log.reader import write_log

Line = Record | Comparison | Round
MS = [0.9, 0.92, 1.0, 1.02, 1.04, 1.2, 1.5, 2.0, 3.0]
STATES = ["", "warm", "flushed", "constants shared", "constants in memory"]


def trial(number: int, ms: float | None, key: str = "a", program: str = "", **more: Any) -> Record:
    defaults: dict[str, Any] = {"target": "llvm", "elapsed_s": float(number), "flops": 1000}
    return Record(task_key=key, task=f"task {key}", trial=number, status="ok" if ms else "timeout", latency_ms=ms,
                  key=program, **{**defaults, **more})  # fmt: skip


def ranked(records: Iterable[Record], comparisons: Iterable[Comparison] = ()) -> list[Best]:
    """What the ledger says of the lines of one task, best first."""
    task = TaskLedger()
    for line in (*records, *comparisons):
        task.take(line)
    return task.ranked()


def against(
    winner: int, *trials: int, ms: tuple[float, ...], at: float = 0.0, key: str = "a", **more: Any
) -> Comparison:
    return Comparison(task_key=key, task=f"task {key}", trials=trials, latency_ms=ms, winner=winner, timestamp=at,
                      elapsed_s=at, **more)  # fmt: skip


def write(path: Path, lines: Iterable[Line]) -> Path:
    """Write a log with a header that names the tasks in the order in which they occur."""
    lines = list(lines)
    tasks = tuple({line.task_key: line.task for line in lines if hasattr(line, "task_key")}.items())
    write_log(path, Header(tasks=tasks, target="llvm", model="net"), lines)
    return path


def random_log(seed: int, most: int = 16) -> list[Line]:
    """Lines of two tasks; half of the logs have none of what only several logs in one file have."""
    rng, lines, strange = random.Random(seed), list[Line](), seed % 2 == 1
    known: dict[str, list[Record]] = {"a": [], "b": []}
    for n in range(rng.randint(1, most)):
        key = rng.choice("aab")
        again = rng.choice(known[key]) if known[key] and rng.random() < 0.2 else None
        number = again.trial if again is not None and strange and rng.random() < 0.5 else n
        program = again.key if again is not None and rng.random() < 0.8 else rng.choice(["", f"p{n}", "p"])
        ms = rng.choice([*MS, round(rng.uniform(0.5, 4), 3)]) if rng.random() < 0.85 else None
        found = trial(
            number, ms, key, program, weight=1 + (key == "b"), timestamp=float(n) if rng.random() < 0.9 else 0.0,
            caches=rng.choice(STATES) if seed % 3 == 0 else "", clean=seed % 5 != 0 or rng.random() < 0.6,
            host=rng.choice(["x", "y"]) if seed % 7 == 0 else "", origin=rng.choice(["default", "sketch", "manual"]),
            target="other" if seed % 11 == 0 and rng.random() < 0.5 else "llvm", round=n // 3,
        )  # fmt: skip
        known[key].append(found)
        lines.append(found)
        while len(known[key]) > 1 and rng.random() < 0.35:
            lines.append(_comparison(rng, key, [r.trial for r in known[key]], n, seed))
        if rng.random() < 0.2:
            lines.append(Round(round=n // 3, task_key=key, task=f"task {key}", trials=1, timestamp=n + 0.9))
    if strange and rng.random() < 0.3:
        lines.append(rng.choice(lines))
    if strange and rng.random() < 0.3:
        rng.shuffle(lines)
    return lines


def _comparison(rng: random.Random, key: str, there: list[int], n: int, seed: int) -> Comparison:
    picked = rng.sample(there, rng.randint(2, min(4, len(there))))
    times = tuple(rng.choice([*MS, math.nan, round(rng.uniform(0.5, 4), 3)]) for _ in picked)
    times = times if rng.random() < 0.95 else times[:1]
    inside = rng.random() < 0.1
    if inside:  # the network: who is faster there, and no time of a kernel alone
        times = (math.nan,) * len(picked)
    winner = rng.choice(picked) if rng.random() < 0.95 else 99
    at = n + rng.random() if rng.random() < 0.9 else rng.uniform(0, n)
    return against(winner, *picked, ms=times, at=at, key=key, clean=seed % 5 != 0 or rng.random() < 0.7,
                   costs_ms=((1.0,),) * len(picked) * inside, reason=INSIDE * inside)  # fmt: skip
