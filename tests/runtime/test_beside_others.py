"""Parallel kernels after fork, with more threads than cores, and in one process with other thread pools.

Each case is a program in a process of its own, with a limit on its time: a hang is a failure, and one case cannot lend
its threads to the next.
"""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest
from tiers import first

from workbench.target import Target

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

COMMON = """
import os, sys, threading, time
import numpy as np
import workbench as wb
from workbench import workloads
from workbench.target import Target

def kernel(threads, n=96):
    # Two regions: the product, then bias and relu over rows.
    s = wb.Schedule(workloads.matmul(n, n, n, bias=True, relu=True))
    s.split("j", [None, 16])
    s.reorder("i", "j.0", "k", "j.1")
    s.vectorize("j.1")
    s.parallel("i", "j.0")
    s.parallel("relu_i")
    return s.build(Target.host(threads=threads))

rng = np.random.default_rng(0)
A, B, C = (rng.standard_normal(shape).astype("f4") for shape in ((96, 96), (96, 96), (96,)))
WANT = np.maximum(A @ B + C, 0)

def check(k, times=20):
    for _ in range(times):
        np.testing.assert_allclose(k(A, B, C), WANT, rtol=1e-4, atol=1e-4)

def wait(pid, seconds=40):
    # waitpid with a limit: a child that hangs is ended, and that is an error.
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, status
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise SystemExit("a forked child hung")

def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as e:
            print(repr(e), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid
"""


def run(program, limit=100, **env):
    text = COMMON + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
        capture_output=True,
        text=True,
        timeout=limit,
        env={**os.environ, **env},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fork
def test_children_and_their_children_run_kernels_and_the_parent_goes_on():
    run("""
    k = kernel(2)
    check(k)

    def grandchild():
        check(k)

    def work():
        check(k)
        own = {t.name for t in threading.enumerate()}
        assert "workbench-1" in own, "the child has no workers of its own"
        wait(child(grandchild))
        check(kernel(3))  # compiles, with a pool that the parent never had

    for _ in range(3):
        pids = [child(work) for _ in range(2)]
        check(k)  # while the children work
        for pid in pids:
            wait(pid)
        check(k)
    """)


@needs_fork
def test_fork_while_another_thread_is_inside_a_region():
    run("""
    k, other = kernel(2), kernel(2)
    check(k), check(other)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            other(A, B, C)

    thread = threading.Thread(target=busy, daemon=True)
    thread.start()
    for _ in range(10):
        wait(child(lambda: check(k, 5)))
        check(k, 5)
    stop.set()
    thread.join(100)
    assert not thread.is_alive()
    check(other)
    """)


@needs_fork
def test_fork_while_another_thread_builds_and_runs_the_same_kernel():
    """The child finds locks that a thread held which it does not have."""
    run("""
    k = kernel(2)
    check(k)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            kernel(2)
            check(k, 3)

    thread = threading.Thread(target=busy, daemon=True)
    thread.start()

    def work():
        check(k, 3)
        check(kernel(2), 3)

    for _ in range(6):
        wait(child(work))
    stop.set()
    thread.join(100)
    assert not thread.is_alive()
    """)


@needs_fork
@pytest.mark.skipif("amx-bf16" not in Target.host().isa, reason="no tiles here")
def test_tiles_in_threads_that_were_there_before_and_in_forked_children():
    """The system grants them to a process: to its older threads, and to its children."""
    run("""
    k = kernel(3)
    check(k)
    s = wb.Schedule(workloads.matmul(64, 64, 64, dtype="bfloat16", constant_b=True), Target.host(threads=3))
    i0, i1 = s.split("i", [None, 16])
    j0, j1 = s.split("j", [None, 16])
    k0, k1, k2 = s.split("k", [None, 16, 2])
    s.reorder(i0, j0, k0, i1, j1, k1, k2)
    s.transform_layout("B", 1, 16).transform_layout("B", 1, 2, "here")
    s.tensorize(i1, "x86.amx.bf16").parallel(i0, j0)
    tiles, ones = s.build(), np.ones((64, 64), "bfloat16")

    def work():
        for product in (tiles, s.build()):
            for _ in range(20):
                assert (product(ones, ones) == 64).all()

    work()
    wait(child(work))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    """)


@needs_fork
def test_a_pool_of_forked_processes():
    run("""
    import multiprocessing as mp

    k = kernel(2)
    check(k)

    def task(i):
        check(k, 5)
        return i

    with mp.get_context("fork").Pool(3) as pool:
        assert pool.map_async(task, range(12)).get(60) == list(range(12))
    check(k)
    """)


def test_sixteen_threads_whatever_the_number_of_cores():
    run("""
    k = kernel(16)
    check(k, 200)
    assert sum(t.name.startswith("workbench-") for t in threading.enumerate()) == 15
    """)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_four_threads_on_one_core():
    """A thread that waits by spinning alone would wait for its own core."""
    run("""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    check(kernel(4), 200)
    """)


def test_several_pools_and_launching_threads_at_once():
    run("""
    ks = [kernel(n) for n in (2, 3, 5)]
    failed = []

    def work(k):
        try:
            check(k, 60)
        except BaseException as e:
            failed.append(repr(e))

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in ks * 2]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads)
    assert not failed, failed
    """)


def test_the_first_kernels_of_a_process_are_built_by_several_threads():
    """What all kernels share is made once: who came second must not take the first one's away."""
    run("""
    sys.setswitchinterval(1e-5)
    go, failed = threading.Barrier(4), []

    def work():
        go.wait()
        try:
            check(kernel(2), 10)
        except BaseException as e:
            failed.append(repr(e))

    import workbench.runtime.schedule_methods  # to import is not what they compete for
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failed, failed
    """)


OTHERS = {
    "numpy": """
    def other():
        return float(np.linalg.norm(np.ones((400, 400), "f4") @ np.ones((400, 400), "f4")))
    """,
    "xgboost": """
    import xgboost

    data = xgboost.DMatrix(rng.standard_normal((2000, 20)), rng.standard_normal(2000))

    def other():
        booster = xgboost.train({"nthread": 4, "max_depth": 4}, data, 5)
        return float(booster.predict(data).sum())
    """,
    "torch": """
    import torch

    torch.set_num_threads(4)
    a = torch.ones(400, 400)

    def other():
        return float((a @ a).relu().sum())
    """,
}


@pytest.mark.parametrize("turns", first([10, 30]))
@pytest.mark.parametrize("name", OTHERS)
def test_in_turns_with_another_runtime(name, turns):
    """Another runtime's threads may still spin when ours begin, and the other way round."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    run(
        textwrap.dedent(OTHERS[name])
        + f"""
first = other()
k = kernel(4)
for _ in range({turns}):
    check(k, 5)
    assert abs(other() - first) <= 1e-4 * abs(first)
"""
    )


@pytest.mark.parametrize("name", OTHERS)
def test_at_the_same_time_as_another_runtime(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    run(
        textwrap.dedent(OTHERS[name])
        + """
first, results, stop = other(), [], threading.Event()

def busy():
    while not stop.is_set():
        results.append(other())

thread = threading.Thread(target=busy, daemon=True)
thread.start()
check(kernel(4), 40)
while not results:
    time.sleep(0.01)
stop.set()
thread.join(60)
assert not thread.is_alive()
assert all(abs(r - first) <= 1e-4 * abs(first) for r in results)
"""
    )


@needs_fork
def test_executables_in_children_while_the_parent_runs_them():
    run("""
    from workbench.runtime.execution.executable import ArraySpec, CallPlan, Executable, ExecutablePlan, Slot

    code = kernel(2)._code
    specs = [ArraySpec(p.name, p.shape) for p in code.params]
    slots = [Slot("output" if p.role == "output" else "input", 0) for p in code.params]
    number = iter(range(9))
    slots = [slot if slot.kind == "output" else Slot("input", next(number)) for slot in slots]
    inputs = tuple(s for s, slot in zip(specs, slots) if slot.kind == "input")
    outputs = tuple(s for s, slot in zip(specs, slots) if slot.kind == "output")
    ex = Executable(ExecutablePlan(inputs, outputs, (), 0, (CallPlan("c", code, tuple(slots)),), 2))

    def once():  # np.testing imports while it runs, and a fork at that moment leaves the import's lock shut
        assert np.abs(ex.run(A, B, C)[outputs[0].name] - WANT).max() < 1e-3

    def several(times):
        errors = []
        def work():
            try:
                for _ in range(times):
                    once()
            except BaseException as e:
                errors.append(e)
        threads = [threading.Thread(target=work) for _ in range(3)]
        [t.start() for t in threads]
        [t.join(30) for t in threads]
        assert not any(t.is_alive() for t in threads), "a run hangs"
        assert not errors, errors

    going = True
    def forever():
        while going:
            once()
    beside = [threading.Thread(target=forever, daemon=True) for _ in range(2)]
    [t.start() for t in beside]
    for _ in range(5):
        pid = child(lambda: several(10))
        wait(pid)
    going = False
    [t.join(30) for t in beside]
    from workbench.runtime.thread_pool import processor_share
    assert (processor_share._book.runs, processor_share._book.lent, processor_share._book.out) == (0, 0, set())
    several(20)
    """)
