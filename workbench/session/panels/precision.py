"""The model in float32, bfloat16 and int8 side by side: time, error and bytes, of the network and of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench import markup as m
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.log import Record
from workbench.session import registry as declare
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.model_drawings import GIVEN_OPTIMISED
from workbench.session.state.precision_check import REST, TOO_LARGE, answer_of
from workbench.session.stepped_work import SteppedWork

declare.panel("precision", "Precision", 12, needs="model", page=7)


@declare.slice_("precision")
def precision(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `precision`: how far a comparison is, and what the last one has found; None without a model."""
    state = context.state
    if state.opened.graph is None:
        return None
    return {**state.precisions.to_json(), "answer": state.precisions.answer}


@declare.command
def compare_precisions(host: Host, samples: Any = None) -> None:
    """Compute the model in float32, bfloat16 and int8, beside the session's thread; it takes a minute, and measurements
    wait for it. Without `samples` (as of `workbench.compare_precisions`) inputs are random numbers.
    """
    state = host.state
    graph = state.opened.graph
    if graph is None:
        hint = "open a model: Workbench('model.onnx')"
        raise UsageError("session.no_model", "There is no model to compare", (), hint)
    if graph.origin is None:
        raise UsageError("graph.optimised", GIVEN_OPTIMISED)
    require_runnable(state.target)
    _Comparison(host, graph, samples).begin()


@dataclass(frozen=True, slots=True)
class _Comparison(SteppedWork[dict[str, Any]]):
    name = "precisions"
    kept = "precisions"
    what = "The comparison of precisions"

    graph: Graph
    samples: Any

    def find(self) -> dict[str, Any]:
        from workbench.network.precisions import compare_precisions

        state = self.host.state
        assert self.graph.origin is not None
        model = self.graph.origin.graph
        table = compare_precisions(model, self.samples, target=state.target, progress=self.step)
        return answer_of(table, self.graph, [t.task.groups for t in state.infos if t.task])


@declare.command
def cancel_precisions(host: Host) -> None:
    """End the comparison after the step that it is at; what the one before has found stays."""
    _Comparison.cancel(host)


# ----- without a front end

SHOWN = 40
"""Tasks that a saved notebook shows at most."""


@declare.static("precision")
def _precision_html(precision: Mapping[str, Any], limit: int) -> m.Html:
    if not precision["answer"]:
        return m.Html("")
    found = precision["answer"]
    heads = ("Time", "Error", "Moved", "Weights")
    columns = [m.Column("Precision"), *(m.Column(h, number=True) for h in heads), m.Column("Note")]
    rows = [
        [r["precision"], m.milliseconds(r["ms"]), _percent(r["error"]), m.size(r["bytes"]), m.size(r["weights"]),
         m.text(r["note"] or (r["first_above"] and f"above the bound from {r['first_above']} on"), 200)]
        for r in found["precisions"]
    ]  # fmt: skip
    random = m.line(m.faint("Inputs are random numbers.")) if found["random"] else m.Html("")
    return m.join(m.section("Precision"), random, m.table(columns, rows))


def _percent(error: float | None) -> str:
    return "∞" if error is not None and error >= TOO_LARGE else m.percent(error)


@declare.table("precision")
def _precision_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each task, and one for the kernels that belong to none."""
    answer = (slices.get("precision") or {}).get("answer")
    if not answer:
        return []
    tasks = {r["id"]: r["name"] for r in (slices.get("tasks") or {"rows": ()})["rows"]}
    return [
        {"task": "" if r["id"] == REST else tasks.get(r["id"], ""), "kernels": r["kernels"]}
        | {f"{p}_{part}": r[part][k] for k, p in enumerate(answer["made"]) for part in ("ms", "error", "bytes")}
        for r in answer["rows"]
    ]
