"""What can be done at the selection, and whether a step that somebody is putting together could be taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench import markup as m
from workbench.advice.refusal_alternatives import instead
from workbench.advice.step_legality import attempt, verdict, verdict_json
from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.exercise_mode import why_off
from workbench.schedule.primitive import from_json
from workbench.session import registry as declare
from workbench.session.core.encoding import relative
from workbench.session.registry import Host, SliceContext, needed
from workbench.session.schedule_view import applicable_primitives
from workbench.session.schedule_view.current_schedule import current_view, listed, taken_back
from workbench.session.schedule_view.edit_step import position
from workbench.session.schedule_view.preview import preview as work_out
from workbench.session.schedule_view.preview import preview_change

declare.panel("palette", "Primitives", 6, needs="program", about_task=True)


@declare.slice_("palette", by_selection=True)
def palette(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `palette`."""
    view, nest, selected = context.view, context.nest, context.state.selected
    if view is None or nest is None:
        return None

    made_of = (view.schedule.func, selected)
    return context.cache["palette"].of(
        made_of, lambda: relative(applicable_primitives.palette(view.schedule, selected, nest["rows"]))
    )


@declare.question("judge")
def judge(host: Host, args: Mapping[str, Any]) -> Any:
    """Say whether ``step`` is legal, and why not."""
    step = needed(args, "judge", "step")
    return verdict(current_view(host).schedule, step)


@declare.question("preview", lane="preview")
def preview(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say what ``step``, and the steps ``then`` right after it, would make of the nest, with those at the places
    ``without`` of the trace taken back before. With ``change``, a ``node`` and the place ``step`` of one of its steps,
    that is said of the variant with this step there and the steps after it.
    """
    if args.get("change"):
        return _preview_change(host, args)
    steps, shown, state = (needed(args, "preview", "step"), *listed(args.get("then"))), current_view(host), host.state
    view, target, peak, present = shown.schedule, state.target, state.peak, state.estimates.known(shown, state.peak)
    constants = state.constants
    base = taken_back(view, args["without"]) if args.get("without") else None

    def work() -> dict[str, Any]:
        first, *then = map(from_json, steps)
        found = work_out(
            view, first, target, then=then, peak_gflops=peak, present=present, base=base, constants=constants
        )
        return found.to_json()

    return work


def _preview_change(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    step, change, state = needed(args, "preview", "step"), args["change"], host.state
    if not isinstance(change, Mapping):
        raise UsageError("session.arguments", f"What is changed is an object, not {shown(change)}")
    of = state.variant(needed(change, "preview", "node")).schedule
    place, view = position(of, needed(change, "preview", "step")) + 1, current_view(host).schedule
    target, peak, constants = state.target, state.peak, state.constants
    return lambda: preview_change(
        view, of, place, from_json(step), target, peak_gflops=peak, constants=constants
    ).to_json()


@declare.question("witness", lane="preview")
def witness(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say why ``step`` is not legal, with two iterations that show it, and which legal steps do what was meant."""
    step, view, state = needed(args, "witness", "step"), current_view(host).schedule, host.state
    target, peak, constants = state.target, state.peak, state.constants

    def work() -> dict[str, Any]:
        move, _, _ = attempt(view, from_json(step))
        found = () if why_off("advice") else instead(view, move, target, peak, constants)
        offers = [offer.to_json() for offer in found]
        return {"verdict": verdict_json(move), "instead": offers}

    return work


@declare.static("palette")
def _palette_html(palette: Mapping[str, Any], limit: int) -> m.Html:
    items = sorted(palette["rows"], key=lambda i: not i["legal"])
    rows = [[m.mono(i["id"]), "legal" if i["legal"] else "", m.text(i["reason"] or "", 120)] for i in items]
    columns = (m.Column("Primitive"), m.Column(""), m.Column("Why not"))
    place = ": ".join(str(palette[k]) for k in ("at", "about") if palette.get(k))
    about = m.label("at", m.text(place, 100)) if place else ""
    return m.join(m.section("Primitives"), about, m.table(columns, m.cut(rows, limit, "primitives")))
