"""The thread pool: every task exactly once, whatever happens around it."""

import ctypes
import functools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from workbench.codegen import llvm_bind
from workbench.errors import UsageError
from workbench.runtime.pool_text import MAX_THREADS, REGION_LIMIT
from workbench.runtime.threads import ThreadPool, shared_pool

# ctx = { counts, first index of every thread's in-use flag }: counts tasks, and notes two overlapping uses of one tid.
TEXT = """
define void @body(ptr %ctx, i64 %task, i64 %tid) {
  %counts = load ptr, ptr %ctx
  %fp = getelementptr ptr, ptr %ctx, i64 1
  %flags = load ptr, ptr %fp
  %f = getelementptr i32, ptr %flags, i64 %tid
  %was = atomicrmw add ptr %f, i32 1 seq_cst
  %bad = icmp ne i32 %was, 0
  %extra = select i1 %bad, i32 1000000, i32 1
  %p = getelementptr i32, ptr %counts, i64 %task
  %o = atomicrmw add ptr %p, i32 %extra monotonic
  %off = atomicrmw sub ptr %f, i32 1 seq_cst
  ret void
}
; ctx = { pool, launch, inner ctx }
define void @nested(ptr %ctx, i64 %task, i64 %tid) {
  %pool = load ptr, ptr %ctx
  %lp = getelementptr ptr, ptr %ctx, i64 1
  %launch = load ptr, ptr %lp
  %ip = getelementptr ptr, ptr %ctx, i64 2
  %inner = load ptr, ptr %ip
  call void %launch(ptr %pool, ptr @body, ptr %inner, i64 8)
  ret void
}
define void @repeat(ptr %pool, ptr %launch, ptr %fn, ptr %ctx, i64 %n, i64 %times) {
entry:
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %i1, %l ]
  call void %launch(ptr %pool, ptr %fn, ptr %ctx, i64 %n)
  %i1 = add i64 %i, 1
  %c = icmp ult i64 %i1, %times
  br i1 %c, label %l, label %e
e:
  ret void
}
"""


@functools.cache
def library():
    return llvm_bind.load_object(llvm_bind.compile_ir(TEXT), ["body", "nested", "repeat"])


class Counter:
    def __init__(self, tasks, threads):
        self.counts = np.zeros(tasks, np.int32)
        self.flags = np.zeros(threads, np.int32)
        self.ctx = np.array([self.counts.ctypes.data, self.flags.ctypes.data], np.uintp)

    def run(self, pool, tasks, times, fn="body", ctx=None):
        kinds = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 2
        repeat = ctypes.CFUNCTYPE(None, *kinds)(library()["repeat"])
        ctx = self.ctx if ctx is None else ctx
        repeat(pool.address, pool.launch_address, library()[fn], ctx.ctypes.data, tasks, times)


@pytest.fixture
def make_pool():
    pools = []

    def make(n):
        pools.append(ThreadPool(n))
        return pools[-1]

    yield make
    for pool in pools:
        pool.stop()


@pytest.mark.parametrize(("threads", "times"), [(1, 1000), (2, 30_000), (6, 3_000)])
def test_every_task_runs_exactly_once(make_pool, threads, times):
    pool = make_pool(threads)
    pool.start()
    for tasks in (1, 2, 3, 16):
        counter = Counter(tasks, threads)
        counter.run(pool, tasks, times)
        assert (counter.counts == times).all()
        assert not counter.flags.any()


def test_more_tasks_than_one_ticket_word_holds(make_pool):
    pool = make_pool(2)
    pool.start()
    counter = Counter(2 * REGION_LIMIT + 5, 2)
    counter.run(pool, len(counter.counts), 1)
    assert (counter.counts == 1).all()


def test_nothing_starts_before_the_first_use_and_stop_is_clean(make_pool):
    before = threading.active_count()
    pool = make_pool(3)
    assert threading.active_count() == before
    counter = Counter(4, 3)
    pool.launch(library()["body"], counter.ctx.ctypes.data, 4)
    assert threading.active_count() == before + 2
    pool.stop()
    assert threading.active_count() == before
    counter.run(pool, 4, 100)  # without workers the caller does it all
    pool.start()
    counter.run(pool, 4, 100)
    assert (counter.counts == 201).all()


def test_idle_workers_sleep(make_pool):
    pool = make_pool(3)
    counter = Counter(8, 3)
    pool.launch(library()["body"], counter.ctx.ctypes.data, 8)
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.05


def test_nested_regions_run_inline_under_the_thread_that_launched_them(make_pool):
    pool = make_pool(4)
    pool.start()
    counter = Counter(8, 4)
    ctx = np.array([pool.address, pool.launch_address, counter.ctx.ctypes.data], np.uintp)
    counter.run(pool, 16, 500, "nested", ctx)
    assert (counter.counts == 8000).all()  # an overlapping tid would add a million


def test_two_threads_may_launch_at_once(make_pool):
    pool = make_pool(2)
    pool.start()
    counters = [Counter(8, 2) for _ in range(3)]
    launchers = [threading.Thread(target=c.run, args=(pool, 8, 5_000)) for c in counters]
    for launcher in launchers:
        launcher.start()
    for launcher in launchers:
        launcher.join(30)
    assert all((c.counts == 5_000).all() for c in counters)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_works_serially_and_can_start_its_own_workers(make_pool):
    pool = make_pool(2)
    pool.start()
    counter = Counter(8, 2)
    counter.run(pool, 8, 10)
    child = os.fork()
    if child == 0:
        counter.run(pool, 8, 10)
        alone = pool.started
        pool.start()
        counter.run(pool, 8, 1000)
        good = not alone and pool.started and (counter.counts == 1020).all()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    counter.run(pool, 8, 10)
    assert (counter.counts == 20).all()


def test_interpreter_exit_with_sleeping_and_spinning_workers():
    program = "from workbench.runtime.threads import shared_pool; shared_pool(4).start(); shared_pool(2).start()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_shared_pool_is_one_per_count():
    assert shared_pool(3) is shared_pool(3)
    assert shared_pool(3) is not shared_pool(2)


@pytest.mark.parametrize("count", [0, -1, MAX_THREADS + 1])
def test_impossible_thread_counts(count):
    with pytest.raises(UsageError) as caught:
        ThreadPool(count)
    assert caught.value.code == "run.threads"
