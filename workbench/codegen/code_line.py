"""A line of code that knows which row of the nest it belongs to; everybody else sees its text."""

from __future__ import annotations

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
