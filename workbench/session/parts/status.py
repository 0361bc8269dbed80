"""What stands around the panels: the task on show with its numbers, what is going on, what has to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.codegen import require_runnable
from workbench.session import above
from workbench.session.history import to_choose
from workbench.session.origins import BY
from workbench.session.registry import Host, Look, command, slice_
from workbench.session.stats import rounded

if TYPE_CHECKING:
    from workbench.session.desk import Desk
    from workbench.session.history import View
    from workbench.session.measuring import Result


@slice_("head")
def head(look: Look) -> dict[str, Any] | None:
    """Return the slice `head`."""
    desk, view = look.desk, look.view
    if desk.index is None:
        return None
    info = desk.infos[desk.index]
    result = desk.history.results.get(view.key) if view is not None else None
    task = desk.told(desk.index)
    best = task.best
    guess = desk.estimates.of(view, desk.peak) if view is not None else None
    top, gflops = desk.peak_of_all, result.gflops if result is not None else None
    speed = gflops or (guess.gflops if guess is not None else None)
    return {
        "task": desk.index, "name": info.name, "weight": info.weight, "flops": info.flops,
        "step": "" if view is None else f"v{view.node}", "ms": rounded(result.ms) if result else None,
        "spread": rounded(result.spread, 3) if result else None, "gflops": rounded(gflops),
        "doubt": result.doubt() if result else None, "remark": result.remark if result else "",
        "peak_share": rounded(gflops / top, 4) if gflops and top else None,
        "above": "" if view is None else above.of_schedule(desk, view.schedule.func, speed),
        "best_ms": rounded(best.ms) if best else None, "best_by": BY.get(best.record.origin, "tuner") if best else None,
        "best_sure": best.sure if best else "", "best_why": task.course[-1].reason if best else "",
        "est": guess.to_json() if guess is not None else None,
        "holes": to_choose(view.schedule) if view is not None else 0, "logged": _logged(desk, view, result),
    }  # fmt: skip


def _logged(desk: Desk, view: View | None, result: Result | None) -> str:
    """Say where the time of a variant by hand is kept, where it matters: compiling a network takes those of a log."""
    if view is None or result is None or desk.tree.nodes[view.node].by != "hand":
        return ""
    return desk.by_hand.place(view.key, desk.log_now) if desk.log_now or len(desk.infos) > 1 else ""


@slice_("selection")
def selection(look: Look) -> dict[str, Any]:
    """Return the slice `selection`."""
    return {"id": look.desk.selected}


@slice_("status", after=("*",))
def status(look: Look) -> dict[str, Any]:
    """Return the slice `status`."""
    desk, view, busy = look.desk, look.view, ""
    for key, word in desk.doing.items():
        if word == "measuring":
            tree = desk.history.trees.get(key[0]) if view is not None and view.key[0] == key[0] else None
            node = tree.find(key) if tree is not None else None
            busy = f"measuring v{node.id}" if node is not None else "measuring another schedule"
    if not busy and any(match.state == "running" for match in desk.history.contests.values()):
        busy = "measuring two variants against each other"
    if busy and desk.watch is not None and desk.watch.held:
        busy += "; tuning waits for it"
    load = None if desk.load is None else desk.load.words()
    return {"busy": busy, "note": desk.note, "log": desk.log_now or "", "load": load}


@command
def auto_measure(host: Host, on: bool) -> None:
    """Measure every step that is taken here, or stop doing so."""
    if on:
        require_runnable(host.desk.target)
    host.desk.auto = bool(on)


@command
def dismiss(host: Host) -> None:
    """Clear the note."""
    host.desk.note = None
