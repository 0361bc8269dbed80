"""Stand-ins for search, schedules and measurement, so that the session can be tested without a compiler."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from workbench.errors import UsageError
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.tune.plan.tune_context import GivenCandidate
from workbench.tune.run.loop import TuningLoop
from workbench.tune.state.session_control import SessionControl


class Clock:
    """A clock for tuning runs that goes on only when it is told to: `patch` puts it where a run reads the time."""

    time = staticmethod(time.time)

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass, and nobody wait."""
        self.now += seconds

    def patch(self, monkeypatch) -> Clock:
        for owner in (TuningLoop, SessionControl):
            monkeypatch.setattr(sys.modules[owner.__module__], "time", self)
        return self


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
    model: str | None = "fake-1"


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
        self.asked: set[int] = set()
        self.epsilon = 0.08
        self.seeds: list = []
        self.pins, self.forbids, self.variants = {}, {}, set()

    def ask(self, n):
        free = [x for x in range(self.size) if x not in self.known | self.asked and self.pins.get("x", x) == x]
        free = [x for x in free if x not in self.forbids.get("x", ())]
        chosen = self.random.sample(free, min(n, len(free)))
        self.asked |= set(chosen)
        return [FakeCandidate(0, {"x": x}, "random", 1.0, f"x{x}") for x in chosen]

    def tell(self, results):
        self.asked -= {candidate.row["x"] for candidate, _ in results}
        self.known |= {candidate.row["x"] for candidate, done in results if done.status != "cancelled"}

    def restore(self, records):
        self.known |= {record.row["x"] for record in records if "x" in record.row}

    def compared(self, winner, losers):
        self.outcomes = [*getattr(self, "outcomes", ()), (winner, list(losers))]

    def seed(self, seeds):
        self.seeds += list(seeds)

    def restrict(self, pins, forbids, variants):
        self.pins, self.forbids, self.variants = pins, forbids, variants


class FakeContext:
    def __init__(self, size: int = 1000) -> None:
        self.size = size

    def prepare(self):
        pass

    def origin(self):
        return "fake"

    def space(self, task):
        return FakeSpace()

    def remark(self, task):
        return ""

    def seeds(self, task, space):
        return []

    def check_requests(self, space, requests):
        """x is the one hole; it is below `size`."""
        for hole, value in requests.pins.items():
            if hole != "x":
                raise UsageError("steer.hole", f"No variant of the space has a hole '{hole}'.", (hole,))
            if not 0 <= value < self.size or value in requests.forbids.get(hole, ()):
                raise UsageError("steer.value", f"'{hole}' cannot be {value}.", (hole,))

    def given(self, task, space, variant, row, trace):
        x = trace[0]["args"]["x"] if trace else row.get("x", -1)
        if not 0 <= x < self.size:
            raise UsageError("steer.row", "not a row of the space", (str(x),))
        return GivenCandidate(
            f"x{x}", "manual", variant if not trace else -1, {"x": x}, FakeSchedule(x) if trace else None
        )

    def schedule(self, task, record):
        return FakeSchedule(record.row.get("x", -1))

    def search(self, task, space, seed):
        return FakeSearch(seed, self.size)

    def default(self, task):
        return FakeSchedule(-1)

    def model_version(self):
        return "fake-1"

    def predicted(self, task, schedule):
        return -float(schedule.x)

    def save_model(self, path):
        Path(path).write_text("fake-1", encoding="utf-8")


def latency(x):
    return 10.0 if x < 0 else 1.0 + (x * 7919 % 1000) / 1000


def measurement(status="ok", ms=1.0, error=""):
    return SimpleNamespace(
        status=status, error=error, ms=ms, spread=0.01, costs_ms=(ms,), compile_s=0.0, run_s=0.0,
        max_rel_error=0.0, host="", clean=True, why_not="",
    )  # fmt: skip


@dataclass
class FakeMeasurer:
    """Latency is a function of x; `fail(task, x)` may return a status other than ok, or raise."""

    delay: float = 0.0
    sleep: Callable[[float], None] = time.sleep
    fail: object = None
    killed: bool = False
    closed: bool = False
    count: int = 0
    contests: int = 0
    started: bool = False
    bias: object = lambda x: 1.0  # in a contest a candidate takes so many times its latency
    gate: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    free: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        self.gate.set()
        self.free.set()

    def measure(self, task, schedules, best_ms):
        for position, schedule in enumerate(schedules):
            self.asked.set()
            self.gate.wait()
            self.free.wait()
            if self.delay:
                self.sleep(self.delay)
            if self.killed:
                return
            self.count += 1
            status = self.fail(task, schedule.x) if self.fail else "ok"
            yield position, measurement(status, latency(schedule.x), "" if status == "ok" else "Traceback: why")

    def start(self):
        self.started = True

    def compare(self, task, schedules, rules):
        self.contests += 1
        costs = [[latency(s.x) * self.bias(s.x) * (1 + k / 1e4) for k in range(9)] for s in schedules]
        return Contest(measurements=tuple(Measurement(status="ok", costs_ms=tuple(c)) for c in costs))

    def hold(self, on):
        self.held = on
        (self.free.clear if on else self.free.set)()

    def kill(self):
        self.killed = True
        self.gate.set()
        self.free.set()

    def close(self):
        self.closed = True


def tasks(n=3):
    return [FakeTask(f"key{i}", f"conv{i} 3x3", weight=1 + i, flops=10**6 * (i + 1)) for i in range(n)]
