"""What each step of a variant is worth: the variant without it, timed in turns with the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from workbench import markup as m
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.log import Record
from workbench.runtime.results.comparison_words import as_fast, finding
from workbench.schedule import Schedule
from workbench.session import registry as declare
from workbench.session.measurement.comparisons import closed
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.history import History
from workbench.session.state.results import Key
from workbench.session.state.statistics import rounded
from workbench.session.stepped_work import SteppedWork

declare.panel("leave_one_out", "Leave one out", 8, needs="program", about_task=True, page=9)


@declare.slice_("leave_one_out")
def leave_one_out(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `leave_one_out`: how far it is, and what the last one of the task on show has found: of which
    variant (None for none), and a row for each step.
    """
    state, view = context.state, context.view
    if view is None:
        return None
    found = state.without.answer
    node = None if found is None else state.history.trees[view.key[0]].find(found["key"])
    rows = found["rows"] if found is not None and node is not None else ()
    told = [_row(row, node.key, state.history) for row in rows if node is not None]
    return {**state.without.to_json(), "node": None if node is None else node.id, "rows": told}


@declare.command
def measure_steps(host: Host, node: int | None = None) -> None:
    """Time a variant (that on show by default) in turns with itself without each of its steps; measurements wait."""
    found = closed(host.state.variant(node))
    if not found.schedule.trace:
        hint = "take a step first"
        raise UsageError("advice.no_steps", f"v{found.id} has no steps to leave out", (f"v{found.id}",), hint)
    require_runnable(host.state.target)
    _LeaveOneOut(host, found.key, found.schedule.copy()).begin()


@dataclass(frozen=True, slots=True)
class _LeaveOneOut(SteppedWork[dict[str, Any]]):
    name = "leave_one_out"
    kept = "without"
    what = "Leaving out steps"

    key: Key
    schedule: Schedule

    def find(self) -> dict[str, Any]:
        from workbench.advice import leave_one_out

        state = self.host.state
        options = {"going_on": self.going_on, "constants": state.constants}
        found = leave_one_out(self.schedule, state.target, progress=self.step, **options)
        numbers = ("ratio", "confidence", "ms", "whole_ms")
        plain = (asdict(replace(one, contest=None)) for one in found)
        rows = [{**row, **{name: rounded(row[name]) for name in numbers}} for row in plain]
        for row in rows:
            del row["contest"]
        return {"key": self.key, "rows": rows, "met": [one.contest for one in found]}

    def _end(self, answer: dict[str, Any] | None, error: dict[str, Any] | None) -> None:
        fresh = answer is not None and answer is not self.host.state.without.answer
        SteppedWork._end(self, answer, error)
        for k, contest in enumerate(answer["met"] if fresh and answer is not None else ()):
            if contest is not None:
                self.host.state.meet((self.key, without(self.key, k)), contest)


def without(key: Key, k: int) -> Key:
    """Return the state without one of its steps."""
    steps = key[1].split("\n")
    return key[0], "\n".join([*steps[:k], *steps[k + 1 :]])


def _row(row: Mapping[str, Any], key: Key, history: History) -> dict[str, Any]:
    """Return a row that says what all comparisons of the two have found, where there are several."""
    pair = history.contests.get(frozenset((key, without(key, row["number"]))))
    if not row["ratio"] or pair is None or len(pair.contests) < 2:
        return dict(row)
    seen = replace(pair.seen_from(key), names=("the whole", f"it without step {row['number']}"))
    found = finding(seen, 1, 0).to_json()
    found |= {"ratio": rounded(found["ratio"]), "confidence": rounded(found["confidence"])}
    found["text"] += pair.how_many(key)
    return {**row, **found, "ms": rounded(seen.beside_ms(1)), "whole_ms": rounded(seen.latency_ms(0))}


@declare.command
def cancel_steps(host: Host) -> None:
    """End the leaving out of steps at once; what the one before has found stays."""
    _LeaveOneOut.cancel(host)


# ----- without a front end


@declare.static("leave_one_out")
def _html(found: Mapping[str, Any], limit: int) -> m.Html:
    if not found["rows"]:
        return m.Html("")
    columns = [m.Column("Step", code=True), *(m.Column(name, number=True) for name in ("All steps", "Without it", "")),
               m.Column("")]  # fmt: skip
    rows = [_cells(row) for row in found["rows"]]
    heading = m.section(f"Leave one out: v{found['node']}")
    return m.join(heading, m.table(columns, m.cut(rows, limit, "steps", len(rows))))


def _cells(row: Mapping[str, Any]) -> list[object]:
    step = m.text(row["step"], 90)
    if not row["ratio"]:
        return [step, "", "", "", m.text(row["why_not"], 200)]
    return [
        step,
        m.milliseconds(row["whole_ms"]),
        m.milliseconds(row["ms"]),
        as_fast(row["ratio"]) if row["known"] else m.faint(as_fast(row["ratio"])),
        m.faint(row["text"]),
    ]


@declare.table("leave_one_out")
def _table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each step."""
    found = slices.get("leave_one_out") or {"rows": ()}
    return list(found["rows"])
