"""Reads records again where their lines are in the file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.errors import LogError
from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import UNREADABLE, JsonLinesImporter
from workbench.logs.source import LONGEST_LINE, LogSource, sound
from workbench.logs.table.columns import Whole
from workbench.many_values import many_values


def json_values(lines: Sequence[bytes]) -> list[Any]:
    """Return the JSON value of each line; ValueError or RecursionError where one has none."""
    values = json.loads(b"[" + b",".join(lines) + b"]")
    if not isinstance(values, list) or len(values) != len(lines):
        raise ValueError("a line holds several values")
    return values


class Lines:
    """The lines of a file, by number of the record.

    Parameters
    ----------
    source : LogSource
        The file, not packed; one that was unpacked for this is there as long as this is.
    importer : JsonLinesImporter
        Reads a line by itself.
    offsets : array of int
        First byte of each record's line.
    end : int
        Byte behind the last line.
    """

    def __init__(self, source: LogSource, importer: JsonLinesImporter, offsets: Whole, end: int) -> None:
        self.source, self.path, self.importer, self.offsets = source, source.path, importer, offsets
        self._end, self._prepared = end, False
        self._size = int(offsets.max(initial=-1)) + 1

    def values(self, places: Whole) -> list[Any]:
        """Return the JSON values of some records.

        Raises
        ------
        LogError
            ``log.changed`` where the file is no longer the one that was opened; ``log.missing``, ``log.unreadable``.
        """
        order = np.argsort(self.offsets[places], kind="stable")
        out: list[Any] = [None] * len(places)
        try:
            with open(self.path, "rb") as file, many_values():
                if os.fstat(file.fileno()).st_size < self._size:
                    raise ValueError("the file is shorter than it was")
                raw = []
                for at in self.offsets[places[order]].tolist():
                    file.seek(at)
                    raw.append(sound(file.readline(LONGEST_LINE)))
                for place, value in zip(order.tolist(), json_values(raw), strict=True):
                    out[place] = value
        except FileNotFoundError as error:
            raise LogError("log.missing", "The log is no longer there", (str(self.path),), "open it again") from error
        except OSError as error:
            raise LogError("log.unreadable", f"The log cannot be read: {error.strerror}", (str(self.path),)) from error
        except (ValueError, RecursionError) as error:
            raise self._changed() from error
        return out

    def evaluations(self, places: Whole) -> list[Evaluation]:
        """Return what some records say, all of it; raises as `values` does."""
        try:
            with many_values():
                if not self._prepared:
                    self.importer.prepare(self.source, self._end)
                    self._prepared = True
                found = [self.importer.evaluation(value) for value in self.values(places)]
        except UNREADABLE as error:
            raise self._changed() from error
        if any(one is None for one in found):
            raise self._changed()
        return found  # type: ignore[return-value]

    def _changed(self) -> LogError:
        message = "The log has been changed since it was opened: its records are elsewhere now"
        return LogError("log.changed", message, (str(self.path),), "open it again, or call `refresh`")


class LineField:
    """One field of the records of a file."""

    def __init__(self, lines: Lines, name: str) -> None:
        self.lines, self.name = lines, name

    def get(self, places: Whole) -> list[Any]:
        """Return the field of some records, in their order."""
        return [getattr(one, self.name) for one in self.lines.evaluations(places)]
