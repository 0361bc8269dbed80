"""The variants of the schedule on show: a tree of the states that were reached by hand, and that the tuner found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.arguments import shown, whole
from workbench.errors import UsageError
from workbench.markup import clean
from workbench.schedule.fields import decode
from workbench.session.core.notes import NO_PROGRAM_HINT
from workbench.session.core.registry import Host, SliceContext, command, needed, question, slice_
from workbench.session.measurement import comparisons as contests
from workbench.session.schedule_view import edit_step as changing
from workbench.session.schedule_view.on_show import measure_new
from workbench.session.variant_tree.transfer import carry
from workbench.session.variant_tree.tree import ROOT
from workbench.session.variant_tree.trial_origin import DEFAULT
from workbench.space.default_schedule import default_schedule

LONGEST = 60
"""Letters of a name."""


@slice_("history", after=("head",))
def history(context: SliceContext) -> dict[str, Any]:
    """Return the slice `history`."""
    state, view = context.state, context.view
    if view is None:
        return {
            "rows": [], "at": 0, "path": [], "can_undo": False, "can_redo": False, "auto": state.auto, "best": None,
            "hidden": 0, "contests": [], "change": None,
        }  # fmt: skip
    kept, tree = state.history, state.history.trees[view.key[0]]
    node = tree.nodes[view.node]
    return {
        "rows": kept.rows(tree, state.doing), "at": view.node, "path": list(tree.path(view.node)),
        "can_undo": node.parent is not None, "can_redo": node.last_child is not None, "auto": state.auto,
        "best": kept.fastest(tree), "hidden": kept.hidden.get(tree.task, 0),
        "contests": contests.shown(kept, tree), "change": contests.change(kept, tree),
    }  # fmt: skip


@command
def undo(host: Host, n: int = 1) -> None:
    """Go to the variant that this one came of, and so on; fewer times when there are not as many."""
    tree = host.state.tree
    path = tree.path(tree.at)
    host.state.go(path[max(0, len(path) - 1 - whole("n", n, 0))])


@command
def redo(host: Host, n: int = 1) -> None:
    """Go to the variant below this one that was on show last, and so on."""
    tree = host.state.tree
    ahead = [tree.at, *tree.undone()]
    host.state.go(ahead[min(whole("n", n, 0), len(ahead) - 1)])


@command
def goto(host: Host, step: int) -> None:
    """Go to a variant, given by its number."""
    host.state.go(host.state.variant(step).id)


@command
def branch(host: Host, node: int | None = None) -> None:
    """Go to a variant to begin another branch there: there is nothing to redo from it."""
    host.state.go(host.state.variant(node).id, afresh=True)


@command
def name(host: Host, node: int | None, text: object) -> None:
    """Give a variant a name; "" takes it away."""
    found = host.state.variant(node)
    if not isinstance(text, str) or len(text.strip()) > LONGEST:
        raise UsageError("session.name", f"A name is a text of at most {LONGEST} letters, not {shown(text)}")
    found.name = " ".join(clean(text).split())  # it goes into files and pages


@command
def star(host: Host, node: int | None = None, on: bool | None = None) -> None:
    """Mark a variant as one to come back to, or take the mark away; without `on` the other way round."""
    found = host.state.variant(node)
    found.star = not found.star if on is None else bool(on)


@command
def forget(host: Host, node: int) -> None:
    """Remove a variant that nothing came of, and that has neither name nor star."""
    host.state.forget(host.state.variant(node))


@command
def unfold(host: Host, node: int | None = None) -> None:
    """Show every single step on the way to a variant that was reached by several at once."""
    host.state.tree.unfold(host.state.variant(node).id)


@command
def adopt(host: Host, task: object = None) -> None:
    """Show the best schedule of a task in the log."""
    host.state.adopt(task)


@command
def open_trial(host: Host, trial: int, task: object = None) -> None:
    """Show a trial's schedule as a branch, to go on with it by hand; without `task` the number says which it is."""
    number = whole("trial", trial, 0)
    host.state.adopt(host.state.task_of(number) if task is None else task, number)


@command
def open_default(host: Host, task: object = None) -> None:
    """Show the schedule that a task has without tuning, as a branch; with its time where a run has measured it."""
    state = host.state
    index = state.find(task)
    info = state.infos[index]
    if info.task is None:
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    known = [r for r in state.stats.records if r.task_key == info.key and r.origin == "default" and r.ok]
    if known:
        state.adopt(index, known[0].trial)
    else:
        found = default_schedule(info.task, info.task.target or state.target)
        found.target = info.task.target or state.target
        state.open_task(index)
        state.go(state.tree.add(ROOT, found, edge="steps", by="template", label=DEFAULT))
    measure_new(host)


@command
def contest(host: Host, a: int, b: int | None = None) -> None:
    """Measure two variants against each other; one against that on show when `b` is left out."""
    contests.start(host, host.state.variant(a), host.state.variant(b))


@command
def replay(host: Host, node: int | None, task: object, skip: bool = False) -> None:
    """Take a variant's steps on another task until one is not legal there; with `skip` all that are."""
    found = host.state.variant(node)
    carry(host.state, found, host.state.find(task), skip=bool(skip))
    measure_new(host)


@question("step")
def step(host: Host, args: Mapping[str, Any]) -> dict[str, Any]:
    """Answer which step a variant ends with, for a form that changes it."""
    return changing.last_step(host.state.variant(needed(args, "step", "node")))


@command
def change(host: Host, step: int, args: object, node: int | None = None) -> None:
    """Take a variant's steps with other arguments in one of them (counted from 1), until one is not legal any more."""
    found = host.state.variant(node)
    if not isinstance(args, dict) or not all(isinstance(name, str) for name in args):
        raise UsageError("session.arguments", f"The arguments of a step are an object, not {shown(args)}")
    changing.change(host.state, found, step, {name: decode(value) for name, value in args.items()})
    measure_new(host)
