"""A packed file of lines, unpacked: its parts are read in several processes then, and its values when asked for."""

from __future__ import annotations

import contextlib
import gzip
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import IO

from workbench.errors import LogError
from workbench.logs.source import LARGEST_DOCUMENT, LogSource

WORTH_LOOKING = 1 << 20
"""Bytes (packed) from which on a file may be large when it is unpacked. Chosen: records are packed about 20 to 1."""

MOST_TIMES = 200
"""How many times as large as packed a file may be, from `LARGEST_DOCUMENT` on. Chosen: no log is so uniform."""

CHUNK = 1 << 18
"""Bytes at most that are unpacked at once, and lost where the packed file is damaged. Chosen."""


def unpacked(source: LogSource, large: int) -> LogSource | None:
    """Return the unpacked file, which is removed when nobody holds it any more; None for less than `large` bytes.

    Damage is noted in what is returned; what stands before it is there.

    Raises
    ------
    LogError
        ``log.too_large`` where it does not fit into the folder for temporary files, or is far larger than packed.
    """
    size = source.path.stat().st_size
    if large and size < WORTH_LOOKING:
        return None
    with tempfile.NamedTemporaryFile(prefix="workbench-log-", delete=False) as file:
        found = LogSource(Path(file.name), source.hints)
        weakref.finalize(found, _remove, found.path)
        lines = 0
        with source.open() as packed:
            try:
                while chunk := packed.read1(CHUNK):  # type: ignore[attr-defined]  # a GzipFile
                    lines += chunk.count(b"\n")
                    _write(file, chunk, source)
                    if file.tell() > max(LARGEST_DOCUMENT, MOST_TIMES * size):
                        message = f"The log is more than {MOST_TIMES} times as large as packed"
                        raise LogError("log.too_large", message, (str(source.path),), "unpack it, if it is one")
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                found.fault(lines + 1, f"the file is damaged from here on ({error})")
            except LogError:
                _remove(found.path)  # who has the error holds `found`
                raise
        return found if file.tell() >= large else None


def _write(file: IO[bytes], chunk: bytes, source: LogSource) -> None:
    try:
        file.write(chunk)
    except OSError as error:
        message = f"The log does not fit unpacked into {tempfile.gettempdir()}: {error.strerror}"
        hint = "make room, or name another folder in TMPDIR"
        raise LogError("log.too_large", message, (str(source.path),), hint) from error


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
