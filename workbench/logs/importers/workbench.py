"""The workbench's own log."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.errors import LogError
from workbench.log.columns import corrupt
from workbench.log.record import USUAL, Record
from workbench.log.rows import ROWS, Decoder, is_row, is_shared
from workbench.logs.evaluation import OF_ALL, SECONDS, STATUSES, Evaluation, Status
from workbench.logs.importer import UNREADABLE, JsonLinesImporter, log_importer
from workbench.logs.reading.objectives import is_number, numbers, scaled
from workbench.logs.source import LONGEST_LINE, LogSource, TextLine, sound
from workbench.markup import doubtful

_STATUS: dict[str, Status] = {
    "ok": "ok", "build_error": "compile", "run_error": "run", "wrong_answer": "wrong-answer", "timeout": "run-timeout",
    "cancelled": "filtered",
}  # fmt: skip


_BLOCK = 1 << 24
"""Bytes that are searched at a time for what rows share. Chosen."""

_HEADER = re.compile(rb'\s*\{\s*"kind"\s*:\s*"header"')


@log_importer("workbench")
class WorkbenchLog(JsonLinesImporter):
    """The workbench's own log: a schedule's holes and their values."""

    tuner = "the Schedule Workbench"
    by_itself = True  # but for what rows share: `prepare`
    example = (
        '{"kind":"header","tasks":[["3f2a","dense"]],"target":"llvm","schema":1}\n'
        '{"kind":"trial","task_key":"3f2a","task":"dense","trial":0,"status":"ok","target":"llvm","row":{"j.1":2},'
        '"costs_ms":[0.0021,0.0019],"latency_ms":0.0019}\n'
        '{"kind":"trial","task_key":"3f2a","task":"dense","trial":1,"status":"timeout","target":"llvm","row":{"j.1":4}}\n'
        '{"id":0,"task_key":"3f2a","task":"dense","target":"llvm","holes":["j.1"]}\n'
        '{"of":[0],"n":2,"ms":0.0017,"costs":[4,17,18],"row":[8]}\n'
    )

    def matches(self, source: LogSource) -> bool:
        if _HEADER.match(source.head):  # that of a large network is longer than what is looked at
            return True
        for raw in source.head.splitlines()[:3]:
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if not isinstance(line, dict):
                continue
            if line.get("kind") == "header" or {"task_key", "trial"} <= line.keys():
                return True
            if is_row(line) or (is_shared(line) and ("task_key" in line or "since" in line)):
                return True
        return False

    def __init__(self) -> None:
        self._known, self._prepared = Decoder(), False

    def check(self, source: LogSource) -> None:
        self._known = Decoder()

    def prepare(self, source: LogSource, end: int) -> None:
        """Take from the lines before a byte what rows share."""
        self._prepared = True
        with source.open() as file:
            while (left := end - file.tell()) > 0 and (block := file.read(min(_BLOCK, left))):
                rest = b"" if block.endswith(b"\n") else file.readline(LONGEST_LINE)
                for line in _lines_with(block + rest, (b'"id"', b'"header"')):
                    with contextlib.suppress(LogError, *UNREADABLE):  # told where the line itself is read
                        self._fields(json.loads(sound(line)))

    def reason(self, line: TextLine, error: Exception) -> str:
        told = error.__cause__
        return told.message if isinstance(told, LogError) and not line.torn else super().reason(line, error)

    def _fields(self, line: Any, brief: bool = False) -> dict[str, Any] | None:
        """Return the fields of a trial; None for another line."""
        try:
            if is_row(line):
                if self._known.mixed and (brief or not self._prepared):  # else a line that was read before
                    raise corrupt("Another log begins above this line", "")
                return self._known.fields(line, brief=brief)
            if is_shared(line):
                self._known.declare(line)
            elif line.get("kind") == "header":
                version = line.get("schema", ROWS)
                self._known.begin(version if isinstance(version, int) else ROWS)
            elif line.get("kind", Record.kind) == Record.kind:
                return {**USUAL, **Record.checked(line)}
        except LogError as error:
            raise ValueError from error
        return None

    def evaluation(self, line: Any) -> Evaluation | None:
        told = self._fields(line)
        if told is None:
            return None
        extra = {name: told[name] for name in ("space", "variant", "clean")}
        return _evaluation(told, dict(told["row"]), extra)

    def brief(self, line: Any) -> Evaluation | None:
        """As `evaluation`, without the values of the holes."""
        told = self._fields(line, brief=True)
        return None if told is None else _evaluation(told, {}, {})


def _lines_with(block: bytes, names: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a block with one of some names, by name."""
    for name in names:
        end = 0
        while (at := block.find(name, end)) >= 0:
            end = block.find(b"\n", at) % (len(block) + 1)
            yield block[block.rfind(b"\n", 0, at) + 1 : end]


def _evaluation(told: Mapping[str, Any], params: Mapping[str, Any], extra: Mapping[str, Any]) -> Evaluation:
    other = told["extra"] if told["extra"].get("status_told") in STATUSES else {}  # of a log that was converted
    status: Status = other.get("status_told") or _STATUS.get(told["status"], "unknown")
    timed = status == "ok" and told["latency_ms"] is not None
    doubt = "" if told["clean"] or not timed else _doubt(told)
    found = Evaluation(
        task=told["task"], device=told["host"], target=told["target"], params=params, status=status,
        told=doubt or told["status"], value=told["latency_ms"] if timed and not doubt else None, unit="ms",
        statistic=f"{'median' if told['clean'] else 'min'} {OF_ALL}",
        repeats=told["costs_ms"], error=told["error"], timestamp=told["timestamp"] or None,
        elapsed_s=told["elapsed_s"], compile_s=told["compile_s"], run_s=told["run_s"], technique=told["origin"],
        generation=told["round"], predicted=told["predicted"], extra=extra,
    )  # fmt: skip
    return _converted(found, other) if other else found


def _doubt(told: Mapping[str, Any]) -> str:
    """Say what is known of a time that was disturbed: it is a bound, no value that could be the best."""
    return f"{doubtful(told['latency_ms'], told['at_least_ms'])} ms: {told['why_not'] or 'other programs disturbed it'}"


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
