"""Tables of one's own: CSV, JSON lines and Parquet, whose columns somebody has to name once."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, ClassVar

from workbench.errors import LogError
from workbench.logs.evaluation import STATUSES, Evaluation, Status
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.column_mapping import ROLES, ColumnMapping, mapping_of
from workbench.logs.reading.objectives import direction_of, unit_of
from workbench.logs.reading.times import utc_or_none
from workbench.logs.source import LogSource, passed_over

FAILURE_CODES = (1e9, 1e10, 1e20)
"""Costs that tuners write for a failure, whatever the unit."""

_PARQUET = b"PAR1"
_DELIMITERS = (",", "\t", ";")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBERS = ("generation", "predicted", "elapsed_s", "compile_s", "run_s", "verify_s", "search_s", "spent_s")
_Row = tuple[str, dict[str, Any]]


@log_importer("columns")
class ColumnsTable(LogImporter):
    """Any CSV, JSON lines or Parquet: a row per configuration, by the columns that `columns=` names once."""

    tuner = "any tuner"
    rank = 2
    example = "tile,unroll,ms,state\n8,True,0.25,ok\n16,False,,crash\n"
    example_hints: ClassVar[Mapping[str, Any]] = {
        "columns": {"cost": "ms", "params": ["tile", "unroll"], "status": "state"},
        "unit": "ms",
        "statuses": {"crash": "run"},
    }

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._words: Counter[str] = Counter()
        self._codes = 0

    def matches(self, source: LogSource) -> bool:
        return _kind(source) is not None

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield a row after the other.

        Raises
        ------
        LogError
            ``log.columns`` where nobody has said what the columns are; ``log.pyarrow`` for Parquet without pyarrow.
        """
        kind = _kind(source)
        rows = {"csv": _csv, "json": _json_lines, "parquet": _parquet}[kind or "csv"](source)
        first = next(rows, None)
        if first is None:  # a damaged file
            return
        header = first[1]
        mapping = mapping_of(list(header), source.hints, str(source.path))
        if mapping.remembered:
            self._notes.append(f"The columns are taken as they were named for this header before: {mapping.in_words}.")
        objective = str(mapping.said.get("objective") or mapping.columns["cost"])
        direction, note = direction_of(objective, mapping.said)
        self._notes += [note] if note else []
        common = {"unit": unit_of(mapping.said["unit"]), "objective": objective, "direction": direction}
        for where, row in rows:
            try:
                yield self._evaluation(mapping, row, common, where)
            except UNREADABLE as error:
                source.fault(where, f"no row of this table ({type(error).__name__})")

    def _evaluation(
        self, mapping: ColumnMapping, row: Mapping[str, Any], common: Mapping[str, Any], where: str
    ) -> Evaluation:
        fields: dict[str, Any] = {}
        for role, column in mapping.columns.items():
            cell = row.get(column)
            name = ROLES[role]
            if name in _NUMBERS or role == "timestamp":
                fields[name] = _time(cell) if role == "timestamp" else _number(cell)
            elif role not in ("cost", "status"):
                fields[name] = "" if cell is None else str(cell)
        if (generation := fields.get("generation")) is not None:
            fields["generation"] = int(generation)
        cell = row.get(mapping.columns["cost"])
        status, told = self._status(mapping, row, cell)
        repeats = [_number(row.get(name)) for name in mapping.repeats]
        used = {*mapping.columns.values(), *mapping.params, *mapping.repeats}
        return Evaluation(
            params={name: _value(row[name]) for name in mapping.params if row.get(name) not in (None, "")},
            status=status, told=told, value=_number(cell) if status == "ok" else None,
            repeats=tuple(value for value in repeats if value is not None) if status == "ok" else (),
            extra={name: _value(value) for name, value in row.items() if name not in used and value not in (None, "")},
            where=where, raw=dict(row), **common, **fields,
        )  # fmt: skip

    def _status(self, mapping: ColumnMapping, row: Mapping[str, Any], cell: Any) -> tuple[Status, str]:
        """Return what became of a row: as its status says, and never ok without a cost."""
        column = mapping.columns.get("status")
        cost, told = _number(cell), "" if cell is None else str(cell)
        status: Status = "ok"
        if column is not None:
            told = "" if row.get(column) is None else str(row[column])
            word = str(mapping.said.get("statuses", {}).get(told, told))
            if word in STATUSES:
                status = word  # type: ignore[assignment]  # it is one of them
            else:
                self._words[told] += 1
                status = "unknown"
        if cost in FAILURE_CODES:
            self._codes += 1
        if status == "ok" and (cost is None or cost in FAILURE_CODES):
            return "unknown", told
        return status, told if column is not None or status != "ok" else ""

    def notes(self, source: LogSource) -> Sequence[str]:
        told = list(self._notes)
        if self._words:
            words = ", ".join(f"{word!r} ({count})" for word, count in self._words.most_common(5))
            told.append(
                f"Words of the status that are not known here count as failures: {words}; "
                "say what they mean: `statuses={'success': 'ok'}`."
            )
        if self._codes:
            told.append(f"{self._codes} rows have a cost of 1e9, 1e10 or 1e20, which stands for a failure.")
        return told


def _kind(source: LogSource) -> str | None:
    head = source.head
    if head.startswith(_PARQUET):
        return "parquet"
    if not head or b"\0" in head:
        return None
    lines = [line for line in head.split(b"\n")[:20] if not passed_over(line)]
    if lines and lines[0].lstrip().startswith(b"{"):
        objects = 0
        for line in lines[:2]:
            with suppress(ValueError, RecursionError):
                objects += isinstance(json.loads(line), dict)
        return "json" if objects == len(lines[:2]) else None
    texts = [line.decode("utf-8", "backslashreplace") for line in lines]
    return "csv" if len(texts) > 1 and _delimiter(texts) else None


def _delimiter(lines: Sequence[str]) -> str | None:
    """Return what stands between the cells: the same number of times in the header and in the next line."""
    for delimiter in _DELIMITERS:
        with suppress(csv.Error, ValueError):
            header, first = (next(csv.reader([line.strip("\r\n")], delimiter=delimiter)) for line in lines[:2])
            names = {name.strip() for name in header}
            if (
                len(header) == len(first) == len(names) > 1
                and "" not in names
                and any(_number(c) is not None for c in first)
            ):
                return delimiter
    return None


def _csv(source: LogSource) -> Iterator[_Row]:
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for line in source.lines():
            number = line.number
            if not passed_over(line.raw):
                yield line.raw.decode("utf-8", "backslashreplace").replace("\0", "\\x00")

    lines = texts()
    head = [text.strip("\ufeff") for text in islice(lines, 2)]
    delimiter = _delimiter(head) or ","
    names = [name.strip() for name in next(csv.reader(head[:1], delimiter=delimiter), [])]
    yield "line 1", dict.fromkeys(names)
    rest = chain(head[1:], lines)
    while True:
        try:
            for cells in csv.reader(rest, delimiter=delimiter):
                yield from _row(source, names, cells, number)
            return
        except csv.Error as error:
            source.fault(number, f"no row of a table ({error})")


def _row(source: LogSource, names: Sequence[str], cells: Sequence[str], line: int) -> Iterator[_Row]:
    if len(cells) != len(names):
        source.fault(line, f"{len(cells)} cells under {len(names)} names")
        return
    yield f"line {line}", dict(zip(names, cells, strict=True))


def _json_lines(source: LogSource) -> Iterator[_Row]:
    """Yield the rows of JSON lines; the header are the names of the first hundred, the rest of a line is kept, too."""
    first: list[_Row] = []
    names: dict[str, None] = {}
    told = False
    for line in source.lines():
        if passed_over(line.raw):
            continue
        try:
            row = _flat(json.loads(line.raw))
        except UNREADABLE as error:
            why = "the line is cut off" if line.torn else f"no row of this table ({type(error).__name__})"
            source.fault(line.number, why)
            continue
        found = f"line {line.number}", row
        if told:
            yield found
            continue
        first.append(found)
        names.update(dict.fromkeys(row))
        if len(first) == 100:
            told = True
            yield "", dict(names)
            yield from first
    if not told:
        yield "", dict(names)
        yield from first


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return the members of an object, those of objects in it as ``outer.inner``."""
    found: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and depth < 4:
            found.update(_flat(inner, f"{prefix}{name}.", depth + 1))
        else:
            found[f"{prefix}{name}"] = inner
    return found


def _parquet(source: LogSource) -> Iterator[_Row]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        message, hint = "Parquet files are read with pyarrow, which is not installed", "run `pip install pyarrow`"
        raise LogError("log.pyarrow", message, (str(source.path),), hint) from error
    try:
        with parquet.ParquetFile(source.path) as file:
            yield "", dict.fromkeys(map(str, file.schema_arrow.names))
            number = 0
            for batch in file.iter_batches(batch_size=10_000):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", {str(name): value for name, value in row.items()}
    except (OSError, *UNREADABLE) as error:
        source.fault(source.path.name, f"the file is damaged ({type(error).__name__})")


def _number(cell: Any) -> float | None:
    """Return the finite number of a cell; None of any other."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    with suppress(ValueError, OverflowError):
        value = float(cell)
        return value if math.isfinite(value) else None
    return None


def _value(cell: Any) -> Any:
    """Return a cell as JSON has it: text that is a number or a truth value as that."""
    if not isinstance(cell, str):
        return cell if cell is None or isinstance(cell, bool | int | float | list | dict) else str(cell)
    text = cell.strip()
    if text in ("True", "False", "true", "false"):
        return text in ("True", "true")
    if _INTEGER.fullmatch(text):
        return int(text)
    found = _number(text)
    return cell if found is None else found


def _time(cell: Any) -> float | None:
    found = _number(cell)
    return utc_or_none(cell) if found is None else found
