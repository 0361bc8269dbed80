"""The two roofs of a roofline for so many threads: arithmetic, and reading memory.

Arithmetic is the multiply-add rate of `arithmetic_peak` with all threads at it at the same time: two threads of one
core have one core's worth. Memory is the rate at which the threads read a working set of a given size, each its own
part again and again, so a network that fits a cache is compared with that cache. What is measured is kept in the cache
directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np

from workbench import host
from workbench.intrinsics.product_instructions import instruction
from workbench.ir.product_type import PLAIN
from workbench.runtime.buffers import Array, aligned_empty, pointer_table
from workbench.runtime.machine import turns
from workbench.runtime.machine.arithmetic_peak import PeakLoop, multiply_add_loop
from workbench.runtime.machine.product_loop import product_loop
from workbench.runtime.native.emitter import I64, Emitter, Native, Ptr, Value, exported, native
from workbench.runtime.native.jit import load
from workbench.runtime.native.structs import Pointer, Struct
from workbench.runtime.native.timing_loop import cpu_clock, now, time_calls, wall_clock
from workbench.runtime.thread_pool.launch_context import LaunchContext
from workbench.runtime.thread_pool.native_pool import Runtime
from workbench.runtime.thread_pool.placement import confined
from workbench.target import Target, cache_dir, write_json

#: Nanoseconds of a try, tries at least, and seconds for all of them. Chosen, not measured.
_TRY_NS = 2e6
_LONGEST_S = 1.0
#: Bytes of the smallest and the largest working set that is measured. Chosen, not measured.
SHORTEST, _LONG = 1 << 20, 1 << 28
_TRIES = 50
#: Registers that are read at a time.
#: Chosen, not measured.
_STREAMS = 8


@dataclass(frozen=True, slots=True)
class Level:
    """A cache, or memory.

    Attributes
    ----------
    capacity : int
        Bytes that it holds for all threads; of memory, 0.
    gbytes : float or None
        Reading what lies there, in GB/s (10^9 bytes); None where no working set shows it alone.
    """

    capacity: int
    gbytes: float | None


@dataclass(frozen=True, slots=True)
class Roofs:
    """What the machine can do with some threads.

    Attributes
    ----------
    threads : int
    gflops : float
        float32 multiply-adds (two operations each), in GFLOP/s.
    gbytes : float
        Reading, in GB/s (10^9 bytes).
    working_set : int
        Bytes that the threads read together when `gbytes` was measured.
    peaks : dict of str to float
        The same as `gflops` of types that have an instruction of their own, see `product_peaks`.
    levels : dict of str to Level
        Where data may come from, the nearest first ("L2", "L3", "memory"), see `roofs_by_level`; empty where all of
        them are taken to come from `working_set`.
    """

    threads: int
    gflops: float
    gbytes: float
    working_set: int
    peaks: dict[str, float] = field(default_factory=dict)
    levels: dict[str, Level] = field(default_factory=dict)


def size_class(nbytes: int) -> int:
    """The working set that stands for one of this size: a power of two from 1 MiB to 256 MiB."""
    return min(max(1 << max(nbytes - 1, 1).bit_length(), SHORTEST), _LONG)


def roofs(target: Target, threads: int, working_set: int) -> Roofs:
    """Return the roofs, measured now unless they were measured before.

    Parameters
    ----------
    target : Target
        Its vector extensions decide what is measured; this machine has to have them.
    threads : int
    working_set : int
        Bytes that the network touches in one run.

    Raises
    ------
    TargetError
        ``target.roofs``, ``target.host``.
    """
    target.require_roofs()
    kept = stored(target, threads, working_set)
    if kept is not None:
        return kept
    nbytes = size_class(working_set)
    found = measure(target, threads, nbytes)
    path, key = _place(target, threads, nbytes)
    write_json(path, {"gflops": found.gflops, "gbytes": found.gbytes, "key": key})
    return found


MEMORY = "memory"
"""Name of what is behind the last cache."""

LEVELS = ("L2", "L3", MEMORY)
"""Where data come from that are not in the cache of the first level, the nearest first."""


def working_sets(threads: int, l1: int, l2: int, l3: int) -> dict[str, int]:
    """Return bytes that all threads read together to see a level alone, for the `LEVELS` that show alone.

    Parameters
    ----------
    threads : int
    l1, l2, l3 : int
        Bytes of the caches, as one core sees them.
    """
    near, far, beyond = size_class(threads * min(4 * l1, l2 // 2)), size_class(threads * 4 * l2), size_class(4 * l3)
    sizes = (
        near if near <= threads * 0.75 * l2 else 0,
        far if 4 * l2 <= far // threads and far <= l3 // 2 else 0,
        beyond if beyond >= 2 * l3 else 0,
    )
    return {level: size for level, size in zip(LEVELS, sizes, strict=True) if size}


def roofs_by_level(target: Target, threads: int) -> dict[str, Level]:
    """Return what each level delivers to so many threads, measured now unless it was measured before: the roofs of the
    roofline of a schedule.

    Raises
    ------
    TargetError
        As for `roofs`.
    """
    l1 = target.l1_bytes or 32 << 10  # a level that does not exist counts as the one below it
    l2 = max(target.l2_bytes, l1)
    l3 = max(target.l3_bytes, l2)
    sizes = working_sets(threads, l1, l2, l3)
    found = {level: roofs(target, threads, size).gbytes for level, size in sizes.items()}
    return {
        level: Level(capacity, found.get(level))
        for level, capacity in zip(LEVELS, (threads * l2, max(threads * l2, l3), 0), strict=True)
    }


def measure_all_threads(target: Target, dtype: str = PLAIN) -> float:
    """Return the arithmetic of all threads of a target at the same time in GFLOP/s, measured unless it was before;
    products of a `dtype` (see `product_type`) as far as there is an instruction of its own.
    """
    if peak := product_peaks(target, target.threads, [dtype]):
        return peak[dtype]
    one = target.peak_gflops()
    return one if target.threads == 1 else roofs(target, target.threads, SHORTEST).gflops


def all_threads(target: Target, dtype: str = PLAIN) -> tuple[float | None, bool]:
    """Return what is known of that without measuring, and whether it was measured: else it is one core's, taken times
    the number of threads, which counts two threads of one core twice. Nothing is known where no core was measured.
    Products of a `dtype` with an instruction of its own have that instruction's.
    """
    if instruction(target, dtype) is not None:
        peak = target.stored_peaks(target.threads).get(dtype)
        return peak, peak is not None
    one = target.stored_peak()
    kept = None if one is None or target.threads == 1 else stored(target, target.threads, SHORTEST)
    if kept is not None:
        return kept.gflops, True
    return (None, False) if one is None else (one * target.threads, target.threads == 1)


def product_peaks(target: Target, threads: int, dtypes: Iterable[str]) -> dict[str, float]:
    """Return the peaks of products of some types, measured now unless they were measured before.

    Parameters
    ----------
    target : Target
        This machine has to have its instructions.
    threads : int
        That multiply at the same time.
    dtypes : iterable of str
        As of `product_type`.

    Returns
    -------
    dict of str to float
        GFLOP/s (10^9 operations per second; a multiply-add counts as two) of all threads, by type; without the types
        that the target has no instruction for.
    """
    wanted = {d: i for d in dict.fromkeys(dtypes) if (i := instruction(target, d)) is not None}
    known = target.stored_peaks(threads)
    if new := {d: i for d, i in wanted.items() if d not in known}:
        target.require_roofs()
        known |= {d: measure_arithmetic(target, threads, product_loop(i)) for d, i in new.items()}
        target.store_peaks(threads, known)
    return {d: known[d] for d in wanted}


def stored(target: Target, threads: int, working_set: int) -> Roofs | None:
    """Return the roofs if they were measured on this machine before; parameters as for `roofs`."""
    nbytes = size_class(working_set)
    path, _ = _place(target, threads, nbytes)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if all(0 < kept[name] < math.inf for name in ("gflops", "gbytes")):
            return Roofs(threads, float(kept["gflops"]), float(kept["gbytes"]), nbytes)
    return None


def _place(target: Target, threads: int, nbytes: int) -> tuple[Path, str]:
    key = f"{target.triple} {target.cpu} {target.features} {host.detect().model} {threads} {nbytes}"
    return cache_dir() / f"roofs-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json", key


#: Operands of the kernels below, each an address: of a number (int64), of the threads' parts, of room for one register
#: per thread, and of one processor time per thread (ns, of arithmetic).
_OPERANDS = Struct.of(threads="ptr", rounds="ptr", part_bytes="ptr", data="ptr", room="ptr", spent="ptr")
Operands = Annotated[Value, Pointer(_OPERANDS)]


def _number(bufs: Value, name: str) -> Value:
    return bufs[name].load().as_("i64").load()


def _part(bufs: Value, task: Value) -> Value:
    return bufs["data"].load().offset(_number(bufs, "part_bytes") * task)


def _launch(f: Emitter, bufs: Value, rt: Value, task: Native) -> None:
    rt["launch"].load()(rt["pool"].load(), f.address(task), bufs, _number(bufs, "threads"))


def roof_kernels(peak: Native, lanes: int, clock: int) -> tuple[Native, Native]:
    """Two kernels that work on the parts of an array, one task per thread.

    Parameters
    ----------
    peak : Native
        Arithmetic of one thread, see `workbench.runtime.machine.arithmetic_peak.PeakLoop`.
    lanes : int
        float32 values per vector.
    clock : int
        Clock of a thread's processor time.

    Returns
    -------
    (Native, Native)
        ``wb_peak_all(bufs, ws, rt)`` and ``wb_read_all(bufs, ws, rt)``; ``bufs`` are `_OPERANDS`.
    """
    vector, width = f"<{lanes} x float>", 4 * lanes

    @native
    def peak_part(f: Emitter, bufs: Operands, task: I64, tid: I64) -> None:
        args = f.room("[2 x ptr]", "ptr")
        args.store(bufs["rounds"].load())
        args[1].store(_part(bufs, task))
        start = now(f, clock)
        peak(f, args, f.null(), f.null())
        spent = now(f, clock) - start
        bufs["spent"].load().as_("i64")[task].store(spent)

    @native
    def read_part(f: Emitter, bufs: Operands, task: I64, tid: I64) -> None:
        rounds, size = _number(bufs, "rounds"), _number(bufs, "part_bytes")
        data, out = _part(bufs, task), bufs["room"].load().as_(vector)[task]
        with f.range(rounds, once=True):
            sums = [f.local(0, vector) for _ in range(_STREAMS)]
            with f.range(size, step=_STREAMS * width, once=True) as at:
                here = data.offset(at).as_(vector)
                for k, each in enumerate(sums):
                    each.store(each.load().fadd(here[k].load()))
            total = sums[0].load()
            for each in sums[1:]:
                total = total.fadd(each.load())
            out.store(total)

    @exported
    def wb_peak_all(f: Emitter, bufs: Operands, ws: Ptr, rt: Runtime) -> None:
        _launch(f, bufs, rt, peak_part)

    @exported
    def wb_read_all(f: Emitter, bufs: Operands, ws: Ptr, rt: Runtime) -> None:
        _launch(f, bufs, rt, read_part)

    return wb_peak_all, wb_read_all


class _Probe:
    """The two kernels with their operands."""

    def __init__(self, target: Target, threads: int, nbytes: int, loop: PeakLoop) -> None:
        lanes = target.lanes("float32")
        self.library = load(*roof_kernels(loop.kernel, lanes, cpu_clock()), target=target)
        self.threads, self.around = threads, LaunchContext(threads)
        step, least = _STREAMS * 4 * lanes, loop.data.size
        self.part = max(nbytes // threads // step, -(-least // step)) * step
        self.numbers = np.array([threads, 1, self.part], np.int64)
        self.data: Array = aligned_empty((threads, self.part // 4), "float32")
        self.data[...] = 1.0  # neither infinities nor denormal numbers, which some processors handle slowly
        self.data.view(np.uint8)[:, :least] = loop.data
        self.room: Array = aligned_empty((threads * lanes,), "float32")
        self.spent = np.ones(threads, np.int64)
        first = int(self.numbers.ctypes.data)
        places = [first, first + 8, first + 16, *(a.ctypes.data for a in (self.data, self.room, self.spent))]
        self.table = pointer_table(places)

    @property
    def members(self) -> list[int]:
        """The system's numbers of the threads beside the calling one, which are started."""
        self.around.ready()
        return [] if self.around.pool is None else self.around.pool.members

    def tries(self, name: str) -> Iterator[tuple[float, int]]:
        """Yield nanoseconds and rounds of one call after the other, each of about two milliseconds.

        At least `_TRIES` of them, more while what they tell gets better: other processes can only make a call slower.
        """

        def run(rounds: int) -> float:
            self.numbers[1] = rounds
            table = int(self.table.ctypes.data)
            return float(time_calls(self.library[name], table, 0, self.around.rt, 1, 1, wall_clock())[0])

        rounds = 1
        while (once := min(run(rounds) for _ in range(3))) < _TRY_NS / 4:  # until launching is a small part of it
            rounds *= 4
        rounds = max(1, int(rounds * _TRY_NS / once))
        end, best, last = time.monotonic() + _LONGEST_S, float("inf"), _TRIES
        k = 0
        while k < last and time.monotonic() < end:
            spent = run(rounds)
            if spent < best * 0.99:
                best, last = spent, max(last, 2 * k)
            yield spent, rounds
            k += 1

    def arithmetic(self, operations: int) -> float:
        """Return what the threads did in their own processor time, in operations per nanosecond: that does not depend
        on whether other processes let all of them run.
        """
        tries = self.tries("wb_peak_all")
        return max(float((operations * rounds / np.maximum(self.spent, 1)).sum()) for _, rounds in tries)


def measure(target: Target, threads: int, nbytes: int) -> Roofs:
    """Measure both roofs; parameters as for `roofs`, `nbytes` is taken as it is.

    Reading is the best of several tries by the wall clock.
    """
    loop = multiply_add_loop(target)
    probe = _Probe(target, threads, nbytes, loop)
    try:
        with turns.turn() as turn, confined(turn.cores, probe.members):
            reading = max(threads * probe.part * rounds / spent for spent, rounds in probe.tries("wb_read_all"))
            return Roofs(threads, probe.arithmetic(loop.operations), reading, nbytes)
    finally:
        probe.library.close()


def measure_arithmetic(target: Target, threads: int, loop: PeakLoop) -> float:
    """Measure a loop of arithmetic with all threads at it at the same time, in GFLOP/s of all."""
    probe = _Probe(target, threads, 0, loop)
    try:
        with turns.turn() as turn, confined(turn.cores, probe.members):
            return probe.arithmetic(loop.operations)
    finally:
        probe.library.close()
