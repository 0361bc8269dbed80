"""A large file of lines, read in several processes at a time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.logs.importer import JsonLinesImporter
from workbench.logs.source import LONGEST_LINE, LogSource
from workbench.logs.table import kept
from workbench.logs.table.columns import Columns, joined
from workbench.logs.table.part import Part, PartReader

LARGE = 32 << 20
"""Bytes of a file that is read into columns, whose parameters stay in the file. Chosen: it takes about a second."""

WORTH_KEEPING = 4
"""A log that has grown is kept again when one of so many of its lines is new. Chosen: reading them takes a second."""

PROCESSES = 4
"""Processes at most, this one included. Chosen: each takes some 150 MB."""

Progress = Callable[[int, int], None]
"""Is told, now and then, how many bytes were read, and of how many."""


def read_kept(source: LogSource, importer: JsonLinesImporter, progress: Progress | None = None) -> Part:
    """Return what a file that is not packed says: what is kept on disk of it, and what is not, read and then kept."""
    part = kept.find(source.path, importer)
    if part is None:
        part = read_file(source, importer, progress)
        kept.keep(source.path, importer, part)
        return part
    if progress is not None:
        progress(part.end, source.path.stat().st_size)
    rest = PartReader(source, type(importer)()).read(part.end)
    found = together([part, rest])
    if rest.count * WORTH_KEEPING > part.count:
        kept.keep(source.path, importer, found)
    return found


def read_file(source: LogSource, importer: JsonLinesImporter, progress: Progress | None = None) -> Part:
    """Read a file that is not packed, in as many processes as there are processors; the result is always the same."""
    size = source.path.stat().st_size
    ranges = _ranges(source.path, size, _processes(importer))
    done: list[int] = []

    def told(read: int) -> None:
        done.append(read)
        if progress is not None:
            progress(min(sum(done), size), size)

    others = [_Process(source, importer, part) for part in ranges[1:]]
    with _ended(others):

        def told_by_all(read: int) -> None:
            told(read + sum(other.news() for other in others))

        parts = [PartReader(source, type(importer)()).read(*ranges[0], told_by_all)]
        for other, (start, end) in zip(others, ranges[1:], strict=True):
            found = other.result(told)
            parts.append(PartReader(source, type(importer)()).read(start, end, told) if found is None else found)
    return together(parts)


def together(parts: Sequence[Part]) -> Part:
    """Return parts of a file that follow each other as one."""
    lines, faults = 0, []
    moved = []
    for part in parts:
        moved.append(replace(part.columns, lines=part.columns.lines + lines))
        faults += [(number + lines, what) for number, what in part.faults]
        lines += part.count
    tally = sum((Counter(part.tally) for part in parts), Counter[str]())
    return Part(joined(moved), lines, parts[-1].end, faults, tally)


def _processes(importer: JsonLinesImporter) -> int:
    ours = type(importer).__module__.startswith("workbench.")  # no other process knows a user's own
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, PROCESSES) if ours and sys.executable else 1


def _ranges(path: Path, size: int, count: int) -> list[tuple[int, int | None]]:
    """Return begin and end of parts of about the same size that begin with a line; the last one has no end."""
    starts = [0]
    with open(path, "rb") as file:
        for part in range(1, count):
            file.seek(max(starts[-1], part * size // count))
            file.readline(LONGEST_LINE)
            if starts[-1] < file.tell() < size:
                starts.append(file.tell())
    return list(zip(starts, [*starts[1:], None], strict=True))


class _Process:
    """A process that reads a part of a file."""

    def __init__(self, source: LogSource, importer: JsonLinesImporter, part: tuple[int, int | None]):
        self._columns, self._news = b"", queue.SimpleQueue[int]()
        job = {
            "path": str(source.path.absolute()), "format": importer.name, "start": part[0], "end": part[1],
            "processes": PROCESSES,
        }  # fmt: skip
        root = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        pipe = subprocess.PIPE
        # -P: a file called numpy.py in the current folder must not become part of it.
        command = [sys.executable, "-P", "-m", "workbench.logs.table.part_reader"]
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path}
        )
        self._send(job)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _send(self, job: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as pipe:  # one that has ended shows in `result`
            pipe.write(json.dumps(job).encode())

    def _listen(self) -> None:
        assert self._process.stdout is not None
        # Without memory for what it says the process finds nobody who listens, and ends too.
        with self._process.stdout as pipe, contextlib.suppress(MemoryError):
            for line in pipe:
                if line == b"\n":
                    self._columns = pipe.read()
                    return
                self._news.put(int(line))

    def news(self) -> int:
        """Return how many bytes were read since the last time."""
        return sum(self._news.get_nowait() for _ in range(self._news.qsize()))

    def result(self, told: Callable[[int], None]) -> Part | None:
        """Wait for the part; None where the process has ended without it."""
        while self._listener.is_alive():
            self._listener.join(0.2)
            told(self.news())
        if self._process.wait():
            return None
        return Part.of(*Columns.from_bytes(self._columns))

    def end(self) -> None:
        """End the process, if it runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._listener.join()


@contextlib.contextmanager
def _ended(processes: Sequence[_Process]) -> Iterator[None]:
    """Let no process outlive what is done here."""
    try:
        yield
    finally:
        for process in processes:
            process.end()
