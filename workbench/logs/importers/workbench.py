"""The workbench's own log."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.log import Record
from workbench.log.lines import parse_line
from workbench.logs.evaluation import SECONDS, STATUSES, Evaluation, Status
from workbench.logs.importer import JsonLinesImporter, log_importer
from workbench.logs.reading.objectives import is_number, numbers, scaled
from workbench.logs.source import LogSource

_STATUS: dict[str, Status] = {
    "ok": "ok", "build_error": "compile", "run_error": "run", "wrong_answer": "wrong-answer", "timeout": "run-timeout",
    "cancelled": "filtered",
}  # fmt: skip


_HEADER = re.compile(rb'\s*\{\s*"kind"\s*:\s*"header"')


@log_importer("workbench")
class WorkbenchLog(JsonLinesImporter):
    """The workbench's own log: a schedule's holes and their values."""

    tuner = "the Schedule Workbench"
    example = (
        '{"kind":"header","tasks":[["3f2a","dense"]],"target":"llvm","schema":1}\n'
        '{"kind":"trial","task_key":"3f2a","task":"dense","trial":0,"status":"ok","target":"llvm","row":{"j.1":2},'
        '"costs_ms":[0.0021,0.0019],"latency_ms":0.0019}\n'
        '{"kind":"trial","task_key":"3f2a","task":"dense","trial":1,"status":"timeout","target":"llvm","row":{"j.1":4}}\n'
    )

    def matches(self, source: LogSource) -> bool:
        if _HEADER.match(source.head):  # that of a large network is longer than what is looked at
            return True
        for raw in source.head.splitlines()[:3]:
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict) and (line.get("kind") == "header" or {"task_key", "trial"} <= line.keys()):
                return True
        return False

    def evaluation(self, line: Any) -> Evaluation | None:
        record = parse_line(line) if line.get("kind", "trial") == "trial" else None
        if not isinstance(record, Record):
            return None
        told = record.extra if record.extra.get("status_told") in STATUSES else {}  # of a log that was converted
        status: Status = told.get("status_told") or _STATUS.get(record.status, "unknown")
        clean = status == "ok" and record.latency_ms is not None
        found = Evaluation(
            task=record.task, device=record.host, target=record.target, params=dict(record.row), status=status,
            told=record.status, value=record.latency_ms if clean else None, unit="ms", statistic="min",
            repeats=record.costs_ms, error=record.error, timestamp=record.timestamp or None,
            elapsed_s=record.elapsed_s, compile_s=record.compile_s, run_s=record.run_s, technique=record.origin,
            generation=record.round, predicted=record.predicted,
            extra={"space": record.space, "variant": record.variant, "clean": record.clean},
        )  # fmt: skip
        return _converted(found, told) if told else found


def _converted(found: Evaluation, told: Mapping[str, Any]) -> Evaluation:
    """Return what `workbench.logs.conversion` has written beside our own fields: the other tuner's own words."""
    value, unit = told["value"], str(told["unit"])
    scale = 1e-3 / SECONDS[unit] if unit in SECONDS else 1.0
    repeats = list(numbers(told.get("repeats"))) or [
        cost * scale for cost in found.repeats
    ]  # some logs were converted without
    verify, search, spent = (scaled(told.get(name), 1.0) for name in ("verify_s", "search_s", "spent_s"))
    generation = told.get("generation")
    return dataclasses.replace(
        found, params=dict(told["params"]), told=str(told["told"]), value=None if value is None else float(value),
        unit=unit, objective=str(told["objective"]), direction="max" if told["direction"] == "max" else "min",
        statistic=str(told["statistic"]), repeats=tuple(repeats), extra=dict(told.get("beside", {})),
        generation=generation if is_number(generation) else None, verify_s=verify, search_s=search, spent_s=spent,
        compile_s=found.compile_s or None, run_s=found.run_s or None, elapsed_s=found.elapsed_s or None,
    )  # fmt: skip
