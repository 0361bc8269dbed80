"""The variants of the schedule on show: a tree of the states that were reached by hand, and that the tuner found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.arguments import shown, whole
from workbench.errors import UsageError
from workbench.markup import clean
from workbench.schedule.fields import decode
from workbench.session import changing, contests
from workbench.session.acting import measure_new
from workbench.session.notes import NO_PROGRAM_HINT
from workbench.session.origins import DEFAULT
from workbench.session.registry import Host, Look, command, needed, question, slice_
from workbench.session.replay import carry
from workbench.session.tree import ROOT
from workbench.space.default_schedule import default_schedule

LONGEST = 60
"""Letters of a name."""


@slice_("history", after=("head",))
def history(look: Look) -> dict[str, Any]:
    """Return the slice `history`."""
    desk, view = look.desk, look.view
    if view is None:
        return {
            "rows": [], "at": 0, "path": [], "can_undo": False, "can_redo": False, "auto": desk.auto, "best": None,
            "hidden": 0, "contests": [], "change": None,
        }  # fmt: skip
    kept, tree = desk.history, desk.history.trees[view.key[0]]
    node = tree.nodes[view.node]
    return {
        "rows": kept.rows(tree, desk.doing), "at": view.node, "path": list(tree.path(view.node)),
        "can_undo": node.parent is not None, "can_redo": node.last_child is not None, "auto": desk.auto,
        "best": kept.fastest(tree), "hidden": kept.hidden.get(tree.task, 0),
        "contests": contests.shown(kept, tree), "change": contests.change(kept, tree),
    }  # fmt: skip


@command
def undo(host: Host, n: int = 1) -> None:
    """Go to the variant that this one came of, and so on; fewer times when there are not as many."""
    tree = host.desk.tree
    path = tree.path(tree.at)
    host.desk.go(path[max(0, len(path) - 1 - whole("n", n, 0))])


@command
def redo(host: Host, n: int = 1) -> None:
    """Go to the variant below this one that was on show last, and so on."""
    tree = host.desk.tree
    ahead = [tree.at, *tree.undone()]
    host.desk.go(ahead[min(whole("n", n, 0), len(ahead) - 1)])


@command
def goto(host: Host, step: int) -> None:
    """Go to a variant, given by its number."""
    host.desk.go(host.desk.variant(step).id)


@command
def branch(host: Host, node: int | None = None) -> None:
    """Go to a variant to begin another branch there: there is nothing to redo from it."""
    host.desk.go(host.desk.variant(node).id, afresh=True)


@command
def name(host: Host, node: int | None, text: object) -> None:
    """Give a variant a name; "" takes it away."""
    found = host.desk.variant(node)
    if not isinstance(text, str) or len(text.strip()) > LONGEST:
        raise UsageError("session.name", f"A name is a text of at most {LONGEST} letters, not {shown(text)}")
    found.name = " ".join(clean(text).split())  # it goes into files and pages


@command
def star(host: Host, node: int | None = None, on: bool | None = None) -> None:
    """Mark a variant as one to come back to, or take the mark away; without `on` the other way round."""
    found = host.desk.variant(node)
    found.star = not found.star if on is None else bool(on)


@command
def forget(host: Host, node: int) -> None:
    """Remove a variant that nothing came of, and that has neither name nor star."""
    host.desk.forget(host.desk.variant(node))


@command
def unfold(host: Host, node: int | None = None) -> None:
    """Show every single step on the way to a variant that was reached by several at once."""
    host.desk.tree.unfold(host.desk.variant(node).id)


@command
def adopt(host: Host, task: object = None) -> None:
    """Show the best schedule of a task in the log."""
    host.desk.adopt(task)


@command
def open_trial(host: Host, trial: int, task: object = None) -> None:
    """Show a trial's schedule as a branch, to go on with it by hand; without `task` the number says which it is."""
    number = whole("trial", trial, 0)
    host.desk.adopt(host.desk.task_of(number) if task is None else task, number)


@command
def open_default(host: Host, task: object = None) -> None:
    """Show the schedule that a task has without tuning, as a branch; with its time where a run has measured it."""
    desk = host.desk
    index = desk.find(task)
    info = desk.infos[index]
    if info.task is None:
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    known = [r for r in desk.stats.records if r.task_key == info.key and r.origin == "default" and r.ok]
    if known:
        desk.adopt(index, known[0].trial)
    else:
        found = default_schedule(info.task, info.task.target or desk.target)
        found.target = info.task.target or desk.target
        desk.open_task(index)
        desk.go(desk.tree.add(ROOT, found, edge="steps", by="template", label=DEFAULT))
    measure_new(host)


@command
def contest(host: Host, a: int, b: int | None = None) -> None:
    """Measure two variants against each other; one against that on show when `b` is left out."""
    contests.start(host, host.desk.variant(a), host.desk.variant(b))


@command
def replay(host: Host, node: int | None, task: object, skip: bool = False) -> None:
    """Take a variant's steps on another task until one is not legal there; with `skip` all that are."""
    found = host.desk.variant(node)
    carry(host.desk, found, host.desk.find(task), skip=bool(skip))
    measure_new(host)


@question("step")
def step(host: Host, args: Mapping[str, Any]) -> dict[str, Any]:
    """Answer which step a variant ends with, for a form that changes it."""
    return changing.last_step(host.desk.variant(needed(args, "step", "node")))


@command
def change(host: Host, step: int, args: object, node: int | None = None) -> None:
    """Take a variant's steps with other arguments in one of them (counted from 1), until one is not legal any more."""
    found = host.desk.variant(node)
    if not isinstance(args, dict) or not all(isinstance(name, str) for name in args):
        raise UsageError("session.arguments", f"The arguments of a step are an object, not {shown(args)}")
    changing.change(host.desk, found, step, {name: decode(value) for name, value in args.items()})
    measure_new(host)
