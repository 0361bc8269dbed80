"""Runs of a network as a timeline for Perfetto and chrome://tracing: what each call and each thread did when.

Times of calls are those of the profile. Those of the threads come from a launch function that stands in front of the
pool's: it notes, for each parallel region and thread, the beginning of its first task, the end of its last one and the
time between that it spent in tasks.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from workbench.errors import InputError
from workbench.locks import once
from workbench.runtime.buffers import Array
from workbench.runtime.execution.profile import Profile
from workbench.runtime.execution.run_context import RunContext
from workbench.runtime.native import timing_loop
from workbench.runtime.native.emitter import I64, Emitter, Ptr, Value, exported, native
from workbench.runtime.native.jit import load
from workbench.runtime.native.structs import Pointer, Struct
from workbench.runtime.networks.execution_plan import ExecutablePlan

if TYPE_CHECKING:
    from workbench.codegen.llvm.llvmlite_binding import Library

#: What the launch function that records gets in place of a pool; a row has a head and one part for each thread.
_TRACE = Struct.of(pool="ptr", launch="ptr", regions="i64", room="i64", rows="ptr", bytes="i64", clock="i64")
_HEAD_PARTS = Struct.of(begin="i64", end="i64", tasks="i64")
_PARTS = Struct.of(first="i64", last="i64", busy="i64", tasks="i64")
_HEAD, _EACH = len(_HEAD_PARTS.fields), len(_PARTS.fields)
#: What a traced task gets in place of its context.
_OWN = Struct.of(fn="ptr", ctx="ptr", row="ptr", clock="i32")

Trace = Annotated[Value, Pointer(_TRACE)]
Own = Annotated[Value, Pointer(_OWN)]


@native
def traced(f: Emitter, own: Own, task: I64, tid: I64) -> None:
    """Run a task and note its times."""
    fn, ctx, clock, row = (own[name].load() for name in ("fn", "ctx", "clock", "row"))
    begin = timing_loop.now(f, clock)
    fn(ctx, task, tid)
    end = timing_loop.now(f, clock)
    mine = row.offset(_HEAD_PARTS.size).as_(_PARTS)[tid]
    first = mine["first"].load()
    mine["first"].store(first.eq(0).select(begin, first))
    mine["last"].store(end)
    mine["busy"].increase(end - begin)
    mine["tasks"].increase(1)


@exported
def wb_trace_launch(f: Emitter, trace: Trace, fn: Ptr, ctx: Ptr, count: I64) -> None:
    """Launch a region on the pool and note when, where there is room for its row."""
    pool, launch, number = trace["pool"].load(), trace["launch"].load(), trace["regions"].load()
    trace["regions"].store(number + 1)
    with f.when(number.uge(trace["room"].load())):
        launch(pool, fn, ctx, count)
        f.ret()
    own = f.room("[4 x i64]", _OWN)
    row = trace["rows"].load().offset(number * trace["bytes"].load()).as_(_HEAD_PARTS)
    clock = trace["clock"].load().cast("trunc", "i32")
    for name, value in (("fn", fn), ("ctx", ctx), ("row", row), ("clock", clock)):
        own[name].store(value)
    row["begin"].store(timing_loop.now(f, clock))
    launch(pool, f.address(traced), own, count)
    row["end"].store(timing_loop.now(f, clock))
    row["tasks"].store(count)


@once
def _library() -> Library:
    return load(wb_trace_launch)


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
    trace = np.array([context.rt.pool or 0, context.rt.launch, 0, 0, 0, 8 * width, timing_loop.wall_clock()], np.int64)
    context.rt.pool, context.rt.launch = int(trace.ctypes.data), _library()["wb_trace_launch"]
    context.walk()  # counts the regions
    rows = np.zeros((int(trace[2]) * runs, width), np.int64)
    trace[2:5] = 0, len(rows), rows.ctypes.data
    stamps = np.zeros((runs, len(plan.calls) + 1), np.int64)
    for row in stamps:
        context.walk(row)
    rows = rows[: int(trace[2])]
    return Recording(stamps, rows[:, :_HEAD], rows[:, _HEAD:].reshape(len(rows), threads, _EACH))


def joined(found: Sequence[Recording]) -> Recording:
    """Put recordings of one network, one after the other in time, into one."""
    lent = max(one.threads for one in found)
    work = [np.pad(one.work, ((0, 0), (0, lent - one.threads), (0, 0))) for one in found]
    return Recording(
        np.concatenate([one.stamps for one in found]),
        np.concatenate([one.regions for one in found]),
        np.concatenate(work),
    )


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
