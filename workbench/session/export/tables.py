"""Tables of a session as CSV: numbers as they are, times in milliseconds, lists as JSON.

A text that a spreadsheet would work out as a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.safe_text import spreadsheet_text

Row = Mapping[str, Any]


def csv_text(rows: Iterable[Row]) -> str:
    """Write rows with the columns of all of them, in order of appearance."""
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return spreadsheet_text(value)
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value
