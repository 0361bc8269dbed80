"""What stands around the panels: the task on show with its numbers, what is going on, what has to be said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import markup as m
from workbench.codegen.backend import require_runnable
from workbench.ir.product_type import PLAIN
from workbench.runtime.machine.above_roofline import MARK, marked
from workbench.session import registry as declare
from workbench.session.measurement import faster_than_peak as above
from workbench.session.registry import Host, SliceContext
from workbench.session.state.history import View, to_choose
from workbench.session.state.results import Result
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.state.trial_origin import BY


@declare.slice_("head")
def head(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `head`."""
    state, view = context.state, context.view
    if state.index is None:
        return None
    info = state.infos[state.index]
    result = state.history.result(view.key) if view is not None else None
    best, course = state.best(state.index), state.ledger_of(state.index).course
    guess = state.estimates.of(view, state.peak) if view is not None else None
    top, gflops = state.peak_for(state.index), result.gflops if result is not None else None
    product = state.products[state.index]
    speed = gflops or (guess.gflops if guess is not None else None)
    return {
        "task": state.index, "name": info.name, "weight": info.weight, "flops": info.flops,
        "step": "" if view is None else f"v{view.node}", "ms": rounded(result.ms) if result else None,
        "spread": rounded(result.spread, 3) if result else None, "gflops": rounded(gflops),
        "doubt": result.doubt() if result else None, "remark": "" if view is None else state.history.remark(view.key),
        **({"same": result.same} if result and result.same else {}),
        **({"caches": result.caches} if result and result.caches else {}),
        "peak_share": rounded(gflops / top, 4) if gflops and top else None,
        "product": product,
        "above": "" if view is None else above.of_schedule(state, view.schedule.func, speed),
        "best_ms": rounded(best.ms) if best else None, "best_by": BY.get(best.record.origin, "tuner") if best else None,
        "best_sure": best.sure if best else "", "best_why": course[-1].reason if best else "",
        "est": guess.to_json() if guess is not None else None,
        "holes": to_choose(view.schedule) if view is not None else 0, "logged": _logged(state, view, result),
    }  # fmt: skip


def _logged(state: SessionState, view: View | None, result: Result | None) -> str:
    """Say where the time of a variant by hand is kept, where it matters: compiling a network takes those of a log."""
    if view is None or result is None or state.tree.nodes[view.node].by != "hand":
        return ""
    return state.manual_trials.place(view.key, state.log_now) if state.log_now or len(state.infos) > 1 else ""


@declare.slice_("selection")
def selection(context: SliceContext) -> dict[str, Any]:
    """Return the slice `selection`."""
    return {"id": context.state.selected}


@declare.slice_("status", after=("*",))
def status(context: SliceContext) -> dict[str, Any]:
    """Return the slice `status`."""
    state, view, busy = context.state, context.view, ""
    for key, word in state.doing.items():
        if word == "measuring":
            tree = state.history.trees.get(key[0]) if view is not None and view.key[0] == key[0] else None
            node = tree.find(key) if tree is not None else None
            busy = f"measuring v{node.id}" if node is not None else "measuring another schedule"
    if not busy and any(match.state == "running" for match in state.history.contests.values()):
        busy = "measuring two variants against each other"
    if busy and state.watch is not None and state.watch.held:
        busy += "; tuning waits for it"
    if state.in_line:
        busy = f"{busy}: {state.in_line}" if busy else state.in_line
    load = None if state.load is None else state.load.words()
    return {"busy": busy, "note": state.note, "log": state.log_now or "", "load": load}


@declare.command
def auto_measure(host: Host, on: bool) -> None:
    """Measure every step that is taken here, or stop doing so."""
    if on:
        require_runnable(host.state.target)
    host.state.auto = bool(on)


@declare.command
def dismiss(host: Host) -> None:
    """Clear the note."""
    host.state.note = None


@declare.static("head")
def _head_html(head: Mapping[str, Any], limit: int) -> m.Html:
    name = m.join(m.text(head["name"], 100), m.faint(f" ×{head['weight']}") if (head.get("weight") or 1) > 1 else "")
    step = head.get("step") or ""
    facts: list[object] = [step, m.operations(head.get("flops"))]
    if head.get("ms") is not None:
        facts.append(m.Html(f"<b>{m.row_time(head)}</b>"))
        facts.append(m.bad(head["doubt"]["text"], 120) if head.get("doubt") else "")
        facts.append(head.get("caches", ""))
        facts.append(f"{m.digits(head.get('gflops'))} GFLOP/s" if head.get("gflops") else "")
        peak = f"of the {head['product']} peak" if head.get("product", PLAIN) != PLAIN else "of the peak"
        facts.append(f"{marked(head['peak_share'])} {peak}" if head.get("peak_share") else "")
    if head.get("best_ms") is not None:
        by = {"hand": " by hand", "tuner": " by the tuner"}.get(head.get("best_by") or "", "")
        facts.append(f"best {m.milliseconds(head['best_ms'])}{by}")
    if head.get("holes"):
        facts.append(m.plural(head["holes"], "open number"))
    shown = [m.text(f) for f in facts if f != ""]
    why = [m.line(m.faint(f"{MARK} {head['above']}."))] if head.get("above") else []
    return m.join(m.section("Task"), m.line(name), m.line(m.Html(" · ".join(shown))), *why)
