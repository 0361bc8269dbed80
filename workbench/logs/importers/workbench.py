"""The workbench's own log."""

from __future__ import annotations

import json
from typing import Any

from workbench.log import Record
from workbench.log.lines import parse_line
from workbench.logs.evaluation import Evaluation, Status
from workbench.logs.importer import JsonLinesImporter, log_importer
from workbench.logs.source import LogSource

_STATUS: dict[str, Status] = {
    "ok": "ok", "build_error": "compile", "run_error": "run", "wrong_answer": "wrong-answer", "timeout": "run-timeout",
    "cancelled": "filtered",
}  # fmt: skip


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
        clean = record.status == "ok" and record.latency_ms is not None
        return Evaluation(
            task=record.task, device=record.host, target=record.target, params=dict(record.row),
            status=_STATUS.get(record.status, "unknown"), told=record.status,
            value=record.latency_ms if clean else None, unit="ms", statistic="min", repeats=record.costs_ms,
            error=record.error, timestamp=record.timestamp or None, elapsed_s=record.elapsed_s,
            compile_s=record.compile_s, run_s=record.run_s, technique=record.origin, generation=record.round,
            predicted=record.predicted, extra={"space": record.space, "variant": record.variant, "clean": record.clean},
        )  # fmt: skip
