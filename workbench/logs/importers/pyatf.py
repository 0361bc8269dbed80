"""Logs of pyATF: one JSON file with the parameters, the search and its history; costs have no unit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from workbench.arguments import is_a
from workbench.errors import UsageError
from workbench.logs.evaluation import Evaluation
from workbench.logs.expressions import Expression, constraints_in
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.json_elements import list_elements, member
from workbench.logs.reading.literals import json_value
from workbench.logs.reading.times import utc
from workbench.logs.source import LogSource
from workbench.safe_text import legible_line

MOST_VALUES = 10_000
"""Values of a parameter that are listed; of a longer range those that occur are. Chosen."""

_BEGIN = re.compile(rb'\s*\{\s*"tuning_parameters"\s*:\s*\[')
_TECHNIQUE = re.compile(r'"search_technique"\s*:\s*\{\s*"kind"\s*:\s*"([^"]*)"')
_DURATION = re.compile(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")


@log_importer("pyatf")
class PyAtfLog(LogImporter):
    """pyATF: the history of a search over constrained parameters."""

    tuner = "pyATF"
    example = (
        '{"tuning_parameters": [{"name": "TI", "range": {"kind": "Interval", "start": 1, "end": 4, "step": 1}}], '
        '"search_technique": {"kind": "Random"}, "history": [\n'
        '{"timestamp": "2026-01-01T00:00:01", "timedelta_since_tuning_start": "0:00:01", "configuration": {"TI": 2}, '
        '"valid": true, "cost": 0.5},\n'
        '{"timestamp": "2026-01-01T00:00:02", "timedelta_since_tuning_start": "0:00:02", "configuration": {"TI": 3}, '
        '"valid": false, "cost": null}]}\n'
    )

    def __init__(self) -> None:
        self._space: dict[str, Sequence[Any]] = {}
        self._restrictions: dict[str, str | None] = {}
        self._notes: list[str] = []

    def matches(self, source: LogSource) -> bool:
        return _BEGIN.match(source.head) is not None

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        text = source.text()
        self._parameters(source, text)
        technique = _TECHNIQUE.search(text)
        hint = str(source.hints.get("unit", ""))
        if not hint:
            self._notes.append("Costs have no unit in this format; say `unit=` if they are times.")
        begin = member(text, "history")
        if begin < 0:
            source.fault(source.path.name, "there is no history")
            return
        for line, value in list_elements(source, text, begin):
            try:
                yield _evaluation(value, line, technique[1] if technique else "", hint)
            except UNREADABLE as error:
                source.fault(line, f"no evaluation of pyATF ({type(error).__name__})")

    def _parameters(self, source: LogSource, text: str) -> None:
        begin = member(text, "tuning_parameters")
        for line, parameter in list_elements(source, text, begin) if begin >= 0 else ():
            try:
                name, values = str(parameter["name"]), _values(parameter["range"])
                if values is not None:
                    self._space[name] = values
                self._restriction(source, name, parameter.get("constraint"))
            except UNREADABLE as error:
                source.fault(line, f"no parameter of pyATF ({type(error).__name__})")

    def _restriction(self, source: LogSource, name: str, constraint: Any) -> None:
        """Read what a parameter has to fulfil: a lambda in a line of Python, which is never executed."""
        if not constraint:
            return
        try:
            found = constraints_in(str(constraint), name)
        except UsageError as error:
            self._restrictions[name] = None
            self._notes.append(f"The constraint of {legible_line(name)} cannot be read: {error.message}")
            return
        if found is not None:
            constants = is_a("constants", source.hints.get("constants", {}), Mapping)
            self._restrictions[name] = found.with_values(constants).text

    def _unknown(self) -> list[str]:
        """Return the names that restrictions need and that are no parameters."""
        texts = filter(None, self._restrictions.values())
        return sorted({n for text in texts for n in Expression(text).names if n not in self._space})

    def restrictions(self, source: LogSource) -> Sequence[str] | None:
        """Return the constraints; None where one of them needs what the log does not say."""
        known = [text for text in self._restrictions.values() if text is not None]
        return known if len(known) == len(self._restrictions) and not self._unknown() else None

    def space(self, source: LogSource) -> Mapping[str, Sequence[Any]]:
        return self._space

    def notes(self, source: LogSource) -> Sequence[str]:
        unknown = self._unknown()
        if not unknown:
            return self._notes
        names, said = legible_line(", ".join(unknown)), ", ".join(f"{name!r}: …" for name in unknown[:3])
        return [*self._notes, f"Constraints need what the log does not say: {names} (`constants={{{said}}}`)."]


def _evaluation(value: Any, line: int, technique: str, unit: str) -> Evaluation:
    params = {str(name): json_value(v) for name, v in value["configuration"].items()}
    cost = value.get("cost")
    number = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else math.nan
    good = value["valid"] is True and math.isfinite(number)
    return Evaluation(
        params=params, status="ok" if good else "unknown", told="valid" if value["valid"] is True else "invalid",
        value=number if good else None, unit=unit, objective="cost", technique=technique,
        error="" if good or cost is None else f"cost {cost!r}",
        elapsed_s=_seconds(value["timedelta_since_tuning_start"]),
        timestamp=utc(datetime.fromisoformat(value["timestamp"])), where=f"line {line}", raw=value,
    )  # fmt: skip


def _values(given: Mapping[str, Any]) -> list[Any] | None:
    """Return the values of a parameter; None of a range that is too long or made by a function."""
    if given["kind"] == "Set":
        return [json_value(value) for value in given["values"]]
    start, end, step = (given.get(name, 1) for name in ("start", "end", "step"))
    count = (end - start) / step + 1
    if "generator" in given or not 0 < count <= MOST_VALUES:
        return None
    return [start + step * k for k in range(math.floor(count + 1e-9))]


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    days, hours, minutes, seconds = found.groups(default="0")
    return ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
