"""A small session, and a browser's memory of it."""

from __future__ import annotations

import json
import threading
import time

import pytest
from short_runs import short_network_times
from waiting import until

from workbench import Session, Target, Task, workloads
from workbench.session import apply_delta
from workbench.session.state import results as measuring
from workbench.session.state.results import Result

__all__ = ["short_network_times"]  # a fixture


class Mirror:
    """What a front end would hold: it starts with the state and applies every patch, and complains about gaps."""

    def __init__(self, session: Session) -> None:
        self.messages, self.sizes, self.times, self.faults = [], [], [], []
        self.done, self.failed = [], {}
        self.rev, self.slices = None, {}
        session.subscribe(self.take)
        session.greet(self.take)
        assert session.flush(100)

    def take(self, message):
        self.times.append(time.monotonic())
        text = json.dumps(message, allow_nan=False)
        self.messages.append(message)
        self.sizes.append(len(text))
        message = json.loads(text)
        if message["t"] == "state":
            self.rev, self.slices = message["rev"], message["slices"]
            return
        self.done += message["done"]
        self.failed |= {f["id"]: f["error"] for f in message["failed"]}
        if self.rev is None:
            return
        if message["base"] != self.rev or message["rev"] < self.rev:
            self.faults.append((self.rev, message["base"], message["rev"]))
        self.rev, self.slices = message["rev"], apply_delta(self.slices, message["ops"])

    def agrees(self, session) -> bool:
        """Whether the mirror shows what the session shows, and got there without a gap."""
        now = session.snapshot()
        return not self.faults and self.rev == now.rev and self.slices == json.loads(json.dumps(dict(now.slices)))


def by_slice(messages) -> dict[str, int]:
    """Bytes that each slice takes in patches."""
    sizes: dict[str, int] = {}
    for message in messages:
        for name, op in message.get("ops", {}).items():
            sizes[name] = sizes.get(name, 0) + len(json.dumps({name: op}))
    return sizes


def own_threads():
    return [t for t in threading.enumerate() if t.name.startswith("workbench-session")]


def split(loop, *factors):
    return {"primitive": "split", "args": {"loop": loop, "factors": list(factors)}}


def matmul(n=64, **options):
    return Task.of_func(workloads.matmul(n, 64, 64), Target.host(threads=1), **options)


@pytest.fixture
def session():
    """Opens sessions and closes them after the test."""
    made = []

    def make(subject=None, **options):
        options.setdefault("auto_measure", False)
        made.append(Session(matmul() if subject is None else subject, **options))
        return made[-1]

    yield make
    for s in made:
        s.close()
        if s.tuning is not None:
            s.tuning.cancel()
            assert s.tuning.join(100)
    until(lambda: not own_threads())


@pytest.fixture
def fake(monkeypatch):
    """A measurement without a compiler: waits for `gate`, answers `result` (or what `result` returns)."""

    class Fake:
        def __init__(self):
            self.gate, self.seen, self.constants = threading.Event(), [], []
            self.gate.set()
            self.result = Result("ok", 1.5, 0.02, 3.0)

        def measure(self, view, target, constants):
            self.constants.append(constants)
            self.seen.append([str(p) for p in view.trace])
            assert self.gate.wait(100)
            return self.result(view) if callable(self.result) else self.result

    out = Fake()
    monkeypatch.setattr(measuring, "measure", out.measure)
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)
    yield out
    out.gate.set()
