"""One file or folder of a `TuningLog`: its columns, its objects, and where its records are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.logs.importer import JsonLinesImporter, LogImporter
from workbench.logs.source import LogSource
from workbench.logs.table import parts
from workbench.logs.table.columns import Collector, Columns
from workbench.logs.table.frame import records_frame
from workbench.logs.table.line_values import LineField, Lines
from workbench.logs.table.packed import Packed
from workbench.logs.table.part import Part, PartReader
from workbench.logs.table.unpacked import unpacked

if TYPE_CHECKING:
    import pandas


SEAM = 4096
"""Bytes at each end of what was read that are compared before more is read. Chosen: some records."""


class LogFile:
    """A file or a folder, read.

    Parameters
    ----------
    source : LogSource
    importer : LogImporter
    progress : Progress, optional
        Is told how far the reading of a large file is.

    Attributes
    ----------
    frame : pandas.DataFrame
        Its records.
    replaced : bool
        Whether the file was found replaced or cut short, and was read anew.
    """

    frame: pandas.DataFrame

    def __init__(self, source: LogSource, importer: LogImporter, progress: parts.Progress | None = None) -> None:
        self.source, self.importer, self._progress = source, importer, progress
        self.replaced = False
        self._kept: Collector | None = None
        self._lines: Lines | None = None
        self._part: Part | None = None
        self._plain: LogSource | None = None
        self._stamp: Hashable = None
        self._seam = b""
        self._read()

    def __len__(self) -> int:
        return len(self.frame)

    def _read(self) -> None:
        self._stamp = _stamp(self.source.path)
        self._plain = self._large_lines()
        if self._plain is not None:
            assert isinstance(self.importer, JsonLinesImporter)
            self.importer.check(self.source)
            self._columns(parts.read_kept(self._plain, self.importer, self._progress), self._plain)
        else:
            self._kept = Collector().extend(self.importer.read(self.source))
            self.frame = kept_frame(self._kept, self.source.path.name)
        for name in ("task", "device", "target"):  # what the log does not say
            said = self.source.hints.get(name)
            if isinstance(said, str) and "" in self.frame[name].cat.categories and said:
                self.frame[name] = self.frame[name].astype(object).replace("", said).astype("category")

    def _columns(self, part: Part, plain: LogSource) -> None:
        """Make the table of whole lines of a plain file, and of what there is of an unfinished one."""
        assert isinstance(self.importer, JsonLinesImporter)
        self._part, self._seam, self._kept = part, _seam(plain.path, part.end), None
        self._afresh()
        rest = PartReader(plain, type(self.importer)()).read(part.end, unfinished=True)
        whole = parts.together([part, rest])
        self.importer.add_tally(whole.tally)
        for number, what in whole.faults:
            self.source.fault(number, what)
        self.source.faults += plain.faults
        self._lines = Lines(plain, type(self.importer)(), whole.columns.offsets, whole.end)
        self.frame = records_frame(
            whole.columns, self.source.path.name, _lazy(whole.columns, _in_file(self._lines, whole.columns))
        )

    def _afresh(self) -> None:
        """Forget what was counted."""
        self.source, self.importer = LogSource(self.source.path, self.source.hints), type(self.importer)()

    def notes(self) -> list[str]:
        """Return what a reader of the table has to know of this file."""
        found = list(self.importer.notes(self.source))
        if self._kept is not None and (count := self._kept.no_times):
            found.append(f"{count} records have a time of 0 or less, or 1e9, 1e10 or 1e20: they count as failed.")
        if self.replaced:
            found.append(f"{self.source.path.name} was replaced or cut short; it was read anew.")
        return found

    def refresh(self) -> int:
        """Take up what was written since the last time; return how many records are new: all of a replaced file's."""
        stamp = _stamp(self.source.path)
        if stamp is None or stamp == self._stamp:
            return 0
        before = len(self)
        part, plain = self._part, self._plain
        if part is None or plain is None or self.source.packed:
            self._afresh()
            self._read()
            return max(0, len(self) - before)
        self._stamp = stamp
        if _seam(self.source.path, part.end) != self._seam:
            self.replaced = True
            self._afresh()
            self._read()
            return len(self)
        assert isinstance(self.importer, JsonLinesImporter)
        more = PartReader(plain, type(self.importer)()).read(part.end)
        self._columns(parts.together([part, more]), plain)
        return max(0, len(self) - before)

    def _large_lines(self) -> LogSource | None:
        """Return the large file whose lines can be read each by itself, unpacked; None for any other."""
        if not (
            isinstance(self.importer, JsonLinesImporter) and self.importer.by_itself and self.source.path.is_file()
        ):
            return None
        if self.source.packed:
            return unpacked(self.source, parts.LARGE)
        large = self.source.path.stat().st_size >= parts.LARGE
        return LogSource(self.source.path, self.source.hints) if large else None

    def raw(self, record: int) -> Any:
        """Return a record as its tuner wrote it."""
        if self._kept is None:
            assert self._lines is not None
            return self._lines.values(np.array([record], dtype=np.int64))[0]
        kept, offset = self._kept.objects["raw"][record], int(self._kept.columns().offsets[record])
        return self.source.line_at(offset) if kept is None and offset >= 0 else kept

    def space(self) -> Mapping[str, Sequence[Any]]:
        """Return the values of each parameter: those that the log declares, else those that occur, in their order."""
        declared = self.importer.space(self.source)
        found: dict[str, dict[str, Any]] = {name: {repr(v): v for v in values} for name, values in declared.items()}
        for params in self.frame["params"]:
            for name, value in params.items():
                if name not in declared:
                    found.setdefault(name, {}).setdefault(repr(value), value)
        return {name: list(values.values()) for name, values in found.items()}


def _stamp(path: Path) -> Hashable:
    """Return what changes when a log is written to; None where there is none."""
    try:
        found = [path, *sorted(path.iterdir())] if path.is_dir() else [path]
        return tuple((p.name, s.st_size, s.st_mtime_ns, s.st_ino) for p in found for s in (p.stat(),))
    except OSError:
        return None


def _seam(path: Path, end: int) -> bytes:
    """Return bytes by which it is noticed that another file stands there: the first ones, and those before `end`."""
    with open(path, "rb") as file:
        first = file.read(min(end, SEAM))
        file.seek(max(0, end - SEAM))
        return first + file.read(min(end, SEAM))


def kept_frame(kept: Collector, run: str) -> pandas.DataFrame:
    """Return the table of records that are there in full."""
    columns = kept.columns()
    objects = {name: values for name, values in kept.objects.items() if name != "raw"}
    if any(isinstance(values, Packed) for values in objects.values()):
        return records_frame(columns, run, _lazy(columns, objects))
    starts = np.concatenate([[0], columns.ends[:-1]]).tolist() if len(columns) else []
    values = columns.repeats.tolist()
    repeats = [tuple(values[start:end]) for start, end in zip(starts, columns.ends.tolist(), strict=True)]
    return records_frame(columns, run, {**objects, "repeats": repeats})


def _lazy(columns: Columns, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns whose values are read, or unpacked, when asked for."""
    from workbench.logs.table.lazy_array import LazyArray, Repeats

    places = np.arange(len(columns), dtype=np.int64)
    found = {**values, "repeats": Repeats(columns.repeats, columns.ends)}
    return {name: LazyArray(one, places) for name, one in found.items()}


def _in_file(lines: Lines, columns: Columns) -> dict[str, Any]:
    from workbench.logs.table.lazy_array import LineNames

    return {
        "params": LineField(lines, "params"), "extra": LineField(lines, "extra"), "where": LineNames(columns.lines),
    }  # fmt: skip
