"""Workbenches that are opened, used and closed leave nothing behind: widgets, comms, threads, files, sessions."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
import weakref
from pathlib import Path

import comm
import pytest
from ipywidgets.widgets.widget import _instances
from session.fakes import FakeTuning

from workbench import Schedule, Session, Target, Task, workloads
from workbench.schedule.primitives.split import Split
from workbench.widgets import Workbench

ASKED = {
    "judge": {"step": Split("i", (None, 8)).to_json()},
    "preview": {"step": Split("i", (None, 8)).to_json()},
    "drops": {"row": "i"},
    "code": {"kind": "nest"},
    "diff": {"a": 0, "b": 0, "kind": "nest"},
    "graph": {"level": "kernels", "expanded": []},
    "witness": {"step": Split("i", (None, 7)).to_json()},
}
"""One question of each kind: some of them start threads."""


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """The machine is not asked how fast it is, and logs are written beside the tests."""
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)
    monkeypatch.chdir(tmp_path)


def task() -> Task:
    return Task.of_func(workloads.matmul(64, 64, 64), Target.host(threads=1))


def files() -> int:
    """Files, sockets and pipes that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def own_threads() -> list[threading.Thread]:
    """Threads that end by themselves: those of a pool of kernels, which have a number, stay."""
    return [t for t in threading.enumerate() if re.match(r"workbench(?!-\d+$)", t.name)]


def wait_until(condition, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


class Held:
    """What there is now; sessions that are added are counted as long as somebody holds them."""

    def __init__(self) -> None:
        self.sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        wait_until(lambda: not own_threads())
        self.before = self._now()

    def _now(self) -> dict[str, int]:
        gc.collect()
        return {
            "widgets": len(_instances), "comms": len(comm.get_comm_manager().comms), "files": files(),
            "threads": threading.active_count(), "sessions": len(self.sessions),
        }  # fmt: skip

    def left(self) -> dict[str, int]:
        """What is there beyond what was, when nothing more goes away."""
        wait_until(lambda: not self._more())
        return self._more()

    def _more(self) -> dict[str, int]:
        return {kind: n - self.before[kind] for kind, n in self._now().items() if n > self.before[kind]}


def use(subject: object, held: Held) -> None:
    """Open, look at everything, take a step, close."""
    w = Workbench(subject, auto_measure=False)
    held.sessions.add(w.session)
    w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
    parts = [w.show("nest"), w.show("tasks")]
    w.comm.receive({"t": "do", "id": "f", "cmd": "figure", "args": {}})
    for q, args in ASKED.items():
        w.comm.receive({"t": "ask", "id": q, "q": q, "args": args})
    if w.schedule is not None and not w.schedule.trace:
        w.session.run("apply", step=Split("i", (None, 8)).to_json())
    assert w.session.flush(100)
    w.close()
    assert w.comm is None
    assert all(part.comm is None for part in parts)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted by /proc")
@pytest.mark.parametrize("many", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_many_workbenches_leave_nothing_behind(comms, many):
    found = task()
    use(found, Held())  # what is made once and kept may stay
    held = Held()
    for _ in range(many):
        use(found, held)
    assert held.left() == {}


def test_a_schedule_and_a_run_do_not_remember_who_looked(comms):
    schedule, tuning = Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)), FakeTuning([task()]).feed(40)
    schedule.split("i", [None, 8])
    for subject in (schedule, tuning):
        use(subject, Held())
    held = Held()
    for _ in range(2):
        use(schedule, held)
        use(tuning, held)
    assert held.left() == {}
    assert not tuning.events._callbacks
    assert not schedule._watchers
    tuning.cancel()


def test_what_lives_on_outside_of_a_workbench_is_not_ended_by_it(comms):
    session = Session(task(), auto_measure=False)
    for _ in range(3):
        w = Workbench(session)
        w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
        w.close()
    assert not session.closed
    session.run("apply", step=Split("i", (None, 8)).to_json())
    assert [str(step.name) for step in session.schedule.trace] == ["split"]
    session.close()


def test_a_workbench_that_is_thrown_away_while_it_answers_is_closed_all_the_same(comms):
    found, held = task(), Held()
    for _ in range(10):
        w = Workbench(found, auto_measure=False)
        held.sessions.add(w.session)
        w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
        for q, args in ASKED.items():
            w.comm.receive({"t": "ask", "id": q, "q": q, "args": args})
        w.close()
    del w
    assert held.left() == {}
