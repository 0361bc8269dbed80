"""Columns of large logs on disk, so that a log that was opened before opens at once.

An entry is found by the content of the file: the SHA-256 of the bytes that it was made of, the format, and a
fingerprint of the code that reads logs. So nothing is ever out of date. A file that has grown since finds what is kept
of its begin, and only the rest is read. Entries are arrays and JSON, nothing in them is ever executed; what cannot be
read is removed. When the folder becomes too large, the entries that were not used for longest go. `WORKBENCH_CACHE=0`
switches it off, `WORKBENCH_CACHE_DIR` moves it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from workbench.files import replace_file
from workbench.locks import once
from workbench.logs.importer import JsonLinesImporter
from workbench.logs.table.columns import Columns
from workbench.logs.table.part import Part
from workbench.target import cache_dir

LIMIT = 1 << 30
"""Bytes that the entries may take together. Chosen: some tens of logs of a million records."""

_HEAD = 1 << 16
"""Bytes at the begin of a file that tell which entries may be of it. Chosen: a header and some records."""

_TRIED = 3
"""Entries of files with the same begin that are compared at most; each costs reading the file once. Chosen."""

_SUFFIX = ".columns"


def enabled() -> bool:
    """Whether columns are kept."""
    return os.environ.get("WORKBENCH_CACHE", "").strip().lower() not in ("0", "off", "no", "false")


def folder() -> Path:
    """Where they are kept."""
    return cache_dir() / "logs"


def find(path: Path, importer: JsonLinesImporter) -> Part | None:
    """Return what is kept of a file, or of as much of its begin as there was when it was kept; None for nothing."""
    if not enabled():
        return None
    size, begin = path.stat().st_size, _begin(path, importer)
    known = [(end, entry) for entry, _ in entries() if (end := _end(entry, begin)) is not None and end <= size]
    for end, entry in sorted(known, reverse=True)[:_TRIED]:
        if entry.name != _name(begin, end, _digest(path, end)):
            continue
        try:
            part = Part.of(*Columns.from_bytes(entry.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            _remove(entry)
            continue
        with contextlib.suppress(OSError):  # used just now: it stays longer than others
            os.utime(entry)
        return part
    return None


def keep(path: Path, importer: JsonLinesImporter, part: Part) -> None:
    """Keep what the begin of a file up to the end of a part says; a folder that cannot be written to is left alone."""
    if not enabled():
        return
    data = part.columns.to_bytes(part.told())
    with contextlib.suppress(OSError):
        begin = _begin(path, importer)
        entry = folder() / _name(begin, part.end, _digest(path, part.end))
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(suffix=".tmp", dir=folder())
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            replace_file(beside, entry)
        finally:
            _remove(Path(beside))
        _trim()


def entries() -> list[tuple[Path, os.stat_result]]:
    """Return what is kept, with its size and when it was used."""
    return list(_files((_SUFFIX,)))


def clear() -> int:
    """Remove everything; returns the number of files."""
    return sum(_remove(path) for path, _ in list(_files((_SUFFIX, ".tmp"))))


def _files(suffixes: tuple[str, ...]) -> Iterator[tuple[Path, os.stat_result]]:
    with contextlib.suppress(OSError):
        for path in folder().iterdir():
            if path.suffix in suffixes:
                with contextlib.suppress(OSError):  # another process was faster
                    yield path, path.stat()


def _trim() -> None:
    found = sorted(entries(), key=lambda item: item[1].st_mtime)
    excess = sum(status.st_size for _, status in found) - LIMIT
    for path, status in found:
        if excess > 0:
            _remove(path)
            excess -= status.st_size


def _remove(path: Path) -> int:
    with contextlib.suppress(OSError):
        path.unlink()
        return 1
    return 0


def _begin(path: Path, importer: JsonLinesImporter) -> str:
    """Return what tells files apart by their first bytes, and by what reads them."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    head = head[: head.rfind(b"\n") + 1] if len(head) < _HEAD else head
    return hashlib.sha256(f"{_fingerprint()} {importer.name}\0".encode() + head).hexdigest()[:32]


def _digest(path: Path, size: int) -> str:
    """Return the SHA-256 of the first bytes of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (chunk := file.read(min(size, 1 << 20))):
            digest.update(chunk)
            size -= len(chunk)
    return digest.hexdigest()


def _name(begin: str, size: int, digest: str) -> str:
    return f"{begin}-{size}-{digest}{_SUFFIX}"


def _end(entry: Path, begin: str) -> int | None:
    """Return how many bytes of a file an entry is of; None for one of another file."""
    parts = entry.stem.split("-")
    return int(parts[1]) if len(parts) == 3 and parts[0] == begin and parts[1].isdigit() else None


@once
def _fingerprint() -> str:
    """What, besides a file, decides about its columns: the code that reads logs."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    rooms = ("log", "logs", "logs/importers", "logs/reading", "logs/table", "logs/tvm")
    for path in sorted(path for room in rooms for path in (root / room).glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
