"""What goes wrong with one candidate is its status, with the full text, and the others never notice."""

import itertools
import os
import random
import signal
import threading
import time
from collections import Counter

import pytest
from runtime.llvm_kernels import add_func

from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.dispatch import BatchDispatch
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.target import Target

N = 1024
FUNC = add_func(N)


class OnArrival:
    """Stands in for a function; the worker process calls this when it reads the job."""

    def __init__(self, call, *args):
        self.what = (call, args)

    def __reduce__(self):
        return self.what


_numbers = itertools.count()


def new(value=1.0):
    """A function that nobody built before."""
    return add_func(N, value, f"add{next(_numbers)}")


def candidate(func=FUNC, **options):
    return MeasureInput("t", FUNC, func, **options)


@pytest.fixture(scope="module")
def local():
    with LocalRunner(Target.host(1), MeasureOptions(build_timeout_s=3.0), builders=1) as one:
        assert one.measure(candidate()).ok
        yield one


@pytest.mark.parametrize(
    ("func", "said"),
    [
        (OnArrival(print, "y" * 3_000_000), "Traceback"),  # more than a pipe holds; None is no function
        (OnArrival(bytearray, 1 << 50), "MemoryError"),
        (OnArrival(bytearray, 6 << 30), "MemoryError"),  # the system would give it, page by page
        (OnArrival(os._exit, 7), "exit code 7"),
        (OnArrival(os.kill, 0, signal.SIGABRT), "SIGABRT"),
        (OnArrival(time.sleep, 60), "compiling took longer than 3 s"),
    ],
)
def test_whatever_happens_in_a_builder_is_a_build_error(local, func, said):
    results = dict(local.measure_many([candidate(new()), candidate(func), candidate(new())]))
    assert [results[i].status for i in range(3)] == ["ok", "build_error", "ok"]
    assert said in results[1].error


def test_what_was_killed_from_outside_is_done_again(local):
    assert local.measure(candidate(new())).ok
    for worker in local._workers.every:
        os.kill(worker.pid, signal.SIGKILL)
    results = dict(local.measure_many(candidate(new()) for _ in range(3)))
    assert [results[i].status for i in range(3)] == ["ok"] * 3


def test_what_is_killed_again_and_again_is_given_up(local):
    result = local.measure(candidate(OnArrival(os.kill, 0, signal.SIGKILL)))
    assert result.status == "build_error"
    assert "SIGKILL" in result.error
    assert "twice" in result.error
    assert local.measure(candidate()).ok


def test_a_workspace_larger_than_memory_is_a_run_error(local, monkeypatch):
    make = BatchDispatch._trial_job

    def greedy(self, key, trial):
        from dataclasses import replace

        job = make(self, key, trial)
        return replace(job, code=replace(job.code, shared_bytes=1 << 46)) if trial.index == 1 else job

    monkeypatch.setattr(BatchDispatch, "_trial_job", greedy)
    results = dict(local.measure_many([candidate()] * 3))
    assert [results[i].status for i in range(3)] == ["ok", "run_error", "ok"]
    assert "Memory" in results[1].error


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_fifty_kills_at_random_moments(threads):
    rng = random.Random(threads)
    done, progress = threading.Event(), threading.Event()
    kills = 0

    def kill(runner):
        nonlocal kills
        while kills < 50 and not done.is_set():
            progress.wait(10.0)  # or all time goes into starting workers
            progress.clear()
            time.sleep(rng.uniform(0.0, 0.1))
            pids = [w.pid for w in runner._workers.every if w.ready and w.pid]
            if pids:
                os.kill(rng.choice(pids), signal.SIGKILL)
                kills += 1

    def inputs():
        count = 0
        while kills < 50:
            yield candidate(new(1.0 if count % 5 else 2.0))
            count += 1

    with LocalRunner(Target.host(threads), MeasureOptions(early_stop=0.0)) as local:
        killer = threading.Thread(target=kill, args=(local,))
        killer.start()
        seen = Counter()
        statuses = Counter()
        for index, result in local.measure_many(inputs()):
            seen[index] += 1
            progress.set()
            statuses[result.status] += 1
            assert result.status == ("ok" if index % 5 else "wrong_answer") or "SIGKILL" in result.error
        done.set()
        killer.join()
    assert kills == 50
    assert sorted(seen) == list(range(len(seen)))
    assert set(seen.values()) == {1}
    assert statuses["ok"] + statuses["wrong_answer"] > 0.8 * len(seen) > 40
