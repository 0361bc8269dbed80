"""A line of code that knows which row of the nest it belongs to; everybody else sees its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: A line of text, and the row of the nest that it belongs to, as `ir.text.printer.listing_of` names it; "" for none.
Named: TypeAlias = tuple[str, str]


class Line(str):
    """A text with its row."""

    __slots__ = ("row",)
    row: str

    def __new__(cls, text: str, row: str) -> Line:
        """Mark a text, unless it is marked already."""
        if isinstance(text, Line):
            return text
        line = super().__new__(cls, text)
        line.row = row
        return line


def named(line: str) -> Named:
    """Return the text of a line and its row; "" where it has none."""
    return str(line), line.row if isinstance(line, Line) else ""


class RowNotes:
    """What row of the nest is being written, as something writes lines."""

    def __init__(self) -> None:
        self.row = ""
        self._pinned = False

    @contextmanager
    def at(self, row: str, pinned: bool = False) -> Iterator[None]:
        """Note for the lines that follow that they belong to a row; `pinned` holds for all inside too."""
        before = self.row, self._pinned
        if not self._pinned:
            self.row, self._pinned = row, pinned
        yield
        self.row, self._pinned = before
