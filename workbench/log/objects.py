"""The JSON objects that the lines of a log are."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Sequence
from typing import Any

DEEPEST = 100
"""Lists and objects that may stand in each other. Chosen: below the depth that Python's JSON can write."""


def line_objects(lines: Sequence[bytes], without: re.Pattern[bytes] | None = None) -> Sequence[dict[str, Any] | None]:
    """Return the object of each line as `line_object` does, of all at once where none is damaged: that is quicker.

    Parameters
    ----------
    lines : sequence of bytes
        They follow each other in a file: all but the last one have an end.
    without : Pattern, optional
        What is cut out of the lines before.
    """
    block = b"".join(lines)
    short = lines if without is None else (without.sub(b"", block).rstrip(b"\n")).split(b"\n")
    if len(short) == len(lines) and max(map(_brackets, short), default=0) <= DEEPEST:
        with contextlib.suppress(ValueError, RecursionError):
            found = _decode(f"[{b','.join(short).decode('utf-8', 'surrogatepass')}]")
            if len(found) == len(lines) and set(map(type, found)) == {dict}:
                return found  # type: ignore[no-any-return]
    return [line_object(line) for line in lines]


def line_object(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None for anything else, NaN included, which is no JSON."""
    try:
        data = _decode(raw.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if _brackets(raw) > DEEPEST and _deeper(data, DEEPEST):
        return None  # what cannot be written back is not read
    return data if isinstance(data, dict) else None


def damage(raw: bytes, number: int) -> str:
    """Say what is wrong with a line that holds no JSON object."""
    with contextlib.suppress(ValueError, RecursionError):
        data = json.loads(raw)
        fields = data.items() if isinstance(data, dict) else ()
        names = [name for name, value in fields if isinstance(value, float) and not math.isfinite(value)]
        if names:
            return f"Line {number} of the log has a number that is not finite: {', '.join(names)}"
    return f"Line {number} of the log is not a record"


def _brackets(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{")


def _deeper(data: Any, levels: int) -> bool:
    """Whether lists and objects stand in each other over more than so many levels."""
    layer = [data]
    for _ in range(levels):
        inner = (x for item in layer for x in (item.values() if isinstance(item, dict) else item))
        layer = [x for x in inner if isinstance(x, dict | list)]
    return bool(layer)


def _refused(constant: str) -> None:
    raise ValueError(constant)


_decode = json.JSONDecoder(parse_constant=_refused).decode
