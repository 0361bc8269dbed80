"""`FormatHandler`: says of a file whether it is a tuner's log, before JupyterLab chooses what shows it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

from workbench.errors import LogError
from workbench.server.places import place_of

LONGEST_LOOK_S = 2.0
"""Seconds after which nobody waits for an answer. Chosen: the page itself gives up before, as its settings say."""

_LOOKS = ThreadPoolExecutor(2, "schedule-workbench-look")
"""Few threads of their own: where a file system hangs, so do these, and nothing else of the server."""


def look(path: Path) -> str:
    """Return the format of a log, empty for other files."""
    from workbench.logs.recognition import format_at_a_glance  # 0.3 s, which no start of a server waits for

    return format_at_a_glance(path)


def prepare() -> None:
    """Load what the first answer needs, meanwhile."""
    _LOOKS.submit(look, Path())


class FormatHandler(APIHandler):  # type: ignore[misc]
    """``GET …?path=PATH`` gives ``{"format": NAME}``, by the file's first bytes (`workbench.logs.recognition`).

    The name is empty for files that are no logs, and for those that the server does not give out.
    """

    @authenticated
    @authorized(action="read", resource="contents")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Look at a file."""
        try:
            place = await place_of(self.get_query_argument("path", strip=False), self.contents_manager)
            looking = asyncio.get_running_loop().run_in_executor(_LOOKS, look, Path(place))
            found = await asyncio.wait_for(looking, LONGEST_LOOK_S)
        except (LogError, TimeoutError):
            found = ""
        self.finish({"format": found})
