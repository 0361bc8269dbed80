"""How a reader of a tuner's logs is declared, and which one reads a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from workbench.logs.evaluation import Evaluation
from workbench.logs.source import LogSource, TextLine, passed_over
from workbench.registry import Registry

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What follows from text of another form than an importer expects; it becomes a `Fault`, never a traceback."""


class LogImporter:
    """A reader of one tuner's logs. It never fails because of what is in a file: damage goes to ``source.fault``.

    Attributes
    ----------
    name : str
        What it was declared as; `open` takes it as `format`.
    tuner : str
        Whose logs these are, for a person.
    example : str
        A small log with a failure in it; the contract tests read it, whole and damaged.
    example_hints : mapping
        What `open` has to be told beside it.
    tells_failures : bool
        Whether such logs say which configurations have failed.
    rank : int
        Importers with a lower one are asked first: 0 where a record looks like no other tuner's, 1 for lines in the
        midst of other text, 2 for tables of any origin.
    """

    name: ClassVar[str] = ""
    tuner: ClassVar[str] = ""
    example: ClassVar[str] = ""
    example_hints: ClassVar[Mapping[str, Any]] = {}
    tells_failures: ClassVar[bool] = True
    rank: ClassVar[int] = 0

    @classmethod
    def write_example(cls, path: Path) -> None:
        """Write `example` to a path where nothing stands: a file, or a folder of files."""
        path.write_text(cls.example, encoding="utf-8")

    def matches(self, source: LogSource) -> bool:
        """Whether this is such a log, by what is in it (`LogSource.head`, names of a folder), not by its name."""
        raise NotImplementedError

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the evaluations in the order of the file."""
        raise NotImplementedError

    def space(self, source: LogSource) -> Mapping[str, Sequence[Any]]:
        """Return the values that each parameter could have, as far as the log says so; asked after `read`."""
        return {}

    def restrictions(self, source: LogSource) -> Sequence[str] | None:
        """Return what a configuration has to fulfil, as `workbench.logs.expressions` has it; None where the log does
        not say whether there is anything; asked after `read`.
        """
        return None

    def notes(self, source: LogSource) -> Sequence[str]:
        """Return what a reader of the table has to know: a guessed unit, contradictions; asked after `read`."""
        return ()


class JsonLinesImporter(LogImporter):
    """A reader of logs with a JSON value per line; comments (``#``) and empty lines are passed over.

    Attributes
    ----------
    by_itself : bool
        Whether `evaluation` needs nothing but its line, and `space` and `notes` nothing but `tally`: large files are
        then read in several processes, and parameters are read from their lines when asked for.
    """

    by_itself: ClassVar[bool] = False

    def evaluation(self, line: Any) -> Evaluation | None:
        """Return what one line says, None for one that is no record; may raise `UNREADABLE`, which is what follows from
        a line of another form.
        """
        raise NotImplementedError

    def brief(self, line: Any) -> Evaluation | None:
        """As `evaluation`, but without `params` and `extra` where making them takes long; for large files."""
        return self.evaluation(line)

    def check(self, source: LogSource) -> None:
        """Raise a `LogError` for a file of which nothing is read."""

    def prepare(self, source: LogSource, end: int) -> None:
        """Take from the lines before a byte what later ones refer to; asked before only a part of a file is read."""

    def tally(self) -> Mapping[str, int]:
        """Return what was counted over lines for `notes`."""
        return {}

    def add_tally(self, other: Mapping[str, int]) -> None:
        """Add what another reader has counted over other lines of the file."""

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the evaluations; a torn last line is a fault like any other."""
        self.check(source)
        for line in source.lines():
            if passed_over(line.raw):
                continue
            try:
                found = self.evaluation(json.loads(line.raw))
            except UNREADABLE as error:
                source.fault(line.number, self.reason(line, error))
                continue
            if found is not None:
                yield dataclasses.replace(found, where=f"line {line.number}", offset=line.offset)

    def reason(self, line: TextLine, error: Exception) -> str:
        """Say what is wrong with a line."""
        if line.torn:
            return "the line is cut off"
        return f"no record of {self.tuner} ({type(error).__name__})"


_I = TypeVar("_I", bound=type[LogImporter])
IMPORTERS: Registry[type[LogImporter]] = Registry("log format", "log formats", "usage.log_format")


def log_importer(name: str) -> Callable[[_I], _I]:
    """Declare a reader of a tuner's logs; the first line of the class's text says what it reads."""

    def register(cls: _I) -> _I:
        cls.name = name
        IMPORTERS[name] = cls
        return cls

    return register


def importer_of(source: LogSource) -> LogImporter | None:
    """Return the reader of such logs; None where no importer knows them."""
    by_rank = sorted(IMPORTERS.values(), key=lambda cls: cls.rank)
    return next((made for cls in by_rank if (made := cls()).matches(source)), None)
