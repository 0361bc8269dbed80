"""`SessionsHandler`: the tuning sessions of all kernels, and commands to them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.services.contents.filemanager import FileContentsManager
from tornado.web import authenticated

from workbench.errors import TuneError, UsageError, WorkbenchError

COMMANDS = ("pause", "resume", "stop")


class SessionsHandler(APIHandler):  # type: ignore[misc]
    """``GET`` gives ``{"sessions": {ID: …}}`` (`workbench.tune.display.session_file`).

    ``POST`` of ``{"id", "command"}`` sends a command (`COMMANDS`), or ``forget``, which takes a session that has ended
    off the list. An error is ``{"error": …}``.
    """

    @authenticated
    @authorized(action="read", resource="kernels")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """List the sessions."""
        self.finish({"sessions": {id: self._shown(told) for id, told in (await asyncio.to_thread(_all)).items()}})

    @authenticated
    @authorized(action="execute", resource="kernels")  # type: ignore[untyped-decorator]
    async def post(self) -> None:
        """Steer one."""
        body = self.get_json_body()
        asked = body if isinstance(body, dict) else {}
        try:
            await asyncio.to_thread(_steer, str(asked.get("id")), str(asked.get("command")))
        except WorkbenchError as error:
            self.finish({"error": error.to_json()})
        else:
            self.finish({})

    def _shown(self, told: dict[str, Any]) -> dict[str, Any]:
        """What the page is told: files by their names on the server, where it gives them out."""
        manager = self.contents_manager
        root = os.path.realpath(manager.root_dir) if isinstance(manager, FileContentsManager) else None

        def named(path: str | None) -> str:
            if not path or root is None:
                return ""
            real = Path(os.path.realpath(path))
            return real.relative_to(root).as_posix() if real.is_relative_to(root) else ""

        notebook, log = told.get("notebook"), told.get("log")
        title = os.path.basename(notebook or log or "") or f"process {told['pid']}"
        return {**told, "title": title, "notebook": named(notebook), "log": named(log), "steered": log is not None}


def _all() -> dict[str, dict[str, Any]]:
    from workbench.tune.display.session_file import sessions  # it takes a second, which no start of a server waits for

    return sessions()


def _steer(id: str, command: str) -> None:
    from workbench.tune.display.session_file import LOST, forget
    from workbench.tune.state.events import FINAL
    from workbench.tune.steer.control_file import send

    told = _all().get(id)
    if told is None:
        raise TuneError("steer.unknown_session", "There is no such session any more", (), "it may have been dismissed")
    if command == "forget":
        return forget(id)
    if command not in COMMANDS:
        raise UsageError("steer.command", f"There is no such command here: {command[:40]!r}", (), ", ".join(COMMANDS))
    if told["state"] in (*FINAL, LOST):  # nobody would read what it is told
        raise TuneError("steer.unknown_session", "The session has ended", (), "start it again in its notebook")
    if told.get("log") is None:
        hint = "give it one: tune(…, log='run.tunelog.jsonl'); or steer it in its notebook"
        raise TuneError("steer.no_log", "A session without a log cannot be steered from outside", (), hint)
    send(str(told["log"]), command, {}, "sidebar")
