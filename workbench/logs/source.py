"""What an importer reads from: a file or a folder, its bytes, lines and JSON within bounds, and the damage met."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from workbench.arguments import known_options
from workbench.errors import LogError

HINTS = ("task", "device", "objective", "unit", "direction", "columns", "statuses", "space", "workloads", "constants")
"""What a caller may say about a log; `workbench.logs.open` has their meanings."""

HEAD = 65_536
"""Bytes (unpacked) that tell whose log a file is. Chosen: comments and the header of a space come first."""

LONGEST_LINE = 16 << 20
"""Bytes of a line that is read; a longer one is damage. Chosen: no tuner writes records of this size."""

LONGEST_PRINT = 1 << 14
"""Bytes of a line in the midst of other text that are searched for what a tuner prints, which is far shorter. Chosen:
the time that a search takes can grow with their square."""

LARGEST_DOCUMENT = 1 << 30
"""Bytes (unpacked) of a file that has to be read as a whole; a larger one is refused. Chosen."""

MARK = b"\xef\xbb\xbf"
"""Byte order mark at the begin of a file in UTF-8."""

_GZIP, _UTF16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Fault:
    """Damage in a log: where, as ``line 1234`` or a name, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a log: its number from 1, the offset of its first byte in the unpacked file, its bytes."""

    number: int
    offset: int
    raw: bytes

    @property
    def torn(self) -> bool:
        """Whether the line has no end: the writer was cut off there, or has not finished yet."""
        return not self.raw.endswith(b"\n")


_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(\\+u[dD][c-fC-F][0-9a-fA-F]{2})?|\\u[dD][c-fC-F][0-9a-fA-F]{2}", re.ASCII
)


def sound(raw: bytes) -> bytes:
    """Return JSON without halves of characters: Python reads them, and nothing that writes or shows a text takes them.

    What stands for one is as long as it, so that every byte keeps its place.
    """
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _HALF.sub(lambda found: found[0] if found[1] else b"\\ufffd", raw)


def passed_over(line: bytes) -> bool:
    """Whether a line says nothing: a comment, or blank."""
    return not line or line[:1] == b"#" or line.isspace()


def _chunks(file: IO[bytes], most: int, damaged: Callable[[Exception], None]) -> Iterator[bytes]:
    """Yield at least the first `most` bytes, or all; of a damaged gzip file what is before the damage."""
    read = 0
    try:
        while read < most and (chunk := file.read1(1 << 16)):  # type: ignore[attr-defined]  # loses nothing of it
            read += len(chunk)
            yield chunk
    except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
        damaged(error)


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Return what a file holds when gzip is unpacked, in UTF-8: UTF-16 is what some shells make of what is printed."""
    first = raw.read(2)
    raw.seek(0)
    if first in _UTF16:
        return io.BytesIO(raw.read(LARGEST_DOCUMENT).decode("utf-16", "replace").encode())
    return gzip.GzipFile(fileobj=raw) if first == _GZIP else raw  # type: ignore[return-value]


class LogSource:
    """A file or a folder that holds a log; gzip is unpacked, damage is collected.

    Parameters
    ----------
    path : Path
        The file or folder.
    hints : mapping
        What the caller says about the log, by the names of `workbench.logs.open`.

    Attributes
    ----------
    faults : list of Fault
        Damage met so far, in the order of the file.
    data : str
        Of a folder, the name of the file that offsets of records are meant in.
    """

    def __init__(self, path: Path, hints: Mapping[str, Any] | None = None) -> None:
        known_options(hints or {}, HINTS, "A log")
        self.path = path
        self.hints: Mapping[str, Any] = hints or {}
        self.faults: list[Fault] = []
        self.data = ""

    def __repr__(self) -> str:
        return f"LogSource({str(self.path)!r})"

    @property
    def is_folder(self) -> bool:
        """Whether the log is a folder of files."""
        return os.path.isdir(self.path)  # false, too, for what can be no path

    @property
    def packed(self) -> bool:
        """Whether the file is packed with gzip, or has to be decoded as a whole; false for a folder."""
        if self.is_folder:
            return False
        with self.open() as file:
            return isinstance(file, gzip.GzipFile | io.BytesIO)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked and without byte order mark; empty for a folder."""
        if self.is_folder:
            return b""
        with self.open() as file:
            return b"".join(_chunks(file, HEAD, lambda error: None))[:HEAD].removeprefix(MARK)

    def fault(self, where: str | int, what: str) -> None:
        """Note damage; a number is that of a line."""
        self.faults.append(Fault(f"line {where}" if isinstance(where, int) else where, what))

    @contextmanager
    def open(self, name: str = "") -> Iterator[IO[bytes]]:
        """Open the file, or that of a folder, for reading as unpacked bytes.

        Raises
        ------
        LogError
            ``log.missing``, ``log.unreadable``.
        """
        path = self.path / name if name else self.path
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            hint = "write what it says to a file, or pass the text to `wb.logs.parse`"
            raise LogError("log.unreadable", "The log is a pipe or a device, not a file", (str(path),), hint)
        with ExitStack() as opened:
            try:
                raw = opened.enter_context(open(path, "rb"))
                file = unpacked(raw)
            except FileNotFoundError as error:
                raise LogError("log.missing", "There is no such log", (str(path),), "check the path") from error
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise LogError("log.unreadable", f"The log cannot be read: {reason}", (str(path),), "") from error
            yield file

    def lines(self, name: str = "") -> Iterator[TextLine]:
        """Yield the lines; one that is too long is damage, and so is the rest of a damaged gzip file."""
        offset = number = 0
        with self.open(name) as file:
            while True:
                try:
                    raw = file.readline(LONGEST_LINE + 1)
                except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
                    self.fault(number + 1, f"the file is damaged from here on ({error})")
                    return
                if not raw:
                    return
                start, number = offset, number + 1
                offset += len(raw)
                if len(raw) > LONGEST_LINE:
                    self.fault(number, f"the line is longer than {LONGEST_LINE >> 20} MiB")
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(LONGEST_LINE)
                        offset += len(raw)
                    continue
                yield TextLine(number, start, sound(raw if start else raw.removeprefix(MARK)))

    def read_bytes(self, name: str = "") -> bytes:
        """Return the whole file; of a damaged gzip file what is before the damage.

        Raises
        ------
        LogError
            ``log.too_large`` where it cannot be read as a whole.
        """
        buffer = io.BytesIO()
        with self.open(name) as file:

            def damaged(error: Exception) -> None:
                self.fault(name or self.path.name, f"the file is damaged after {buffer.tell()} bytes ({error})")

            for chunk in _chunks(file, LARGEST_DOCUMENT + 1, damaged):
                buffer.write(chunk)
        if buffer.tell() > LARGEST_DOCUMENT:
            hint = "split it, or keep what you need of it"
            message = f"This file has to be read as a whole and is larger than {LARGEST_DOCUMENT >> 20} MiB"
            raise LogError("log.too_large", message, (str(self.path),), hint)
        return sound(buffer.getvalue().removeprefix(MARK))

    def text(self, name: str = "") -> str:
        """Return the whole file as text; bytes that are no UTF-8 are shown by their numbers."""
        return self.read_bytes(name).decode("utf-8", "backslashreplace")

    def line_at(self, offset: int, name: str = "") -> Any:
        """Return the JSON value of the line that begins at an offset (in bytes of the unpacked file)."""
        with self.open(name or self.data) as file:
            file.seek(offset)
            return json.loads(sound(file.readline(LONGEST_LINE)))


class GivenBytes(LogSource):
    """Bytes that are at hand, as what an importer reads from.

    Parameters
    ----------
    data : bytes
        The log, or its begin; gzip is unpacked.
    path : Path
        What it is called where something is said of it.
    hints : mapping
        As for `LogSource`.
    """

    def __init__(self, data: bytes, path: Path, hints: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, hints)
        self._data = data

    @property
    def is_folder(self) -> bool:
        """False: bytes are no folder, whatever else has their name."""
        return False

    @property
    def packed(self) -> bool:
        """True: like a packed file, they are read from their beginning, in one piece."""
        return True

    @contextmanager
    def open(self, name: str = "") -> Iterator[IO[bytes]]:
        """Open them for reading."""
        yield unpacked(io.BytesIO(self._data))
