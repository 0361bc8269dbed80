"""What was made by hand in an earlier session comes back from the log, as variants of the task that is opened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.log.record import Record
from workbench.log.replay import schedule_of
from workbench.session.variant_tree.tree import ROOT

if TYPE_CHECKING:
    from workbench.session.core.state import SessionState

MOST = 16
"""Schedules by hand that come back by themselves, the newest; an older one is opened by its number."""


def recall(state: SessionState) -> None:
    """Hang the schedules by hand of the task on show on its tree, and the default one with them; go to none."""
    if state.index is None or state.schedule is None or (task := state.task) is None:
        return
    tree = state.history.tree(state.index, state.schedule.copy())
    for record in _wanted(state, task.key):
        try:
            found = schedule_of(task, record)
        except WorkbenchError:  # the log was written for another program, or by another version
            continue
        found.target = task.target or state.target
        told = state.stats.of(task.key).of(record)
        state.hang(tree, found, record if told is None else replace(record, latency_ms=told.ms))
    state.recalled.setdefault(state.index, tree.changes)


def _wanted(state: SessionState, key: str) -> list[Record]:
    valid = [r for r in state.stats.records if r.task_key == key and r.ok]
    made = [r for r in valid if r.origin == "manual"][-MOST:]
    usual = [r for r in valid if r.origin == "default"][:1] if made else []
    return sorted([*usual, *made], key=lambda r: r.trial)


def untouched(state: SessionState) -> bool:
    """Whether the task on show has no other variants than those that came back by themselves."""
    if state.index is None:
        return False
    tree = state.history.trees.get(state.index)
    if tree is None or tree.at != ROOT or any(node.kept for node in tree.nodes.values()):
        return False
    return state.recalled.get(state.index) == tree.changes
