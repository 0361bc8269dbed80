"""`ModelReaders`: processes that look into models, one of which is ready before somebody asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from workbench.errors import ModelError
from workbench.server.reader_process import Limits

LINE_LIMIT = 1 << 28
"""Bytes of the longest line of an answer."""

MOST = 4
"""Models that are read at the same time; others wait."""

START_S = 60
"""Seconds within which a process has to be ready."""

IDLE_S = 600
"""Seconds after which a process ends that nobody asks."""


class ModelReaders:
    """Starts the processes; `prepare` has one ready, so that the next answer does not wait for what it loads."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._spare = limits, None  # type: tuple[Limits, asyncio.subprocess.Process | None]
        self._turns = asyncio.Semaphore(MOST)
        self._lock = asyncio.Lock()

    async def prepare(self) -> None:
        """Have a process ready, and wait until it is.

        Raises
        ------
        ModelError
            "model.reader" where the system starts none, or it is not ready in time.
        """
        async with self._lock:
            if self._spare is not None and self._spare.returncode is None:
                return
            self._spare, process = None, await self._start()
            assert process.stdout is not None
            try:
                ready = await asyncio.wait_for(process.stdout.readline(), START_S)
            except BaseException as error:
                await _end(process)
                if not isinstance(error, TimeoutError):
                    raise
                ready = b""
            if not ready:
                hint = "the machine may be short of memory or busy; the server's log may say more"
                raise ModelError("model.reader", "No process is ready to read models", (), hint)
            self._spare = process

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
            "model.reader" where the process ends without an answer, or does not end in time; "model.too_large" where a
            line is longer than `LINE_LIMIT`.
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
            except ValueError:  # from the stream: too long a line
                text = f"The drawing of the model takes more than {LINE_LIMIT >> 20} MiB"
                raise ModelError("model.too_large", text, (), "Tune reads it all the same") from None
            finally:
                await _end(process)
        if code:
            hint = "it may have needed more memory or time than the server's configuration allows"
            raise ModelError("model.reader", f"The process that read the model has ended ({code})", (), hint)

    async def close(self) -> None:
        """End the process that is ready."""
        if self._spare is not None:
            await _end(self._spare)


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
