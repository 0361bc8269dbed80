"""Records inside one JSON document, read one by one: a document that is cut off or damaged keeps all its other records.

A `json.loads` of the whole would lose everything because of one byte, and would not know where a record stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workbench.logs.source import LogSource

Accept = Callable[[Any], bool]

ATTEMPTS = 10_000
"""Places at which reading goes on after damage, before the rest is given up. Chosen: a search is not endless."""

_decoder = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_RECORD_IN_LIST = re.compile(r"\{")
_RECORD_IN_OBJECT = re.compile(r'"(?:[^"\\\n]|\\.)*"[ \t\r\n]*:[ \t\r\n]*\{')


@dataclass(frozen=True, slots=True)
class Member:
    """A record of the document: its key (or its number in the list), and where it stands.

    `value` is made of the text each time that it is asked for: not all of them are there at once.
    """

    key: str
    where: str
    text: str
    at: int

    @property
    def value(self) -> Any:
        """The value of the record."""
        return _decoder.raw_decode(self.text, self.at)[0]


@dataclass(slots=True)
class JsonDocument:
    """A document: what is beside the records, the records, and whether it has its end.

    Attributes
    ----------
    header : dict
        The members of the document but the one with the records.
    records : list of Member
        What could be read, in the order of the file.
    closed : bool
        Whether the document has its end; one without was cut off, or is being written.
    """

    header: dict[str, Any] = field(default_factory=dict)
    records: list[Member] = field(default_factory=list)
    closed: bool = False


def read_document(
    source: LogSource, inside: str, accept: Accept = lambda value: isinstance(value, dict)
) -> JsonDocument:
    """Read a JSON object one of whose members holds the records, in a list or an object; damage goes to ``source``.

    Parameters
    ----------
    source : LogSource
        What to read.
    inside : str
        Name of the member with the records.
    accept : callable, optional
        Whether a value is a record: how the next one is found behind damage.
    """
    return _Reader(source, inside, accept).read()


class _Cut(Exception):
    """The text ends inside of something."""


class _Reader:
    def __init__(self, source: LogSource, inside: str, accept: Accept) -> None:
        self.source, self.inside, self.accept = source, inside, accept
        self.text = source.text()
        self.several_lines = self.text.count("\n", 0, 1 << 20) > 2
        self.line, self.counted_to = 1, 0
        self.found = JsonDocument()
        self.attempts = 0

    def read(self) -> JsonDocument:
        try:
            self._object()
            self.found.closed = True
        except _Cut:
            pass
        return self.found

    def _object(self) -> None:
        """Read the members of the document."""
        at = self._after("{", 0)
        while not self._is("}", at):
            try:
                key, at = self._key(at)
                at = self._records(at) if key == self.inside else self._member(key, at)
            except (ValueError, RecursionError) as error:
                at = self._resumed(at, error)
            at = self._comma(at)
        if (rest := self._blank(at + 1)) < len(self.text):
            self.source.fault(self._where(rest, "end"), "there is text behind the end of the document")

    def _member(self, key: str, at: int) -> int:
        self.found.header[key], at = _decoder.raw_decode(self.text, at)
        return at

    def _resumed(self, at: int, error: Exception) -> int:
        """Go on with the records behind damage in the header, without what is left of it."""
        self.source.fault(self._where(_place(error, at), "header"), _reason(error))
        begin = re.compile(rf'"{re.escape(self.inside)}"[ \t\r\n]*:').search(self.text, at)
        if begin is None or self.found.records:
            raise _Cut
        return self._records(self._blank(begin.end()))

    def _records(self, at: int) -> int:
        """Read the records, from the bracket that opens them to behind the one that closes them."""
        opening = self.text[at : at + 1]
        if opening not in ("{", "["):
            raise json.JSONDecodeError("no records", self.text, at)
        closing = "}" if opening == "{" else "]"
        at = self._blank(at + 1)
        indent = self._indent(at)
        while not self._is(closing, at):
            start, key = at, str(len(self.found.records))
            try:
                if opening == "{":
                    key, at = self._key(at)
                begin = at
                value, at = _decoder.raw_decode(self.text, begin)
            except (ValueError, RecursionError) as error:
                self.source.fault(self._where(start, key), _reason(error))
                at = self._next_record(max(start + 1, _place(error, at)), opening, indent)
                continue
            if self.accept(value):
                self.found.records.append(Member(key, self._where(start, key), self.text, begin))
            else:
                self.source.fault(self._where(start, key), "no record")
            at = self._comma(at)
        return at + 1

    def _next_record(self, at: int, opening: str, indent: str) -> int:
        """Return where the next record begins behind damage."""
        pattern = _RECORD_IN_OBJECT if opening == "{" else _RECORD_IN_LIST
        while (begin := pattern.search(self.text, at)) is not None and self.attempts < ATTEMPTS:
            self.attempts += 1
            at = begin.end()
            if indent and self._indent(begin.start()) != indent:
                continue
            try:
                value, _ = _decoder.raw_decode(self.text, begin.end() - 1)
            except (ValueError, RecursionError):
                continue
            if self.accept(value):
                return begin.start()
        raise _Cut

    def _indent(self, at: int) -> str:
        """Return what is between the beginning of the line and a place, with the end of the line before; "" where that
        is no blank text, or where records stand one behind the other.
        """
        start = self.text.rfind("\n", 0, at)
        before = self.text[start:at] if start >= 0 else "x"
        return "" if before.strip() else before

    def _key(self, at: int) -> tuple[str, int]:
        if not self._is('"', at):
            raise json.JSONDecodeError("no name", self.text, at)
        key, at = _decoder.raw_decode(self.text, at)
        at = self._blank(at)
        if not self._is(":", at):
            raise json.JSONDecodeError("no colon", self.text, at)
        return key, self._blank(at + 1)

    def _comma(self, at: int) -> int:
        """Return where the next member begins; a missing or doubled comma does no harm."""
        at = self._blank(at)
        while self._is(",", at):
            at = self._blank(at + 1)
        return at

    def _after(self, mark: str, at: int) -> int:
        at = self._blank(at)
        if not self._is(mark, at):
            self.source.fault(self._where(at, "header"), "no JSON object begins here")
            raise _Cut
        return self._blank(at + 1)

    def _is(self, mark: str, at: int) -> bool:
        if at >= len(self.text):
            raise _Cut
        return self.text[at] == mark

    def _blank(self, at: int) -> int:
        return _BLANK.match(self.text, at).end()  # type: ignore[union-attr]  # it matches nothing, too

    def _where(self, at: int, key: str) -> str:
        if not self.several_lines:
            return f"{self.inside}[{key}]"
        self.line += self.text.count("\n", self.counted_to, at)
        self.counted_to = max(at, self.counted_to)
        return f"line {self.line}"


def _place(error: Exception, at: int) -> int:
    if isinstance(error, RecursionError):
        return at + 1000  # the depth that was too much
    return error.pos if isinstance(error, json.JSONDecodeError) else at


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"damaged, no JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else "damaged, no JSON"
