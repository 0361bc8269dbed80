"""SQLite files of other programs, read by the standard library: without writing, within bounds, damage as faults."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from workbench.logs.importer import LogImporter
from workbench.logs.source import LogSource

MAGIC = b"SQLite format 3\0"
LARGEST_VALUE = 16 << 20
"""Bytes of a text or blob in a row. Chosen."""

LONGEST_READ_S = 600.0
"""Seconds that reading a file may take; a damaged or hostile one can be without end. Chosen."""

_STEPS = 100_000
_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # what a file begins with that undoes an open transaction
_WAL_AT = 18  # bytes 18 and 19 say how the file is written; in memory there is no second file beside it


class Tables:
    """The tables of a SQLite file."""

    def __init__(self, source: LogSource, connection: sqlite3.Connection) -> None:
        self._source, self._connection = source, connection
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self.names = frozenset(str(name) for (name,) in found)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table by the names of its columns; none of a table that is not there."""
        if table not in self.names:
            return
        quoted = table.replace('"', '""')
        try:
            cursor = self._connection.execute(f'SELECT * FROM "{quoted}"')  # columns differ between versions
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: names of columns
            self._source.fault(f"table {table}", f"the file is damaged ({error})")


@contextmanager
def open_tables(source: LogSource) -> Iterator[Tables | None]:
    """Open a SQLite file, gzip unpacked; None, with a fault, where it is damaged beyond its list of tables."""
    try:
        connection = _connected(source)
    except sqlite3.Error as error:
        source.fault(source.path.name, f"no SQLite file that can be read ({error})")
        yield None
        return
    with closing(connection):
        connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        end = time.monotonic() + LONGEST_READ_S
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                connection.execute(f"PRAGMA {pragma}")
            tables = Tables(source, connection)
        except sqlite3.Error as error:
            source.fault(source.path.name, f"no SQLite file that can be read ({error})")
            tables = None
        yield tables


def _connected(source: LogSource) -> sqlite3.Connection:
    with open(source.path, "rb") as file:
        header = file.read(_WAL_AT + 1)
    if not header.startswith(MAGIC):
        return _in_memory(source.read_bytes())
    begin = _begin_of(source.path.with_name(source.path.name + "-journal"))
    if begin.startswith(_JOURNAL):
        return _in_memory(_rolled_back(source.path))
    # Without the write-ahead file there is nothing beside it to heed; SQLite would make some all the same.
    alone = header[_WAL_AT:] == b"\2" and not _begin_of(source.path.with_name(source.path.name + "-wal"))
    uri = source.path.resolve().as_uri()
    return sqlite3.connect(f"{uri}?{'immutable=1' if alone or begin else 'mode=ro'}", uri=True, timeout=5)


def _begin_of(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(len(_JOURNAL))
    except OSError:
        return b""


def _copied_journal(path: Path, copy: Path) -> None:
    """Copy a journal without the name of a further one, which SQLite would remove once it has undone a transaction.

    The name, of whatever file, stands last; what follows it hides it.
    """
    shutil.copyfile(path, copy)
    with open(copy, "ab") as file:
        file.write(bytes(16))


def _rolled_back(path: Path) -> bytes:
    """Return a file as it was before the transaction that its writer did not end, from a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "log"
        shutil.copyfile(path, copy)
        _copied_journal(path.with_name(path.name + "-journal"), copy.with_name("log-journal"))
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return connection.serialize()


def _in_memory(data: bytes) -> sqlite3.Connection:
    changed = bytearray(data)
    changed[_WAL_AT : _WAL_AT + 2] = b"\1\1"
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(changed))
    return connection


class SqliteImporter(LogImporter):
    """A reader of SQLite files; `tables` are those that tell whose the file is, `example` is SQL that makes one."""

    tables: ClassVar[frozenset[str]]

    @classmethod
    def write_example(cls, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(cls.example)

    def matches(self, source: LogSource) -> bool:
        if not source.head.startswith(MAGIC):
            return False
        faults = len(source.faults)
        with open_tables(source) as found:
            del source.faults[faults:]  # they are noted when the file is read
            return found is not None and self.tables <= found.names
