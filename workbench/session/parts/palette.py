"""What can be done at the selection, and whether a step that somebody is putting together could be taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.schedule.primitive import from_json
from workbench.session import palette as moves
from workbench.session.acting import listed, on_show, taken_back
from workbench.session.forms import relative
from workbench.session.instead import instead
from workbench.session.preview import preview as work_out
from workbench.session.registry import Host, Look, needed, question, slice_


@slice_("palette")
def palette(look: Look) -> dict[str, Any] | None:
    """Return the slice `palette`."""
    view, nest, selected = look.view, look.nest, look.desk.selected
    if view is None or nest is None:
        return None

    def make() -> dict[str, Any]:
        return relative(moves.palette(view.schedule, selected, nest["rows"]))

    found: dict[str, Any] = look.kept.of("palette", (view.schedule.func, selected), make)
    return found


@question("judge")
def judge(host: Host, args: Mapping[str, Any]) -> Any:
    """Say whether ``step`` is legal, and why not."""
    step = needed(args, "judge", "step")
    return moves.verdict(on_show(host).schedule, step)


@question("preview", lane="preview")
def preview(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say what ``step``, and the steps ``then`` right after it, would make of the nest, with those at the places
    ``without`` of the trace taken back before.
    """
    steps, shown, desk = (needed(args, "preview", "step"), *listed(args.get("then"))), on_show(host), host.desk
    view, target, peak, present = shown.schedule, desk.target, desk.peak, desk.estimates.known(shown, desk.peak)
    base = taken_back(view, args["without"]) if args.get("without") else None

    def work() -> dict[str, Any]:
        first, *then = map(from_json, steps)
        return work_out(view, first, target, then=then, peak_gflops=peak, present=present, base=base).to_json()

    return work


@question("witness", lane="preview")
def witness(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say why ``step`` is not legal, with two iterations that show it, and which legal steps do what was meant."""
    step, view, desk = needed(args, "witness", "step"), on_show(host).schedule, host.desk
    target, peak = desk.target, desk.peak

    def work() -> dict[str, Any]:
        move, _, _ = moves.attempt(view, from_json(step))
        offers = [offer.to_json() for offer in instead(view, move, target, peak)]
        return {"verdict": moves.verdict_json(move), "instead": offers}

    return work
