"""The schedule on show: its loop nest, its stages, and the steps that are taken on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.advice.drops import drops
from workbench.arguments import shown
from workbench.codegen import require_runnable
from workbench.errors import ScheduleError, UsageError, did_you_mean
from workbench.ir.func import Func
from workbench.ir.stmt import accesses as accesses_of
from workbench.ir.stmt import blocks
from workbench.schedule.primitive import from_json
from workbench.session.core.notes import NO_PROGRAM_HINT
from workbench.session.core.registry import Host, SliceContext, command, needed, question, slice_
from workbench.session.schedule_view.nest import accesses_slice, known, loop_of
from workbench.session.schedule_view.on_show import listed, measure_new, on_show, taken_back
from workbench.session.variant_tree.history import open_parts

MANY = 3
"""Steps taken at once that are still a variant each."""


@slice_("nest")
def nest(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `nest`."""
    return context.nest


@slice_("accesses")
def accesses(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `accesses`: what the selected loop, or the one around what is selected, does to memory."""
    if context.view is None or context.nest is None:
        return None
    func, target, loop = context.view.schedule.func, context.state.target, loop_of(context.nest, context.state.selected)
    found: dict[str, Any] = context.kept.of("accesses", (func, loop), lambda: accesses_slice(func, target, loop))
    return found


@slice_("stages")
def stages(context: SliceContext) -> Any:
    """Return the slice `stages`, the same one while no stage comes, goes or reads something else."""
    from workbench.analysis import stage_graph

    if context.view is None:
        return None
    func = context.view.schedule.func
    return context.kept.of("stages", (_dataflow(func),), lambda: stage_graph(func))


def _dataflow(func: Func) -> str:
    """Say which blocks there are, what each reads and writes, and of which shape that is: all that the stages show."""
    lines = [f"{b.role} {b.name} {b.dtype} {b.shape}" for b in func.buffers]
    for block, _ in blocks(func.body):
        touched = " ".join(f"{'>' if a.is_write else ''}{a.buffer}" for a in accesses_of(block))
        lines.append(f"{block.name} {block.buffer}: {touched}")
    return "\n".join(lines)


@command
def select(host: Host, id: str) -> None:
    """Select a row of the nest, a block or a buffer; "" selects nothing."""
    if not isinstance(id, str):
        raise UsageError("session.select", f"There is nothing called {id!r} to select", (), "give a name as text")
    nest = host.shown().get("nest")
    if nest is not None and id not in known(nest) and f"stmt:{id}" in known(nest):
        id = f"stmt:{id}"
    if id and (nest is None or id not in known(nest)):
        hint = did_you_mean(id, sorted(known(nest)), "rows") if nest is not None else NO_PROGRAM_HINT
        raise UsageError("session.select", f"There is nothing called {shown(id)} to select", (), hint)
    host.state.selected = id


@command
def apply(host: Host, step: object, then: object = None, without: object = None) -> None:
    """Take a step, given in its JSON form, and those of the list `then` right after it; only their end is measured.

    Of several steps all are taken, or none; more than `MANY` are one variant (the command ``unfold`` shows each). The
    steps at the places `without` of the trace are taken back before.
    """
    steps = [from_json(one) for one in (step, *listed(then))]
    trial, schedule = taken_back(on_show(host).schedule, without), host.state.schedule
    assert schedule is not None
    names = [name for one in steps for name in trial.apply(one)] if then or without else []
    if len(steps) > MANY:
        host.state.go(host.state.tree.add_reached(trial, ", ".join(dict.fromkeys(one.name for one in steps))))
    elif without:
        schedule.go_to(trial)
    else:
        names = [name for one in steps for name in schedule.apply(one)]
    host.state.made = tuple(names)
    measure_new(host)


@question("drops", lane="preview")
def drop_targets(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say where ``row`` can be dropped, and what is in the way elsewhere."""
    row, view = needed(args, "drops", "row"), on_show(host).schedule
    return lambda: {"targets": [drop.to_json() for drop in drops(view, row)]}


@command
def measure(host: Host) -> None:
    """Measure the schedule on show, again if it was measured before."""
    view = on_show(host)
    if names := open_parts(view.schedule):
        text = f"Cannot measure while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open"
        raise ScheduleError("schedule.open", text, names, "tune the schedule, or choose numbers")
    require_runnable(host.state.target)
    host.request(view)
