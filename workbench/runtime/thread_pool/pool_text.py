"""The machine code of the thread pool, as LLVM text; `workbench.runtime.thread_pool.pool` says how it works."""

from __future__ import annotations

from dataclasses import dataclass

#: Most tasks in one ticket word; larger regions are cut into pieces of this many. Each counter has two bits more, which
#: is room for every thread to ask once too often.
REGION_LIMIT = 1 << 18
_FIELD = 20
_MASK = (1 << _FIELD) - 1

#: Most threads a pool may have (one 8-byte slot each, see `LAYOUT`).
MAX_THREADS = 1024

# Byte offsets inside a pool. Words that different threads write live on different cache lines.
LAYOUT = {
    "ticket": 0,  # i64: ntasks << 40 | taken from the back << 20 | taken from the front
    "done": 64,  # i64: finished tasks of this region
    "wake": 128,  # i32: number of regions so far (futex word)
    "sleepers": 132,  # i32: workers in the futex
    "waiting": 136,  # i32: 1 while the launching thread sleeps until the last task is finished
    "busy": 192,  # i32: 1 while a region runs
    "fn": 256,
    "ctx": 264,
    "base": 272,  # i64: first task of this piece
    "spin": 280,  # i32: idle spins before sleeping
    "stop": 284,  # i32: 1 tells the workers to leave
    "nthreads": 288,  # i64: number of slots below
    "owner": 320,  # i64 per thread: the operating system's id of thread `tid`
}

POOL_BYTES = LAYOUT["owner"] + 8 * MAX_THREADS


@dataclass(frozen=True, slots=True)
class Platform:
    """The few pieces of LLVM text that differ between machines."""

    declarations: str
    pause: str
    self_id: str  # defines %self, an i64
    sleep: str  # blocks while the word at %wp still holds %e, or for a moment
    wake: str  # wakes up to %count sleepers
    rest: str  # blocks until the word at %donep differs from %d, or lets another thread run
    rouse: str  # ends the block of `rest`
    spin: int  # idle spins, about a millisecond


def platform_parts(system: str, machine: str) -> Platform:
    """Return the pieces for an operating system (`sys.platform`) and a machine (`platform.machine()`)."""
    machine = machine.lower()
    x86 = machine in ("x86_64", "amd64", "i686")
    arm = machine in ("aarch64", "arm64")
    if x86:
        pause, declared = "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()\n"
    elif arm:
        pause, declared = "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)\n"
    else:
        pause, declared = "fence acquire", ""
    spin = 20_000 if x86 else 200_000
    if system == "win32":
        return Platform(
            declared + "declare i32 @GetCurrentThreadId()\ndeclare i32 @SwitchToThread()\ndeclare void @Sleep(i32)",
            pause,
            "%self32 = call i32 @GetCurrentThreadId()\n  %self = zext i32 %self32 to i64",
            "call void @Sleep(i32 1)",
            "",
            "%gave = call i32 @SwitchToThread()",
            "",
            spin,
        )
    declared += "declare i64 @pthread_self()\ndeclare i32 @sched_yield()\ndeclare i32 @usleep(i32)\n"
    self_id = "%self = call i64 @pthread_self()"
    give_way = "%gave = call i32 @sched_yield()"
    if system == "linux" and (x86 or arm):
        number = 202 if x86 else 98
        call = f"call i64 (i64, ...) @syscall(i64 {number}, ptr %wp, i64"
        on_done = f"call i64 (i64, ...) @syscall(i64 {number}, ptr %donep, i64"
        return Platform(
            declared + "declare i64 @syscall(i64, ...)",
            pause,
            self_id,
            # FUTEX_WAIT | PRIVATE; the kernel compares the word again, so a wake between check and sleep is not lost.
            f"%ew = zext i32 %e to i64\n  %slept = {call} 128, i64 %ew, ptr null, ptr null, i64 0)",
            f"%woke = {call} 129, i64 %count, ptr null, ptr null, i64 0)",
            # The futex is the lower half of the count; both machines are little-endian.
            f"%rested = {on_done} 128, i64 %d, ptr null, ptr null, i64 0)",
            f"%roused = {on_done} 129, i64 1, ptr null, ptr null, i64 0)",
            spin,
        )
    return Platform(declared, pause, self_id, "%slept = call i32 @usleep(i32 200)", "", give_way, "", spin)


def _at(name: str, register: str) -> str:
    return f"{register} = getelementptr inbounds i8, ptr %pool, i64 {LAYOUT[name]}"


def runtime_text(system: str, machine: str) -> str:
    """Return the LLVM text of the pool; arguments as for `platform_parts`."""
    p = platform_parts(system, machine)
    return "\n".join(
        [p.declarations, _drain_text(p), _worker_text(p), _wake_text(p), _region_text(p), _launch_text(p), _SERIAL]
    )


def _drain_text(p: Platform) -> str:
    """Take tasks until none is left, even threads from the front and odd ones from the back.

    So a core gets the same end of the data in one region after the other and finds it in its own cache. A ticket is
    good while fewer than ntasks were taken at both ends together, which makes the two ends meet exactly. The plain
    load first keeps idle threads from pushing the counters up without bound. What a thread has finished it adds to the
    common count when it finds nothing more to do: one addition per thread and region, not one per task.
    """
    return f"""
define internal void @drain(ptr %pool, i64 %tid) nounwind {{
entry:
  {_at("done", "%donep")}
  {_at("waiting", "%waitp")}
  {_at("fn", "%fnp")}
  {_at("ctx", "%ctxp")}
  {_at("base", "%basep")}
  %odd = and i64 %tid, 1
  %back = icmp ne i64 %odd, 0
  %step = select i1 %back, i64 {1 << _FIELD}, i64 1
  br label %look
look:
  %own = phi i64 [ 0, %entry ], [ %own1, %work ]
  %t0 = load atomic i64, ptr %pool acquire, align 8
  %f0 = and i64 %t0, {_MASK}
  %s0 = lshr i64 %t0, {_FIELD}
  %b0 = and i64 %s0, {_MASK}
  %n0 = lshr i64 %t0, {2 * _FIELD}
  %taken0 = add i64 %f0, %b0
  %some = icmp ult i64 %taken0, %n0
  br i1 %some, label %take, label %out
take:
  %t = atomicrmw add ptr %pool, i64 %step acq_rel
  %f = and i64 %t, {_MASK}
  %s = lshr i64 %t, {_FIELD}
  %b = and i64 %s, {_MASK}
  %n = lshr i64 %t, {2 * _FIELD}
  %taken = add i64 %f, %b
  %mine = icmp ult i64 %taken, %n
  %last = sub i64 %n, 1
  %fromback = sub i64 %last, %b
  %next = select i1 %back, i64 %fromback, i64 %f
  br i1 %mine, label %work, label %out
work:
  %fn = load ptr, ptr %fnp, align 8
  %ctx = load ptr, ptr %ctxp, align 8
  %base = load i64, ptr %basep, align 8
  %task = add i64 %base, %next
  call void %fn(ptr %ctx, i64 %task, i64 %tid)
  %own1 = add i64 %own, 1
  br label %look
out:
  %none = icmp eq i64 %own, 0
  br i1 %none, label %end, label %count
count:
  %d = atomicrmw add ptr %donep, i64 %own seq_cst
  %asleep = load atomic i32, ptr %waitp seq_cst, align 4
  %somebody = icmp ne i32 %asleep, 0
  br i1 %somebody, label %rouse, label %end
rouse:
  {p.rouse}
  br label %end
end:
  ret void
}}"""


def _worker_text(p: Platform) -> str:
    return f"""
define void @wb_worker(ptr %pool, i64 %tid, i32 %seen0) nounwind {{
entry:
  {_at("wake", "%wp")}
  {_at("sleepers", "%slp")}
  {_at("spin", "%spp")}
  {_at("stop", "%stp")}
  {_at("owner", "%ownp")}
  {p.self_id}
  %slot = getelementptr inbounds i64, ptr %ownp, i64 %tid
  store atomic i64 %self, ptr %slot release, align 8
  br label %wait
wait:
  %e = phi i32 [ %seen0, %entry ], [ %now, %work ]
  %limit = load atomic i32, ptr %spp monotonic, align 4
  br label %spin
spin:
  %k = phi i32 [ 0, %wait ], [ %k1, %again ]
  %v = load atomic i32, ptr %wp acquire, align 4
  %news = icmp ne i32 %v, %e
  br i1 %news, label %go, label %again
again:
  {p.pause}
  %k1 = add i32 %k, 1
  %more = icmp slt i32 %k1, %limit
  br i1 %more, label %spin, label %sleep
sleep:
  %s1 = atomicrmw add ptr %slp, i32 1 seq_cst
  {p.sleep}
  %s2 = atomicrmw sub ptr %slp, i32 1 seq_cst
  %v2 = load atomic i32, ptr %wp acquire, align 4
  %news2 = icmp ne i32 %v2, %e
  br i1 %news2, label %go, label %sleep
go:
  %now = load atomic i32, ptr %wp acquire, align 4
  %st = load atomic i32, ptr %stp acquire, align 4
  %leave = icmp ne i32 %st, 0
  br i1 %leave, label %out, label %work
work:
  call void @drain(ptr %pool, i64 %tid)
  br label %wait
out:
  ret void
}}"""


def _wake_text(p: Platform) -> str:
    """Announce news to the workers; the order (count up, then look for sleepers) is the other half of the worker's."""
    return f"""
define void @wb_wake(ptr %pool, i64 %count) nounwind {{
entry:
  {_at("wake", "%wp")}
  {_at("sleepers", "%slp")}
  %o = atomicrmw add ptr %wp, i32 1 seq_cst
  %asleep = load atomic i32, ptr %slp seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %call, label %out
call:
  {p.wake}
  br label %out
out:
  ret void
}}"""


def _region_text(p: Platform) -> str:
    """Run one piece of at most REGION_LIMIT tasks on a pool that the caller holds.

    A caller that waits for the last tasks of others spins for a moment, then sleeps. It does not yield: on a busy
    machine that gives whole time slices to strangers. It says that it waits before it looks at the count once more, and
    the others look for it after they have counted, so that one of the two always sees the other.
    """
    return f"""
define internal void @region(ptr %pool, i64 %base, i64 %n) nounwind {{
entry:
  {_at("done", "%donep")}
  {_at("base", "%basep")}
  {_at("waiting", "%waitp")}
  {_at("spin", "%spp")}
  %limit = load atomic i32, ptr %spp monotonic, align 4
  store i64 %base, ptr %basep, align 8
  store atomic i64 0, ptr %donep release, align 8
  %word = shl i64 %n, {2 * _FIELD}
  store atomic i64 %word, ptr %pool seq_cst, align 8
  %others = sub i64 %n, 1
  call void @wb_wake(ptr %pool, i64 %others)
  call void @drain(ptr %pool, i64 0)
  br label %join
join:
  %k = phi i32 [ 0, %entry ], [ %k1, %again ]
  %d0 = load atomic i64, ptr %donep acquire, align 8
  %all0 = icmp eq i64 %d0, %n
  br i1 %all0, label %out, label %again
again:
  {p.pause}
  %k1 = add i32 %k, 1
  %more = icmp slt i32 %k1, %limit
  br i1 %more, label %join, label %doze
doze:
  store atomic i32 1, ptr %waitp seq_cst, align 4
  br label %sleep
sleep:
  %d = load atomic i64, ptr %donep seq_cst, align 8
  %all = icmp eq i64 %d, %n
  br i1 %all, label %awake, label %rest
rest:
  {p.rest}
  br label %sleep
awake:
  store atomic i32 0, ptr %waitp release, align 4
  br label %out
out:
  ret void
}}"""


def _launch_text(p: Platform) -> str:
    return f"""
define void @wb_launch(ptr %pool, ptr %fn, ptr %ctx, i64 %n) nounwind {{
entry:
  {_at("busy", "%busyp")}
  {_at("owner", "%ownp")}
  %few = icmp slt i64 %n, 2
  %held = load atomic i32, ptr %busyp monotonic, align 4
  %isheld = icmp ne i32 %held, 0
  %whose = or i1 %few, %isheld
  br i1 %whose, label %inline, label %try
try:
  %pair = cmpxchg ptr %busyp, i32 0, i32 1 acq_rel monotonic
  %got = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %got, label %own, label %inline
own:
  {p.self_id}
  store atomic i64 %self, ptr %ownp release, align 8
  {_at("fn", "%fnp")}
  {_at("ctx", "%ctxp")}
  store ptr %fn, ptr %fnp, align 8
  store ptr %ctx, ptr %ctxp, align 8
  br label %pieces
pieces:
  %base = phi i64 [ 0, %own ], [ %next, %pieces ]
  %rest = sub i64 %n, %base
  %short = icmp ult i64 %rest, {REGION_LIMIT}
  %size = select i1 %short, i64 %rest, i64 {REGION_LIMIT}
  call void @region(ptr %pool, i64 %base, i64 %size)
  %next = add i64 %base, %size
  %more = icmp ult i64 %next, %n
  br i1 %more, label %pieces, label %release
release:
  store atomic i32 0, ptr %busyp release, align 4
  ret void
inline:
  %tid = call i64 @find_self(ptr %pool)
  call void @all_here(ptr %fn, ptr %ctx, i64 %n, i64 %tid)
  ret void
}}
define internal i64 @find_self(ptr %pool) nounwind {{
entry:
  {_at("nthreads", "%np")}
  {_at("owner", "%ownp")}
  {p.self_id}
  %n = load i64, ptr %np, align 8
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %slot = getelementptr inbounds i64, ptr %ownp, i64 %i
  %id = load atomic i64, ptr %slot acquire, align 8
  %same = icmp eq i64 %id, %self
  br i1 %same, label %found, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %look, label %stranger
found:
  ret i64 %i
stranger:
  ret i64 0
}}"""


_SERIAL = """
define internal void @all_here(ptr %fn, ptr %ctx, i64 %n, i64 %tid) nounwind {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %out
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  call void %fn(ptr %ctx, i64 %i, i64 %tid)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}
define void @wb_launch_serial(ptr %pool, ptr %fn, ptr %ctx, i64 %n) nounwind {
entry:
  call void @all_here(ptr %fn, ptr %ctx, i64 %n, i64 0)
  ret void
}
"""
