"""The one writer of a log: lock, header, append, repair after a kill."""

from __future__ import annotations

import contextlib
import os
import stat
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import LogError, option
from workbench.log.encoder import Encoder, json_line
from workbench.log.lines import Command, Comparison, NetworkTime, Round
from workbench.log.reader import Header, Log, check_model, is_there, load_log, reason_of
from workbench.log.record import Record
from workbench.log.rows import ROWS, Decoder


class LogWriter:
    """The one writer of a log.

    Parameters
    ----------
    path : path
        File to create, or to go on with when `resume` is true.
    header : Header
        Written as the first line of a new log; compared with the header that is there on resume.
    resume : bool
        Whether to go on with an existing log.

    Attributes
    ----------
    found : Log
        What the log held when it was opened.
    header : Header
        That of the log.
    repaired : str or None
        The torn last line that was removed, if there was one.

    Raises
    ------
    LogError
        ``log.unwritable``, ``log.locked``, ``log.exists``, ``log.other_model`` or ``log.corrupt``; nothing has been
        changed on disk then.
    """

    def __init__(self, path: str | os.PathLike[str], header: Header, resume: bool = False) -> None:
        self.path = Path(path)
        self.repaired: str | None = None
        self.found = Log(self.path, None)
        self.header = header
        self._rows = False
        self._encoder: Encoder | None = None
        self._half: int | None = None  # where a line begins of which only a part could be written
        self._file: int | None = _open_locked(self.path)
        _WRITERS.add(self)
        try:
            self._start(header, resume)
        except BaseException:
            self.close()
            raise

    def _start(self, header: Header, resume: bool) -> None:
        known = Decoder()
        log = load_log(self.path, known)
        if (log.lines or log.header) and not resume:
            hint = f"pass {option('resume=True', '--resume')} to go on with it, or choose another file"
            raise LogError("log.exists", "The log file already holds trials", [str(self.path)], hint)
        self._check(log, header)
        self._repair(log)
        self.header = log.header or header
        self.found = log
        self._rows = self.header.schema >= ROWS and (log.header is not None or not log.lines)
        self._encoder = Encoder(known)
        if log.header is None and not log.lines:
            self._write([{**header.to_json(), "created": time.time()}])

    def _check(self, log: Log, header: Header) -> None:
        if log.header is None and not log.lines and log.torn is not None and not _like_header(log.torn):
            hint = "choose another file; this one would be overwritten"
            raise LogError("log.corrupt", "The file is not a tuning log", [str(self.path)], hint)
        keys = [key for key, _ in header.tasks]
        check_model(log.header, log.records, keys, self.path)
        if log.header is not None:
            foreign = [name for key, name in header.tasks if key not in {k for k, _ in log.header.tasks}]
            if foreign:
                message = f"The log belongs to another model: it does not know {len(foreign)} of {len(keys)} tasks"
                hint = f"unknown to the log: {', '.join(foreign[:3])}; tune into a new file"
                raise LogError("log.other_model", message, [str(self.path)], hint)

    def _repair(self, log: Log) -> None:
        """Make the file end with a newline: drop a torn line, complete a line that only lacks it."""
        assert self._file is not None
        size = os.fstat(self._file).st_size
        if size == 0:
            return
        if log.torn is not None:
            self.repaired = log.torn
            os.ftruncate(self._file, size - _tail_length(self._file, size))
        elif _tail_length(self._file, size):
            os.write(self._file, b"\n")

    def append(self, line: Record | Comparison | Round | NetworkTime | Command) -> None:
        """Write one line; when this returns, a kill of the process cannot lose it.

        Trials become rows, but for those of a log that was begun without them.
        """
        if not self._rows:
            return self._write([line.to_json()])
        if self._encoder is None:
            if self._half is not None:
                self._write([])  # before it is read
            self._encoder = self._known()
        encoder, self._encoder = self._encoder, None
        self._write(encoder.lines(line))
        self._encoder = encoder  # only now: what could not be written is not there
        return None

    def _known(self) -> Encoder:
        """Return an encoder that knows what the log says."""
        known = Decoder()
        load_log(self.path, known)
        return Encoder(known)

    def _write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Write lines, all in one call."""
        if self._file is None:
            raise LogError("log.closed", "The log has been closed", [str(self.path)])
        line = "".join(map(json_line, lines)).encode(errors="backslashreplace")
        start = os.fstat(self._file).st_size if self._half is None else self._half
        try:
            if self._half is not None:
                os.ftruncate(self._file, start)
                self._half = None
            written = os.write(self._file, line)  # unbuffered and in append mode: one call, one line
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            self._half = start  # a full disk must not leave half a line
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, start)
                self._half = None
            message = f"The log cannot be written: {error.strerror or error}"
            resume = option("resume=True", "--resume")
            hint = f"free some space; what was measured before is safe, go on with {resume}"
            raise LogError("log.unwritable", message, [str(self.path)], hint) from error

    def close(self) -> None:
        """Release the file and its lock; safe to call twice."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
        _WRITERS.discard(self)

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _like_header(torn: str) -> bool:
    """Whether a file's only, unfinished line may be the header of a session killed right at its start; with carriage
    returns it is a whole log whose ends of lines were changed.
    """
    begin = '{"kind":"header"'
    return "\r" not in torn and (torn.startswith(begin) or begin.startswith(torn))


def _tail_length(file: int, size: int) -> int:
    """Return how many bytes follow the last newline."""
    tail = b""
    end = size
    while end > 0:
        start = max(0, end - 65536)
        tail = os.pread(file, end - start, start) + tail if hasattr(os, "pread") else _read_at(file, start, end) + tail
        cut = tail.rfind(b"\n")
        if cut >= 0:
            return len(tail) - cut - 1
        end = start
    return len(tail)


def _read_at(file: int, start: int, end: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, end - start)


def check_writable(path: str | os.PathLike[str], resume: bool = False) -> None:
    """Raise what `LogWriter` would raise for this path, as far as that is known without a model, and change nothing.

    For calling before a long preparation; the writer itself checks everything again.
    """
    file = Path(path)
    if is_there(file):
        os.close(_open_locked(file))
        if not resume and file.stat().st_size > 0:
            hint = f"pass {option('resume=True', '--resume')} to go on with it, or choose another file"
            raise LogError("log.exists", "The log file already holds trials", [str(file)], hint)
        return
    folder = file.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        hint = "choose a file in a directory that exists and that you may write to"
        reason = "its directory is read-only" if folder.is_dir() else "its directory does not exist"
        raise LogError("log.unwritable", f"The log cannot be written: {reason}", [str(file)], hint)


def is_open(path: str | os.PathLike[str]) -> bool:
    """Whether some process has a log open for writing."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return False
    try:
        _lock(file, shared=True)  # so that two who look do not take each other for a writer
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _open_locked(path: Path) -> int:
    """Open `path` for appending and take the writer's lock, or raise ``log.unwritable`` / ``log.locked``."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
    except (OSError, ValueError) as error:
        hint = "choose a file in a directory that exists and that you may write to"
        message = f"The log cannot be written: {reason_of(error)}"
        raise LogError("log.unwritable", message, [str(path)], hint) from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise LogError("log.unwritable", "The log has to be a regular file", [str(path)], "choose another file")
    try:
        _lock(file)
    except OSError:
        os.close(file)
        hint = "wait for the other session to end, or write to another file"
        raise LogError("log.locked", "Another session is writing to this log", [str(path)], hint) from None
    return file


def _lock(file: int, shared: bool = False) -> None:
    """Take a lock that ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(
            file, 1 << 40, os.SEEK_SET
        )  # far behind the data: this lock keeps others from reading the bytes it covers
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_WRITERS: weakref.WeakSet[LogWriter] = weakref.WeakSet()


def _close_in_child() -> None:
    """A forked worker must not keep the lock alive after its parent was killed."""
    for writer in list(_WRITERS):
        writer.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
