"""Slices that travel in a shorter form than they are read in, with both directions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workbench.analysis.loop_nest.nest_rows import name_of

SELF = "$"
"""Stands for the name that is selected, in a palette as it travels."""

UNSEEN = frozenset({"count", "code"})
"""What a palette knows of a primitive and does not send."""


def lean(nest: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what follows from the rest: how deep a row lies, and kinds of chips that all say how a loop runs."""
    return {**nest, "rows": [lean_row(row) for row in nest["rows"]]}


def lean_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of one row what `lean` leaves out."""
    kinds = [] if all(kind == "run" for kind in row["kinds"]) else row["kinds"]
    return {k: v for k, v in row.items() if k != "depth"} | {"kinds": kinds}


def deep(nest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a nest whose rows know how deep they lie: the row of the loop around comes first."""
    depths: dict[str, int] = {}
    for row in nest["rows"]:
        depths[row["id"]] = 0 if row["parent"] is None else depths.get(row["parent"], -1) + 1
    return {**nest, "rows": [{**row, "depth": depths[row["id"]]} for row in nest["rows"]]}


def relative(palette: Mapping[str, Any]) -> dict[str, Any]:
    """Say ``$`` for the name that is selected, so that most of a palette is the same for the next loop.

    ``name`` is what the sign stands for; "" where nothing was replaced, because nothing is selected or a text has the
    sign of its own. How many steps are legal and the codes of refusals stay here: nobody reads them on a screen.
    """
    rows = [{k: v for k, v in row.items() if k not in UNSEEN} for row in palette["rows"]]
    name = name_of(palette["at"])
    if not name or _mentions(rows, SELF):
        return {**palette, "name": "", "rows": rows}
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)")
    return {**palette, "name": name, "rows": [{**_each(row, _short(word)), "id": row["id"]} for row in rows]}


def absolute(palette: Mapping[str, Any]) -> dict[str, Any]:
    """Return a palette with the name of the selection back in its place."""
    name = palette.get("name", "")
    rows = _each(palette["rows"], lambda text: text.replace(SELF, name)) if name else palette["rows"]
    return {**palette, "rows": rows}


def _short(word: re.Pattern[str]) -> Callable[[str], str]:
    return lambda text: word.sub(SELF, text)


def _mentions(value: Any, text: str) -> bool:
    if isinstance(value, Mapping):
        return any(_mentions(v, text) for v in value.values())
    if isinstance(value, list | tuple):
        return any(_mentions(v, text) for v in value)
    return isinstance(value, str) and text in value


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """Change all texts; names that are keys (of an iteration) stay."""
    if isinstance(value, Mapping):
        return {k: _each(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_each(v, change) for v in value]
    return change(value) if isinstance(value, str) else value


_READ: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"nest": deep, "palette": absolute}


def readable(slices: Mapping[str, Any]) -> dict[str, Any]:
    """Return slices as they are meant to be read; the front end does the same (`widget/kernel/patches.ts`)."""
    return {name: _READ[name](value) if value and name in _READ else value for name, value in slices.items()}
