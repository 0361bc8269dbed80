"""What travels between a session and those who show it: snapshots, the difference of two of them, errors as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import WorkbenchError

VERSION = 2
"""Version of the protocol; a front end of another version says so instead of guessing."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is shown, as plain JSON values by the name of the slice. Never changed, only replaced."""

    rev: int
    slices: Mapping[str, Any]


def state_message(snapshot: Snapshot) -> dict[str, Any]:
    """Return the message that carries a whole snapshot."""
    return {"t": "state", "v": VERSION, "rev": snapshot.rev, "slices": dict(snapshot.slices)}


def delta(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has to be done to `old` to get `new`, slice by slice.

    A slice is replaced (``{"=": value}``), or, when both values are objects with the same keys, changed:
    ``{"~": {"rest": what changed}}``. Where both have ``rows`` with unique ids, these are changed row by row:
    ``{"~": {"order": ids, "set": rows, "rest": other keys}}``, where what did not change is left out, within a row too;
    without ``order`` new rows come after those that are there. A new row may be ``like`` one that was there.
    """
    return {name: _change(old.get(name), value) for name, value in new.items() if _differs(old, name, value)}


def _differs(old: Mapping[str, Any], name: str, value: Any) -> bool:
    return name not in old or (old[name] is not value and old[name] != value)


def _change(old: Any, new: Any) -> dict[str, Any]:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)) or old.keys() != new.keys():
        return {"=": new}
    op: dict[str, Any] = {}
    before, after = _by_id(old), _by_id(new)
    by_rows = before is not None and after is not None
    if before is not None and after is not None:
        both = before.keys() & after.keys()
        if not both or any(before[i].keys() != after[i].keys() for i in both):
            return {"=": new}
        last = next(reversed(before), None)
        changed = [_changed(before, name, row, last) for name, row in after.items() if before.get(name) != row]
        if list(after)[: len(before)] != list(before):  # rows that are only added come last by themselves
            op["order"] = list(after)
        if changed:
            op["set"] = changed
    if rest := {k: v for k, v in new.items() if not (by_rows and k == "rows") and old[k] != v}:
        op["rest"] = rest
    return {"~": op}


def _changed(before: Mapping[Any, Mapping[str, Any]], name: Any, row: Mapping[str, Any], last: Any) -> dict[str, Any]:
    """Return what a row that was there has changed; of a new one, where it differs from the last that was there."""
    like = {} if name in before else {"like": last}
    old = before[name if name in before else last]
    if old.keys() != row.keys():
        return dict(row)
    return like | {k: v for k, v in row.items() if k == "id" or old[k] != v}


def _by_id(value: Any) -> dict[Any, Any] | None:
    """Rows by their id, or None when the value is not made of rows."""
    rows = value.get("rows") if isinstance(value, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(r, Mapping) and "id" in r for r in rows):
        return None
    found = {r["id"]: r for r in rows}
    return found if len(found) == len(rows) else None


def apply_delta(old: Mapping[str, Any], ops: Mapping[str, Any]) -> dict[str, Any]:
    """Return `old` with the changes of `delta` made; what a front end does with a patch."""
    out = dict(old)
    for name, op in ops.items():
        if "=" in op:
            out[name] = op["="]
            continue
        change = op["~"]
        value = out[name] = {**out[name], **change.get("rest", {})}
        if "order" in change or "set" in change:
            rows = {r["id"]: r for r in value["rows"]}
            rows |= {r["id"]: _row(rows.get(r.get("like", r["id"]), {}), r) for r in change.get("set", ())}
            value["rows"] = [rows[i] for i in change.get("order", rows)]
    return out


def _row(old: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    return {**old, **{k: v for k, v in change.items() if k != "like"}}


def error_json(error: BaseException) -> dict[str, Any]:
    """Return ``{code, message, where, hint}`` of any error; one that no user caused has the code "internal"."""
    if isinstance(error, WorkbenchError):
        return error.to_json()
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "this is a fault of the workbench; please report it with the steps that led here"
    return {"code": "internal", "message": text, "where": [], "hint": hint}
