"""Reads notebooks that are written as Python text: the percent format of Jupytext, in the part that labs need.

A cell begins with ``# %% name`` (code) or ``# %% name [markdown]``, and may have ``tags=["solution"]`` behind it. The
name becomes the id of the cell, so that a change shows as what it is. Lines of a text begin with ``#``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from workbench.errors import InputError, did_you_mean

TAGS = {
    "solution": "code of the instructor's edition only",
    "stub": "code of the student's edition, in the place of a solution of the same name",
    "instructor": "text for the lecturer only",
    "slide": "begins a slide",
    "subslide": "begins a slide below the one before",
    "skip": "is on no slide",
}
"""Tags of a cell and what they do."""

_HEAD = re.compile(r"# %%(?P<name> [^\[=]*?)?(?P<kind> \[\w+\])?(?P<tags> tags=.*)?")
_NAME = re.compile(r"[a-z]+(-[a-z0-9]+)*")
_MADE_UP = re.compile(r"[0-9a-f-]{8,}")
_MAGIC = re.compile(r"(# ?)?[%!]\w")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a source.

    Attributes
    ----------
    name : str
        Its id in the notebook. A solution and the stub in its place have the same one.
    code : bool
        Whether it is code, not text.
    text : str
        What stands in it, without blank lines around.
    tags : frozenset of str
        Of `TAGS`.
    line : int
        Where it begins, from 1.
    """

    name: str
    code: bool
    text: str
    tags: frozenset[str]
    line: int


def is_name(text: str) -> bool:
    """Whether this is a name that a person gave; JupyterLab makes up eight hexadecimal digits and more."""
    return _NAME.fullmatch(text) is not None and not _MADE_UP.fullmatch(text)


def read(text: str, file: str) -> tuple[Cell, ...]:
    """Return the cells of a source.

    Parameters
    ----------
    text : str
        What is in the file.
    file : str
        Its name, for errors.

    Raises
    ------
    InputError
        "lab.source" with the line: a head that is not understood, no name, a name twice, an unknown tag, a magic.
    """
    cells: list[Cell] = []
    lines = text.splitlines()
    heads = [k for k, line in enumerate(lines) if line.startswith("# %%")]
    if not heads or any(line.strip() for line in lines[: heads[0]]):
        told = "Something stands before the first cell" if heads else "There is no cell"
        _refuse(file, 1, told, "begin with '# %% title [markdown]'")
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        cells.append(_cell(lines[start], lines[start + 1 : end], file, start + 1))
    _check_names(cells, file)
    return tuple(cells)


def _cell(head: str, body: list[str], file: str, line: int) -> Cell:
    found = _HEAD.fullmatch(head.rstrip())
    kind = (found["kind"] or "").strip(" []") if found else ""
    if found is None or kind not in ("", "markdown"):
        form = "# %% name [markdown] tags=[\"skip\"], with '[markdown]' and tags where they are needed"
        _refuse(file, line, f"The head of this cell is not understood: {head}", f"its form is {form}")
    name = (found["name"] or "").strip()
    if not is_name(name):
        _refuse(file, line, "This cell has no name of small letters, digits and hyphens", "as in '# %% traffic-do'")
    tags = _tags((found["tags"] or "").strip(), file, line)
    for offset, one in enumerate(body):
        if not kind and _MAGIC.match(one):
            _refuse(file, line + 1 + offset, "Magics of IPython are not possible in a lab's source", "write Python")
        if kind and one.strip() and not (one == "#" or one.startswith("# ")):
            _refuse(file, line + 1 + offset, "A line of a text does not begin with '# '", "put '# ' before it")
    content = "\n".join(one[2:] for one in body) if kind else "\n".join(body)
    return Cell(name, not kind, content.strip("\n"), tags, line)


def _tags(text: str, file: str, line: int) -> frozenset[str]:
    if not text:
        return frozenset()
    try:
        tags = json.loads(text.removeprefix("tags="))
    except ValueError:
        tags = None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        _refuse(file, line, f"These tags are not understood: {text}", 'their form is tags=["solution", "skip"]')
    for tag in tags:
        if tag not in TAGS:
            _refuse(file, line, f"There is no tag '{tag}'", did_you_mean(tag, TAGS, "tags"))
    return frozenset(tags)


def _check_names(cells: list[Cell], file: str) -> None:
    """Within an edition every name is there once; what differs is in pairs of solution and stub."""
    for own, other in (("stub", "solution"), ("solution", "stub")):
        seen: set[str] = set()
        for cell in cells:
            if other in cell.tags or (own == "stub" and "instructor" in cell.tags):
                continue
            if cell.name in seen:
                _refuse(file, cell.line, f"There are two cells of the name '{cell.name}'", "rename one of them")
            seen.add(cell.name)
    solutions = {cell.name for cell in cells if "solution" in cell.tags}
    for cell in cells:
        if "stub" in cell.tags and cell.name not in solutions:
            _refuse(file, cell.line, f"The stub '{cell.name}' has no solution", "give a cell of its name that tag")
        if "instructor" in cell.tags and cell.code:
            _refuse(file, cell.line, "Only a text can be for the instructor alone", "give code the tag 'solution'")


def _refuse(file: str, line: int, message: str, hint: str) -> NoReturn:
    raise InputError("lab.source", message, [f"{file}, line {line}"], hint)
