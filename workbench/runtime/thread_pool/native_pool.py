"""The machine code of the thread pool; `workbench.runtime.thread_pool.pool` says how it works."""

from __future__ import annotations

from typing import Annotated

from workbench.runtime.native.emitter import I32, I64, Emitter, External, Module, Ptr, Value, exported, native
from workbench.runtime.native.floating_point import control, set_control
from workbench.runtime.native.structs import Pointer, Struct

#: Most tasks in one ticket word; larger regions are cut into pieces of this many. Each counter has two bits more, which
#: is room for every thread to ask once too often.
REGION_LIMIT = 1 << 18
_FIELD = 20
_MASK = (1 << _FIELD) - 1

#: Most threads a pool may have (one 8-byte slot each, see `POOL`).
#: Chosen, not measured.
MAX_THREADS = 1024

_OWNERS = 320
#: A pool. Words that different threads write lie on different cache lines.
POOL = Struct(
    {
        "ticket": (0, "i64"),  # ntasks << 40 | taken from the back << 20 | taken from the front
        "done": (64, "i64"),  # finished tasks of this region
        "wake": (128, "i32"),  # number of regions so far (futex word)
        "sleepers": (132, "i32"),  # workers in the futex
        "waiting": (136, "i32"),  # 1 while the launching thread sleeps until the last task is finished
        "busy": (192, "i32"),  # 1 while a region runs
        "fn": (256, "ptr"),
        "ctx": (264, "ptr"),
        "base": (272, "i64"),  # first task of this piece
        "spin": (280, "i32"),  # idle spins before sleeping
        "stop": (284, "i32"),  # 1 tells the workers to leave
        "nthreads": (288, "i64"),  # number of slots below
        "control": (296, "i32"),  # how the launching thread computes
        "owner": (_OWNERS, "i64"),  # per thread: the operating system's id of thread `tid`
    },
    _OWNERS + 8 * MAX_THREADS,
)

Pool = Annotated[Value, Pointer(POOL)]

#: What kernels get as `rt`: `workbench.runtime.buffers.RuntimeStruct`.
RUNTIME = Struct.of(threads="i64", pool="ptr", launch="ptr")
Runtime = Annotated[Value, Pointer(RUNTIME)]

#: Idle spins of a thread that shares its core with another one of the pool (chosen, not measured): some microseconds.
CROWDED_SPINS = 200
#: Idle spins before a thread sleeps, about a millisecond: the pause of x86 takes some 40 to 140 cycles, others few.
_SPINS_X86, _SPINS = 20_000, 200_000
#: Operations of the system call ``futex``, both with FUTEX_PRIVATE_FLAG, and the call's numbers.
_WAIT, _WAKE, _FUTEX_X86, _FUTEX = 128, 129, 202, 98
#: How long an idle worker sleeps where there is no futex, in microseconds (chosen, not measured).
_NAP_US = 200


def idle_spins(machine: str, crowded: bool) -> int:
    """Idle spins of a worker before it sleeps, on a machine (`platform.machine()`)."""
    return CROWDED_SPINS if crowded else _SPINS_X86 if Module("", machine).x86 else _SPINS


# ---- what differs between systems and machines ----

syscall = External("i64", "syscall", "i64", "...")
sched_yield = External("i32", "sched_yield")
_pthread_self = External("i64", "pthread_self")
_usleep = External("i32", "usleep", "i32")
_windows_id = External("i32", "GetCurrentThreadId")
_windows_sleep = External("void", "Sleep", "i32")
_windows_yield = External("i32", "SwitchToThread")
_pause_x86 = External("void", "llvm.x86.sse2.pause")
_hint_arm = External("void", "llvm.aarch64.hint", "i32")


def _pause(f: Emitter) -> None:
    if f.module.x86:
        _pause_x86(f)
    elif f.module.arm:
        _hint_arm(f, 1)
    else:
        f.effect("fence acquire")


def _own_id(f: Emitter) -> Value:
    """The operating system's number of the thread."""
    return _windows_id(f).cast("zext", "i64") if f.module.system == "win32" else _pthread_self(f)


def _futex(f: Emitter, word: Value, operation: int, argument: Value | int) -> bool:
    """Sleep at a word or wake sleepers, where the system has such a call; return whether it has."""
    there = f.module.system == "linux" and (f.module.x86 or f.module.arm or f.module.riscv)
    if there:
        number = _FUTEX_X86 if f.module.x86 else _FUTEX
        syscall(f, number, word, operation, argument, f.null(), f.null(), 0)
    return there


def _sleep(f: Emitter, word: Value, seen: Value) -> None:
    """Block while the word is what was seen, or for a moment.

    The kernel compares the word again, so a wake between check and sleep is not lost.
    """
    if _futex(f, word, _WAIT, seen.cast("zext", "i64")):
        return
    if f.module.system == "win32":
        _windows_sleep(f, 1)
    else:
        _usleep(f, _NAP_US)


def _rest(f: Emitter, count: Value, seen: Value) -> None:
    """Block until a count differs from what was seen, or let another thread run.

    The futex is the lower half of the count; the machines that have one are little-endian.
    """
    if not _futex(f, count, _WAIT, seen):
        (_windows_yield if f.module.system == "win32" else sched_yield)(f)


# ---- the pool ----


def _ticket(word: Value) -> tuple[Value, Value, Value]:
    """Tasks taken from the front and from the back, and tasks in all."""
    return word & _MASK, (word >> _FIELD) & _MASK, word >> (2 * _FIELD)


@native
def drain(f: Emitter, pool: Pool, tid: I64) -> None:
    """Take tasks until none is left, even threads from the front and odd ones from the back.

    So a core gets the same end of the data in one region after the other and finds it in its own cache. A ticket is
    good while fewer than ntasks were taken at both ends together, which makes the two ends meet exactly. The plain
    load first keeps idle threads from pushing the counters up without bound. What a thread has finished it adds to the
    common count when it finds nothing more to do: one addition per thread and region, not one per task.
    """
    from_back = (tid & 1).ne(0)
    step = from_back.select(1 << _FIELD, 1)
    own = f.local(0)
    with f.forever() as tasks:
        front, back, total = _ticket(pool["ticket"].load("acquire"))
        tasks.leave((front + back).uge(total))
        front, back, total = _ticket(pool["ticket"].fetch("add", step, "acq_rel"))
        tasks.leave((front + back).uge(total))
        task = from_back.select(total - 1 - back, front)
        set_control(f, pool["control"].load())
        pool["fn"].load()(pool["ctx"].load(), pool["base"].load() + task, tid)
        own.increase(1)
    with f.when(own.load().ne(0)):
        pool["done"].fetch("add", own.load(), "seq_cst")
        with f.when(pool["waiting"].load("seq_cst").ne(0)):
            _futex(f, pool["done"], _WAKE, 1)


@exported
def wb_worker(f: Emitter, pool: Pool, tid: I64, seen: I32) -> None:
    """The life of a worker: spin for a moment, sleep, work on the next region."""
    pool["owner"][tid].store(_own_id(f), "release")
    heard = f.local(seen)
    with f.forever() as regions:
        last = heard.load()
        with f.block() as idle:
            with f.range(pool["spin"].load("monotonic"), once=True):
                idle.leave(pool["wake"].load("acquire").ne(last))
                _pause(f)
            with f.forever():
                pool["sleepers"].fetch("add", 1, "seq_cst")
                _sleep(f, pool["wake"], last)
                pool["sleepers"].fetch("sub", 1, "seq_cst")
                idle.leave(pool["wake"].load("acquire").ne(last))
        heard.store(pool["wake"].load("acquire"))
        regions.leave(pool["stop"].load("acquire").ne(0))
        drain(f, pool, tid)


@exported
def wb_wake(f: Emitter, pool: Pool, count: I64) -> None:
    """Announce news to the workers; the order (count up, then look for sleepers) is the other half of the worker's."""
    pool["wake"].fetch("add", 1, "seq_cst")
    with f.when(pool["sleepers"].load("seq_cst").ne(0)):
        _futex(f, pool["wake"], _WAKE, count)


@native
def region(f: Emitter, pool: Pool, base: I64, count: I64) -> None:
    """Run one piece of at most REGION_LIMIT tasks on a pool that the caller holds.

    A caller that waits for the last tasks of others spins for a moment, then sleeps. It does not yield: on a busy
    machine that gives whole time slices to strangers. It says that it waits before it looks at the count once more, and
    the others look for it after they have counted, so that one of the two always sees the other.
    """
    spins = pool["spin"].load("monotonic")
    pool["base"].store(base)
    pool["done"].store(0, "release")
    pool["ticket"].store(count << (2 * _FIELD), "seq_cst")
    wb_wake(f, pool, count - 1)
    drain(f, pool, 0)
    with f.range(spins, once=True):
        with f.when(pool["done"].load("acquire").eq(count)):
            f.ret()
        _pause(f)
    pool["waiting"].store(1, "seq_cst")
    with f.forever() as wait:
        done = pool["done"].load("seq_cst")
        wait.leave(done.eq(count))
        _rest(f, pool["done"], done)
    pool["waiting"].store(0, "release")


@exported
def wb_launch(f: Emitter, pool: Pool, fn: Ptr, ctx: Ptr, count: I64) -> None:
    """Run a region on the pool; in the caller alone where it has one task, or the pool is busy."""
    with f.block() as alone:
        alone.leave(count.slt(2) | pool["busy"].load("monotonic").ne(0))
        _, got = pool["busy"].exchange(0, 1, "acq_rel monotonic")
        alone.leave(got.eq(0))
        pool["owner"].store(_own_id(f), "release")
        pool["fn"].store(fn)
        pool["ctx"].store(ctx)
        pool["control"].store(control(f))
        base = f.local(0)
        with f.forever() as pieces:
            rest = count - base.load()
            size = rest.ult(REGION_LIMIT).select(rest, REGION_LIMIT)
            region(f, pool, base.load(), size)
            base.increase(size)
            pieces.leave(base.load().uge(count))
        pool["busy"].store(0, "release")
        f.ret()
    all_here(f, fn, ctx, count, find_self(f, pool))


@native
def find_self(f: Emitter, pool: Pool) -> I64:
    """Number of the calling thread in the pool, 0 for a stranger."""
    own = _own_id(f)
    with f.range(pool["nthreads"].load(), once=True) as tid, f.when(pool["owner"][tid].load("acquire").eq(own)):
        f.ret(tid)
    return f.const(0)


@native
def all_here(f: Emitter, fn: Ptr, ctx: Ptr, count: I64, tid: I64) -> None:
    """Run all tasks of a region in the caller."""
    with f.when(count.sgt(0)), f.range(count, once=True) as task:
        fn(ctx, task, tid)


@exported
def wb_launch_serial(f: Emitter, pool: Pool, fn: Ptr, ctx: Ptr, count: I64) -> None:
    """Run a region of a pool of one thread."""
    all_here(f, fn, ctx, count, 0)


#: What Python calls.
ENTRIES = (wb_worker, wb_wake, wb_launch, wb_launch_serial)
