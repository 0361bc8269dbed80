"""What is taken away from a `Workbench` and brought back: exports, and views that somebody else opens."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from workbench import host
from workbench.errors import UsageError
from workbench.session.export.saved_view import View, checked_screen, open_view, read_view, tasks_of, view_of
from workbench.target import Target
from workbench.widgets import export as exporting
from workbench.widgets.target_methods import OfSessions

W = TypeVar("W", bound="SharingMethods")


class SharingMethods(OfSessions):
    """Methods of a `Workbench` that make something for somebody else, or open it."""

    #: What browsers show first, and again when its ``turn`` changes.
    screen: Any
    #: What a browser has said last of its own side.
    _screen: Mapping[str, Any] = {}

    def export(self, what: str, path: str | os.PathLike[str] | None = None, **options: Any) -> str | Path:
        """Take something away from the workbench.

        Parameters
        ----------
        what : {"script", "trace", "view", "csv", "svg", "html", "network", "library"}
            A Python script that rebuilds a variant and measures it again; its steps as JSON; what `view` returns; a
            table; a drawing; the whole workbench as a page that needs neither a kernel nor a network, and that
            `workbench.open_page` measures elsewhere. Of a model also a script that compiles it with the fastest
            schedule known of each task and times it, and the compiled model itself: a shared library with a C header
            beside it.
        path : path, optional
            File to write, which is replaced when there is one; or a folder, where it gets a fitting name that nothing
            has yet. A library needs one.
        **options
            ``node`` : number of the variant, for a script or its steps, or "tuner" for the task's best trial; that on
            show by default.
            ``panel`` : which table ("variants", "tasks", "trials", "nest"), or what to draw ("nest", "variants",
            "graph", "stages", "tasks").
            ``screen`` : which panels a view opens, as it stands in one; those that are open here by default.
            ``theme`` : "light" or "dark"; for a page also "auto".
            ``charts`` : whether a page has the charts, whose library makes it 5 MB larger.

        Returns
        -------
        str or Path
            The text, or where it was written.

        Raises
        ------
        UsageError
            "export.what", "export.panel", "export.empty", "export.theme", "export.path", "session.variant";
            "export.png" for pixels, which only a browser makes; "session.no_model".
        ExportError
            What keeps a network from being a library, see `Executable.export`.
        """
        own = {"screen": self._screen} if what == "view" else {}
        return exporting.export(self._session, what, path, {**own, **options})

    def view(self) -> dict[str, Any]:
        """Return what is on show as plain JSON, to be sent to somebody who opens it with ``Workbench(view=…)``.

        Returns
        -------
        dict
            The programs, the steps of the schedule on show, all variants with their times, what is selected, and which
            panels are open in the browser that was touched last.

        Raises
        ------
        UsageError
            "session.no_program" where no schedule is on show.
        """
        found: list[dict[str, Any]] = []
        self._session.run(lambda: found.append(view_of(self._session.state, self._screen)))
        return found[0]

    def open_view(self: W, view: View) -> W:
        """Show what a view shows: its task, which is added where it is not here, schedule, variants and panels.

        Parameters
        ----------
        view : path or mapping
            A file that the export "View" has written, or what `view` returned. Nothing in it is executed; its times
            are taken in only where they were measured for the same target under the same conditions.

        Raises
        ------
        UsageError
            "view.file" for what is no view, "view.missing" for a file that cannot be read, "view.program" where its
            task is not here and the view does not hold it.
        ScheduleError
            "view.steps" where a step is not legal here.
        """
        self._open_view(read_view(view), alone=False)
        return self

    def _open_view(self, view: Mapping[str, Any], alone: bool) -> None:
        found: list[dict[str, Any]] = []
        self._session.run(lambda: found.append(open_view(self._session.state, view, alone)))
        self._screen = found[0]
        self.screen = {**found[0], "turn": self.screen.get("turn", 0) + 1}

    def _see(self, screen: object) -> None:
        """Take note of what a browser shows; one that says something else says nothing."""
        with contextlib.suppress(UsageError):
            self._screen = checked_screen(screen)


def opening(subject: Any, view: View | None, target: Target | None) -> tuple[Any, Mapping[str, Any] | None]:
    """Return what to open, and the view to show: without a subject the programs of the view."""
    if view is None:
        return subject, None
    given = read_view(view)
    return (tasks_of(given, target or _same_machine(given)) if subject is None else subject), given


def _same_machine(view: Mapping[str, Any]) -> Target | None:
    """Return what a view was made for where that is this machine, with as many threads: times there are times here."""
    found = re.search(r"-threads=(\d{1,4})$", str(view.get("target", "")))
    threads = int(found[1]) if found else 0
    if not 1 <= threads <= host.detect().threads:
        return None
    here = Target.host(threads=threads)
    return here if str(here) == view["target"] else None
