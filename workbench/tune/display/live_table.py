"""The table of a run that nobody else shows: in a notebook as long as it runs, in a terminal while somebody waits."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import Any, Protocol

from workbench.tune.display.terminal_table import TableDisplay
from workbench.tune.state.events import Event, EventBus, Snapshot

#: Seconds between two drawings, in a terminal and in a notebook.
TERMINAL_S, NOTEBOOK_S = 0.1, 0.5
#: Kinds of events of which a line is written where the table is not drawn in place.
TOLD = ("round", "warning", "seed", "command")


class Shown(Protocol):
    """What of a session is needed to show it."""

    events: EventBus

    def snapshot(self) -> Snapshot:
        """Everything that a display shows."""

    def _repr_html_(self) -> str: ...


class TerminalTable:
    """Shows a session on standard error whenever `draw` is called.

    Attributes
    ----------
    display : TableDisplay
    notes : list of str
        What was told beside the table.
    """

    def __init__(self, session: Shown) -> None:
        self.display, self.notes = TableDisplay(), list[str]()
        self._session, self._told, self._finished = session, deque[Event](), False
        self.close = session.events.subscribe(lambda e: self._told.append(e) if e.kind in TOLD else None)

    def draw(self) -> None:
        """Redraw the table, or tell what has happened where it is not drawn in place."""
        self.display.update(self._session.snapshot())
        while self._told:
            event = self._told.popleft()
            if event.kind == "round":
                self.display.round(self._session.snapshot(), event.task or "")
                continue
            label = {"warning": "warning: ", "seed": "start from: "}.get(event.kind, "")
            self.notes.append(f"{label}{event.task + ': ' if event.task else ''}{event.message}")
            self.display.say(self.notes[-1])

    def finish(self) -> Snapshot:
        """Draw the last state, once."""
        snapshot = self._session.snapshot()
        if not self._finished:
            self._finished = True
            self.draw()
            self.display.finish(snapshot)
            self.close()
        return snapshot

    def wait(self, ended: threading.Event, timeout: float | None) -> bool:
        """Draw until the session has ended, or so many seconds have passed."""
        end = None if timeout is None else time.monotonic() + timeout
        while not ended.wait(TERMINAL_S if end is None else max(0.0, min(TERMINAL_S, end - time.monotonic()))):
            self.draw()
            if end is not None and time.monotonic() >= end:
                return False
        self.finish()
        return True


def terminal_table(session: Shown, wanted: bool | None) -> TerminalTable | None:
    """Return the table of a run, where it is wanted, or nobody says so and there is a terminal."""
    if wanted is False or _notebook() is not None:
        return None
    return TerminalTable(session) if wanted or getattr(sys.stderr, "isatty", lambda: False)() else None


def show_in_notebook(session: Shown, ended: threading.Event, wanted: bool | None) -> None:
    """Put the table below the cell that runs, and keep it up to date until the session has ended."""
    display = None if wanted is False else _notebook()
    if display is None:
        return
    handle = display({"text/html": session._repr_html_()}, raw=True, display_id=True)

    def follow() -> None:
        over = False
        while not over:
            over = ended.wait(NOTEBOOK_S)
            handle.update({"text/html": session._repr_html_()}, raw=True)

    threading.Thread(target=follow, name="workbench-table", daemon=True).start()


def _notebook() -> Any:
    """IPython's `display`, where this process is a kernel; IPython is never loaded for that."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else sys.modules["IPython.display"].display
