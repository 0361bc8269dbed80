"""The thread pool: every task exactly once, whatever happens around it."""

import ctypes
import functools
import os
import sys
import threading
import time

import numpy as np
import pytest

from workbench.codegen.llvm import llvmlite_binding
from workbench.errors import UsageError
from workbench.runtime.thread_pool.native_pool import MAX_THREADS, REGION_LIMIT
from workbench.runtime.thread_pool.pool import ThreadPool

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
; ctx = { stuck tasks, tasks, finished, gave up }: the first tasks are done when all others are.
declare i32 @sched_yield()
define void @uneven(ptr %ctx, i64 %task, i64 %tid) {
entry:
  %stuck = load i64, ptr %ctx
  %np = getelementptr i64, ptr %ctx, i64 1
  %n = load i64, ptr %np
  %dp = getelementptr i64, ptr %ctx, i64 2
  %rest = sub i64 %n, %stuck
  %short = icmp uge i64 %task, %stuck
  br i1 %short, label %count, label %wait
count:
  %o = atomicrmw add ptr %dp, i64 1 seq_cst
  ret void
wait:
  %k = phi i64 [ 0, %entry ], [ %k1, %again ]
  %d = load atomic i64, ptr %dp seq_cst, align 8
  %all = icmp eq i64 %d, %rest
  br i1 %all, label %out, label %again
again:
  %y = call i32 @sched_yield()
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 20000000
  br i1 %more, label %wait, label %fail
fail:
  %fp = getelementptr i64, ptr %ctx, i64 3
  %f = atomicrmw add ptr %fp, i64 1 seq_cst
  ret void
out:
  ret void
}
; ctx = { begun, steps }: task 0 ends when task 1, of many steps, has begun.
define void @straggler(ptr %ctx, i64 %task, i64 %tid) {
entry:
  %first = icmp eq i64 %task, 0
  br i1 %first, label %wait, label %begin
wait:
  %b = load atomic i64, ptr %ctx seq_cst, align 8
  %begun = icmp ne i64 %b, 0
  %y = call i32 @sched_yield()
  br i1 %begun, label %e, label %wait
begin:
  store atomic i64 1, ptr %ctx seq_cst, align 8
  %np = getelementptr i64, ptr %ctx, i64 1
  %n = load i64, ptr %np
  br label %l
l:
  %i = phi i64 [ 0, %begin ], [ %i1, %l ]
  call void asm sideeffect "", ""()
  %i1 = add i64 %i, 1
  %c = icmp ult i64 %i1, %n
  br i1 %c, label %l, label %e
e:
  ret void
}
; Spin for (task + 1) * ctx[0] steps: the last task is the longest.
define void @triangle(ptr %ctx, i64 %task, i64 %tid) {
entry:
  %per = load i64, ptr %ctx
  %t1 = add i64 %task, 1
  %n = mul i64 %per, %t1
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %i1, %l ]
  call void asm sideeffect "", ""()
  %i1 = add i64 %i, 1
  %c = icmp ult i64 %i1, %n
  br i1 %c, label %l, label %e
e:
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
    return llvmlite_binding.load_object(
        llvmlite_binding.compile_ir(TEXT), ["body", "nested", "uneven", "straggler", "triangle", "repeat"]
    )


def repeat(pool, fn, ctx, tasks, times):
    kinds = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 2
    call = ctypes.CFUNCTYPE(None, *kinds)(library()["repeat"])
    call(pool.address, pool.launch_address, library()[fn], ctx.ctypes.data, tasks, times)


class Counter:
    def __init__(self, tasks, threads):
        self.counts = np.zeros(tasks, np.int32)
        self.flags = np.zeros(threads, np.int32)
        self.ctx = np.array([self.counts.ctypes.data, self.flags.ctypes.data], np.uintp)

    def run(self, pool, tasks, times, fn="body", ctx=None):
        repeat(pool, fn, self.ctx if ctx is None else ctx, tasks, times)


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
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.2)
        if time.process_time() - before < 0.02:
            return
    pytest.fail("the workers never sleep")


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
        launcher.join(100)
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


@pytest.mark.skipif(sys.platform == "win32", reason="the body yields with POSIX")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("threads", "stuck"), [(2, 1), (4, 3), (5, 2), (16, 15)])
def test_no_task_waits_for_a_thread_that_is_busy(make_pool, threads, stuck):
    """All threads but one are stuck until the last one has done everything else: shares cut beforehand would hang."""
    pool = make_pool(threads)
    pool.start()
    for _ in range(3):
        ctx = np.array([stuck, 8 * threads, 0, 0], np.int64)
        repeat(pool, "uneven", ctx, 8 * threads, 1)
        assert ctx.tolist() == [stuck, 8 * threads, 8 * threads - stuck, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the futex")
@pytest.mark.timeout(60)
def test_a_launching_thread_sleeps_while_it_waits_for_the_last_task(make_pool):
    """It does not take the processor from the one it waits for, nor give it away to strangers by yielding."""
    import resource

    def sleeps():
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw  # a yield is not counted here

    pool = make_pool(2)
    pool.start()
    shares = []
    for _ in range(40):  # it may get the last task itself where others have the processor, but not every time
        before = sleeps()
        ctx = np.array([0, 400_000_000], np.int64)  # tens of milliseconds, whatever the processor
        wall, own = time.perf_counter(), time.thread_time()
        repeat(pool, "straggler", ctx, 2, 1)
        wall, own = time.perf_counter() - wall, time.thread_time() - own
        shares.append(own / wall)
        if shares[-1] < 0.3:
            assert sleeps() > before
            return
    pytest.fail(f"it never slept: {shares}")


@pytest.mark.bench
def test_an_uneven_region_is_balanced(make_pool):
    """Tasks that grow to sixteen times the first: halves cut beforehand would gain 1.33, a perfect balance 2."""
    one, two = make_pool(1), make_pool(2)
    two.start()
    ctx = np.array([20_000], np.int64)
    ratios = []
    for _ in range(15):
        began = time.perf_counter()
        repeat(one, "triangle", ctx, 16, 5)
        middle = time.perf_counter()
        repeat(two, "triangle", ctx, 16, 5)
        ratios.append((middle - began) / (time.perf_counter() - middle))
    assert np.median(ratios) >= 1.7, ratios


@pytest.mark.bench
def test_a_region_of_two_threads_costs_microseconds(make_pool):
    pool = make_pool(2)
    pool.start()
    counter = Counter(16, 2)
    times = []
    for _ in range(15):
        began = time.perf_counter()
        counter.run(pool, 16, 200)
        times.append((time.perf_counter() - began) / 200)
    assert np.median(times) <= 10e-6, times


@pytest.mark.parametrize("count", [0, -1, MAX_THREADS + 1])
def test_impossible_thread_counts(count):
    with pytest.raises(UsageError) as caught:
        ThreadPool(count)
    assert caught.value.code == "run.threads"
