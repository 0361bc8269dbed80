"""What was made by hand in an earlier session comes back from the log, as variants of the task that is opened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.log.replay import schedule_of
from workbench.session.tree import ROOT

if TYPE_CHECKING:
    from workbench.log.record import Record
    from workbench.session.desk import Desk

MOST = 16
"""Schedules by hand that come back by themselves, the newest; an older one is opened by its number."""


def recall(desk: Desk) -> None:
    """Hang the schedules by hand of the task on show on its tree, and the default one with them; go to none."""
    if desk.index is None or desk.schedule is None or (task := desk.task) is None:
        return
    tree = desk.history.tree(desk.index, desk.schedule.copy())
    for record in _wanted(desk, task.key):
        try:
            found = schedule_of(task, record)
        except WorkbenchError:  # the log was written for another program, or by another version
            continue
        found.target = task.target or desk.target
        told = desk.stats.of(task.key).of(record)
        desk.hang(tree, found, record if told is None else replace(record, latency_ms=told.ms))
    desk.recalled.setdefault(desk.index, tree.changes)


def _wanted(desk: Desk, key: str) -> list[Record]:
    valid = [r for r in desk.stats.records if r.task_key == key and r.ok]
    made = [r for r in valid if r.origin == "manual"][-MOST:]
    usual = [r for r in valid if r.origin == "default"][:1] if made else []
    return sorted([*usual, *made], key=lambda r: r.trial)


def untouched(desk: Desk) -> bool:
    """Whether the task on show has no other variants than those that came back by themselves."""
    if desk.index is None:
        return False
    tree = desk.history.trees.get(desk.index)
    if tree is None or tree.at != ROOT or any(node.kept for node in tree.nodes.values()):
        return False
    return desk.recalled.get(desk.index) == tree.changes
