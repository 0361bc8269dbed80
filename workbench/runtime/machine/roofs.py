"""The two roofs of a roofline for so many threads: arithmetic, and reading memory.

Arithmetic is the multiply-add rate of `peaks` with all threads at it at the same time: two threads of one core have
one core's worth. Memory is the rate at which the threads read a working set of a given size, each its own part again
and again, so a network that fits a cache is compared with that cache. What is measured is kept in the cache directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench import host
from workbench.target import Target, cache_dir

if TYPE_CHECKING:
    from workbench.runtime.buffers import Array

_TRY_NS = 2e6
_LONGEST_S = 1.0
_SHORT, _LONG = 1 << 20, 1 << 28
_TRIES = 50


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
    """

    threads: int
    gflops: float
    gbytes: float
    working_set: int

    @property
    def ridge(self) -> float:
        """Operations per byte from which arithmetic is the lower roof."""
        return self.gflops / self.gbytes


def size_class(nbytes: int) -> int:
    """The working set that stands for one of this size: a power of two from 1 MiB to 256 MiB."""
    return min(max(1 << max(nbytes - 1, 1).bit_length(), _SHORT), _LONG)


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
        ``target.host``.
    """
    target.require_here()
    kept = stored(target, threads, working_set)
    if kept is not None:
        return kept
    nbytes = size_class(working_set)
    found = measure(target, threads, nbytes)
    path, key = _place(target, threads, nbytes)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        beside.write_text(json.dumps({"gflops": found.gflops, "gbytes": found.gbytes, "key": key}), encoding="utf-8")
        beside.replace(path)
    return found


def measure_all_threads(target: Target) -> float:
    """Return the arithmetic of all threads of a target at the same time in GFLOP/s, measured unless it was before."""
    one = target.peak_gflops()
    return one if target.threads == 1 else roofs(target, target.threads, _SHORT).gflops


def all_threads(target: Target) -> tuple[float | None, bool]:
    """Return what is known of that without measuring, and whether it was measured: else it is one core's, taken times
    the number of threads, which counts two threads of one core twice. Nothing is known where no core was measured.
    """
    one = target.stored_peak()
    kept = None if one is None or target.threads == 1 else stored(target, target.threads, _SHORT)
    if kept is not None:
        return kept.gflops, True
    return (None, False) if one is None else (one * target.threads, target.threads == 1)


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


def roofs_text(lanes: int, chains: int, fused: bool, clock: int) -> str:
    """LLVM text of two kernels that work on the parts of an array, one task per thread.

    Parameters
    ----------
    lanes, chains, fused
        As for `workbench.runtime.machine.peaks.peak_text`.
    clock : int
        Clock of a thread's processor time.

    Returns
    -------
    str
        Module with ``wb_peak_all(bufs, ws, rt)`` and ``wb_read_all(bufs, ws, rt)``; ``bufs`` are the number of threads,
        rounds, bytes of a part (int64 each, by address), the parts, room for one register per thread, and for one
        processor time per thread (ns, of arithmetic).
    """
    from workbench.runtime.machine.peaks import peak_text
    from workbench.runtime.measuring.harness import clock_text

    v, width = f"<{lanes} x float>", 4 * lanes
    streams = 8
    loads = "\n".join(
        f"  %p{k} = getelementptr inbounds i8, ptr %at, i64 {k * width}\n  %v{k} = load {v}, ptr %p{k}, align 4\n"
        f"  %b{k} = fadd {v} %a{k}, %v{k}"
        for k in range(streams)
    )
    phis = "\n".join(f"  %a{k} = phi {v} [ zeroinitializer, %round ], [ %b{k}, %step ]" for k in range(streams))
    sums = [f"  %s1 = fadd {v} %b0, %b1"] + [f"  %s{k} = fadd {v} %s{k - 1}, %b{k}" for k in range(2, streams)]
    return (
        clock_text(sys.platform)
        + peak_text(lanes, chains, fused)
        + f"""
define internal ptr @field(ptr %bufs, i64 %k) {{
  %q = getelementptr inbounds ptr, ptr %bufs, i64 %k
  %p = load ptr, ptr %q, align 8
  ret ptr %p
}}
define internal ptr @part(ptr %bufs, i64 %task) {{
  %sp = call ptr @field(ptr %bufs, i64 2)
  %size = load i64, ptr %sp, align 8
  %data = call ptr @field(ptr %bufs, i64 3)
  %o = mul i64 %size, %task
  %at = getelementptr inbounds i8, ptr %data, i64 %o
  ret ptr %at
}}
define internal void @peak_part(ptr %bufs, i64 %task, i64 %tid) nounwind {{
  %args = alloca [2 x ptr], align 16
  %rp = call ptr @field(ptr %bufs, i64 1)
  store ptr %rp, ptr %args, align 8
  %at = call ptr @part(ptr %bufs, i64 %task)
  %second = getelementptr inbounds ptr, ptr %args, i64 1
  store ptr %at, ptr %second, align 8
  %t0 = call i64 @now(i32 {clock})
  call void @wb_peak(ptr %args, ptr null, ptr null)
  %t1 = call i64 @now(i32 {clock})
  %spent = sub i64 %t1, %t0
  %times = call ptr @field(ptr %bufs, i64 5)
  %mine = getelementptr inbounds i64, ptr %times, i64 %task
  store i64 %spent, ptr %mine, align 8
  ret void
}}
define internal void @read_part(ptr %bufs, i64 %task, i64 %tid) nounwind {{
entry:
  %rp = call ptr @field(ptr %bufs, i64 1)
  %rounds = load i64, ptr %rp, align 8
  %sp = call ptr @field(ptr %bufs, i64 2)
  %size = load i64, ptr %sp, align 8
  %data = call ptr @part(ptr %bufs, i64 %task)
  %room = call ptr @field(ptr %bufs, i64 4)
  %mine = mul i64 %task, {width}
  %out = getelementptr inbounds i8, ptr %room, i64 %mine
  br label %round
round:
  %r = phi i64 [ 0, %entry ], [ %r1, %last ]
  br label %step
step:
  %i = phi i64 [ 0, %round ], [ %i1, %step ]
{phis}
  %at = getelementptr inbounds i8, ptr %data, i64 %i
{loads}
  %i1 = add nuw nsw i64 %i, {streams * width}
  %more = icmp ult i64 %i1, %size
  br i1 %more, label %step, label %last
last:
{chr(10).join(sums)}
  store {v} %s{streams - 1}, ptr %out, align 4
  %r1 = add nuw nsw i64 %r, 1
  %again = icmp ult i64 %r1, %rounds
  br i1 %again, label %round, label %end
end:
  ret void
}}
"""
        + "".join(
            f"""
define void @wb_{name}_all(ptr %bufs, ptr %ws, ptr %rt) nounwind {{
  %np = call ptr @field(ptr %bufs, i64 0)
  %n = load i64, ptr %np, align 8
  %pp = getelementptr inbounds ptr, ptr %rt, i64 1
  %pool = load ptr, ptr %pp, align 8
  %lp = getelementptr inbounds ptr, ptr %rt, i64 2
  %launch = load ptr, ptr %lp, align 8
  call void %launch(ptr %pool, ptr @{name}_part, ptr %bufs, i64 %n)
  ret void
}}
"""
            for name in ("peak", "read")
        )
    )


class _Probe:
    """The two kernels with their operands."""

    def __init__(self, target: Target, threads: int, nbytes: int) -> None:
        from workbench.codegen.llvm import llvm_bind
        from workbench.runtime.buffers import aligned_empty, pointer_table
        from workbench.runtime.loaded_code import Surroundings
        from workbench.runtime.measuring.harness import cpu_clock

        self.lanes = target.lanes("float32")
        self.chains = 24 if target.vector_registers >= 32 else 12
        fused = target.arch == "aarch64" or "fma" in target.isa or "avx512f" in target.isa
        code = llvm_bind.compile_ir(roofs_text(self.lanes, self.chains, fused, cpu_clock()), target)
        self.library = llvm_bind.load_object(code, ("wb_peak_all", "wb_read_all"))
        self.threads, self.around = threads, Surroundings(threads)
        step = 8 * 4 * self.lanes
        least = 4 * self.lanes * (2 + self.chains)  # what the arithmetic needs
        self.part = max(nbytes // threads // step, -(-least // step)) * step
        self.numbers = np.array([threads, 1, self.part], np.int64)
        self.data: Array = aligned_empty((threads, self.part // 4), "float32")
        self.data[...] = 1.0  # neither infinities nor denormal numbers, which some processors handle slowly
        self.data[:, : 2 * self.lanes] = 0.5  # factor and addend that keep the accumulators at 1
        self.room: Array = aligned_empty((threads * self.lanes,), "float32")
        self.spent = np.ones(threads, np.int64)
        first = int(self.numbers.ctypes.data)
        places = [first, first + 8, first + 16, *(a.ctypes.data for a in (self.data, self.room, self.spent))]
        self.table = pointer_table(places)

    def tries(self, name: str) -> Iterator[tuple[float, int]]:
        """Yield nanoseconds and rounds of one call after the other, each of about two milliseconds.

        At least `_TRIES` of them, more while what they tell gets better: other processes can only make a call slower.
        """
        from workbench.runtime.measuring.harness import time_calls, wall_clock

        self.around.ready()

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


def measure(target: Target, threads: int, nbytes: int) -> Roofs:
    """Measure both roofs; parameters as for `roofs`, `nbytes` is taken as it is.

    Reading is the best of several tries by the wall clock. Arithmetic is the sum of what the threads did in their own
    processor time, which does not depend on whether other processes let all of them run.
    """
    probe = _Probe(target, threads, nbytes)
    try:
        reading = max(threads * probe.part * rounds / spent for spent, rounds in probe.tries("wb_read_all"))
        each = 2.0 * probe.lanes * probe.chains
        arithmetic = max(
            float((each * rounds / np.maximum(probe.spent, 1)).sum()) for _, rounds in probe.tries("wb_peak_all")
        )
        return Roofs(threads, arithmetic, reading, nbytes)
    finally:
        probe.library.close()
