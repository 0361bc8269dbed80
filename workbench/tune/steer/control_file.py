"""The control file, by which other processes steer a session.

It lies beside the log (``LOG.control``). Every line is a JSON object: ``id``, ``name``, ``args`` and
``source``. It is only ever appended to, so several processes may write at once. The session reads what was written
since it took the log, and answers in the log, with a `Command` line of the same ``id``.

Whoever writes into it commands the session, so it is obeyed only while it belongs to this user or to root and nobody
else may write to it (``steer.foreign``). Where files have no such owners (Windows), the folder has to be safe: whoever
may write there may steer.
"""

from __future__ import annotations

import json
import os
import stat
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import TuneError, UsageError
from workbench.files import locked

LINE_LIMIT = 1 << 20
"""Bytes of the longest line that is read; what is longer is passed over."""

ROOT = 0
"""Number of the user who may do everything anyway."""

_SOURCES = ("control file", "command line", "sidebar")


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a control file; `problem` says why it cannot be a command."""

    id: str = ""
    name: object = None
    args: Mapping[str, Any] | None = None
    source: str = "control file"
    problem: str = ""
    code: str = "steer.unreadable"


_SAFELY = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""How the control file is opened: a link that somebody else has put there is not followed, a pipe not waited for."""


def control_path(log: str | os.PathLike[str]) -> Path:
    """Return where the control file of a log lies: beside the file itself, whatever links lead to it and from where."""
    path = Path(os.path.realpath(log))
    return path.with_name(path.name + ".control")


def distrust(file: os.stat_result) -> str:
    """Say why a file may hold what others want of this user's session; "" where only this user or root may write it."""
    if not hasattr(os, "geteuid"):
        return ""
    if file.st_uid not in (os.geteuid(), ROOT):
        return f"it belongs to another user (number {file.st_uid})"
    if file.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(file.st_mode):o}); 'chmod go-w' makes it yours alone"
    return ""


class Mailbox:
    """Reads a control file from where it ended when the mailbox was made: what was there before is stale."""

    def __init__(self, log: str | os.PathLike[str]) -> None:
        self.path = control_path(log)
        self._part = b""
        self._skipping = False
        self._distrusted = ""
        self._news: list[Message] = []
        self._file = self._open()
        self._at = 0 if self._file is None else os.fstat(self._file).st_size

    def _open(self) -> int | None:
        """Open the file; while it is open, no other file can have its number."""
        try:
            file = os.open(self.path, os.O_RDONLY | _SAFELY)
        except OSError:
            return None
        if stat.S_ISREG(os.fstat(file).st_mode):
            return file
        os.close(file)
        return None

    def _is_current(self) -> bool:
        """Whether the file that is open is the one that lies there."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file), os.lstat(self.path))
        except OSError:
            return True  # it was removed: there is nothing else to read

    def _read(self) -> bytes:
        """Return what is new, from the start where the file was replaced or made shorter."""
        try:
            if not self._is_current() or (self._file is not None and os.fstat(self._file).st_size < self._at):
                self._close()
                self._file, self._at, self._part, self._skipping = self._open(), 0, b"", False
            if self._file is None:
                return b""
            status = os.fstat(self._file)
            if self._distrusts(status):
                self._at, self._part, self._skipping = status.st_size, b"", False
                return b""
            os.lseek(self._file, self._at, os.SEEK_SET)
            data = os.read(self._file, 4 * LINE_LIMIT)
        except OSError:  # a file of a network may go and come back
            return b""
        self._at += len(data)
        return data

    def _distrusts(self, status: os.stat_result) -> bool:
        """Whether the file is not to be obeyed; what is written meanwhile is passed over, and the reason told once."""
        why = distrust(status)
        if why and why != self._distrusted:
            self._news.append(Message(problem=f"{self.path} is not obeyed: {why}", code="steer.foreign"))
        self._distrusted = why
        return bool(why)

    def poll(self) -> list[Message]:
        """Return what has come in since the last call; a line without its end waits for it."""
        pieces = self._read().splitlines(keepends=True)
        out, self._news = self._news, []
        for piece in pieces:
            self._part += piece if not self._skipping else b""
            if piece.endswith(b"\n"):
                out += [read_message(self._part)] if not self._skipping and self._part.strip() else []
                self._part, self._skipping = b"", False
            elif len(self._part) > LINE_LIMIT:
                out.append(Message(problem=f"a line of more than {LINE_LIMIT} bytes was passed over"))
                self._part, self._skipping = b"", True
        return out

    def discard(self) -> None:
        """Remove the file: the session has ended."""
        self._close()
        with suppress(OSError):
            self.path.unlink()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_message(raw: bytes) -> Message:
    """Read one line; never raises."""
    if len(raw) > LINE_LIMIT:
        return Message(problem=f"a line of more than {LINE_LIMIT} bytes was passed over")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return Message(problem="a line is not JSON")
    if not isinstance(data, dict) or not isinstance(data.get("id"), str) or not 0 < len(data["id"]) <= 64:
        return Message(problem="a line is not a command: it needs an id of 1 to 64 characters")
    args = data.get("args", {})
    if not isinstance(args, dict):
        return Message(data["id"], data.get("name"), None, problem="args has to be an object")
    source = data.get("source")
    return Message(data["id"], data.get("name"), args, source if source in _SOURCES else "control file")


def send(log: str | os.PathLike[str], name: str, args: Mapping[str, Any], source: str = "command line") -> str:
    """Append a command to the control file of a log; return its id.

    Raises
    ------
    UsageError
        ``steer.size`` for a command that is too long to be read.
    TuneError
        ``steer.unwritable`` when the file cannot be written, ``steer.foreign`` when no session would obey it.
    """
    path, name_ = control_path(log), uuid.uuid4().hex
    line = json.dumps({"id": name_, "name": name, "args": dict(args), "source": source}).encode() + b"\n"
    if len(line) > LINE_LIMIT:
        raise UsageError("steer.size", f"A command may have {LINE_LIMIT} bytes, not {len(line)}", [name])
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _SAFELY, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError("it is no regular file")
            if why := distrust(os.fstat(file)):
                hint = "remove the file; commands make it anew"
                raise TuneError("steer.foreign", f"The control file is not obeyed: {why}", [str(path)], hint)
            with locked(file):
                end = os.fstat(file).st_size
                if end and _last_byte(file, end) != b"\n":  # half a line of a process that was killed
                    line = b"\n" + line
                os.write(file, line)
        finally:
            os.close(file)
    except OSError as error:
        message = f"The control file cannot be written: {error.strerror or error}"
        raise TuneError("steer.unwritable", message, [str(path)]) from error
    return name_


def _last_byte(file: int, end: int) -> bytes:
    os.lseek(file, end - 1, os.SEEK_SET)
    return os.read(file, 1)
