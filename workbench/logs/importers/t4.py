"""T4, the exchange format for tuning results that Kernel Tuner and KTT write (version 1.0.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import SECONDS, Evaluation, Status
from workbench.logs.importer import LogImporter, log_importer
from workbench.logs.importers.kernel_tuner import Contradictions, outcome, seconds_since_1970
from workbench.logs.reading.json_document import JsonDocument, Member, read_document
from workbench.logs.reading.objectives import direction_of, numbers, scaled, statistic_of, unit_of
from workbench.logs.source import LogSource

INVALIDITY: Mapping[str, Status] = {
    "correct": "ok", "compile": "compile", "runtime": "run", "correctness": "wrong-answer", "constraints": "constraint",
    "timeout": "run-timeout",
}  # fmt: skip
"""Words of the format; a value that is no number says it more exactly where Kernel Tuner wrote it."""

_COMPILATION = ("compilation", "compilation_time")
"""What the schema calls it is the second one, which KTT writes."""


@log_importer("t4")
class T4Results(LogImporter):
    """T4 results (version 1.0.0), by Kernel Tuner or KTT: neither device nor kernel, units as far as told."""

    tuner = "Kernel Tuner, KTT"
    example = """{"metadata": {"timeunit": "miliseconds"}, "results": [
{"timestamp": "2024-01-01 10:00:00.5+00:00", "configuration": {"block_size_x": 32}, "times": {"compilation": 440.5,
 "framework": 1.5, "search_algorithm": 0, "validation": 0, "runtimes": [0.04, 0.02]}, "invalidity": "correct",
 "correctness": 1, "measurements": [{"name": "time", "value": 0.03, "unit": ""}], "objectives": ["time"]},
{"timestamp": "2024-01-01 10:00:01.5+00:00", "configuration": {"block_size_x": 64}, "times": {"compilation": 440.5,
 "framework": 1.5, "search_algorithm": 0, "validation": 0, "runtimes": [0.03, 0.01]}, "invalidity": "correct",
 "correctness": 1, "measurements": [{"name": "time", "value": 0.02, "unit": ""}], "objectives": ["time"]},
{"timestamp": "2024-01-01 10:00:01.9+00:00", "configuration": {"block_size_x": 2048}, "times": {"compilation": 0.5,
 "framework": 1.5, "search_algorithm": 0, "validation": 0}, "invalidity": "runtime", "correctness": 0,
 "measurements": [{"name": "time", "value": "RuntimeFailedConfig", "unit": ""}], "objectives": ["time"]}
], "schema_version": "1.0.0"}
"""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def matches(self, source: LogSource) -> bool:
        own = (b'"results"', b'"configuration"', b'"invalidity"', b'"measurements"')
        return re.match(rb"\s*\{", source.head) is not None and all(word in source.head for word in own)

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        document = read_document(
            source, "results", lambda value: isinstance(value, dict) and isinstance(value.get("configuration"), dict)
        )
        rows = _Rows(document, source)
        contradictions = Contradictions()
        yield from map(contradictions.checked, map(rows.evaluation, document.records))
        self._notes = [*rows.notes, *contradictions.notes()]
        if not document.closed:
            self._notes.append("The file is not closed: it was cut off, or is being written.")

    def notes(self, source: LogSource) -> Sequence[str]:
        return self._notes


class _Rows:
    """What all records have in common, and the records in shared words."""

    def __init__(self, document: JsonDocument, source: LogSource) -> None:
        hints = source.hints
        first = document.records[0].value if document.records else {}
        objectives = [name for name in _list(first.get("objectives")) if isinstance(name, str)] or ["time"]
        self.objective = str(hints.get("objective") or objectives[0])
        self.direction, note = direction_of(self.objective, hints)
        self.notes = [note] if note else []
        measured = _measurements(first).get(self.objective, {})
        metadata = document.header.get("metadata")
        said = unit_of(metadata.get("timeunit")) if isinstance(metadata, dict) else ""
        self.is_time = "time" in self.objective.lower() or "duration" in self.objective.lower()
        self.unit = str(hints.get("unit") or unit_of(measured.get("unit")) or (said if self.is_time else ""))
        times_in = next((unit for unit in (said, self.unit) if unit in SECONDS), "")
        if not times_in and document.records:
            self.notes.append('The file does not say the unit of its times; taken: ms (unit="…" for another).')
            self.unit = "ms" if self.is_time and not self.unit else self.unit
        self.second = SECONDS[times_in or "ms"]
        self.device, self.task = str(hints.get("device") or ""), str(hints.get("task") or _name(source))
        stamps = (seconds_since_1970(member.value.get("timestamp")) for member in document.records)
        begin = next(stamps, None)
        self.own_stamps = any(stamp != begin for stamp in stamps)  # KTT writes when the file was written
        self.begin = self._began(first, begin)

    def evaluation(self, member: Member) -> Evaluation:
        record: dict[str, Any] = member.value
        measurements = _measurements(record)
        value, status, told = outcome(measurements.pop(self.objective, {}).get("value"))
        invalidity = str(record.get("invalidity") or "")
        if status in ("ok", "unknown") and invalidity != "correct":
            value, status, told = None, INVALIDITY.get(invalidity, "unknown"), told or invalidity
        times: Any = record.get("times")
        times = times if isinstance(times, dict) else {}
        repeats = tuple(numbers(times.get("runtimes"))) if self.is_time else ()
        timestamp = seconds_since_1970(record.get("timestamp")) if self.own_stamps else None
        framework = scaled(times.get("framework"), self.second)
        return Evaluation(
            params=record["configuration"], status=status, told=told or invalidity, value=value, unit=self.unit,
            objective=self.objective, direction=self.direction, repeats=repeats, device=self.device, task=self.task,
            statistic="" if value is None else statistic_of(value, repeats), timestamp=timestamp,
            elapsed_s=None if timestamp is None or self.begin is None else timestamp - self.begin,
            compile_s=next((scaled(times[name], self.second) for name in _COMPILATION if name in times), None),
            run_s=scaled(times.get("benchmark"), self.second),
            verify_s=scaled(times.get("validation"), self.second),
            search_s=scaled(times.get("search_algorithm"), self.second),
            extra={name: found.get("value") for name, found in measurements.items()}
            | ({} if framework is None else {"framework_s": framework}),
            where=member.where, raw=record,
        )  # fmt: skip

    def _began(self, first: Mapping[str, Any], ended: float | None) -> float | None:
        times = first.get("times")
        if ended is None or not isinstance(times, dict):
            return ended
        return ended - sum(scaled(spent, self.second) or 0.0 for spent in times.values())


def _measurements(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    several = (found for found in _list(record.get("measurements")) if isinstance(found, dict))
    return {str(found.get("name")): found for found in several}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _name(source: LogSource) -> str:
    """Return what the file is called: it says nothing else of what was tuned."""
    return re.sub(r"(_T4)?(-v[\d.]+)?\.json(\.gz)?$", "", source.path.name)
