"""Stand-ins for search, schedules and measurement, so that the session can be tested without a compiler."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace


@dataclass(frozen=True)
class FakeTask:
    key: str
    name: str
    weight: int = 1
    flops: int = 1_000_000
    description: str = "a fake task"
    func: object = None
    target: object = None


@dataclass(frozen=True)
class FakeCandidate:
    variant: int
    row: dict
    origin: str
    predicted: float | None
    key: str
    parent: str | None = None
    mutation: str | None = None


class FakeSpace:
    id = "fake"

    def schedule(self, candidate):
        return FakeSchedule(candidate.row["x"])


@dataclass(frozen=True)
class FakeSchedule:
    x: int

    def to_json(self):
        return [{"primitive": "fake", "args": {"x": self.x}}]


class FakeSearch:
    """Draws numbers below `size` without repeating what it has been told or restored."""

    def __init__(self, seed: int, size: int = 1000) -> None:
        self.random = random.Random(seed)
        self.size = size
        self.known: set[int] = set()

    def ask(self, n):
        free = [x for x in range(self.size) if x not in self.known]
        return [FakeCandidate(0, {"x": x}, "random", 1.0, f"x{x}") for x in self.random.sample(free, min(n, len(free)))]

    def tell(self, results):
        self.known |= {candidate.row["x"] for candidate, _ in results}

    def restore(self, records):
        self.known |= {record.row["x"] for record in records}


class FakeToolbox:
    def __init__(self, size: int = 1000) -> None:
        self.size = size

    def space(self, task):
        return FakeSpace()

    def search(self, task, space, seed):
        return FakeSearch(seed, self.size)

    def default(self, task):
        return FakeSchedule(-1)

    def model_version(self):
        return "fake-1"


def measurement(status="ok", ms=1.0, error=""):
    return SimpleNamespace(
        status=status, error=error, min_ms=ms, median_ms=ms, spread=0.01, costs_ms=(ms,), compile_s=0.0, run_s=0.0,
        max_rel_error=0.0,
    )  # fmt: skip


@dataclass
class FakeMeasurer:
    """Latency is a function of x; `fail(task, x)` may return a status other than ok, or raise."""

    delay: float = 0.0
    fail: object = None
    killed: bool = False
    closed: bool = False
    count: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        self.gate.set()

    def measure(self, task, schedules, best_ms):
        for position, schedule in enumerate(schedules):
            self.asked.set()
            self.gate.wait()
            if self.delay:
                time.sleep(self.delay)
            if self.killed:
                return
            self.count += 1
            status = self.fail(task, schedule.x) if self.fail else "ok"
            ms = 10.0 if schedule.x < 0 else 1.0 + (schedule.x * 7919 % 1000) / 1000
            yield position, measurement(status, ms, "" if status == "ok" else "Traceback: why")

    def hold(self, on):
        self.held = on

    def kill(self):
        self.killed = True
        self.gate.set()

    def close(self):
        self.closed = True


def tasks(n=3):
    return [FakeTask(f"key{i}", f"conv{i} 3x3", weight=1 + i, flops=10**6 * (i + 1)) for i in range(n)]
