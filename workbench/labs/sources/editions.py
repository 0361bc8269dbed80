"""Editions of a lab's source as notebooks: the student's has stubs where the instructor's has solutions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from workbench.labs.sources.percent import Cell

Edition: TypeAlias = Literal["student", "instructor"]
Notebook: TypeAlias = "dict[str, Any]"
"""A notebook of format 4.5, as JSON has it."""

_LEFT_OUT: dict[Edition, frozenset[str]] = {
    "student": frozenset({"solution", "instructor"}),
    "instructor": frozenset({"stub"}),
}
_SLIDES = ("slide", "subslide", "skip")


def cells_of(cells: Sequence[Cell], edition: Edition) -> tuple[Cell, ...]:
    """Return the cells that an edition has, in their order."""
    return tuple(cell for cell in cells if not cell.tags & _LEFT_OUT[edition])


def with_marked_solutions(cells: Sequence[Cell], begin: str, end: str) -> tuple[Cell, ...]:
    """Return the cells as graders want them: each stub, and behind it its solution between two lines.

    The stub runs first and does no harm; the grader takes away what stands between the lines. What is to be filled in
    keeps the tag "stub". Texts for the lecturer are left out, because graders would hand them to students.
    """
    stubs = {cell.name: cell.text for cell in cells if "stub" in cell.tags}
    found = []
    for cell in cells:
        if "solution" in cell.tags and cell.code:
            lines = [*filter(None, [stubs.get(cell.name)]), begin, cell.text, end]
            found.append(replace(cell, text="\n".join(lines), tags=frozenset({"stub"})))
        elif not cell.tags & {"stub", "solution", "instructor"}:
            found.append(cell)
    return tuple(found)


def edition_of(cells: Sequence[Cell], edition: Edition, lab: str) -> Notebook:
    """Return an edition as a notebook without outputs.

    Parameters
    ----------
    cells : sequence of Cell
        A whole source.
    edition : {"student", "instructor"}
    lab : str
        Name of the lab, which the notebook's metadata keep.
    """
    return notebook([notebook_cell(cell) for cell in cells_of(cells, edition)], lab=lab, edition=edition)


def notebook(cells: list[dict[str, Any]], **about: str) -> Notebook:
    """Return a notebook of these cells; `about` goes to its metadata."""
    metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "workbench": about,
    }
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def notebook_cell(cell: Cell, **metadata: Any) -> dict[str, Any]:
    """Return one cell of a notebook; its slides follow from the tags, and `metadata` are added."""
    slides = [tag for tag in _SLIDES if tag in cell.tags] or ["notes"] * ("instructor" in cell.tags)
    if slides:
        metadata["slideshow"] = {"slide_type": slides[0]}
    if kept := sorted(cell.tags & {"solution", "instructor"}):
        metadata["tags"] = kept
    kind = "code" if cell.code else "markdown"
    run: dict[str, Any] = {"execution_count": None, "outputs": []} if cell.code else {}
    source = cell.text.splitlines(keepends=True)
    return {"cell_type": kind, "id": cell.name, "metadata": metadata, **run, "source": source}


def as_text(made: Notebook) -> str:
    """Return a notebook in the form in which JupyterLab writes it."""
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
