"""Timing inside machine code: the clock is read next to the call, with no Python in between.

Python's own part of a call costs 0.5 us when caches are hot and up to 30 us when they are cold, which is a large
error on the short kernels of a network. The functions here are compiled once per process and call any kernel through
its address.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from workbench.arguments import whole
from workbench.locks import once
from workbench.runtime.buffers import Array, RuntimeStruct, pointer_table
from workbench.runtime.native.emitter import (
    I32,
    I64,
    Emitter,
    External,
    Ptr,
    Value,
    Words,
    call,
    exported,
    native,
)
from workbench.runtime.native.floating_point import flushing
from workbench.runtime.native.jit import load
from workbench.runtime.native.structs import Pointer, Struct

if TYPE_CHECKING:
    from workbench.codegen.llvm.llvmlite_binding import Library

_ADDRESS = ctypes.c_void_p
_TIME_TYPE = ctypes.CFUNCTYPE(
    None, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, _ADDRESS, _ADDRESS
)

# Clock numbers of clock_gettime; Windows has one clock here.
_CLOCKS = {"linux": (1, 3), "darwin": (6, 16)}

#: Bytes from one eviction to the next: a line of the cache.
_LINE = 64

#: Memory ranges to evict, one after the other, ended by a null pointer.
RANGE = Struct.of(start="ptr", bytes="i64")
Ranges = Annotated[Value, Pointer(RANGE)]

#: What `wb_walk` goes through. A call that sets `stop` is the last one; no stamps are written where that is null.
CALLS = Struct.of(calls="i64", stamps="ptr", clock="i64", stop="i64", rows="i64")
Calls = Annotated[Value, Pointer(CALLS)]
CALL = Struct.of(fn="ptr", bufs="ptr")

_clock_gettime = External("i32", "clock_gettime", "i32", "ptr")
_windows_counter = External("i32", "QueryPerformanceCounter", "ptr")
_windows_frequency = External("i32", "QueryPerformanceFrequency", "ptr")
_clflush = External("void", "llvm.x86.sse2.clflush", "ptr")
_mfence = External("void", "llvm.x86.sse2.mfence")


@native
def now(f: Emitter, clock: I32) -> I64:
    """Nanoseconds of a clock."""
    words = f.room("[2 x i64]", "i64")
    if f.module.system == "win32":
        _windows_counter(f, words)
        _windows_frequency(f, words[1])
        ticks, rate = words.load(), words[1].load()
        return ticks // rate * 10**9 + ticks % rate * 10**9 // rate
    _clock_gettime(f, clock, words)
    return words.load() * 10**9 + words[1].load()


def _evict(f: Emitter, at: Value) -> None:
    """Evict a line of the cache."""
    if f.module.x86 and "clflushopt" not in f.module.features:
        _clflush(f, at)
    elif f.module.x86:
        # Many lines at once: a dozen times as fast as the older instruction, which waits for each of them.
        call(f, "void", 'asm sideeffect "clflushopt ($0)", "r,~{memory}"', ["ptr"], [at])
    elif f.module.arm:
        call(f, "void", 'asm sideeffect "dc civac, $0", "r,~{memory}"', ["ptr"], [at])
    else:
        f.value(f"load volatile i8, ptr {at.text}", "i8")


@exported
def wb_flush(f: Emitter, ranges: Ranges) -> None:
    """Evict memory ranges from the caches."""
    row = f.local(0)
    with f.forever() as rows:
        here = ranges[row.load()]
        start = here["start"].load()
        rows.leave(start.null())
        with f.range(here["bytes"].load(), step=_LINE, once=True) as at:
            _evict(f, start.offset(at))
        row.increase(1)
    if f.module.x86:
        _mfence(f)
    elif f.module.arm:
        call(f, "void", 'asm sideeffect "dsb ish", "~{memory}"', [], [])


@exported
def wb_time(
    f: Emitter, fn: Ptr, bufs: Ptr, ws: Ptr, rt: Ptr, reps: I64, number: I64, clock: I32, ranges: Ranges, out: Words
) -> None:
    """Call a kernel ``reps * number`` times; write the time of each repetition."""
    with f.range(reps, once=True) as rep:
        with f.when(ranges.ne(0)):
            wb_flush(f, ranges)
        start = now(f, clock)
        with f.range(number, once=True):
            fn(bufs, ws, rt)
        out[rep].store(now(f, clock) - start)


@exported
def wb_walk(f: Emitter, table: Calls, ws: Ptr, rt: Ptr) -> None:
    """Make the calls of a table, flushing what is below the least normal number; has the ABI of a kernel."""
    count, stamps = table["calls"].load(), table["stamps"].load().as_("i64")
    clock, timing = table["clock"].as_("i32").load(), stamps.ne(0)
    with flushing(f), f.block() as calls:
        calls.leave(count.eq(0))
        with f.range(count, once=True) as k:
            with f.when(timing):
                stamps[k].store(now(f, clock))
            row = table["rows"].as_(CALL)[k]
            row["fn"].load()(row["bufs"].load(), ws, rt)
            calls.leave(table["stop"].load().ne(0))
        with f.when(timing):
            stamps[count].store(now(f, clock))


@exported
def wb_python_step(f: Emitter, step: Ptr, ws: Ptr, rt: Ptr) -> None:
    """Call a step that is no machine code, which computes as Python does, and so do threads that it starts."""
    with flushing(f, on=False):
        step(step, ws, rt)


#: What Python calls.
ENTRIES = (wb_time, wb_flush, wb_walk, wb_python_step)


@once
def _code() -> Library:
    from workbench.codegen.llvm import llvmlite_binding

    features = {name for name, here in llvmlite_binding.host_features() if here}
    return load(*ENTRIES, features=features)


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
    return _code()["wb_walk"]


def python_step_address() -> int:
    """Return the address of what stands in a call table before a step of Python; its buffers are the step's address."""
    return _code()["wb_python_step"]


def call_table(rows: Sequence[int]) -> Array:
    """Return a table for the driver: `rows` are the addresses of a kernel and of its buffers, for one call after the
    other.
    """
    return pointer_table([len(rows) // 2, 0, wall_clock(), 0, *rows])


#: Words of a call table: where the driver writes one time per call and one at the end (0: nowhere); the clock it reads;
#: not 0 ends a walk.
STAMPS, CLOCK, STOP, _HEADER = (CALLS.offset(name) // 8 for name in ("stamps", "clock", "stop", "rows"))


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
    _TIME_TYPE(_code()["wb_time"])(
        fn, bufs, workspace, ctypes.addressof(rt), repeat, number, clock, table, int(out.ctypes.data)
    )
    return out / number
