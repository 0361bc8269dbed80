"""The ways to wait for the end of a session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from types import TracebackType
from typing import Any, Self

from workbench.errors import TuneError, UsageError, WorkbenchError
from workbench.tune.constants import Waiting
from workbench.tune.display.live_table import TerminalTable
from workbench.tune.steer.session_methods import SessionMethods


class AwaitableSession(SessionMethods):
    """What `TuningSession` offers to those who want it to be over."""

    log: str | None
    _ended: threading.Event
    _error: BaseException | None
    _table: TerminalTable | None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the session has ended.

        Returns
        -------
        bool
            False when `timeout` seconds passed first. An idle session has not ended.

        Raises
        ------
        TuneError
            When the session failed; its cause is what happened, and the log holds all trials up to then.
        UsageError
            ``usage.wait`` in a callback of an event: the session waits for it to return.
        """
        self._check_waiting()
        ended = self._ended.wait(timeout) if self._table is None else self._table.wait(self._ended, timeout)
        if not ended:
            return False
        if self._error is not None:
            if isinstance(self._error, WorkbenchError):
                raise self._error
            text = f"Tuning failed: {type(self._error).__name__}: {self._error}"
            hint = "the trials up to here are in the log" if self.log else ""
            raise TuneError("tune.failed", text, [self.log] if self.log else [], hint) from self._error
        return True

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the session has ended, however it ended; False when `timeout` seconds passed first."""
        self._check_waiting()
        return self._ended.wait(timeout)

    def __await__(self) -> Generator[Any, None, Self]:
        """Wait in a coroutine, or in a cell: ``await session``.

        Other coroutines go on meanwhile, among them what answers to a click where a kernel has but one thread. Raises
        what `wait` raises; interrupting the cell ends the waiting only.
        """
        return self._awaited().__await__()

    async def _awaited(self) -> Self:
        while not self.join(0.0):
            await asyncio.sleep(Waiting.END_S)
        self.wait()
        return self

    def _check_waiting(self) -> None:
        own = (self._thread, self._queue.thread)
        if threading.current_thread() in own and not self._ended.is_set():
            hint = "take note in the callback, and wait in another thread"
            raise UsageError("usage.wait", "A callback of a session cannot wait for its end", ("wait",), hint)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            if kind is None:
                self.stop().wait()
        except KeyboardInterrupt:  # whoever does not wait for what is in flight wants it gone
            kind = KeyboardInterrupt
            raise
        finally:
            if kind is not None:
                self.cancel().join(30.0)
