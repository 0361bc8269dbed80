"""Text from models, logs and users, so that what shows, reads or runs it obeys nothing in it.

`legible` is for people: terminals, pages, comments. `escaped` and `python_literal` lose nothing, and are read back.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TypeVar

S = TypeVar("S")

#: What a terminal obeys, what turns the text around it, and halves of characters. Tabs and ends of lines are apart.
_OBEYED = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_UNSAFE = re.compile(f"[{_OBEYED}]")
_UNSAFE_IN_LINE = re.compile(f"[\t\n{_OBEYED}]")
#: What a spreadsheet would take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def legible(value: object) -> str:
    """Text of a value with a replacement for every character that is an order and no text; lines stay lines."""
    return _UNSAFE.sub("\ufffd", str(value).replace("\r\n", "\n"))


def legible_line(value: object) -> str:
    """`legible` text on one line: ends of lines and tabs become blanks."""
    return legible(" ".join(re.split("[\t\r\n\u2028\u2029]+", str(value))))


def shown_legibly(show: Callable[[S], str]) -> Callable[[S], str]:
    """Make a ``__str__`` or ``__repr__`` legible, whatever the names in it are."""

    @functools.wraps(show)
    def shown(self: S) -> str:
        return legible(show(self))

    return shown


def escaped(text: str, signs: str = "") -> str:
    r"""Text for a literal: `signs` (the backslash first) behind a backslash, what is no text as ``\u001b``."""
    for sign in signs:
        text = text.replace(sign, f"\\{sign}")
    return _UNSAFE_IN_LINE.sub(lambda m: "\\n" if m[0] == "\n" else f"\\u{ord(m[0]):04x}", text)


def spreadsheet_text(text: str) -> str:
    """Text for a cell of a spreadsheet: what begins as a formula gets a quote before it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def python_literal(text: str) -> str:
    """Python's literal of a text of several lines, which reads as the text does."""
    lines = "\n".join(escaped(line, '\\"') for line in text.split("\n"))
    return f'"""{lines}"""'
