"""What the columns of a table of one's own mean: said once by its reader, remembered for the same header."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import LogError, did_you_mean
from workbench.files import replace_file
from workbench.logs.evaluation import STATUSES
from workbench.target import cache_dir

ROLES: Mapping[str, str] = {
    "cost": "value", "task": "task", "device": "device", "target": "target", "error": "error", "run": "run",
    "technique": "technique", "status": "told", "generation": "generation", "predicted": "predicted",
    "elapsed_s": "elapsed_s", "timestamp": "timestamp", "compile_s": "compile_s", "run_s": "run_s",
    "verify_s": "verify_s", "search_s": "search_s", "spent_s": "spent_s",
}  # fmt: skip
"""What a column can be, and the field of `Evaluation` that it goes to; `params` and `repeats` name several columns."""

_LISTS = ("params", "repeats")
_SAID = ("unit", "direction", "objective", "statuses")


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The columns of a table by what they are, and what the table does not say.

    Attributes
    ----------
    columns : mapping
        A key of `ROLES` -> name of a column.
    params, repeats : tuple of str
        Columns with parameters, and with repeats of the cost.
    said : mapping
        ``unit``, ``direction``, ``objective`` and ``statuses``, as far as they were said.
    remembered : bool
        Whether it was said at an earlier time.
    """

    columns: Mapping[str, str]
    params: tuple[str, ...]
    repeats: tuple[str, ...]
    said: Mapping[str, Any]
    remembered: bool = False

    @property
    def in_words(self) -> str:
        """The mapping, for the reader of the table."""
        words = [f"{role} = {column}" for role, column in self.columns.items()]
        return ", ".join([*words, f"params = {', '.join(self.params)}", f"unit = {self.said['unit'] or 'none'}"])


def mapping_of(header: Sequence[str], hints: Mapping[str, Any], where: str) -> ColumnMapping:
    """Return what the columns mean: as the hints say, else as they were said for this header before.

    Raises
    ------
    LogError
        ``log.columns`` where nobody has said it, or where what was said does not fit the header.
    """
    if hints.get("columns") is not None:
        found = _checked(header, hints, where)
        _remember(header, found)
        return found
    known = _remembered(header)
    if known is not None:
        said = {**known["said"], **{name: hints[name] for name in _SAID if name in hints}}
        with contextlib.suppress(LogError):  # a file of ours that somebody has changed
            return _checked(header, {"columns": known["columns"], **said}, where, remembered=True)
    message = f"This is a table, and nobody has said yet what its columns are: {_list(header)}"
    raise LogError("log.columns", message, (where,), _call(header))


def _checked(header: Sequence[str], hints: Mapping[str, Any], where: str, remembered: bool = False) -> ColumnMapping:
    columns = hints["columns"]
    if not isinstance(columns, Mapping) or not isinstance(columns.get("cost"), str):
        raise LogError("log.columns", "`columns` has to name the column of the cost", (where,), _call(header))
    lists = {name: _names(columns.get(name), where) for name in _LISTS}
    single = {str(role): str(column) for role, column in columns.items() if role not in _LISTS}
    for role in single:
        if role not in ROLES:
            hint = did_you_mean(role, [*ROLES, *_LISTS], "roles")
            raise LogError("log.columns", f"A column cannot be {role!r}", (where,), hint)
    lists["params"] = tuple(member for name in lists["params"] for member in _members(name, header))
    for name in [*single.values(), *lists["params"], *lists["repeats"]]:
        if name not in header:
            hint = did_you_mean(name, list(header), "columns")
            raise LogError("log.columns", f"The table has no column {name!r}", (where,), hint)
    if not isinstance(hints.get("unit"), str):
        hint = 'say `unit="ms"` (or s, us, ns, another one, or "" for none)'
        raise LogError("log.columns", f"The unit of column {single['cost']!r} is not said", (where,), hint)
    said = {name: hints[name] for name in _SAID if hints.get(name) is not None}
    statuses = said.get("statuses", {})
    if not isinstance(statuses, Mapping) or not set(map(str, statuses.values())) <= set(STATUSES):
        hint = f"say, for example, `statuses={{'success': 'ok', 'crash': 'run'}}`; there are {', '.join(STATUSES)}"
        raise LogError("log.columns", "`statuses` has to give one of our words for each of the table's", (where,), hint)
    return ColumnMapping(single, lists["params"], lists["repeats"], said, remembered)


def _names(given: Any, where: str) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given or []
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise LogError(
            "log.columns", "`params` and `repeats` are lists of columns", (where,), 'say `params=["a", "b"]`'
        )
    return tuple(names)


def _members(name: str, header: Sequence[str]) -> list[str]:
    """Return the columns of a name: itself, or those of the object in JSON lines that it is."""
    return [name] if name in header else [column for column in header if column.startswith(f"{name}.")] or [name]


def _list(header: Sequence[str]) -> str:
    return ", ".join(header[:40]) + (f" and {len(header) - 40} more" if len(header) > 40 else "")


def _call(header: Sequence[str]) -> str:
    first = [name for name in header if name][:2]
    return (
        'say it once: `wb.logs.open(path, columns={"cost": …, "params": ['
        + ", ".join(f'"{name}"' for name in first)
        + ', …]}, unit="ms")`; beside cost, params and repeats a column can be '
        + ", ".join(list(ROLES)[1:])
    )


def _path(header: Sequence[str]) -> Any:
    return cache_dir() / f"columns-{hashlib.sha256(json.dumps(list(header)).encode()).hexdigest()[:24]}.json"


def _remember(header: Sequence[str], mapping: ColumnMapping) -> None:
    columns = {**mapping.columns, "params": list(mapping.params), "repeats": list(mapping.repeats)}
    text = json.dumps({"header": list(header), "columns": columns, "said": dict(mapping.said)})
    path = _path(header)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with contextlib.suppress(OSError):  # where nothing can be kept it is asked for again
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        replace_file(part, path)


def _remembered(header: Sequence[str]) -> dict[str, Any] | None:
    try:
        known = json.loads(_path(header).read_text(encoding="utf-8"))
        fits = known["header"] == list(header) and isinstance(known["said"], dict)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return known if fits else None
