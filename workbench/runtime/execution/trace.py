"""Runs of a network as a timeline for Perfetto and chrome://tracing: what each call and each thread did when.

Times of calls are those of the profile. Those of the threads come from a launch function that stands in front of the
pool's: it notes, for each parallel region and thread, the beginning of its first task, the end of its last one and the
time between that it spent in tasks.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.locks import once
from workbench.runtime.buffers import Array
from workbench.runtime.execution.context import RunContext
from workbench.runtime.execution.plan import ExecutablePlan
from workbench.runtime.execution.profile import Profile
from workbench.runtime.measuring import harness

# trace = { ptr pool; ptr launch; i64 regions; i64 room; ptr rows; i64 bytes of a row; i64 clock }
# row = { i64 begin; i64 end; i64 tasks; per thread { i64 first, last, busy, tasks } }
_TEXT = """
define internal void @traced(ptr %ctx, i64 %task, i64 %tid) nounwind {
entry:
  %fn = load ptr, ptr %ctx, align 8
  %cp = getelementptr inbounds ptr, ptr %ctx, i64 1
  %inner = load ptr, ptr %cp, align 8
  %rp = getelementptr inbounds ptr, ptr %ctx, i64 2
  %row = load ptr, ptr %rp, align 8
  %kp = getelementptr inbounds i64, ptr %ctx, i64 3
  %clock = load i32, ptr %kp, align 8
  %t0 = call i64 @now(i32 %clock)
  call void %fn(ptr %inner, i64 %task, i64 %tid)
  %t1 = call i64 @now(i32 %clock)
  %four = shl i64 %tid, 2
  %at = add i64 %four, 3
  %first = getelementptr inbounds i64, ptr %row, i64 %at
  %last = getelementptr inbounds i64, ptr %first, i64 1
  %busy = getelementptr inbounds i64, ptr %first, i64 2
  %count = getelementptr inbounds i64, ptr %first, i64 3
  %was = load i64, ptr %first, align 8
  %new = icmp eq i64 %was, 0
  %begin = select i1 %new, i64 %t0, i64 %was
  store i64 %begin, ptr %first, align 8
  store i64 %t1, ptr %last, align 8
  %spent = sub i64 %t1, %t0
  %b = load i64, ptr %busy, align 8
  %b1 = add i64 %b, %spent
  store i64 %b1, ptr %busy, align 8
  %n = load i64, ptr %count, align 8
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %count, align 8
  ret void
}
define void @wb_trace_launch(ptr %trace, ptr %fn, ptr %ctx, i64 %n) nounwind {
entry:
  %own = alloca [4 x i64], align 16
  %pool = load ptr, ptr %trace, align 8
  %lp = getelementptr inbounds i64, ptr %trace, i64 1
  %launch = load ptr, ptr %lp, align 8
  %np = getelementptr inbounds i64, ptr %trace, i64 2
  %k = load i64, ptr %np, align 8
  %k1 = add i64 %k, 1
  store i64 %k1, ptr %np, align 8
  %mp = getelementptr inbounds i64, ptr %trace, i64 3
  %room = load i64, ptr %mp, align 8
  %fits = icmp ult i64 %k, %room
  br i1 %fits, label %noted, label %plain
plain:
  call void %launch(ptr %pool, ptr %fn, ptr %ctx, i64 %n)
  ret void
noted:
  %rp = getelementptr inbounds i64, ptr %trace, i64 4
  %rows = load ptr, ptr %rp, align 8
  %sp = getelementptr inbounds i64, ptr %trace, i64 5
  %size = load i64, ptr %sp, align 8
  %kp = getelementptr inbounds i64, ptr %trace, i64 6
  %clock64 = load i64, ptr %kp, align 8
  %clock = trunc i64 %clock64 to i32
  %o = mul i64 %k, %size
  %row = getelementptr inbounds i8, ptr %rows, i64 %o
  store ptr %fn, ptr %own, align 8
  %o1 = getelementptr inbounds i64, ptr %own, i64 1
  store ptr %ctx, ptr %o1, align 8
  %o2 = getelementptr inbounds i64, ptr %own, i64 2
  store ptr %row, ptr %o2, align 8
  %o3 = getelementptr inbounds i64, ptr %own, i64 3
  store i32 %clock, ptr %o3, align 8
  %t0 = call i64 @now(i32 %clock)
  store i64 %t0, ptr %row, align 8
  call void %launch(ptr %pool, ptr @traced, ptr %own, i64 %n)
  %t1 = call i64 @now(i32 %clock)
  %e = getelementptr inbounds i64, ptr %row, i64 1
  store i64 %t1, ptr %e, align 8
  %c = getelementptr inbounds i64, ptr %row, i64 2
  store i64 %n, ptr %c, align 8
  ret void
}
"""
_HEAD, _EACH = 3, 4


@once
def _launch() -> tuple[object, int]:
    from workbench.codegen.llvm import llvm_bind

    library = llvm_bind.load_object(
        llvm_bind.compile_ir(harness.clock_text(sys.platform) + _TEXT), ("wb_trace_launch",)
    )
    return library, library["wb_trace_launch"]


@dataclass(frozen=True, slots=True)
class Recording:
    """What happened in some runs; all times in nanoseconds of one clock.

    Attributes
    ----------
    stamps : array of int64, shape (runs, calls + 1)
        Before each call and after the last one.
    regions : array of int64, shape (regions, 3)
        Beginning, end and tasks of each parallel region.
    work : array of int64, shape (regions, threads, 4)
        First beginning, last end, time in tasks, and tasks, of each thread.
    """

    stamps: Array
    regions: Array
    work: Array

    @property
    def threads(self) -> int:
        """Threads that could take part."""
        return int(self.work.shape[1])


def record(context: RunContext, plan: ExecutablePlan, runs: int) -> Recording:
    """Record some runs of a context that is bound and has threads."""
    threads = context.lent
    width = _HEAD + _EACH * threads
    trace = np.array([context.rt.pool or 0, context.rt.launch, 0, 0, 0, 8 * width, harness.wall_clock()], np.int64)
    context.rt.pool, context.rt.launch = int(trace.ctypes.data), _launch()[1]
    context.walk()  # counts the regions
    rows = np.zeros((int(trace[2]) * runs, width), np.int64)
    trace[2:5] = 0, len(rows), rows.ctypes.data
    stamps = np.zeros((runs, len(plan.calls) + 1), np.int64)
    for row in stamps:
        context.walk(row)
    rows = rows[: int(trace[2])]
    return Recording(stamps, rows[:, :_HEAD], rows[:, _HEAD:].reshape(len(rows), threads, _EACH))


def events(recording: Recording, profile: Profile) -> Iterator[dict[str, Any]]:
    """Yield the events of a recording in the trace event format; `profile` has what is known of each call.

    Row 0 of the process shows runs and calls, row 1 the thread that called, the rows below the other threads.
    """
    pid, start = os.getpid(), int(recording.stamps.min(initial=int(recording.stamps.flat[0])))
    names = ["calls", "thread 0 (caller)", *(f"thread {t}" for t in range(1, recording.threads))]
    yield _meta(pid, 0, "process_name", str(profile.attrs["network"]))
    for row, name in enumerate(names):
        yield _meta(pid, row, "thread_name", name)
        yield {"ph": "M", "pid": pid, "tid": row, "name": "thread_sort_index", "args": {"sort_index": row}}

    def event(row: int, name: str, category: str, begin: int, end: int, args: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "cat": category, "ph": "X", "pid": pid, "tid": row, "ts": (begin - start) / 1e3,
                "dur": (end - begin) / 1e3, "args": args}  # fmt: skip

    rows = profile.to_json_rows()
    for number, times in enumerate(recording.stamps.tolist()):
        yield event(0, f"run {number}", "run", times[0], times[-1], {"calls": len(rows)})
        for known, (begin, end) in zip(rows, itertools.pairwise(times), strict=True):
            yield event(0, known["call"], "call", begin, end, _facts(known, end - begin))
    for (begin, _, tasks), work in zip(recording.regions.tolist(), recording.work.tolist(), strict=True):
        run = int(np.searchsorted(recording.stamps[:, 0], begin, "right")) - 1
        call = int(np.searchsorted(recording.stamps[run], begin, "right")) - 1
        name = rows[min(max(call, 0), len(rows) - 1)]["call"]
        for thread, (first, last, busy, count) in enumerate(work):
            if count:
                facts = {"tasks": count, "tasks of the region": tasks, "in tasks (us)": busy / 1e3}
                yield event(1 + thread, name, "region", first, last, facts)


def _meta(pid: int, row: int, kind: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": row, "name": kind, "args": {"name": name}}


def _facts(row: dict[str, Any], nanoseconds: int) -> dict[str, Any]:
    """What is shown of one call."""
    spent = max(nanoseconds, 1)
    facts = {
        "task": row["task"], "flops": row["flops"], "bytes": row["bytes"], "GFLOP/s": row["flops"] / spent,
        "GB/s": row["bytes"] / spent, "operations per byte": row["intensity"], "roof": row["roof"],
        "tuned": row["tuned"], "note": row["note"],
    }  # fmt: skip
    if row["roof_share"] is not None:
        facts["of the roof"] = row["roof_share"] * row["ms"] * 1e6 / spent
    return facts


def write(path: str | os.PathLike[str], recording: Recording, profile: Profile) -> None:
    """Write a recording as JSON.

    Raises
    ------
    InputError
        ``outputs.unwritable``.
    """
    totals = {k: v for k, v in profile.attrs.items() if k not in ("calls_ms", "whole_ms")}
    document = {"displayTimeUnit": "ms", "otherData": totals, "traceEvents": list(events(recording, profile))}
    content = json.dumps(document, allow_nan=False)
    try:
        Path(path).write_text(content, encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        text = f"The trace cannot be written: {getattr(error, 'strerror', None) or error}"
        raise InputError("outputs.unwritable", text, (str(path),), "choose another file") from error
