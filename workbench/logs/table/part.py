"""A part of a large file of lines, read into columns."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from workbench.logs.importer import UNREADABLE, JsonLinesImporter
from workbench.logs.source import LONGEST_LINE, MARK, LogSource, TextLine, passed_over, sound
from workbench.logs.table.columns import Collector, Columns
from workbench.logs.table.line_values import json_values
from workbench.many_values import many_values

BLOCK = 1 << 20
"""Bytes whose lines are read together. Chosen: their values take some tens of megabytes."""

Told = Callable[[int], None]
"""Is told how many bytes were read since the last call."""


@dataclass(slots=True)
class Part:
    """What a part of a file says.

    Attributes
    ----------
    columns : Columns
        Its records; line numbers count from the begin of the part.
    count : int
        Its lines.
    end : int
        Byte behind the last line that was read.
    faults : list of (int, str)
        Damage: number of the line in the part, from 1, and what is wrong.
    tally : mapping
        What the importer has counted.
    """

    columns: Columns
    count: int
    end: int
    faults: list[tuple[int, str]] = field(default_factory=list)
    tally: Mapping[str, int] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """Return what the columns do not say, as JSON."""
        return {name: getattr(self, name) for name in ("count", "end", "faults", "tally")}

    @classmethod
    def of(cls, columns: Columns, told: Mapping[str, Any]) -> Part:
        """Return a part of its columns and what `told` has told."""
        return cls(columns, **{**told, "faults": [(number, what) for number, what in told["faults"]]})


class PartReader:
    """Reads lines of a file by their bytes.

    Parameters
    ----------
    source : LogSource
        The file.
    importer : JsonLinesImporter
        Reads a line by itself.
    """

    def __init__(self, source: LogSource, importer: JsonLinesImporter) -> None:
        self.source, self.importer = source, importer
        self._found = Collector(keep=False)
        self._faults: list[tuple[int, str]] = []
        self._count = 0

    def read(self, start: int, end: int | None = None, told: Told | None = None, unfinished: bool = False) -> Part:
        """Read the lines that begin between two bytes, `start` being the begin of a line; all up to the end if None.

        A last line that has no end yet is left for the next time, unless `unfinished` says otherwise.
        """
        at = start
        with self.source.open() as file, many_values():
            file.seek(start)
            while end is None or at < end:
                block = file.read(BLOCK if end is None else min(BLOCK, end - at))
                size = len(block)
                if block and not block.endswith(b"\n"):
                    more, skipped = _rest(file)
                    block, size = block + more, size + len(more) + skipped
                    if skipped:
                        block = self._too_long(block)
                    elif not block.endswith(b"\n") and not unfinished:
                        block = block[: block.rfind(b"\n") + 1]
                        size = len(block)
                if not block:
                    break
                if at == start:
                    self.importer.prepare(self.source, start)
                self._block(sound(block), at)
                at += size
                if told is not None:
                    told(size)
                gc.collect(0)
        return Part(self._found.columns(), self._count, at, self._faults, self.importer.tally())

    def _too_long(self, block: bytes) -> bytes:
        """Return a block without its last line, which is longer than any that is read."""
        cut = block.rfind(b"\n", 0, -1) + 1
        line = self._count + block.count(b"\n", 0, cut) + 1
        self._faults.append((line, f"the line is longer than {LONGEST_LINE >> 20} MiB"))
        return block[:cut] + b"\n"

    def _block(self, block: bytes, start: int) -> None:
        lines = block.split(b"\n")
        lengths = np.array([len(line) + 1 for line in lines], dtype=np.int64)
        lines[0] = lines[0] if start else lines[0].removeprefix(MARK)
        offsets = (start + np.cumsum(lengths) - lengths).tolist()
        whole = block.endswith(b"\n")
        if not lines[-1]:
            lines.pop()
        first, self._count = self._count + 1, self._count + len(lines)
        taken = [k for k, line in enumerate(lines) if not passed_over(line)]
        try:
            values = json_values([lines[k] for k in taken])
        except (ValueError, RecursionError):
            return self._one_by_one(lines, taken, offsets, first, whole)
        for k, value in zip(taken, values, strict=True):
            try:
                found = self.importer.brief(value)
            except UNREADABLE as error:
                self._fault(first + k, lines[k], error, whole or k + 1 < len(lines))
            else:
                if found is not None:
                    self._found.add(found, first + k, offsets[k])
        return None

    def _one_by_one(
        self, lines: Sequence[bytes], taken: Sequence[int], offsets: Sequence[int], first: int, whole: bool
    ) -> None:
        """Read lines of which one is damaged."""
        for k in taken:
            try:
                found = self.importer.brief(json.loads(lines[k]))
            except UNREADABLE as error:
                self._fault(first + k, lines[k], error, whole or k + 1 < len(lines))
            else:
                if found is not None:
                    self._found.add(found, first + k, offsets[k])

    def _fault(self, number: int, line: bytes, error: Exception, ended: bool) -> None:
        raw = line + b"\n" if ended else line
        self._faults.append((number, self.importer.reason(TextLine(number, 0, raw), error)))


def _rest(file: IO[bytes]) -> tuple[bytes, int]:
    """Return the rest of a line, and how many bytes of it were passed over because it is too long."""
    more, skipped = file.readline(LONGEST_LINE), 0
    while more and not more.endswith(b"\n") and len(more) >= LONGEST_LINE:
        passed = file.readline(LONGEST_LINE)
        if not passed:
            break
        skipped += len(passed)
        if passed.endswith(b"\n"):
            break
    return more, skipped
