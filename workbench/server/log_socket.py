"""`LogSocket`: the connection of a tab of JupyterLab to the process that reads its log."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from workbench.errors import LogError, WorkbenchError
from workbench.server.frames import frame
from workbench.server.places import place_of
from workbench.server.reader_process import Limits, ReaderProcess


class LogSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):  # type: ignore[misc]
    """One log that is on show: messages of the page go to its process, and what this says to the page.

    ``path`` is the log as JupyterLab names it, confined to what the server's contents manager gives out; without it
    the first message has the text. The process ends when the page goes, and when it says nothing for a while.
    """

    _all: ClassVar[set[LogSocket]] = set()

    def initialize(self, limits: Limits) -> None:
        """Take the limits; a connection begins."""
        self._limits = limits
        self._reader: ReaderProcess | None = None
        self._idle: asyncio.TimerHandle | None = None

    @ws_authenticated  # type: ignore[untyped-decorator]
    @authorized(action="read", resource="contents")  # type: ignore[untyped-decorator]
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Take the connection of somebody who may read files."""
        await super().get(*args, **kwargs)

    async def open(self, *args: Any, **kwargs: Any) -> None:
        """Start to read, and pass on what is said of the log until its end."""
        super().open(*args, **kwargs)
        self.set_nodelay(True)
        try:
            await self._start()
        except WorkbenchError as error:
            await self._tell(error)
        except BaseException:  # an address that is no text, say: of what fails here nothing else hears
            self._all.discard(self)
            raise

    async def _start(self) -> None:
        if len(self._all) >= self._limits.most_logs:
            hint = "close the tab of one, or let the server's configuration allow more: c.ScheduleWorkbench.most_logs"
            raise LogError("log.many_open", f"{len(self._all)} logs are open already", (), hint)
        self._all.add(self)
        path = self.get_query_argument("path", "", strip=False)
        place = await place_of(path, self.contents_manager) if path else ""
        self._reader = await ReaderProcess.start(place, self._limits)
        if self.ws_connection is None:  # it went meanwhile
            await self._reader.end()
            return
        self._seen()
        self._passing = asyncio.create_task(self._pass_on(self._reader))

    async def _pass_on(self, reader: ReaderProcess) -> None:
        try:
            async for message in reader.messages():
                await self.write_message(message, binary=True)
        except WebSocketClosedError:
            return
        code = await reader.end()
        if not code:
            self.close()  # it has said why
            return
        hint = "it may have needed more memory or time than the server's configuration allows"
        await self._tell(LogError("log.reader", f"The process that read the log has ended ({code})", (), hint))

    async def on_message(self, message: str | bytes) -> None:
        """Pass a message of the page on."""
        self._seen()
        if self._reader is not None and isinstance(message, str):
            await self._reader.send(message)

    def _seen(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._limits.idle_seconds, self.close, 4001, "idle")

    async def _tell(self, error: WorkbenchError) -> None:
        self._all.discard(self)
        try:
            await self.write_message(frame({"t": "error", "error": error.to_json()}), binary=True)
        except WebSocketClosedError:
            return
        self.close()

    def on_close(self) -> None:
        """End the process."""
        super().on_close()
        self._all.discard(self)
        if self._idle is not None:
            self._idle.cancel()
        if self._reader is not None:
            self._ending = asyncio.ensure_future(self._reader.end())
