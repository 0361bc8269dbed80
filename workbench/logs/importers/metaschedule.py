"""MetaSchedule's databases: a file of workloads and one of records, both JSON lines, with the text logs beside them."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.source import LogSource, TextLine
from workbench.logs.tir import TirFunction, read_module
from workbench.logs.tvm.metaschedule_text import Trial, trials
from workbench.logs.tvm.metaschedule_trace import choices, design_space, knobs, read_trace
from workbench.logs.tvm.records import NEVER_S

RECORDS, WORKLOADS = "database_tuning_record.json", "database_workload.json"
_RECORD = re.compile(rb"^[ \t]*\[\s*\d+\s*,\s*\[\s*\[\s*\[", re.M)
_WORKLOAD = re.compile(rb'^[ \t]*\[\s*"-?\d+"\s*,\s*"[A-Za-z0-9+/]{8}', re.M)
_MOST_CHOICES = 2000
_PHASES = {"building": "compile", "running": "run"}


@log_importer("metaschedule")
class MetaScheduleLog(LogImporter):
    """MetaSchedule's database, as a folder or either of its two files: the decisions of a trace.

    A parameter is called ``SamplePerfectTile#0 of i of C``: kind and position of the decision, loop and block; names of
    loops come from the file of workloads. The value of a record is the mean of its repeats, by which the database
    sorts; `extra` has the median, by which the text log does, and the number of the design space. Times of day and
    errors come from the text logs in the folder, or in its ``logs``. The hint ``workloads`` names the file of workloads
    where it does not lie beside that of the records.
    """

    tuner = "MetaSchedule"
    example = (
        '[0,[[[["GetBlock",[],["C","main"],["b0"]],["SampleCategorical",[],[[0,16],[0.5,0.5]],["v1"]],["Annotate",["b0"'
        ',"v1"],["meta_schedule.unroll_explicit"],[]]],[[1,1]]],[0.0003,0.0002],{"keys":["cpu"],"kind":"llvm"},'
        '[["TENSOR","float32",[8,8]]]]]\n'
        '[0,[[[["GetBlock",[],["C","main"],["b0"]],["SampleCategorical",[],[[0,16],[0.5,0.5]],["v1"]]],[[1,0]]],'
        '[10000000000],{"keys":["cpu"],"kind":"llvm"},null]]\n'
    )

    def __init__(self) -> None:
        self._space: dict[str, list[Any]] = {}
        self._spaces: dict[tuple[str, ...], int] = {}
        self._notes: list[str] = []
        self._targets: dict[str, str] = {}

    def matches(self, source: LogSource) -> bool:
        if source.is_folder:
            return _name_in(source.path, RECORDS) is not None or _name_in(source.path, WORKLOADS) is not None
        return _RECORD.search(source.head) is not None or _WORKLOAD.search(source.head) is not None

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        records, workloads = self._files(source)
        functions = self._functions(workloads) if workloads is not None else []
        if records is None:
            listed = ", ".join(_task(number, function) for number, function in enumerate(functions))
            self._notes.append(f"{source.path.name} has workloads and no records ({RECORDS} has those): {listed}.")
            return
        texts = _texts(source)
        found: list[Evaluation] = []
        for line in records.lines():
            if not line.raw.strip():
                continue
            try:
                made = self._evaluation(line, functions)
            except UNREADABLE as error:
                why = "the line is cut off" if line.torn else f"no record of MetaSchedule ({type(error).__name__})"
                source.fault(line.number, why)
                continue
            if texts:
                found.append(made)
            else:
                yield made
        source.faults += records.faults if records is not source else []
        yield from self._with_texts(found, texts)

    def space(self, source: LogSource) -> Mapping[str, Sequence[Any]]:
        return self._space

    def notes(self, source: LogSource) -> Sequence[str]:
        return self._notes

    def _files(self, source: LogSource) -> tuple[LogSource | None, LogSource | None]:
        """Return the files of records and of workloads; the other one may lie beside the one that is given."""
        workloads = workloads_of(source.path, source.hints.get("workloads"))
        if source.is_folder:
            source.data = _name_in(source.path, RECORDS) or ""
            if workloads is None:
                self._notes.append(f"There is no {WORKLOADS}: the loops have no names.")
            return LogSource(source.path / source.data) if source.data else None, workloads
        if _RECORD.search(source.head) is None:
            return None, source
        return source, workloads

    def _functions(self, source: LogSource) -> list[TirFunction | None]:
        found: list[TirFunction | None] = []
        for line in source.lines():
            function = None
            try:
                module = read_module(json.loads(line.raw)[1])
                function = module.get("main") or next(iter(module.values()))
            except (*UNREADABLE, StopIteration) as error:
                self._notes.append(f"Workload {len(found)} cannot be read ({type(error).__name__}).")
            found.append(function)
        return found

    def _evaluation(self, line: TextLine, functions: Sequence[TirFunction | None]) -> Evaluation:
        workload, (trace, run_secs, target, args) = json.loads(line.raw)
        if not isinstance(workload, int):
            raise TypeError("the workload is a number")
        function = functions[workload] if 0 <= workload < len(functions) else None
        instructions = read_trace(trace)
        params: dict[str, Any] = {}
        for knob in knobs(instructions, function):
            params[knob.name] = knob.value
            if knob.name not in self._space and (values := choices(knob, _MOST_CHOICES)) is not None:
                self._space[knob.name] = values
        seconds = tuple(map(float, run_secs or ()))
        good = bool(seconds) and all(0.0 < second < NEVER_S for second in seconds)
        number = self._spaces.setdefault(design_space(instructions), len(self._spaces))
        extra: dict[str, Any] = {"design_space": number, "workload": workload}
        if good:
            extra["median_s"] = statistics.median(seconds)
        return Evaluation(
            task=_task(workload, function, args), target=self._target(target), device=_device(target), params=params,
            status="ok" if good else "unknown", told="ok" if good else _told(run_secs), unit="s", statistic="mean",
            value=math.fsum(seconds) / len(seconds) if good else None, repeats=seconds if good else (), extra=extra,
            where=f"line {line.number}", offset=line.offset,
        )  # fmt: skip

    def _target(self, target: Any) -> str:
        key = json.dumps(target, sort_keys=True)
        if key not in self._targets:
            self._targets[key] = _target_text(target)
        return self._targets[key]

    def _with_texts(self, found: list[Evaluation], texts: Sequence[Trial]) -> Iterator[Evaluation]:
        """Yield records with what the text logs say of them, where trial by trial the medians agree."""
        numbers: dict[str, list[int]] = {}
        for place, made in enumerate(found):
            numbers.setdefault(str(made.extra["workload"]), []).append(place)
        by_task: dict[str, list[Trial]] = {}
        for trial in texts:
            by_task.setdefault(trial.task, []).append(trial)
        for task, told in by_task.items():
            places = next((own for own in numbers.values() if _agree([found[k] for k in own], told)), ())
            if not places:
                self._notes.append(f"The text log of task {task} tells of other times than the records.")
            for k, trial in zip(places, told, strict=False):
                found[k] = _told_by(found[k], trial)
        yield from found


def workloads_of(path: Path, given: Any = None) -> LogSource | None:
    """Return the file of workloads of a database: the given one, that of the folder, or that beside the records."""
    if given:
        return LogSource(Path(given))
    if path.is_dir():
        name = _name_in(path, WORKLOADS)
        return LogSource(path / name) if name else None
    beside = path.with_name(path.name.replace("tuning_record", "workload"))
    return LogSource(beside) if beside != path and beside.is_file() else None


def _agree(records: Sequence[Evaluation], told: Sequence[Trial]) -> bool:
    """Whether the text tells of these records: as many at most, and each with the median that it prints."""
    if not told or len(told) > len(records):
        return False
    for record, trial in zip(records, told, strict=False):
        median = record.extra.get("median_s")
        if (median is None) != (trial.median_us is None):
            return False
        if median is not None and trial.median_us is not None and abs(median * 1e6 - trial.median_us) > 1e-3:
            return False
    return True


def _told_by(record: Evaluation, trial: Trial) -> Evaluation:
    made = replace(record, elapsed_s=trial.elapsed_s, generation=trial.generation)
    if trial.median_us is not None:
        return made
    timed_out = "timeout" in trial.error.lower() or "timed out" in trial.error.lower()
    status: Any = _PHASES.get(trial.phase, "unknown")
    if timed_out and status != "unknown":
        status = {"compile": "build-timeout", "run": "run-timeout"}[status]
    told = f"error in {trial.phase}" if trial.phase else made.told
    return replace(made, status=status, told=told, error=trial.error)


def _texts(source: LogSource) -> list[Trial]:
    """Return the trials of all text logs in or beside a database."""
    folder = source.path if source.is_folder else source.path.parent
    names = [*sorted(folder.glob("*task_*.log*")), *sorted((folder / "logs").glob("*task_*.log*"))]
    return [trial for path in names if path.is_file() for trial in trials(LogSource(path))]


def _name_in(folder: Path, name: str) -> str | None:
    """Return the name of a file in a folder, packed or not."""
    return next((found for found in (name, f"{name}.gz") if (folder / found).is_file()), None)


def _task(number: int, function: TirFunction | None, args: Any = None) -> str:
    if function is not None:
        tensors = ", ".join(f"{buffer.dtype}{list(buffer.shape)}" for buffer in function.params)
        return f"{'+'.join(block.name for block in function.blocks)}({tensors})"
    if isinstance(args, list) and args:
        tensors = ", ".join(f"{item[1]}{item[2]}" for item in args)
        return f"workload {number}({tensors})"
    return f"workload {number}"


def _told(run_secs: Any) -> str:
    return "no time" if not run_secs else f"{run_secs[0]} s"


def _target_text(target: Any) -> str:
    """Return a target as the text that TVM's other tuners write: ``llvm -keys=cpu -mcpu=x86-64-v3``."""
    if not isinstance(target, dict):
        return "" if target is None else str(target)
    items = [str(target.get("kind", ""))]
    for key, value in target.items():
        if key == "kind" or value in ("", None, []):
            continue
        told = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        items.append(f"-{key}={told}")
    return " ".join(items)


def _device(target: Any) -> str:
    """Return the tag or model of a target; empty where it has none."""
    if not isinstance(target, dict):
        return ""
    return str(target.get("tag") or target.get("model") or "")
