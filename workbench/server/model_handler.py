"""`ModelHandler`: what is in a model, for a page that has no kernel."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, suppress
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.iostream import StreamClosedError
from tornado.web import authenticated

from workbench.errors import ModelError, WorkbenchError
from workbench.server.model_process import ModelReaders
from workbench.server.places import place_of

STALLED_S = 120
"""Seconds after which a page that reads nothing of an answer has no longer one."""


class ModelHandler(APIHandler):  # type: ignore[misc]
    """``GET …?path=PATH`` gives lines of JSON: the graph, then statistics of the weights, or what is wrong.

    ``expanded`` names frames of the drawing that are open, ``statistics=0`` leaves the weights out, larger graphs than
    of ``most`` nodes are not drawn. Without a path a process is made ready for the next one.
    """

    def initialize(self, readers: ModelReaders) -> None:
        """Take what starts processes."""
        self._readers = readers
        self._reading: asyncio.Task[None] | None = None
        self._gone = False

    @authenticated
    @authorized(action="read", resource="contents")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Look into a model."""
        path = self.get_query_argument("path", "", strip=False)
        self._reading = asyncio.create_task(self._answer(path) if path else self._readers.prepare())
        await asyncio.wait([self._reading])
        try:
            self._reading.result()
        except WorkbenchError as error:
            self._say({"t": "error", "error": error.to_json()})
        except (StreamClosedError, asyncio.CancelledError) as error:
            if self._gone or isinstance(error, StreamClosedError):
                return  # nobody waits for the rest
            stopped = ModelError("model.reader", "The reading of the model was stopped", (), "read it again")
            self._say({"t": "error", "error": stopped.to_json()})
        self.finish(set_content_type="application/x-ndjson")
        if path:  # for the next one; whether that works is told when it is asked for
            with suppress(WorkbenchError):
                await self._readers.prepare()

    def on_connection_close(self) -> None:
        """End what is done for a page that has gone; what is made ready is for whoever comes next."""
        super().on_connection_close()
        self._gone = True
        if self._reading is not None and self.get_query_argument("path", ""):
            self._reading.cancel()

    async def _answer(self, path: str) -> None:
        question = {
            "path": await place_of(path, self.contents_manager),
            "expanded": self.get_query_arguments("expanded", strip=False),
            "most": _number(self.get_query_argument("most", "")),
            "statistics": self.get_query_argument("statistics", "1") == "1",
        }
        async with aclosing(self._readers.ask(question)) as lines:
            async for line in lines:
                self.write(line)
                try:
                    await asyncio.wait_for(self.flush(), STALLED_S)
                except TimeoutError:  # a page that reads nothing must not keep one of the few readers
                    self._gone = True
                    self.detach().close()
                    raise StreamClosedError from None

    def _say(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message) + "\n")


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None
