"""What a front end asks an explorer for: a record, a panel. Each is prepared at once and worked out when called."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import markup as m
from workbench.errors import UsageError
from workbench.logs.evaluation import STATUSES
from workbench.logs.explorer.explorer import Explorer
from workbench.logs.explorer.neighbour import neighbours
from workbench.logs.explorer.panels import answer
from workbench.logs.explorer.places import places
from workbench.logs.explorer.scales import number
from workbench.logs.replays import REPLAYERS, replay
from workbench.safe_text import legible

if TYPE_CHECKING:
    import pandas

LONGEST_RAW, LONGEST_ERROR = 20_000, 4_000
"""Letters of a record, and of an error message, that are shown."""

_FACTS = {
    "task": "task", "device": "device", "target": "target", "run": "run", "where": "stands at",
    "objective": "objective", "statistic": "is the", "technique": "found by", "generation": "generation",
}  # fmt: skip
_SECONDS = {
    "elapsed_s": "after", "compile_s": "compile", "run_s": "run", "verify_s": "verify", "search_s": "search",
    "spent_s": "spent",
}  # fmt: skip

Answer = Callable[[Explorer, Mapping[str, Any]], Callable[[], Any]]
ANSWERS: dict[str, Answer] = {}


def _answers(name: str) -> Callable[[Answer], Answer]:
    def register(function: Answer) -> Answer:
        ANSWERS[name] = function
        return function

    return register


def number_of(e: Explorer, args: Mapping[str, Any]) -> int:
    """Return the number of the record that is asked for.

    Raises
    ------
    UsageError
        "usage.record" for a number that no record has.
    """
    return e.log.number(args.get("record"))


@_answers("detail")
def detail(e: Explorer, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Return everything that is known of a record."""
    return lambda: record_detail(e, number_of(e, args))


@_answers("variant")
def variant(e: Explorer, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Return the lines that open a record on the bench and explain it; `replay.refused` where it does not replay."""
    return lambda: variant_code(e, number_of(e, args))


def variant_code(e: Explorer, record: int) -> Mapping[str, str]:
    """Return the line that opens a record on the bench, and the one that measures what each of its steps is worth.

    Raises
    ------
    UsageError
        "replay.refused" with the reason where the record does not replay.
    """
    told = replay(e.log, record)
    if told.schedule is None:
        hint = "where the computation is missing, wb.logs.replay(log, record, task=…) takes it"
        raise UsageError("replay.refused", f"Record {record} does not replay: {told.reason}", ("record",), hint)
    paths = e.log.paths[0] if len(e.log.paths) == 1 else list(e.log.paths)
    made = f"wb.logs.replay(wb.logs.open({paths!r}), {record})"
    return {"code": f"wb.Workbench({made}.schedule)", "explain": f"wb.logs.explain_figure(wb.logs.explain({made}))"}


def record_detail(e: Explorer, record: int) -> Mapping[str, Any]:
    """Return what is known of a record, in words."""
    told = e.log.records.iloc[record]
    row = e.row_of(record)
    other = "The record belongs to another task."
    shown: dict[str, Any] = {"neighbour": None, "neighbour_words": other, "places": [], "point": []}
    if row is not None:
        shown = {
            **_near(e, row),
            "places": places(e, e.views.axes, row),
            "point": places(e, (e.views.x, e.views.y), row),
        }
    raw = legible(json.dumps(e.log.raw(record), indent=1, default=str, ensure_ascii=False))
    return {
        "record": record, "facts": _facts(e, told, row),
        "error": legible(m.shortened(str(told["error"]), LONGEST_ERROR)),
        "params": [[m.clean(name), m.shortened(m.clean(_text(value)), 400)] for name, value in told["params"].items()],
        "raw": raw if len(raw) <= LONGEST_RAW else f"{raw[:LONGEST_RAW]} … and {len(raw) - LONGEST_RAW} letters more",
        "replay": "" if e.log.format in REPLAYERS else f"there is no replay of {e.log.format} yet", **shown,
    }  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _facts(e: Explorer, told: pandas.Series[Any], row: int | None) -> list[list[str]]:
    status = str(told["status"])
    word = str(told["told"])
    facts = [["outcome", STATUSES.get(status, status) + (f" ({m.clean(word)})" if word not in ("", status) else "")]]
    value = told["value"]
    if value == value and value is not None:
        written = f"{float(value):.6g} {m.clean(told['unit'])}".strip()
        facts.append(["value as written", written])
    if row is not None:
        column = e.scope.columns.by_name.get("times_best")
        if column is not None and np.isfinite(column.values[row]):
            facts.append(["times the best", column.text(row)])
    repeats = told["repeats"]
    if len(repeats) > 1:
        facts.append(["repeats", f"{len(repeats)}, from {number(min(repeats))} to {number(max(repeats))}"])
    for name, title in _FACTS.items():
        fact = str(told[name])
        if fact not in ("", "None", "nan", "<NA>") and not (name == "objective" and fact == "time"):
            facts.append([title, m.shortened(m.clean(fact), 300)])
    for name, title in _SECONDS.items():
        if told[name] == told[name] and told[name] is not None:
            facts.append([title, f"{number(float(told[name]))} s"])
    extra = [[m.clean(k), m.shortened(m.clean(_text(v)), 200)] for k, v in list(dict(told["extra"]).items())[:40]]
    return facts + extra


def _near(e: Explorer, row: int) -> dict[str, Any]:
    found = neighbours(e.scope, row)
    columns, cost = e.scope.columns, e.scope.columns[e.scope.columns.cost]
    if not found.tried:
        return {"neighbour": None, "neighbour_words": "No other record differs in a single parameter."}
    if found.row is None or found.parameter is None:
        words = f"None: of {m.plural(found.tried, 'record')} that differ in a single parameter, none is better."
        return {"neighbour": None, "neighbour_words": words}
    now, then, parameter = cost.values[row], cost.values[found.row], found.parameter
    gain = f", {max(now / then, then / now):.2f}×" if np.isfinite(now) and now > 0 and then > 0 else ""
    change = f"{m.clean(parameter.name)} {parameter.text(row) or 'none'} → {parameter.text(found.row) or 'none'}"
    words = (
        f"{change} gives {cost.text(found.row)}{f' {cost.unit}' if cost.unit else ' times the best'}{gain}. "
        f"{found.better} of {m.plural(found.tried, 'record')} that differ in a single parameter "
        f"{'is' if found.better == 1 else 'are'} better."
    )
    return {"neighbour": {"record": int(columns.records[found.row]), "text": change}, "neighbour_words": words}


@_answers("panel")
def panel(e: Explorer, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Return what an analysis says of what is chosen."""
    return answer(e, str(args.get("name")))
