"""The part of an exported library that is the same for every network: contexts and their threads.

A context is one block of memory: the words of `CONTEXT`, then one pointer for each input and output (where they are
during a run), then the table of all kernels' arguments. Two more blocks belong to it: the arena, with room for copies
of the plan's `lines`, and the surroundings of kernels (thread pool, threads, workspace), which `set_threads` replaces.
Contexts share the constants and nothing else, so any number of them may run at the same time.

What differs from network to network are the tables that `library_tables` writes: ``@calls``, ``@args``, ``@results``,
``@inputs``, ``@outputs``, ``@stage``, ``@spaces`` and ``@checks``.
"""

from __future__ import annotations

from typing import Annotated

from workbench.runtime.buffers import ALIGNMENT
from workbench.runtime.export.cpu_features import missing
from workbench.runtime.export.native_memory import drop_constants, free, getpid, hold_constants, memset, take
from workbench.runtime.native.emitter import I32, I64, Emitter, External, Ptr, Value, native
from workbench.runtime.native.structs import Pointer, Struct
from workbench.runtime.thread_pool import native_pool
from workbench.runtime.thread_pool.native_pool import MAX_THREADS, POOL, RUNTIME, Pool

CONTEXT = Struct(
    {
        "busy": (0, "i32"),  # 1 while it runs
        "threads": (4, "i32"),
        "process": (8, "i32"),  # the process that started the threads; a forked child has none
        "arena": (16, "ptr"),
        "around": (24, "ptr"),  # pool, threads, workspace
        "workspace": (32, "ptr"),
        "constants": (40, "ptr"),
        "rt": (64, "i64"),  # what kernels get: `RUNTIME`
        "places": (128, "ptr"),  # one for each input and output, then the arguments
    },
    128,
)
Context = Annotated[Value, Pointer(CONTEXT)]

#: Rows of the tables: a kernel and its first argument, workspace of a kernel in bytes, an input or output.
CALL = Struct.of(fn="ptr", first="i64")
SPACE = Struct.of(shared="i64", each="i64")
TENSOR = Struct.of(name="ptr", dtype="ptr", shape="ptr", bytes="i64", rank="i32")

#: Where an argument lies: a kind, and where there. Above the bits of the kind stands, for inputs and outputs, how many
#: bytes into the array it begins.
PLACE = Struct.of(what="i64", at="i64")
KINDS = {"input": 0, "output": 1, "const": 2, "arena": 3}
KIND_BITS = 2

#: Version of everything that a loader relies on: names, structures, error codes.
ABI = 1

#: What functions return; the header and the loader take names and texts from here.
ERRORS = {
    "OK": "no error",
    "NO_MEMORY": "there is not enough memory",
    "NO_THREADS": "the system gives no more threads",
    "BAD_ARGUMENT": "an argument is NULL or out of range",
    "NO_FEATURE": "this machine lacks a feature that the code was compiled for",
    "BUSY": "the context is in use by another thread",
}
CODES = {name: number for number, name in enumerate(ERRORS)}

#: Of a thread, behind the pool.
_RECORD = Struct.of(thread="i64", pool="ptr", tid="i64")
#: Bytes of a thread's stack, as glibc has it where nobody says otherwise.
_STACK = 8 << 20
#: Bytes on the stack for what these functions of the C library fill in: more than any system has.
_ATTRIBUTES, _SIGNALS, _PROCESSORS = 256, 128, 128
_SIG_SETMASK = 2

_sched_getaffinity = External("i32", "sched_getaffinity", "i32", "i64", "ptr")
_ctpop = External("i64", "llvm.ctpop.i64", "i64")
_pthread_create = External("i32", "pthread_create", "ptr", "ptr", "ptr", "ptr")
_pthread_join = External("i32", "pthread_join", "i64", "ptr")
_pthread_attr_init = External("i32", "pthread_attr_init", "ptr")
_pthread_attr_setstacksize = External("i32", "pthread_attr_setstacksize", "ptr", "i64")
_pthread_attr_destroy = External("i32", "pthread_attr_destroy", "ptr")
_sigfillset = External("i32", "sigfillset", "ptr")
_pthread_sigmask = External("i32", "pthread_sigmask", "i32", "ptr", "ptr")


def code(f: Emitter, name: str) -> Value:
    """One of `ERRORS`."""
    return f.const(CODES[name], "i32")


def number(f: Emitter, name: str) -> Value:
    """A number that `library_tables` writes."""
    return f.extern(name, "i64").load()


@native
def enter(f: Emitter, record: Annotated[Value, Pointer(_RECORD)]) -> Ptr:
    """What a thread begins with."""
    native_pool.wb_worker(f, record["pool"].load(), record["tid"].load(), 0)
    return f.null()


def _record(pool: Value, tid: Value) -> Value:
    return pool.offset(POOL.size).as_(_RECORD)[tid]


@native
def start(f: Emitter, pool: Pool, count: I64) -> I64:
    """Start threads 1 ... count-1 of a pool; returns how many there are then, the caller included. They take no
    signals: these belong to the program that uses the library.
    """
    with f.when(count.ult(2)):
        f.ret(f.const(1))
    attributes = f.room(f"[{_ATTRIBUTES} x i8]")
    every, before = (f.room(f"[{_SIGNALS} x i8]") for _ in range(2))
    _pthread_attr_init(f, attributes)
    _pthread_attr_setstacksize(f, attributes, _STACK)
    _sigfillset(f, every)
    _pthread_sigmask(f, _SIG_SETMASK, every, before)
    tid = f.local(1)
    with f.forever() as starting:
        record = _record(pool, tid.load())
        record["pool"].store(pool)
        record["tid"].store(tid.load())
        starting.leave(_pthread_create(f, record, attributes, f.address(enter), record).ne(0))
        tid.increase(1)
        starting.leave(tid.load().uge(count))
    _pthread_sigmask(f, _SIG_SETMASK, before, f.null())
    _pthread_attr_destroy(f, attributes)
    return tid.load()


@native
def leave(f: Emitter, pool: Pool, count: I64, process: I32) -> None:
    """Let threads 1 ... count-1 of a pool go, wait for them, and give their memory back."""
    with f.when(pool.null()):
        f.ret()
    with f.when(getpid(f).eq(process) & count.ugt(1)):
        pool["stop"].store(1, "seq_cst")
        native_pool.wb_wake(f, pool, MAX_THREADS)
        with f.range(count, start=1, once=True) as tid:
            _pthread_join(f, _record(pool, tid)["thread"].load(), f.null())
    free(f, pool)


@native
def space(f: Emitter, threads: I64) -> I64:
    """Workspace that the kernels need with so many threads."""
    most = f.local(ALIGNMENT)
    with f.range(number(f, "space_count")) as i:
        row = f.extern("spaces", SPACE)[i]
        need = row["shared"].load() + row["each"].load() * threads
        most.store(need.ugt(most.load()).select(need, most.load()))
    return most.load()


@native
def processors(f: Emitter) -> I64:
    """Processors that this process may use; many where the system does not tell."""
    mask = f.room(f"[{_PROCESSORS} x i8]", "i64")
    memset(f, mask, 0, _PROCESSORS)
    with f.when(_sched_getaffinity(f, 0, _PROCESSORS, mask).slt(0)):
        f.ret(f.const(MAX_THREADS))
    total = f.local(0)
    with f.range(_PROCESSORS // 8, once=True) as k:
        total.increase(_ctpop(f, mask[k].load()))
    return total.load()


@native
def surround(f: Emitter, ctx: Context, threads: I32) -> I32:
    """Give a context a pool of threads and a workspace in place of what it has; it keeps that where this fails."""
    count = threads.cast("zext", "i64")
    workspace_at = ((count * _RECORD.size + (ALIGNMENT - 1)) & -ALIGNMENT) + POOL.size
    size = workspace_at + space(f, count)
    pool = take(f, size).as_(POOL)
    with f.when(pool.null()):
        f.ret(code(f, "NO_MEMORY"))
    memset(f, pool, 0, size)
    crowded, spins = count.ugt(processors(f)), native_pool.idle_spins(f.module.machine, False)
    pool["spin"].store(crowded.select(native_pool.CROWDED_SPINS, spins, "i32"))
    pool["nthreads"].store(count)
    own, there = getpid(f), start(f, pool, count)
    with f.when(there.ne(count)):
        leave(f, pool, there, own)
        f.ret(code(f, "NO_THREADS"))
    unsurround(f, ctx)
    launch = count.eq(1).select(f.address(native_pool.wb_launch_serial), f.address(native_pool.wb_launch))
    workspace = pool.offset(workspace_at)
    for name, value in (("threads", threads), ("process", own), ("around", pool), ("workspace", workspace)):
        ctx[name].store(value)
    rt = ctx["rt"].as_(RUNTIME)
    for name, value in (("threads", count), ("pool", pool), ("launch", launch)):
        rt[name].store(value)
    return code(f, "OK")


@native
def unsurround(f: Emitter, ctx: Context) -> None:
    """Take pool and workspace from a context."""
    leave(f, ctx["around"].load(), ctx["threads"].load().cast("zext", "i64"), ctx["process"].load())


@native
def create_context(f: Emitter, threads: I32, out: Annotated[Value, Pointer("ptr")]) -> I32:
    """Make a context with so many threads."""
    with f.when(missing(f).ne(0)):
        f.ret(code(f, "NO_FEATURE"))
    size, need = number(f, "context_bytes"), number(f, "arena_bytes")
    ctx = take(f, size).as_(CONTEXT)
    with f.when(ctx.null()):
        f.ret(code(f, "NO_MEMORY"))
    memset(f, ctx, 0, size)
    arena = take(f, need)
    with f.when(arena.null()):
        free(f, ctx)
        f.ret(code(f, "NO_MEMORY"))
    # The arena is touched now, so that the first run does not pay for its pages; what is before it may never be used.
    first = number(f, "arena_at")
    memset(f, arena.offset(first), 0, need - first)
    ctx["arena"].store(arena)
    ctx["constants"].store(hold_constants(f))
    failed = surround(f, ctx, threads)
    with f.when(failed.ne(0)):
        drop_context(f, ctx)
        f.ret(failed)
    out.store(ctx)
    return code(f, "OK")


@native
def drop_context(f: Emitter, ctx: Context) -> None:
    """Give back what a context has, but for its surroundings."""
    drop_constants(f)
    free(f, ctx["arena"].load())
    free(f, ctx)
