"""Timing inside machine code: the clock is read next to the call, with no Python in between.

Python's own part of a call costs 0.5 us when caches are hot and up to 30 us when they are cold, which is a large
error on the short kernels of a network. The functions here are compiled once per process and call any kernel through
its address.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.arguments import whole
from workbench.locks import once
from workbench.runtime.buffers import Array, RuntimeStruct, pointer_table

_ADDRESS = ctypes.c_void_p
_TIME_TYPE = ctypes.CFUNCTYPE(
    None, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, _ADDRESS, _ADDRESS
)

# Clock numbers of clock_gettime; Windows has one clock here.
_CLOCKS = {"linux": (1, 3), "darwin": (6, 16)}

_POSIX_NOW = """
declare i32 @clock_gettime(i32, ptr)
define internal i64 @now(i32 %clock) nounwind {
  %ts = alloca [2 x i64], align 16
  %r = call i32 @clock_gettime(i32 %clock, ptr %ts)
  %s = load i64, ptr %ts, align 8
  %np = getelementptr inbounds i64, ptr %ts, i64 1
  %n = load i64, ptr %np, align 8
  %b = mul i64 %s, 1000000000
  %t = add i64 %b, %n
  ret i64 %t
}
"""

_WINDOWS_NOW = """
declare i32 @QueryPerformanceCounter(ptr)
declare i32 @QueryPerformanceFrequency(ptr)
define internal i64 @now(i32 %clock) nounwind {
  %c = alloca [2 x i64], align 16
  %fp = getelementptr inbounds i64, ptr %c, i64 1
  %r = call i32 @QueryPerformanceCounter(ptr %c)
  %q = call i32 @QueryPerformanceFrequency(ptr %fp)
  %t = load i64, ptr %c, align 8
  %f = load i64, ptr %fp, align 8
  %whole = udiv i64 %t, %f
  %rest = urem i64 %t, %f
  %a = mul i64 %whole, 1000000000
  %b = mul i64 %rest, 1000000000
  %d = udiv i64 %b, %f
  %n = add i64 %a, %d
  ret i64 %n
}
"""

# flush: table = { ptr start, i64 bytes } ..., ended by a null pointer. %LINE% and %SETTLE% depend on the machine.
_COMMON = """
%DECLARE%
define void @wb_flush(ptr %table) nounwind {
entry:
  br label %row
row:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %at = getelementptr inbounds i64, ptr %table, i64 %k
  %p = load ptr, ptr %at, align 8
  %end = icmp eq ptr %p, null
  br i1 %end, label %out, label %size
size:
  %sp = getelementptr inbounds i64, ptr %at, i64 1
  %n = load i64, ptr %sp, align 8
  br label %line
line:
  %i = phi i64 [ 0, %size ], [ %i1, %line ]
  %q = getelementptr inbounds i8, ptr %p, i64 %i
  %LINE%
  %i1 = add i64 %i, 64
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %line, label %next
next:
  %k1 = add i64 %k, 2
  br label %row
out:
  %SETTLE%
  ret void
}
define void @wb_time(ptr %fn, ptr %bufs, ptr %ws, ptr %rt, i64 %reps, i64 %number, i32 %clock,
                     ptr %flush, ptr %out) nounwind {
entry:
  %flushing = icmp ne ptr %flush, null
  br label %rep
rep:
  %i = phi i64 [ 0, %entry ], [ %i1, %done ]
  br i1 %flushing, label %cold, label %start
cold:
  call void @wb_flush(ptr %flush)
  br label %start
start:
  %t0 = call i64 @now(i32 %clock)
  br label %call
call:
  %j = phi i64 [ 0, %start ], [ %j1, %call ]
  call void %fn(ptr %bufs, ptr %ws, ptr %rt)
  %j1 = add i64 %j, 1
  %again = icmp ult i64 %j1, %number
  br i1 %again, label %call, label %done
done:
  %t1 = call i64 @now(i32 %clock)
  %d = sub i64 %t1, %t0
  %o = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %d, ptr %o, align 8
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %reps
  br i1 %more, label %rep, label %out2
out2:
  ret void
}
; table = { i64 calls; ptr stamps or null; i64 clock; i64 stop; { ptr fn, ptr bufs } ... }; has the ABI of a kernel.
; A call that sets `stop` is the last one.
define void @wb_walk(ptr %table, ptr %ws, ptr %rt) nounwind {
entry:
  %n = load i64, ptr %table, align 8
  %sp = getelementptr inbounds i64, ptr %table, i64 1
  %stamps = load ptr, ptr %sp, align 8
  %cp = getelementptr inbounds i64, ptr %table, i64 2
  %clock = load i32, ptr %cp, align 8
  %stopp = getelementptr inbounds i64, ptr %table, i64 3
  %rows = getelementptr inbounds i64, ptr %table, i64 4
  %timing = icmp ne ptr %stamps, null
  %any = icmp ne i64 %n, 0
  br i1 %any, label %loop, label %out
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  br i1 %timing, label %stamp, label %go
stamp:
  %t = call i64 @now(i32 %clock)
  %q = getelementptr inbounds i64, ptr %stamps, i64 %i
  store i64 %t, ptr %q, align 8
  br label %go
go:
  %i2 = shl i64 %i, 1
  %row = getelementptr inbounds ptr, ptr %rows, i64 %i2
  %fn = load ptr, ptr %row, align 8
  %bp = getelementptr inbounds ptr, ptr %row, i64 1
  %bufs = load ptr, ptr %bp, align 8
  call void %fn(ptr %bufs, ptr %ws, ptr %rt)
  %stop = load i64, ptr %stopp, align 8
  %failed = icmp ne i64 %stop, 0
  br i1 %failed, label %out, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %last
last:
  br i1 %timing, label %final, label %out
final:
  %tl = call i64 @now(i32 %clock)
  %ql = getelementptr inbounds i64, ptr %stamps, i64 %n
  store i64 %tl, ptr %ql, align 8
  br label %out
out:
  ret void
}
"""


def harness_text(system: str, machine: str, features: Container[str] = ()) -> str:
    """Return the LLVM text of the harness for an operating system (`sys.platform`), a machine (`platform.machine()`)
    and the features of its processor (LLVM's names).
    """
    if machine.lower() in ("x86_64", "amd64") and "clflushopt" in features:
        # Many lines at once: a dozen times as fast as the older instruction, which waits for each of them.
        declare = "declare void @llvm.x86.sse2.mfence()"
        line = 'call void asm sideeffect "clflushopt ($0)", "r,~{memory}"(ptr %q)'
        settle = "call void @llvm.x86.sse2.mfence()"
    elif machine.lower() in ("x86_64", "amd64"):
        declare = "declare void @llvm.x86.sse2.clflush(ptr)\ndeclare void @llvm.x86.sse2.mfence()"
        line, settle = "call void @llvm.x86.sse2.clflush(ptr %q)", "call void @llvm.x86.sse2.mfence()"
    elif machine.lower() in ("aarch64", "arm64"):
        declare = ""
        line = 'call void asm sideeffect "dc civac, $0", "r,~{memory}"(ptr %q)'
        settle = 'call void asm sideeffect "dsb ish", "~{memory}"()'
    else:
        declare, line, settle = "", "%byte = load volatile i8, ptr %q", ""
    common = _COMMON.replace("%DECLARE%", declare).replace("%LINE%", line).replace("%SETTLE%", settle)
    return clock_text(system) + common


def clock_text(system: str) -> str:
    """Return the LLVM text of ``i64 now(i32 clock)``, in nanoseconds."""
    return _WINDOWS_NOW if system == "win32" else _POSIX_NOW


@dataclass(frozen=True, slots=True)
class _Code:
    library: object
    time: int
    flush: int
    walk: int


@once
def _code() -> _Code:
    from workbench.codegen.llvm import llvm_bind

    names = ("wb_time", "wb_flush", "wb_walk")
    features = {name for name, here in llvm_bind.host_features() if here}
    text = harness_text(sys.platform, platform.machine(), features)
    library = llvm_bind.load_object(llvm_bind.compile_ir(text), names)
    return _Code(library, *(library[name] for name in names))


def wall_clock() -> int:
    """Return the operating system's number of the monotonic clock."""
    return _CLOCKS.get(sys.platform, _CLOCKS["linux"])[0]


def cpu_clock() -> int:
    """Return the operating system's number of the clock of this thread's processor time."""
    return _CLOCKS.get(sys.platform, _CLOCKS["linux"])[1]


def clock_for(threads: int) -> int:
    """Processor time for one thread, because other programs cannot disturb it; wall time for several."""
    return cpu_clock() if threads == 1 else wall_clock()


def walk_address() -> int:
    """Return the address of the driver that walks a call table; it has the ABI of a kernel."""
    return _code().walk


def call_table(rows: Sequence[int]) -> Array:
    """Return a table for the driver: `rows` are the addresses of a kernel and of its buffers, for one call after the
    other.
    """
    return pointer_table([len(rows) // 2, 0, wall_clock(), 0, *rows])


#: Words of a call table: where the driver writes one time per call and one at the end (0: nowhere); the clock it reads;
#: not 0 ends a walk.
STAMPS, CLOCK, STOP = 1, 2, 3
_HEADER = 4


def set_calls(table: Array, rows: Array) -> None:
    """Make `rows` what a call table walks through; no more than it was made with."""
    table[0] = len(rows) // 2
    table[_HEADER : _HEADER + len(rows)] = rows


def flush_table(arrays: Sequence[Array]) -> Array:
    """Return the table of memory ranges that `time_calls` evicts from the caches before each repetition."""
    rows = [number for a in arrays if a.nbytes for number in (a.ctypes.data, a.nbytes)]
    return pointer_table([*rows, 0, 0])


def time_calls(
    fn: int,
    bufs: int,
    workspace: int,
    rt: RuntimeStruct,
    repeat: int,
    number: int,
    clock: int,
    flush: Array | None = None,
) -> Array:
    """Call a kernel ``repeat * number`` times.

    Parameters
    ----------
    fn, bufs, workspace : int
        Addresses: the kernel, its table of buffers, its workspace.
    rt : RuntimeStruct
        Threads and launch function.
    repeat, number : int
        Repetitions, and calls per repetition.
    clock : int
        `clock_for` the number of threads.
    flush : array or None
        `flush_table` of what to evict before each repetition; None leaves the caches alone.

    Returns
    -------
    array of float64, shape (repeat,)
        Nanoseconds per call.

    Raises
    ------
    UsageError
        ``usage.repeat`` for numbers below 1: the loops inside test at their end.
    """
    whole("repeat", repeat, code="usage.repeat")
    whole("number", number, code="usage.repeat")
    out = np.zeros(repeat, np.int64)
    table = 0 if flush is None else int(flush.ctypes.data)
    _TIME_TYPE(_code().time)(
        fn, bufs, workspace, ctypes.addressof(rt), repeat, number, clock, table, int(out.ctypes.data)
    )
    return out / number
