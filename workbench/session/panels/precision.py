"""The model in float32, bfloat16 and int8 side by side: time, error and bytes, of the network and of each task."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench import markup as m
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.log import Record
from workbench.session import registry as declare
from workbench.session.core.protocol import error_json
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.model_drawings import GIVEN_OPTIMISED
from workbench.session.state.precision_check import REST, TOO_LARGE, Cancelled, PrecisionCheck, answer_of
from workbench.session.state.tuning_watch import held

declare.panel("precision", "Precision", 12, needs="model", page=7)

_log = logging.getLogger(__name__)

#: Name of the work that compares.
WORK = "precisions"


@declare.slice_("precision")
def precision(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `precision`: how far a comparison is, and what the last one has found; None without a model."""
    state = context.state
    if state.opened.graph is None:
        return None
    now = state.precisions
    return {"step": now.step, "at": now.at, "of": now.of, "error": now.error, "answer": now.answer}


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
    if state.precisions.step:
        raise UsageError("session.busy", "Precisions are being compared already", (), "wait for it, or cancel it")
    now = state.precisions = PrecisionCheck("Waiting for its turn", answer=state.precisions.answer)
    host.later(WORK, _Comparison(host, now, graph, samples).work, "measure")


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One comparison; `work` runs in a lane, the others in the session's thread."""

    host: Host
    begun: PrecisionCheck
    graph: Graph
    samples: Any

    def work(self) -> Callable[[], None]:
        from workbench.network.precisions import compare_precisions

        state, answer, error = self.host.state, self.begun.answer, None
        groups = [t.task.groups for t in state.infos if t.task]
        try:
            assert self.graph.origin is not None
            with held(state.watch):
                model = self.graph.origin.graph
                table = compare_precisions(model, self.samples, target=state.target, progress=self.step)
            answer = answer_of(table, self.graph, groups)
        except Cancelled:
            pass
        except Exception as failure:
            error = error_json(failure)
            if error["code"] == "internal":
                _log.error("the precisions of a model could not be compared", exc_info=failure)
        return lambda: self.done(PrecisionCheck(error=error, answer=answer))

    def step(self, what: str, at: int, of: int) -> None:
        if self.begun.cancelled.is_set():
            raise Cancelled
        self.host.submit(lambda: self.show(what, at, of))

    def show(self, what: str, at: int, of: int) -> None:
        if not self.begun.cancelled.is_set():
            self.host.state.precisions = replace(self.begun, step=what, at=at, of=of)

    def done(self, found: PrecisionCheck) -> None:
        self.host.state.precisions = found


@declare.command
def cancel_precisions(host: Host) -> None:
    """End the comparison after the step that it is at; what the one before has found stays."""
    now = host.state.precisions
    if now.step:
        now.cancelled.set()
        host.state.precisions = replace(now, step="Cancelling, after this step")


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
