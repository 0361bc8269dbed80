"""Elements of a list inside a JSON file, one after the other: what stands before and behind damage is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from workbench.logs.source import LogSource

_BETWEEN = re.compile(r"[\s,]*")
_OPENING = {"{": re.compile(r"\}\s*,\s*(?=\{)"), "[": re.compile(r"\]\s*,\s*(?=\[)")}
_DECODER = json.JSONDecoder()


def list_elements(source: LogSource, text: str, begin: int) -> Iterator[tuple[int, Any]]:
    """Yield the number of the line and the value of each element of a list.

    Parameters
    ----------
    source : LogSource
        Where damage is noted. After damaged elements reading goes on at the next one that begins alike.
    text : str
        The whole file.
    begin : int
        Where the list's first element begins, behind its bracket.
    """
    at, line, counted = begin, text.count("\n", 0, begin) + 1, begin
    first = ""
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        line, counted = line + text.count("\n", counted, at), at
        if at >= len(text):
            source.fault(line, "the list is not closed")
            return
        if text[at] == "]":
            return
        first = first or text[at]
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            following = _OPENING[first].search(text, at) if first in _OPENING else None
            source.fault(line, "an element is damaged" if following else "the list is damaged from here on")
            if following is None:
                return
            at = following.end()
            continue
        yield line, value
        at = end


def member(text: str, name: str) -> int:
    """Return where the elements of the list begin that is the named member; -1 where there is none."""
    found = re.search(rf'"{re.escape(name)}"\s*:\s*\[', text)
    return found.end() if found else -1
