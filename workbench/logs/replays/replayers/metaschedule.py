"""Records of MetaSchedule."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

from workbench.logs.importer import UNREADABLE
from workbench.logs.importers.metaschedule import workloads_of
from workbench.logs.replays.metaschedule import Computation, build, computation_of
from workbench.logs.replays.result import CannotReplay, Rebuilt, Request, replayer
from workbench.logs.source import LogSource
from workbench.logs.tir import read_module
from workbench.logs.tvm.metaschedule_trace import read_trace


@replayer("metaschedule")
def replay_metaschedule(request: Request) -> Rebuilt:
    """Rebuild a record of MetaSchedule; the computation is that of its module, in the file of workloads.

    That file lies in the folder of the database or beside the records; `Request.task` may name another one.
    """
    try:
        workload, (trace, *_) = request.raw
        instructions = read_trace(trace)
    except UNREADABLE as error:
        raise CannotReplay(f"the record has another form ({type(error).__name__})") from None
    taking = build(_computation(_module(request, workload)), instructions, request.target)
    return taking.schedule, taking.steps, taking.notes


def _module(request: Request, workload: Any) -> str:
    """Return the stored module of a workload."""
    given = request.task if isinstance(request.task, str | os.PathLike) else None
    run = str(request.log.records["run"].iloc[request.record])
    paths = [Path(path) for path in request.log.paths]
    paths.sort(key=lambda path: not run.startswith(path.name))
    sources = [found for path in paths if (found := workloads_of(path, given)) is not None]
    if not sources:
        raise CannotReplay("the file of workloads is not there: replay(…, task=…) has to name it")
    text = _line(sources[0], workload)
    if text is None:
        raise CannotReplay(f"the file of workloads has none with the number {workload}")
    return text


def _line(source: LogSource, number: Any) -> str | None:
    for line in source.lines():
        if line.number == number + 1:
            try:
                return str(json.loads(line.raw)[1])
            except UNREADABLE:
                return None
    return None


@functools.lru_cache(maxsize=8)
def _computation(module: str) -> Computation:
    try:
        functions = read_module(module)
    except UNREADABLE as error:
        raise CannotReplay(f"the module cannot be read ({type(error).__name__})") from None
    if len(functions) != 1:
        raise CannotReplay(f"the module has {len(functions)} functions")
    return computation_of(next(iter(functions.values())))
