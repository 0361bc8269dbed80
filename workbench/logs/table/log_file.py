"""One file or folder of a `TuningLog`: its columns, its objects, and where its records are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.logs.importer import JsonLinesImporter, LogImporter
from workbench.logs.source import LogSource
from workbench.logs.table import parts
from workbench.logs.table.columns import Collector, Columns
from workbench.logs.table.frame import records_frame
from workbench.logs.table.line_values import Lines

if TYPE_CHECKING:
    import pandas


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
    """

    frame: pandas.DataFrame

    def __init__(self, source: LogSource, importer: LogImporter, progress: parts.Progress | None = None) -> None:
        self.source, self.importer, self._progress = source, importer, progress
        self._kept: Collector | None = None
        self._lines: Lines | None = None
        self._read()

    def __len__(self) -> int:
        return len(self.frame)

    def _read(self) -> None:
        if isinstance(self.importer, JsonLinesImporter) and self._large():
            part = parts.read_file(self.source, self.importer, self._progress)
            self.importer.add_tally(part.tally)
            for number, what in part.faults:
                self.source.fault(number, what)
            self._lines = Lines(self.source.path, type(self.importer)(), part.columns.offsets)
            self.frame = records_frame(part.columns, self.source.path.name, _lazy(self._lines, part.columns))
        else:
            self._kept = Collector().extend(self.importer.read(self.source))
            self.frame = kept_frame(self._kept, self.source.path.name)

    def _large(self) -> bool:
        assert isinstance(self.importer, JsonLinesImporter)
        plain = self.importer.by_itself and not self.source.is_folder and not self.source.packed
        return plain and self.source.path.stat().st_size >= parts.LARGE

    def raw(self, record: int) -> Any:
        """Return a record as its tuner wrote it."""
        if self._kept is None:
            assert self._lines is not None
            return self._lines.values(np.array([record], dtype=np.int64))[0]
        kept, offset = self._kept.raw[record], int(self._kept.columns().offsets[record])
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


def kept_frame(kept: Collector, run: str) -> pandas.DataFrame:
    """Return the table of records that are there in full."""
    columns = kept.columns()
    starts = np.concatenate([[0], columns.ends[:-1]]).tolist() if len(columns) else []
    values = columns.repeats.tolist()
    repeats = [tuple(values[start:end]) for start, end in zip(starts, columns.ends.tolist(), strict=True)]
    return records_frame(
        columns, run, {"params": kept.params, "extra": kept.extra, "repeats": repeats, "where": kept.where}
    )


def _lazy(lines: Lines, columns: Columns) -> dict[str, Any]:
    from workbench.logs.table.lazy_array import LazyArray, LineNames, Repeats, Values
    from workbench.logs.table.line_values import LineField

    places = np.arange(len(columns), dtype=np.int64)
    values: dict[str, Values] = {
        "params": LineField(lines, "params"), "extra": LineField(lines, "extra"),
        "repeats": Repeats(columns.repeats, columns.ends), "where": LineNames(columns.lines),
    }  # fmt: skip
    return {name: LazyArray(found, places) for name, found in values.items()}
