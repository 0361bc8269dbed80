"""Logs of Helion's autotuner: a row when a configuration is begun and one when it has ended, times in milliseconds."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from workbench.logs.evaluation import Evaluation, Status
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.literals import keywords
from workbench.logs.source import LogSource, TextLine

STATUS: dict[str, Status] = {
    "ok": "ok", "started": "started-only", "error": "run", "timeout": "build-timeout", "filtered": "filtered",
    "peer_compilation_fail": "compile", "deduplicated": "filtered", "unknown": "unknown",
}  # fmt: skip
"""What the tuner's words mean; its time limit is one of compiling."""

_HEADERS = (
    "run_id,timestamp_s,config_id,generation,status,perf_ms,compile_time_s,config",
    "timestamp_s,config_index,generation,status,perf_ms,compile_time_s,config",
)
_config = lru_cache(4096)(keywords)


@log_importer("helion")
class HelionLog(LogImporter):
    """Helion: configurations of a kernel, with their compile times and generations."""

    tuner = "Helion"
    example = (
        f"{_HEADERS[0]}\n"
        'a1,0.02,c1,0,started,,,"Config(block_sizes=[64, 32], num_warps=4)"\n'
        'a1,0.90,c1,0,ok,0.0275,0.8,"Config(block_sizes=[64, 32], num_warps=4)"\n'
        'a1,0.91,c2,0,started,,,"Config(block_sizes=[128, 128], num_warps=16)"\n'
        'a1,1.50,c2,0,error,,0.5,"Config(block_sizes=[128, 128], num_warps=16)"\n'
    )

    def matches(self, source: LogSource) -> bool:
        return source.head.split(b"\n", 1)[0].rstrip(b"\r").decode("latin-1") in _HEADERS

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield one evaluation per end of a configuration; what has only begun comes at the end of its run."""
        runs = _Runs(_kernels(source))
        names: list[str] = []
        for line in source.lines():
            text = line.raw.decode("utf-8", "backslashreplace").strip("\r\n\ufeff")
            if text in _HEADERS:  # the file is appended to
                names = text.split(",")
            elif text:
                try:
                    yield from runs.row(line, _cells(names, text))
                except (*UNREADABLE, csv.Error) as error:
                    why = "the line is cut off" if line.torn else f"no row of Helion ({type(error).__name__})"
                    source.fault(line.number, why)
        yield from runs.unfinished()

    def notes(self, source: LogSource) -> tuple[str, ...]:
        if _details(source) is not None:
            return ()
        return ("The table does not say which kernel it is about; a .meta.jsonl file beside it would.",)


class _Runs:
    """The rows of a file, as those of one run after the other."""

    def __init__(self, kernels: dict[str, dict[str, Any]]) -> None:
        self.kernels = kernels
        self.pending: dict[str, Evaluation] = {}
        self.number, self.last_s = 0, -math.inf
        self.run: str | None = None

    def row(self, line: TextLine, cells: dict[str, str]) -> Iterator[Evaluation]:
        now, run = float(cells["timestamp_s"]), cells.get("run_id", "")
        found = self._evaluation(line, cells, now)
        if run != self.run or now < self.last_s:  # the clock begins anew with each run
            yield from self.unfinished()
            self.run, self.number = run, self.number + 1
        self.last_s = now
        found = _in_run(found, self.number, self.kernels.get(run, {}))
        config = str(found.extra["config_id"])
        if found.told == "started":
            if (former := self.pending.pop(config, None)) is not None:
                yield former
            self.pending[config] = found
        else:
            self.pending.pop(config, None)
            yield found

    def unfinished(self) -> Iterator[Evaluation]:
        yield from self.pending.values()
        self.pending = {}

    def _evaluation(self, line: TextLine, cells: dict[str, str], now: float) -> Evaluation:
        told = cells["status"]
        value = float(cells["perf_ms"]) if cells["perf_ms"] else None
        status = STATUS.get(told, "unknown")
        if status == "ok" and (value is None or not math.isfinite(value)):
            status = "unknown"
        generation = cells["generation"]
        config_id = cells["config_id"] if "config_id" in cells else cells["config_index"]
        return Evaluation(
            params=_config(cells["config"]), status=status, told=told, value=value if status == "ok" else None,
            unit="ms", elapsed_s=now, generation=int(generation) if generation else None,
            compile_s=float(cells["compile_time_s"]) if cells["compile_time_s"] else None,
            extra={"config_id": config_id} | ({"run_id": cells["run_id"]} if "run_id" in cells else {}),
            where=f"line {line.number}", raw=cells,
        )  # fmt: skip


def _cells(names: list[str], text: str) -> dict[str, str]:
    (row,) = csv.reader([text], strict=True)
    return dict(zip(names, row, strict=True))


def _in_run(found: Evaluation, number: int, kernel: dict[str, Any]) -> Evaluation:
    import dataclasses

    shapes = kernel.get("input_shapes")
    name = str(kernel.get("kernel_name", ""))
    task = f"{name}{shapes if isinstance(shapes, str) else json.dumps(shapes)}" if name and shapes else name
    device = kernel.get("hardware") or ""
    return dataclasses.replace(
        found, run=f"run {number}", task=task, device=device if isinstance(device, str) else json.dumps(device)
    )


def _details(source: LogSource) -> LogSource | None:
    name = source.path.name.removesuffix(".gz").removesuffix(".csv") + ".meta.jsonl"
    path = source.path.with_name(name)
    return LogSource(path) if path.is_file() else None


def _kernels(source: LogSource) -> dict[str, dict[str, Any]]:
    """Return what the file beside it says about each run, by its identifier."""
    found: dict[str, dict[str, Any]] = {}
    details = _details(source)
    for line in details.lines() if details else ():
        try:
            run = json.loads(line.raw)
            found[str(run["run_id"])] = {key: run.get(key) for key in ("kernel_name", "input_shapes", "hardware")}
        except UNREADABLE as error:
            source.fault(f"{details.path.name if details else ''}, line {line.number}", f"{type(error).__name__}")
    return found
