"""The part of an exported library that is the same for every network, as LLVM text: contexts, threads, the run itself.

A context is one block of memory: the words of `CONTEXT`, then one pointer for each input and output (where they are
during a run), then the table of all kernels' arguments. Two more blocks belong to it: the arena, with room for copies
of the plan's `lines`, and the surroundings of kernels (thread pool, threads, workspace), which `set_threads` replaces.
Contexts share the constants and nothing else, so any number of them may run at the same time.

What differs from network to network are the tables that `tables` writes: ``@calls``, ``@args``, ``@results``,
``@inputs``, ``@outputs``, ``@stage``, ``@spaces`` and ``@checks``.
"""

from __future__ import annotations

from workbench.runtime.export.calls_text import PUBLIC, RUN
from workbench.runtime.export.memory_text import CONSTANTS, MEMORY
from workbench.runtime.thread_pool.pool_text import LAYOUT, MAX_THREADS, POOL_BYTES, platform_parts

#: Byte offsets inside a context.
CONTEXT = {
    "busy": 0,  # i32: 1 while it runs
    "threads": 4,  # i32
    "process": 8,  # i32: the process that started the threads; a forked child has none
    "arena": 16,
    "around": 24,  # pool, threads, workspace
    "workspace": 32,
    "constants": 40,
    "rt": 64,  # what kernels get: { i64 threads; ptr pool; ptr launch }
    "places": 128,  # a pointer for each input and output, then the arguments
}

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
_CODE = {name: number for number, name in enumerate(ERRORS)}

_RECORD = 32  # of a thread: { i64 thread; ptr pool; i64 tid }
_STACK = 8 << 20
_LARGE, _HUGE_PAGE = 512 << 10, 2 << 20


def library_text(prefix: str, system: str, machine: str) -> str:
    """Return the text, without the pool's and without the tables; the exported functions begin with `prefix`.

    Parameters
    ----------
    prefix : str
        What every public name begins with.
    system, machine : str
        As for `workbench.runtime.thread_pool.pool_text.runtime_text`.
    """
    text = _DECLARED + MEMORY + CONSTANTS + _THREADS + _AROUND + _CREATE + RUN + PUBLIC
    values = {
        "P": prefix,
        "ABI": ABI,
        "SPIN": platform_parts(system, machine).spin,
        "POOL": POOL_BYTES,
        "RECORD": _RECORD,
        "STACK": _STACK,
        "LARGE": _LARGE,
        "HUGE": _HUGE_PAGE,
        "MAX": MAX_THREADS,
        **{f"POOL_{name}": at for name, at in LAYOUT.items()},
        **{f"AT_{name}": at for name, at in CONTEXT.items()},
        **_CODE,
        "ERRORS": len(ERRORS),
    }
    for name, value in values.items():
        text = text.replace(f"[{name}]", str(value))
    return text


_DECLARED = """
%call = type { ptr, i64 }
%place = type { i64, i64 }
%tensor = type { ptr, ptr, ptr, i64, i32 }
declare i32 @posix_memalign(ptr, i64, i64)
declare i32 @madvise(ptr, i64, i32)
declare void @free(ptr)
declare ptr @memset(ptr, i32, i64)
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @getpid()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.ctpop.i64(i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
"""

_THREADS = """
define internal ptr @enter(ptr %record) nounwind {
  %pp = getelementptr i8, ptr %record, i64 8
  %pool = load ptr, ptr %pp, align 8
  %tp = getelementptr i8, ptr %record, i64 16
  %tid = load i64, ptr %tp, align 8
  call void @wb_worker(ptr %pool, i64 %tid, i32 0)
  ret ptr null
}
; Start threads 1 ... n-1 of a pool; returns how many there are then, the caller included. They take no signals: these
; belong to the program that uses the library.
define internal i64 @start(ptr %pool, i64 %n) nounwind {
entry:
  %attr = alloca [256 x i8], align 16
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %some = icmp ugt i64 %n, 1
  br i1 %some, label %prepare, label %alone
alone:
  ret i64 1
prepare:
  %a = call i32 @pthread_attr_init(ptr %attr)
  %b = call i32 @pthread_attr_setstacksize(ptr %attr, i64 [STACK])
  %c = call i32 @sigfillset(ptr %all)
  %d = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %before) ; SIG_SETMASK
  br label %next
next:
  %tid = phi i64 [ 1, %prepare ], [ %tid1, %begun ]
  %off = mul i64 %tid, [RECORD]
  %at = add i64 %off, [POOL]
  %record = getelementptr i8, ptr %pool, i64 %at
  %pp = getelementptr i8, ptr %record, i64 8
  store ptr %pool, ptr %pp, align 8
  %tp = getelementptr i8, ptr %record, i64 16
  store i64 %tid, ptr %tp, align 8
  %rc = call i32 @pthread_create(ptr %record, ptr %attr, ptr @enter, ptr %record)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %end, label %begun
begun:
  %tid1 = add i64 %tid, 1
  %more = icmp ult i64 %tid1, %n
  br i1 %more, label %next, label %end
end:
  %count = phi i64 [ %tid, %next ], [ %tid1, %begun ]
  %e = call i32 @pthread_sigmask(i32 2, ptr %before, ptr null)
  %f = call i32 @pthread_attr_destroy(ptr %attr)
  ret i64 %count
}
; Let threads 1 ... n-1 of a pool go, wait for them, and give their memory back.
define internal void @leave(ptr %pool, i64 %n, i32 %process) nounwind {
entry:
  %none = icmp eq ptr %pool, null
  br i1 %none, label %out, label %look
look:
  %self = call i32 @getpid()
  %own = icmp eq i32 %self, %process
  %some = icmp ugt i64 %n, 1
  %do = and i1 %own, %some
  br i1 %do, label %stop, label %drop
stop:
  %sp = getelementptr i8, ptr %pool, i64 [POOL_stop]
  store atomic i32 1, ptr %sp seq_cst, align 4
  call void @wb_wake(ptr %pool, i64 [MAX])
  br label %join
join:
  %tid = phi i64 [ 1, %stop ], [ %tid1, %join ]
  %off = mul i64 %tid, [RECORD]
  %at = add i64 %off, [POOL]
  %record = getelementptr i8, ptr %pool, i64 %at
  %thread = load i64, ptr %record, align 8
  %rc = call i32 @pthread_join(i64 %thread, ptr null)
  %tid1 = add i64 %tid, 1
  %more = icmp ult i64 %tid1, %n
  br i1 %more, label %join, label %drop
drop:
  call void @free(ptr %pool)
  br label %out
out:
  ret void
}
"""

_AROUND = """
; Workspace that the kernels need with n threads.
define internal i64 @space(i64 %n) nounwind {
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %i1, %look ]
  %most = phi i64 [ 64, %entry ], [ %most1, %look ]
  %count = load i64, ptr @space_count, align 8
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %out
look:
  %row = getelementptr %place, ptr @spaces, i64 %i
  %shared = load i64, ptr %row, align 8
  %ep = getelementptr i8, ptr %row, i64 8
  %each = load i64, ptr %ep, align 8
  %own = mul i64 %each, %n
  %need = add i64 %shared, %own
  %larger = icmp ugt i64 %need, %most
  %most1 = select i1 %larger, i64 %need, i64 %most
  %i1 = add i64 %i, 1
  br label %test
out:
  ret i64 %most
}
; Processors that this process may use; many where the system does not tell.
define internal i64 @processors() nounwind {
entry:
  %mask = alloca [128 x i8], align 16
  %zero = call ptr @memset(ptr %mask, i32 0, i64 128)
  %rc = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %bad = icmp slt i32 %rc, 0
  br i1 %bad, label %many, label %next
many:
  ret i64 [MAX]
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %sum = phi i64 [ 0, %entry ], [ %sum1, %next ]
  %p = getelementptr i64, ptr %mask, i64 %i
  %word = load i64, ptr %p, align 8
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %sum1 = add i64 %sum, %bits
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 16
  br i1 %more, label %next, label %out
out:
  ret i64 %sum1
}
; Give a context a pool of n threads and a workspace in place of what it has; it keeps that where this fails.
define internal i32 @surround(ptr %ctx, i32 %threads) nounwind {
entry:
  %n = zext i32 %threads to i64
  %recs = mul i64 %n, [RECORD]
  %recs63 = add i64 %recs, 63
  %recs64 = and i64 %recs63, -64
  %at = add i64 %recs64, [POOL]
  %need = call i64 @space(i64 %n)
  %size = add i64 %at, %need
  %pool = call ptr @take(i64 %size)
  %none = icmp eq ptr %pool, null
  br i1 %none, label %nomem, label %fill
nomem:
  ret i32 [NO_MEMORY]
fill:
  %zero = call ptr @memset(ptr %pool, i32 0, i64 %size)
  %cores = call i64 @processors()
  %crowded = icmp ugt i64 %n, %cores
  %spin = select i1 %crowded, i32 200, i32 [SPIN]
  %spinp = getelementptr i8, ptr %pool, i64 [POOL_spin]
  store i32 %spin, ptr %spinp, align 4
  %np = getelementptr i8, ptr %pool, i64 [POOL_nthreads]
  store i64 %n, ptr %np, align 8
  %self = call i32 @getpid()
  %there = call i64 @start(ptr %pool, i64 %n)
  %all = icmp eq i64 %there, %n
  br i1 %all, label %swap, label %few
few:
  call void @leave(ptr %pool, i64 %there, i32 %self)
  ret i32 [NO_THREADS]
swap:
  call void @unsurround(ptr %ctx)
  %tp = getelementptr i8, ptr %ctx, i64 [AT_threads]
  store i32 %threads, ptr %tp, align 4
  %pp = getelementptr i8, ptr %ctx, i64 [AT_process]
  store i32 %self, ptr %pp, align 4
  %ap = getelementptr i8, ptr %ctx, i64 [AT_around]
  store ptr %pool, ptr %ap, align 8
  %work = getelementptr i8, ptr %pool, i64 %at
  %wp = getelementptr i8, ptr %ctx, i64 [AT_workspace]
  store ptr %work, ptr %wp, align 8
  %rt = getelementptr i8, ptr %ctx, i64 [AT_rt]
  store i64 %n, ptr %rt, align 8
  %rtpool = getelementptr i8, ptr %rt, i64 8
  store ptr %pool, ptr %rtpool, align 8
  %one = icmp eq i64 %n, 1
  %launch = select i1 %one, ptr @wb_launch_serial, ptr @wb_launch
  %rtlaunch = getelementptr i8, ptr %rt, i64 16
  store ptr %launch, ptr %rtlaunch, align 8
  ret i32 [OK]
}
define internal void @unsurround(ptr %ctx) nounwind {
  %ap = getelementptr i8, ptr %ctx, i64 [AT_around]
  %pool = load ptr, ptr %ap, align 8
  %tp = getelementptr i8, ptr %ctx, i64 [AT_threads]
  %threads = load i32, ptr %tp, align 4
  %n = zext i32 %threads to i64
  %pp = getelementptr i8, ptr %ctx, i64 [AT_process]
  %process = load i32, ptr %pp, align 4
  call void @leave(ptr %pool, i64 %n, i32 %process)
  ret void
}
"""

_CREATE = """
define internal i32 @create(i32 %threads, ptr %out) nounwind {
entry:
  %lacks = call ptr @missing()
  %unfit = icmp ne ptr %lacks, null
  br i1 %unfit, label %nofeature, label %take
nofeature:
  ret i32 [NO_FEATURE]
take:
  %bytes = load i64, ptr @context_bytes, align 8
  %ctx = call ptr @take(i64 %bytes)
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %nomem, label %room
room:
  %zero = call ptr @memset(ptr %ctx, i32 0, i64 %bytes)
  %need = load i64, ptr @arena_bytes, align 8
  %arena = call ptr @take(i64 %need)
  %noarena = icmp eq ptr %arena, null
  br i1 %noarena, label %dropctx, label %around
around:
  ; The arena is touched now, so that the first run does not pay for its pages; what is before it may never be used.
  %from = load i64, ptr @arena_at, align 8
  %first = getelementptr i8, ptr %arena, i64 %from
  %rest = sub i64 %need, %from
  %touched = call ptr @memset(ptr %first, i32 0, i64 %rest)
  %ap = getelementptr i8, ptr %ctx, i64 [AT_arena]
  store ptr %arena, ptr %ap, align 8
  %constants = call ptr @hold_constants()
  %cp = getelementptr i8, ptr %ctx, i64 [AT_constants]
  store ptr %constants, ptr %cp, align 8
  %rc = call i32 @surround(ptr %ctx, i32 %threads)
  %failed = icmp ne i32 %rc, 0
  br i1 %failed, label %droparena, label %done
done:
  store ptr %ctx, ptr %out, align 8
  ret i32 [OK]
droparena:
  call void @drop_constants()
  call void @free(ptr %arena)
  call void @free(ptr %ctx)
  ret i32 %rc
dropctx:
  call void @free(ptr %ctx)
  br label %nomem
nomem:
  ret i32 [NO_MEMORY]
}
"""
