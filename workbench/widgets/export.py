"""What can be taken away from a workbench: the session's exports, and a page that needs no kernel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.arguments import known_options
from workbench.arguments import path as as_path
from workbench.errors import UsageError
from workbench.session import Session
from workbench.session.export.exporters import Work, exporter, prepare, stem
from workbench.session.export.files import File, written
from workbench.session.registry import Host
from workbench.widgets.html_page import page, page_content

FILES = ("library",)
"""What cannot be returned as text."""

OPTIONS = ("node", "panel", "theme", "charts", "screen")


def export(session: Session, what: str, path: str | os.PathLike[str] | None, options: Mapping[str, Any]) -> str | Path:
    """Make an export of a session; see `Workbench.export`."""
    known_options(options, OPTIONS, "export")
    if path is None and what in FILES:
        raise UsageError(
            "export.path", f"Of {what!r} there is no text to return", (), "give the path of a file or folder"
        )
    to = None if path is None else Path(as_path("path", path))
    file = made(session, {"what": what, **options})
    return file.text if to is None else written(file, to)


def made(session: Session, args: Mapping[str, Any]) -> File:
    """Make an export in the caller's thread; only what has to be looked at is looked at in the session's."""
    prepared: list[Work] = []
    session.run(lambda: prepared.append(prepare(session, args)))
    return prepared[0]()


@exporter("html")
def _html(host: Host, args: Mapping[str, Any]) -> Work:
    """A page with the whole workbench as it is."""
    state, name = page_content(host, charts=bool(args.get("charts", True))), stem(host)
    theme = str(args.get("theme") or "auto")
    return lambda: File(f"{name}.html", "text/html", page(state, theme))
