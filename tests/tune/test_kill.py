"""kill -9 in mid-tuning, again and again: no acknowledged trial is lost and none is repeated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
from tiers import first
from tune.fakes import FakeContext, FakeMeasurer, tasks
from tune.states import digest

from workbench.log import Comparison, Record, load_log
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.run_state import Budget, RunState
from workbench.tune.state.task_scheduler import GradientScheduler

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

TRIALS = 400

SCRIPT = textwrap.dedent(
    """
    import sys
    from tune.fakes import FakeMeasurer, FakeContext, tasks
    from workbench.tune.plan.run_plan import RunPlan
    from workbench.tune.run.tuning_session import TuningSession

    def told(event):
        if event.kind == "trial":
            print(event.record.trial, event.record.task_key, event.record.key, flush=True)

    session = TuningSession(RunPlan(
        tasks(3), context=FakeContext(), measurer=FakeMeasurer(delay=0.0005), log=sys.argv[1], trials=int(sys.argv[2]),
        resume=True,
    ))
    session.events.subscribe(told)
    session.start().wait()
    """
)


def start(log):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", SCRIPT, str(log), str(TRIALS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize("starts", first([5, 12]))
def test_kill_and_resume(tmp_path, starts):
    log = tmp_path / "a.jsonl"
    rng = random.Random(1)
    acknowledged: list[str] = []
    kills = 0
    for _ in range(starts):
        limit = rng.randint(1, 60)
        with start(log) as child:
            assert child.stdout is not None
            for count, line in enumerate(child.stdout, 1):
                acknowledged.append(line.rstrip("\n"))
                if count == limit:
                    child.send_signal(signal.SIGKILL)
                    kills += 1
            child.wait(30)
    assert kills >= starts // 2
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
        RunPlan(tasks(3), context=FakeContext(), measurer=FakeMeasurer(), log=log, trials=TRIALS, resume=True)
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


STEERED = textwrap.dedent(
    """
    import random
    import sys
    from tune.fakes import FakeMeasurer, FakeContext, tasks
    from tune.states import digest
    from workbench.errors import WorkbenchError
    from workbench.tune.state.log_recorder import LogRecorder
    from workbench.tune.options import TuneOptions
    from workbench.tune.run.tuning_session import TuningSession

    write = LogRecorder.write
    rng = random.Random(int(sys.argv[3]))

    def noted(self, line):
        answer = write(self, line)
        run_state = self._run_state
        lines = sum(map(len, (run_state.records, run_state.comparisons, run_state.rounds, run_state.commands)))
        print(lines, digest(run_state), flush=True)
        return answer

    def steer(event):
        if event.kind == "trial" and rng.random() < 0.05:
            try:
                rng.choice([
                    lambda: session.forbid(rng.randrange(3), "x", rng.randrange(1000)),
                    lambda: session.add(rng.randrange(3), variant=0, row={"x": rng.randrange(1000)}),
                    lambda: session.budget(task=rng.randrange(3), more=2),
                    lambda: session.epsilon(rng.random()),
                ])()
            except WorkbenchError:
                pass

    LogRecorder.write = noted
    session = TuningSession(RunPlan(
        tasks(3), context=FakeContext(), measurer=FakeMeasurer(delay=0.0005), log=sys.argv[1], trials=int(sys.argv[2]),
        resume=True, options=TuneOptions(early_stop=2, batch=6),
    ))
    session.events.subscribe(steer)
    session.start().wait()
    """
)


def kill_at_random(command, seconds):
    """Run a command, kill it after so many seconds of life; return the lines that it had written completely."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        timer = threading.Timer(seconds, lambda: child.send_signal(signal.SIGKILL))
        timer.start()
        rest = child.stdout.read()
        timer.cancel()
    return [line for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.slow
def test_thirty_kills_at_random_moments_and_every_standing_is_that_of_the_living(tmp_path):
    log = tmp_path / "a.jsonl"
    rng = random.Random(7)
    options = TuneOptions(early_stop=2, batch=6)
    said: dict[int, str] = {}
    for kill in range(30):
        command = [sys.executable, "-c", STEERED, str(log), "100000", str(kill)]
        told = [line.split() for line in kill_at_random(command, rng.uniform(0.02, 0.7))]
        assert all(int(count) not in said for count, _ in told)  # nothing that was told is lost and made again
        said.update((int(count), text) for count, text in told)
        lines = load_log(log).lines
        assert max(said) <= len(lines)
        assert digest(replayed(lines[: max(said)], options)) == said[max(said)]
    records = load_log(log).records
    assert [r.trial for r in records] == list(range(len(records)))
    assert len({(r.task_key, r.key) for r in records}) == len(records) > 300
    assert {c.name for c in load_log(log).commands} >= {"start", "forbid", "add", "budget", "epsilon"}


REAL = textwrap.dedent(
    """
    import sys
    import workbench as wb
    from workbench import Target, workloads
    from workbench.graph.tasks import Task

    def told(event):
        if event.kind == "trial":
            print(event.record.trial, event.record.key, flush=True)

    target = Target.host(threads=1)
    made = [Task.of_func(workloads.matmul(32 * n, 64, 64), target) for n in (1, 2)]
    session = wb.tune(made, trials=int(sys.argv[2]), log=sys.argv[1], target=target, resume=True, start=False, batch=6)
    session.events.subscribe(told)
    session.start().wait()
    """
)


@pytest.mark.slow
def test_kills_while_real_kernels_are_measured(tmp_path):
    log = tmp_path / "a.jsonl"
    rng = random.Random(3)
    said: dict[int, str] = {}
    for _ in range(6):
        command = [sys.executable, "-c", REAL, str(log), "100000"]
        told = [line.split() for line in kill_at_random(command, rng.uniform(0.0, 2.0))]
        assert all(int(trial) not in said for trial, _ in told)
        said.update((int(trial), key) for trial, key in told)
    records = load_log(log).records
    assert [r.trial for r in records] == list(range(len(records)))
    assert len({(r.task_key, r.key) for r in records}) == len(records) > 20
    assert all(records[trial].key == key for trial, key in said.items())


def replayed(lines, options):
    """The standing of an uninterrupted replay."""
    scheduler = GradientScheduler(tasks(3), early_stop=options.early_stop, confirm=options.confirm)
    run_state = RunState(tasks(3), scheduler, Budget(100000, None), options.epsilon)
    for line in lines:
        run_state.take(line)
    return run_state
