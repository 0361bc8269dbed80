"""A model for ranges of lengths: which kernels run which of them, and what that costs against kernels of one length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench import markup as m
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.log import Database, Record
from workbench.session import registry as declare
from workbench.session.export.network import fastest
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.statistics import rounded
from workbench.session.stepped_work import SteppedWork

declare.panel("lengths", "Lengths", 14, needs="lengths", page=9)


@declare.slice_("lengths")
def lengths(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `lengths`: the ranges, how far a comparison is, and what the last one has found; None without
    ranges.
    """
    state = context.state
    graph = state.opened.graph
    if graph is None or not graph.dynamic:
        return None
    ranges = [{"name": n, "least": r[0], "most": r[-1]} for n, r in graph.dynamic.items()]
    return {**state.lengths.to_json(), "ranges": ranges, "answer": state.lengths.answer}


@declare.command
def compare_lengths(host: Host) -> None:
    """Compile the model for all its lengths, with the best schedules that are known, and some lengths alone, and time
    both in turns; it takes as long as compiling it for every row, and measurements wait for it.
    """
    state = host.state
    graph = state.opened.graph
    if graph is None or not graph.dynamic:
        hint = "open a model with ranges: Workbench(load_onnx(path, dynamic={name: range(…)}))"
        raise UsageError("session.no_model", "There is no model with ranges of lengths", (), hint)
    require_runnable(state.target)
    _Lengths(host, graph, tuple(fastest(state))).begin()


@dataclass(frozen=True, slots=True)
class _Lengths(SteppedWork[dict[str, Any]]):
    name = "lengths"
    kept = "lengths"
    what = "The comparison of lengths"

    graph: Graph
    best: Sequence[Record]

    def find(self) -> dict[str, Any]:
        from workbench.network.compile import compile
        from workbench.network.dynamic_table import dynamic_rows
        from workbench.network.ranged_executable import RangedExecutable

        sizes = self.graph.open
        assert sizes is not None
        some = sizes.representatives()
        self.step("Compiling for all lengths", 1, 1 + len(some))
        made = compile(self.graph, Database(self.best), self.host.state.target)
        assert isinstance(made, RangedExecutable)
        if made.reason:
            return {"reason": made.reason, "rows": []}

        def step(bucket: Any) -> None:
            which = ", ".join(map(str, bucket.least))
            self.step(f"Comparing with kernels of {which} alone", 2 + some.index(bucket), 1 + len(some))

        return {"reason": "", "rows": [_row(r) for r in dynamic_rows(made, some, step)]}


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    fixed = row.get("fixed_ms")
    numbers = {"ms": rounded(row["ms"]), "fixed_ms": None if fixed is None else rounded(fixed)}
    return {n: list(row[n]) for n in ("least", "most", "kernels")} | numbers | {"untuned": row["untuned"]}


@declare.command
def cancel_lengths(host: Host) -> None:
    """End the comparison after the step that it is at; what the one before has found stays."""
    _Lengths.cancel(host)


# ----- without a front end


@declare.static("lengths")
def _lengths_html(lengths: Mapping[str, Any], limit: int) -> m.Html:
    answer = lengths["answer"]
    if not answer:
        return m.Html("")
    title = m.section("Lengths")
    if answer["reason"]:
        return m.join(title, m.line(m.text(f"Each shape is compiled as it comes: {answer['reason']}", 400)))
    heads = ("Kernels of", "Time", "Alone", "Against that", "Untuned")
    columns = [m.Column(_names(lengths)), *(m.Column(h, number=True) for h in heads)]
    rows = [
        [_reach(r), _size(r["kernels"]), m.milliseconds(r["ms"]), m.milliseconds(r["fixed_ms"]),
         f"{r['ms'] / r['fixed_ms']:.2f}×" if r["fixed_ms"] else "", r["untuned"]]
        for r in answer["rows"]
    ]  # fmt: skip
    return m.join(title, m.table(columns, m.cut(rows, limit, "rows", len(rows))))


def _names(lengths: Mapping[str, Any]) -> str:
    return " × ".join(r["name"] for r in lengths["ranges"])


def _size(values: Sequence[int]) -> str:
    return "×".join(map(str, values))


def _reach(row: Mapping[str, Any]) -> str:
    return "×".join(_range(a, z) for a, z in zip(row["least"], row["most"], strict=True))


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}…{most}"


@declare.table("lengths")
def _lengths_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each set of lengths that share kernels."""
    found = slices.get("lengths") or {}
    names = [r["name"] for r in found.get("ranges", ())]
    return [
        {n: _range(a, z) for n, a, z in zip(names, row["least"], row["most"], strict=True)}
        | {"kernels": _size(row["kernels"]), "ms": row["ms"], "fixed_ms": row["fixed_ms"], "untuned": row["untuned"]}
        for row in (found.get("answer") or {"rows": ()})["rows"]
    ]
