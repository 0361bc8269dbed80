"""Computes the slices of a snapshot from a desk, each by itself: one that fails leaves the others as they should be."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from workbench.session import parts as _declared  # noqa: F401  (declares the slices)
from workbench.session.nest import choose, nest_slice
from workbench.session.notes import note
from workbench.session.protocol import error_json
from workbench.session.registry import SLICES, Kept, Look

if TYPE_CHECKING:
    from workbench.session.desk import Desk

_log = logging.getLogger(__name__)


class Slices:
    """Computes slices; a value that did not change is the same object as before."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._kept = desk, Kept()
        self._order = _ordered()
        #: Slices that could not be computed the last time ("": none could), and the note that says so.
        self._failed: set[str] = set()
        self._said: dict[str, Any] | None = None

    def first(self) -> dict[str, Any]:
        """Return every slice of a desk that nobody has seen yet; raises what goes wrong."""
        look = self._look()
        return {name: SLICES[name].make(look) for name in self._order}

    def next(self, old: Mapping[str, Any]) -> dict[str, Any]:
        """Return every slice; one that cannot be computed stays as it was, and a note says why."""
        try:
            look = self._look()
        except Exception as error:
            self._fail("", error)
            return {**old, "status": {**old["status"], "note": self._desk.note}}
        self._recover("")
        found = {name: self._one(name, look, old) for name in self._order}
        for one in self._desk.onlookers:
            one()
        return found

    def _look(self) -> Look:
        """Look at the desk, after it was seen to that what is selected exists."""
        desk, view = self._desk, self._desk.view()
        tuning = desk.watch.tuning.snapshot() if desk.watch is not None else None
        nest: dict[str, Any] | None = None
        if view is not None:
            func, target = view.schedule.func, desk.target
            nest = self._kept.of("nest", (func,), lambda: nest_slice(func, target))
        choose(desk, view, nest)
        return Look(desk, view, tuning, nest, self._kept)

    def _one(self, name: str, look: Look, old: Mapping[str, Any]) -> Any:
        try:
            value = SLICES[name].make(look)
        except Exception as error:
            self._fail(name, error)
            return old.get(name)
        self._recover(name)
        return value

    def _fail(self, name: str, error: Exception) -> None:
        """Tell once, so that the note can be dismissed."""
        if name in self._failed:
            return
        self._failed.add(name)
        _log.error("a session could not work out what to show", exc_info=error)
        data = error_json(error)
        self._said = note("error", data["message"], data["code"], data["hint"], data["where"])
        self._desk.note = self._said

    def _recover(self, name: str) -> None:
        """Take back the note when all is well again."""
        if name not in self._failed:
            return
        self._failed.discard(name)
        if not self._failed and self._desk.note is self._said:
            self._desk.note = None


def _ordered() -> list[str]:
    """Name the slices, each after those that it wants to come before it."""
    early = [name for name, one in SLICES.items() if "*" not in one.after]  # lists: the order is the same in every run
    before = {
        name: [n for after in one.after for n in (early if after == "*" else (after,))] for name, one in SLICES.items()
    }
    return list(TopologicalSorter(before).static_order())
