"""What was made by hand or by the tuner comes from the log as variants: which one a trial came of, and whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.log import Record
from workbench.schedule import Schedule
from workbench.session.state.variant_tree import ROOT, By, EdgeKind, Tree, keys_of

MOST = 16
"""Schedules by hand that come back by themselves, the newest; an older one is opened by its number."""


def to_recall(records: Iterable[Record], key: str) -> list[Record]:
    """Return the trials of a task that come back by themselves: those by hand, and the default one with them."""
    valid = [r for r in records if r.task_key == key and r.ok]
    made = [r for r in valid if r.origin == "manual"][-MOST:]
    usual = [r for r in valid if r.origin == "default"][:1] if made else []
    return sorted([*usual, *made], key=lambda r: r.trial)


BY: Mapping[str, By] = {"manual": "hand", "default": "template"}
"""Who made a trial, by its origin; all others are the tuner's."""

MADE: Mapping[str, str] = {
    "default": "the schedule without tuning",
    "manual": "given by hand",
    "sketch": "drawn from a sketch",
    "template": "drawn from the template",
    "random": "drawn at random",
    "seed": "like one that was fast before",
    "mutation": "a fast one with another number",
    "crossover": "half of one fast one, half of another",
    "polish": "next to one of the fastest",
}
"""How a trial came about, by its origin, in words of somebody who has not written the search."""

DEFAULT = "default schedule"
"""What the schedule without tuning is called, as in the table of tasks."""


def origin(tree: Tree, found: Schedule, record: Record, keys: Mapping[int, str]) -> tuple[int, EdgeKind, str]:
    """Return the node that a trial hangs on, how it came of it, and what to write there.

    Parameters
    ----------
    found : Schedule
        That of the trial.
    keys : mapping
        Trial number -> key of its program, of the trials that are open.

    Returns
    -------
    tuple
        The trial that it was derived from, if that is open; else the variant whose open numbers it fills; else the
        deepest state on its way.
    """
    steps = found.to_json()
    if record.parent is not None:
        for node in reversed(list(tree.nodes.values())):
            if node.trial is not None and keys.get(node.trial) == record.parent:
                edge: EdgeKind = "fill" if node.steps == len(steps) else "steps"
                return node.id, edge, record.mutation or "derived"
    alike = [node for node in tree.nodes.values() if node.steps == len(steps)]
    filled = [(node, numbers) for node in alike if (numbers := filling(node.schedule.to_json(), steps))]
    if filled:
        node, numbers = filled[-1]
        return node.id, "fill", numbered(numbers)
    states = keys_of(tree.task, found)[: len(steps)] or (tree.nodes[ROOT].key,)  # a trial may be the program as written
    node = next(n for key in reversed(states) if (n := tree.find(key)) is not None)
    more = len(steps) - node.steps
    if more == 1:
        return node.id, "step", str(found.trace[-1])
    told = {"default": DEFAULT, "manual": f"{more} steps by hand"}
    return node.id, "steps", told.get(record.origin, f"{more} steps by the tuner")


def filling(open_: Sequence[Mapping[str, Any]], closed: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the values that stand in `closed` where `open_` leaves them open; None when anything else differs."""
    if len(open_) != len(closed):
        return None
    out: dict[str, Any] = {}
    for before, after in zip(open_, closed, strict=True):
        if before["primitive"] != after["primitive"] or not _fits(before["args"], after["args"], out):
            return None
    return out


def _fits(before: Any, after: Any, out: dict[str, Any]) -> bool:
    if isinstance(before, Mapping) and "hole" in before and not (isinstance(after, Mapping) and "hole" in after):
        out[before["hole"] or "?"] = after
        return True
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_fits(before[k], after[k], out) for k in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(_fits(a, b, out) for a, b in zip(before, after, strict=True))
    return bool(before == after)


def numbered(values: Mapping[str, Any]) -> str:
    """Write which number has which value."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())
