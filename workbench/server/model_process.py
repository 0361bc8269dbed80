"""`ModelReaders`: processes that look into models, one of which is ready before somebody asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from workbench.errors import ModelError
from workbench.server.reader_process import Limits

LINE_LIMIT = 1 << 28
"""Bytes of the longest line of an answer."""

MOST = 4
"""Models that are read at the same time; others wait."""

IDLE_S = 600
"""Seconds after which a process ends that nobody asks."""


class ModelReaders:
    """Starts the processes; `prepare` has one ready, so that the next answer does not wait for what it loads."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._spare = limits, None  # type: tuple[Limits, asyncio.subprocess.Process | None]
        self._turns = asyncio.Semaphore(MOST)
        self._lock = asyncio.Lock()

    async def prepare(self) -> None:
        """Have a process ready, and wait until it is."""
        async with self._lock:
            if self._spare is None or self._spare.returncode is not None:
                self._spare = await self._start()
                assert self._spare.stdout is not None
                await self._spare.stdout.readline()

    async def _start(self) -> asyncio.subprocess.Process:
        numbers = (self._limits.memory_bytes, min(self._limits.open_seconds, self._limits.cpu_seconds), IDLE_S)
        pipe = asyncio.subprocess.PIPE
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "workbench.server.model_main", *map(str, numbers),
                stdin=pipe, stdout=pipe, limit=LINE_LIMIT, start_new_session=True,  # Ctrl-C is for the server
            )  # fmt: skip
        except OSError as error:
            hint = "the machine may have too many processes, or too little memory left"
            raise ModelError("model.reader", f"No process can be started ({error.strerror})", (), hint) from error

    async def _take(self) -> asyncio.subprocess.Process:
        async with self._lock:
            spare, self._spare = self._spare, None
        return spare if spare is not None and spare.returncode is None else await self._start()

    async def ask(self, question: Mapping[str, Any]) -> AsyncGenerator[bytes]:
        """Yield the lines of the answer (`model_main`); the process ends with the iteration.

        Raises
        ------
        ModelError
            "model.reader" where the process ends without an answer, or does not end in time.
        """
        async with self._turns:
            process = await self._take()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                async with asyncio.timeout(self._limits.open_seconds):
                    with contextlib.suppress(ConnectionError):
                        process.stdin.write(json.dumps(question).encode() + b"\n")
                        await process.stdin.drain()
                    async for line in process.stdout:
                        if line.strip():  # an empty one says that it is ready
                            yield line
                    code = await process.wait()
            except TimeoutError:
                text = f"The model was not read within {self._limits.open_seconds} seconds"
                hint = "c.ScheduleWorkbench.open_seconds in the server's configuration"
                raise ModelError("model.reader", text, (), hint) from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGKILL)
        if code:
            hint = "it may have needed more memory or time than the server's configuration allows"
            raise ModelError("model.reader", f"The process that read the model has ended ({code})", (), hint)

    def close(self) -> None:
        """End the process that is ready."""
        if self._spare is not None:
            with contextlib.suppress(ProcessLookupError):
                self._spare.kill()
