"""Computes the slices of a snapshot, each by itself: one that fails leaves the others as they should be."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any

import workbench.session.panels  # noqa: F401  (declares the slices)
from workbench.session.core.notifications import error_note
from workbench.session.registry import SLICES, SliceContext, slice_cache
from workbench.session.schedule_view.nest_listing import choose, nest_slice
from workbench.session.state.session_state import SessionState

_log = logging.getLogger(__name__)


class Slices:
    """Computes slices; a value that did not change is the same object as before."""

    def __init__(self, state: SessionState) -> None:
        self._state, self._cache = state, slice_cache()
        self._order = _ordered()
        #: Slices that could not be computed the last time ("": none could), and the note that says so.
        self._failed: set[str] = set()
        self._said: dict[str, Any] | None = None

    def first(self) -> dict[str, Any]:
        """Return every slice of a state that nobody has seen yet; raises what goes wrong."""
        context = self._context()
        return {name: SLICES[name].make(context) for name in self._order}

    def next(self, old: Mapping[str, Any]) -> dict[str, Any]:
        """Return every slice; one that cannot be computed stays as it was, and a note says why."""
        try:
            context = self._context()
        except Exception as error:
            self._fail("", error)
            return {**old, "status": {**old["status"], "note": self._state.note}}
        self._recover("")
        found = {name: self._one(name, context, old) for name in self._order}
        for one in self._state.onlookers:
            one()
        return found

    def _context(self) -> SliceContext:
        """Look at the state, after it was seen to that what is selected exists."""
        state, view = self._state, self._state.view()
        tuning = state.watch.tuning.snapshot() if state.watch is not None else None
        nest: dict[str, Any] | None = None
        if view is not None:
            func, target = view.schedule.func, state.target
            nest = self._cache["nest"].of((func,), lambda: nest_slice(func, target))
        choose(state, view, nest)
        state.tell()
        return SliceContext(state, view, tuning, nest, self._cache)

    def _one(self, name: str, context: SliceContext, old: Mapping[str, Any]) -> Any:
        try:
            value = SLICES[name].make(context)
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
        self._said = error_note(error)
        self._state.note = self._said

    def _recover(self, name: str) -> None:
        """Take back the note when all is well again."""
        if name not in self._failed:
            return
        self._failed.discard(name)
        if not self._failed and self._state.note is self._said:
            self._state.note = None


def _ordered() -> list[str]:
    """Name the slices, each after those that it wants to come before it."""
    early = [name for name, one in SLICES.items() if "*" not in one.after]  # lists: the order is the same in every run
    before = {
        name: [n for after in one.after for n in (early if after == "*" else (after,))] for name, one in SLICES.items()
    }
    return list(TopologicalSorter(before).static_order())
