"""`ReaderProcess`: the process that reads a log, as the server sees it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass

from workbench.errors import LogError


@dataclass(frozen=True, slots=True)
class Limits:
    """What the processes may take: bytes of memory and seconds each, and how many there may be."""

    memory_bytes: int
    open_seconds: int
    cpu_seconds: int
    idle_seconds: int
    most_logs: int


class ReaderProcess:
    """A process that reads a log; made by `start`."""

    def __init__(self, process: asyncio.subprocess.Process, folder: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._folder, self._over = folder, False

    @classmethod
    async def start(cls, path: str, limits: Limits) -> ReaderProcess:
        """Start to read a file or a folder; without a path, the text that is sent first.

        The process gets a session of its own, so that those that it starts end with it. Its folder is not the log's,
        and is no place that modules are taken from.

        Raises
        ------
        LogError
            ``log.reader`` where the system starts no process.
        """
        numbers = (limits.memory_bytes, limits.open_seconds, limits.cpu_seconds)
        command = [sys.executable, "-P", "-m", "workbench.server.reader_main", *map(str, numbers)]
        pipe, folder = asyncio.subprocess.PIPE, ""
        try:
            folder = tempfile.mkdtemp(prefix="workbench-reader-")
            process = await asyncio.create_subprocess_exec(
                *command, folder, path, stdin=pipe, stdout=pipe, start_new_session=True
            )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            hint = "the machine may have too many processes, or too little memory or disk left"
            raise LogError("log.reader", f"No process can be started ({error.strerror})", (), hint) from error
        return cls(process, folder)

    async def send(self, message: str) -> None:
        """Pass a message on; to a process that has ended nothing is said."""
        with contextlib.suppress(ConnectionError):
            self._stdin.write(message.replace("\n", " ").encode(errors="replace") + b"\n")
            await self._stdin.drain()

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield what it says, until it ends."""
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                size = int.from_bytes(await self._stdout.readexactly(4), "little")
                yield await self._stdout.readexactly(size)

    async def end(self) -> int:
        """End it, and all that it has started, and remove their files.

        Returns how it ended, as `asyncio.subprocess.Process.returncode`.
        """
        if not self._over:  # later the number may be another process's
            self._over = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        code = await self._process.wait()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        return code
