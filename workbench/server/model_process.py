"""`ModelReaders`: processes that look into models, one of which is ready before somebody asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
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
        self._closed = False

    async def prepare(self) -> None:
        """Have a process ready, and wait until it is; after `close` there is none.

        Raises
        ------
        ModelError
            "model.reader" where the system starts none, or it is not ready in time.
        """
        async with self._lock:
            if self._closed or (self._spare is not None and self._spare.returncode is None):
                return
            self._spare = process = await self._start()  # `close` ends it although it is not ready
            assert process.stdout is not None
            ready = b""
            try:
                if not self._closed:
                    with contextlib.suppress(TimeoutError):
                        ready = await asyncio.wait_for(process.stdout.readline(), START_S)
            finally:
                if not ready or self._closed:
                    self._spare = None
                    await _end(process)
            if not ready and not self._closed:
                raise _not_ready()

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
            "model.reader" where the process ends without an answer, or is not done in time, in which what is done
            with the lines does not count; "model.too_large" where a line is longer than `LINE_LIMIT`.
        """
        text = json.dumps(question).encode() + b"\n"
        async with self._turns:
            process, left = await self._take(), _Time(self._limits.open_seconds)
            try:
                if not await _told(process, text, left):  # one that was ready has ended: idle for long, or killed
                    await _end(process)
                    process = await self._start()
                    if not await _told(process, text, left):
                        raise _not_ready()
                while line := await left.read(process):
                    yield line
                code = await process.wait()
            except TimeoutError:
                message = f"The model was not read within {self._limits.open_seconds} seconds"
                hint = "c.ScheduleWorkbench.open_seconds in the server's configuration"
                raise ModelError("model.reader", message, (), hint) from None
            finally:
                await _end(process)
        if code:
            hint = "it may have needed more memory or time than the server's configuration allows"
            raise ModelError("model.reader", f"The process that read the model has ended ({code})", (), hint)

    async def close(self) -> None:
        """End the process that is ready, or gets ready."""
        self._closed = True
        if self._spare is not None:
            await _end(self._spare)
        async with self._lock:  # `prepare` has seen it
            self._spare = None


class _Time:
    """Seconds that are left to read."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def read(self, process: asyncio.subprocess.Process) -> bytes:
        """Return the next line, an empty one at the end."""
        assert process.stdout is not None
        since = time.monotonic()
        try:
            line = await asyncio.wait_for(process.stdout.readline(), self._seconds)
        except ValueError:  # from the stream: too long a line
            message = f"The drawing of the model takes more than {LINE_LIMIT >> 20} MiB"
            raise ModelError("model.too_large", message, (), "Tune reads it all the same") from None
        self._seconds -= time.monotonic() - since
        return line


async def _told(process: asyncio.subprocess.Process, question: bytes, left: _Time) -> bool:
    """Ask the process, and return whether it has taken the question."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(question)
        await process.stdin.drain()
    while (line := await left.read(process)) == b"\n":  # it says that it is ready
        pass
    return bool(line)


def _not_ready() -> ModelError:
    hint = "the machine may be short of memory or busy; the server's log may say more"
    return ModelError("model.reader", "No process is ready to read models", (), hint)


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    assert process.stdout is not None
    with contextlib.suppress(OSError, RuntimeError):  # who waits for a line reads the rest
        while await process.stdout.read(1 << 16):  # a pipe that is full is not read on its own, and then nothing ends
            pass
    await process.wait()
