"""The difference between two nests, line by line: what a schedule primitive has changed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from workbench.ir.func import Func
from workbench.ir.text.printer import to_text


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference: kept (" "), removed ("-") or added ("+"), with its text."""

    mark: Literal[" ", "-", "+"]
    text: str

    def __str__(self) -> str:
        return f"{self.mark} {self.text}".rstrip()


def diff(before: Func, after: Func, context: int | None = None) -> list[DiffLine]:
    """Compare the printed forms of two functions.

    Parameters
    ----------
    before, after : Func
    context : int, optional
        How many unchanged lines to keep around a change; all of them by default.

    Returns
    -------
    list of DiffLine
        Lines in the order of `after`, removed lines before the added ones that replace them.
    """
    old, new = to_text(before).splitlines(), to_text(after).splitlines()
    out: list[DiffLine] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            out += [DiffLine(" ", text) for text in new[j1:j2]]
        else:
            out += [DiffLine("-", text) for text in old[i1:i2]] + [DiffLine("+", text) for text in new[j1:j2]]
    return out if context is None else _trim(out, context)


def diff_text(before: Func, after: Func, context: int | None = None) -> str:
    """Return the difference as text, one line each (see `diff`)."""
    return "\n".join(str(line) for line in diff(before, after, context)) + "\n"


def _trim(lines: list[DiffLine], context: int) -> list[DiffLine]:
    changed = [k for k, line in enumerate(lines) if line.mark != " "]
    return [line for k, line in enumerate(lines) if any(abs(k - c) <= context for c in changed)]
