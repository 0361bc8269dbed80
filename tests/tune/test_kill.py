"""kill -9 in mid-tuning, again and again: no acknowledged trial is lost and none is repeated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap

import pytest
from tune.fakes import FakeMeasurer, FakeToolbox, tasks

from workbench.tune.lines import Comparison
from workbench.tune.log import load_log
from workbench.tune.record import Record
from workbench.tune.session import TuningSession

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

TRIALS = 400

SCRIPT = textwrap.dedent(
    """
    import sys
    from tune.fakes import FakeMeasurer, FakeToolbox, tasks
    from workbench.tune.session import TuningSession

    def told(event):
        if event.kind == "trial":
            print(event.record.trial, event.record.task_key, event.record.key, flush=True)

    session = TuningSession(
        tasks(3), toolbox=FakeToolbox(), measurer=FakeMeasurer(delay=0.0005), log=sys.argv[1], trials=int(sys.argv[2]),
        resume=True,
    )
    session.events.subscribe(told)
    session.start().wait()
    """
)


def start(log):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", SCRIPT, str(log), str(TRIALS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_kill_and_resume(tmp_path):
    log = tmp_path / "a.jsonl"
    rng = random.Random(1)
    acknowledged: list[str] = []
    kills = 0
    for _ in range(12):
        limit = rng.randint(1, 60)
        with start(log) as child:
            assert child.stdout is not None
            for count, line in enumerate(child.stdout, 1):
                acknowledged.append(line.rstrip("\n"))
                if count == limit:
                    child.send_signal(signal.SIGKILL)
                    kills += 1
            child.wait(30)
    assert kills >= 6
    with start(log) as child:
        out, _ = child.communicate(timeout=60)
        acknowledged += out.splitlines()
    assert child.returncode == 0
    records = load_log(log).records
    written = [f"{r.trial} {r.task_key} {r.key}" for r in records]
    assert [r.trial for r in records] == list(range(TRIALS))
    assert len({(r.task_key, r.key) for r in records}) == TRIALS
    complete = [line for line in acknowledged if line.count(" ") == 2]
    assert set(complete) <= set(written)
    assert len(set(complete)) == len(complete)


def test_the_restored_state_equals_that_of_a_replay(tmp_path):
    log = tmp_path / "a.jsonl"
    with start(log) as child:
        assert child.stdout is not None
        for _ in range(100):
            child.stdout.readline()
        child.kill()
    session = TuningSession(
        tasks(3), toolbox=FakeToolbox(), measurer=FakeMeasurer(), log=log, trials=TRIALS, resume=True
    )
    scheduler = type(session._loop.scheduler)(tasks(3), confirm=True)
    for line in load_log(log).lines:
        if isinstance(line, Record):
            scheduler.observe(line)
        elif isinstance(line, Comparison):
            scheduler.compare(line)
    assert any(state.compared for state in scheduler.states)
    assert scheduler.states == session._loop.scheduler.states
    assert scheduler.next() == session._loop.scheduler.next()
    session.cancel()
