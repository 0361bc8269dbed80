"""Tables of a session as CSV: numbers as they are, times in milliseconds, lists as JSON.

A text that a spreadsheet would work out as a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.log.reader import COLUMNS
from workbench.log.record import Record
from workbench.session.core.encoding import readable

Row = Mapping[str, Any]


def variants(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each variant of the task on show."""
    history = slices.get("history") or {"rows": (), "at": 0}
    return [{**row, "current": row["id"] == history["at"]} for row in history["rows"]]


def tasks(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each task."""
    rows = (slices.get("tasks") or {"rows": ()})["rows"]
    return [{k: v for k, v in row.items() if k != "spark"} for row in rows]


def trials(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each trial, with the columns that the log's table has."""
    return [{name: getattr(record, name) for name in COLUMNS if hasattr(record, name)} for record in records]


def nest(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each loop and statement."""
    value = readable({"nest": slices.get("nest")})["nest"] or {"rows": ()}
    return [{k: v for k, v in row.items() if k != "kinds"} for row in value["rows"]]


TABLES: dict[str, Callable[[Mapping[str, Any], Sequence[Record]], list[Row]]] = {
    "variants": variants, "tasks": tasks, "trials": trials, "nest": nest,
}  # fmt: skip


def csv_text(rows: Iterable[Row]) -> str:
    """Write rows with the columns of all of them, in order of appearance."""
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return out.getvalue()


#: What a spreadsheet would take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value
