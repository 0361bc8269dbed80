"""`place_of`: where a file is that JupyterLab names."""

from __future__ import annotations

from typing import Any

from jupyter_server.services.contents.filemanager import FileContentsManager
from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from workbench.errors import LogError


async def place_of(path: str, manager: Any) -> str:
    """Return where a file is, if the contents manager gives it out: no hidden one, none outside its root.

    Raises
    ------
    LogError
        ``log.missing``; ``log.unreadable`` where the manager keeps no files.
    """
    try:
        await ensure_async(manager.get(path, content=False))
    except (HTTPError, OSError, ValueError) as error:
        hint = "was it renamed, or is it hidden?"
        raise LogError("log.missing", "The server gives out no such file", (path,), hint) from error
    if not isinstance(manager, FileContentsManager):  # others have a `root_dir` too, which is not theirs
        hint = "open it in a notebook: wb.LogExplorer(path)"
        raise LogError("log.unreadable", "What this server keeps are no files", (path,), hint)
    return str(manager._get_os_path(path))
