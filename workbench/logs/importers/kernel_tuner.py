"""Kernel Tuner's cache: a header with the space, then the configurations in one object that may never be closed."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import Evaluation, Status
from workbench.logs.importer import LogImporter, log_importer
from workbench.logs.reading.json_document import JsonDocument, Member, read_document
from workbench.logs.reading.objectives import (
    FAILED_AS_NUMBER,
    Direction,
    direction_of,
    is_number,
    numbers,
    scaled,
    statistic_of,
)  # fmt: skip
from workbench.logs.source import LogSource

FAILURES: Mapping[str, Status] = {
    "InvalidConfig": "constraint",
    "CompilationFailedConfig": "compile",
    "RuntimeFailedConfig": "run",
    "ErrorConfig": "unknown",
}
"""Texts that stand where the objective would be, or in ``__error__``."""

TIMES = ("compile_time", "benchmark_time", "verification_time", "strategy_time", "framework_time")
"""What Kernel Tuner spends on a configuration, in ms."""

_MS = 1e-3


@log_importer("kernel-tuner")
class KernelTunerCache(LogImporter):
    """Kernel Tuner's cache, closed or not: times in ms, the mean of all runs with the first one."""

    tuner = "Kernel Tuner"
    example = """{
"device_name": "NVIDIA A100",
"kernel_name": "vector_add",
"problem_size": [1000000],
"tune_params_keys": ["block_size_x"],
"tune_params": {"block_size_x": [32, 64, 2048]},
"objective": "time",
"cache": {
"32": {"block_size_x": 32, "time": 0.03, "times": [0.04, 0.02], "compile_time": 440.5, "benchmark_time": 1.1, "timestamp": "2024-01-01 10:00:00.5+00:00"},
"64": {"block_size_x": 64, "time": 0.025, "times": [0.03, 0.02], "compile_time": 441.5, "benchmark_time": 1.0, "timestamp": "2024-01-01 10:00:01.0+00:00"},
"2048": {"block_size_x": 2048, "time": "InvalidConfig", "compile_time": 0.5, "timestamp": "2024-01-01 10:00:01.1+00:00"}}
}
"""  # noqa: E501  # a line each

    def __init__(self) -> None:
        self._header: dict[str, Any] = {}
        self._notes: list[str] = []

    def matches(self, source: LogSource) -> bool:
        return re.match(rb"\s*\{", source.head) is not None and b'"tune_params_keys"' in source.head

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        document = read_document(source, "cache")
        self._header = document.header
        rows = _Rows(document, source.hints)
        self._notes = list(rows.notes)
        contradictions = Contradictions()
        yield from map(contradictions.checked, map(rows.evaluation, document.records))
        self._notes += contradictions.notes()
        if not document.closed:
            self._notes.append("The cache is not closed: its run was cut off, or still goes on.")

    def space(self, source: LogSource) -> Mapping[str, Sequence[Any]]:
        declared = self._header.get("tune_params")
        if not isinstance(declared, dict):
            return {}
        return {name: values for name, values in declared.items() if isinstance(values, list)}

    def notes(self, source: LogSource) -> Sequence[str]:
        return self._notes


class _Rows:
    """What the header says about every record, and the records in these words."""

    def __init__(self, document: JsonDocument, hints: Mapping[str, Any]) -> None:
        header = document.header
        self.names = _texts(header.get("tune_params_keys"))
        objectives = _texts(header.get("objective")) or ["time"]
        self.objective = str(hints.get("objective") or objectives[0])
        self.direction: Direction
        self.direction, note = direction_of(self.objective, hints)
        self.notes = [note] if note else []
        if len(objectives) > 1 and "objective" not in hints:
            others = ", ".join(objectives[1:])
            self.notes.append(
                f'The log has several objectives; taken: {self.objective!r} (objective="…" for: {others}).'
            )
        self.unit = str(hints.get("unit") or ("ms" if self.objective == "time" else ""))
        self.device = str(hints.get("device") or header.get("device_name") or "")
        self.task = str(hints.get("task") or kernel_at_size(header.get("kernel_name"), header.get("problem_size")))
        self.begin = _began(document.records)

    def evaluation(self, member: Member) -> Evaluation:
        entry: dict[str, Any] = member.value
        names = self.names or list(entry)[: member.key.count(",") + 1]  # the header is damaged: parameters come first
        params = {name: entry[name] for name in names if name in entry}
        value, status, told = outcome(entry.get(self.objective), entry.get("__error__"))
        repeats = tuple(numbers(entry.get(f"{self.objective}s")))
        timestamp = seconds_since_1970(entry.get("timestamp"))
        known = {*params, self.objective, f"{self.objective}s", "__error__", "timestamp", *TIMES}
        extra = {name: told for name, told in entry.items() if name not in known}
        compiling, running, checking, choosing, framework = (scaled(entry.get(name), _MS) for name in TIMES)
        if framework is not None:
            extra["framework_s"] = framework
        return Evaluation(
            params=params, status=status, told=told, value=value, unit=self.unit, objective=self.objective,
            direction=self.direction, statistic="" if value is None else statistic_of(value, repeats), repeats=repeats,
            task=self.task, device=self.device, timestamp=timestamp,
            elapsed_s=None if timestamp is None or self.begin is None else timestamp - self.begin,
            compile_s=compiling, run_s=running, verify_s=checking, search_s=choosing, extra=extra,
            where=member.where, raw=entry,
        )  # fmt: skip


def outcome(told: Any, error: Any = None) -> tuple[float | None, Status, str]:
    """Return value, status and the log's own word from what stands where the value is, and beside it."""
    if isinstance(error, str) and error:
        return None, FAILURES.get(error, "unknown"), error
    if isinstance(told, str):
        return None, FAILURES.get(told, "unknown"), told
    if not is_number(told) or told >= FAILED_AS_NUMBER:
        return None, "unknown", "" if told is None else str(told)
    return float(told), "ok", ""


class Contradictions:
    """Counts the records that contradict themselves, and keeps the first place of each kind."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def checked(self, evaluation: Evaluation) -> Evaluation:
        """Count an evaluation, and return it."""
        if evaluation.repeats and (evaluation.value is None or not evaluation.statistic):
            kind = "failed" if evaluation.value is None else "others"
            self._counts[kind] += 1
            self._first.setdefault(kind, evaluation.where)
        return evaluation

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind, with its number."""
        for kind, what, taken in (
            ("others", "have a value that is no mean, median or extreme of their repeats", "value is taken as it is"),
            ("failed", "failed and have repeats", "failure is taken"),
        ):
            if count := self._counts[kind]:
                yield f"{count} of the records {what} (first: {self._first[kind]}); the {taken}."


def kernel_at_size(kernel: Any, size: Any) -> str:
    """Return a name for what was tuned: the kernel, and the size of its problem where the log has one."""
    sizes = size if isinstance(size, list) else [size]
    told = "x".join(str(n) for n in sizes if n is not None)
    return f"{kernel or ''} {told if told != '1' else ''}".strip()


def seconds_since_1970(told: Any) -> float | None:
    """Return a time of day as Kernel Tuner and KTT write it; None for any other text."""
    try:
        return datetime.datetime.fromisoformat(told.replace(" UTC", "+00:00")).timestamp()
    except (ValueError, AttributeError, OverflowError, OSError):
        return None


def _began(records: Sequence[Member]) -> float | None:
    """Return when the run began: the end of the first record, less what was spent on it."""
    if not records:
        return None
    first = records[0].value
    ended = seconds_since_1970(first.get("timestamp"))
    return None if ended is None else ended - sum(scaled(first.get(name), _MS) or 0.0 for name in TIMES)


def _texts(told: Any) -> list[str]:
    several = told if isinstance(told, list) else [told]
    return [name for name in several if isinstance(name, str)]
