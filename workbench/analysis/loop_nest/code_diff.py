"""What differs between the code of two schedules, line by line, and between what is estimated of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench import markup as m
from workbench.analysis.loop_nest.code_listing import CodeKind, Line, Listing, listing
from workbench.analysis.loop_nest.schedule_estimate import Estimate, estimate
from workbench.arguments import is_a, whole
from workbench.ir import Func, blocks, loops
from workbench.schedule import Schedule
from workbench.target import Target

#: Lines of a listing that are compared: the table of common lines grows with their square. Chosen, not measured.
MAX_LINES = 4_000

Mark: TypeAlias = Literal[" ", "-", "+", "~"]
Side: TypeAlias = tuple[int, str] | None


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of each side, with its number from 0 on.

    Attributes
    ----------
    mark : str
        Whether the two say the same (``" "``), something else about the same loop or statement (``~``), or one of them
        is missing: ``-`` without `right`, ``+`` without `left`.
    row : str
        Row of the nest that it is about; "" for none.
    """

    mark: Mark
    left: Side
    right: Side
    row: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two schedules; printing it shows the changed lines.

    Attributes
    ----------
    kind : str
        What was compared, as for `listing`.
    rows : tuple of DiffRow
        Changed lines, and as many of their neighbours as were asked for.
    changed, folded : int
        Lines that are not the same, and those that are and were left out.
    estimates : tuple of Estimate
        Of the two schedules, where it was asked for.
    cut : str
        What was not compared; empty when everything was.
    """

    kind: CodeKind
    rows: tuple[DiffRow, ...]
    changed: int
    folded: int
    estimates: tuple[Estimate, Estimate] | None = None
    cut: str = ""

    @property
    def bytes(self) -> dict[str, tuple[int, int]]:
        """Bytes that each cache fetches from the next one, estimated, in both."""
        if self.estimates is None:
            return {}
        a, b = (found.bytes for found in self.estimates)
        return {level: (a[level], b[level]) for level in a if level in b}

    def __str__(self) -> str:
        return "\n".join([*self._head(), *self._lines()]) + "\n"

    def _head(self) -> Iterator[str]:
        if self.estimates is not None:
            yield f"estimate: {self.estimates[0]} -> {self.estimates[1]}"
        for level, (a, b) in self.bytes.items():
            yield f"bytes into {level}: {m.size(a)} -> {m.size(b)}"
        yield f"{m.plural(self.changed, 'line')} of the {_NAMES[self.kind]} changed"
        if self.cut:
            yield self.cut

    def _lines(self) -> Iterator[str]:
        for one in self.rows:
            if one.mark == "~":
                yield from (f"{sign} {side[1]}" for sign, side in (("-", one.left), ("+", one.right)) if side)
            else:
                side = one.left or one.right
                assert side is not None
                yield f"{one.mark} {side[1]}"

    def _repr_html_(self) -> str:
        body = [[one.mark, *_cells(one.left), *_cells(one.right)] for one in self.rows]
        return "".join(str(m.text(line, 200)) + "<br>" for line in self._head()) + str(m.table(_COLUMNS, body))


_NAMES = {"nest": "nest", "c": "C code", "llvm": "LLVM code", "asm": "assembly"}
_COLUMNS = (
    m.Column(""), m.Column("", number=True), m.Column("before"), m.Column("", number=True), m.Column("after"),
)  # fmt: skip


def _cells(side: Side) -> tuple[str, m.Html]:
    if side is None:
        return "", m.Html("")
    line = side[1].expandtabs(4)
    return str(side[0] + 1), m.indented((len(line) - len(line.lstrip())) // 2, m.mono(line.strip(), 120))


def difference(
    a: Schedule,
    b: Schedule,
    kind: CodeKind = "nest",
    *,
    row: str | None = None,
    context: int | None = 3,
    target: Target | None = None,
) -> Difference:
    """Compare the code of two schedules, and what is estimated of them.

    Lines that say the same with other indentation, registers, value numbers or labels count as the same.

    Parameters
    ----------
    a, b : Schedule
        Before and after.
    kind : str
        ``nest``, ``c``, ``llvm`` or ``asm``.
    row : str, optional
        Only the lines of this row of the nest and of the rows inside of it.
    context : int or None
        So many unchanged lines stay around the changed ones; None keeps all.
    target : Target, optional
        What code is generated and estimated for; the schedules' own by default, or this machine.

    Raises
    ------
    WorkbenchError
        What `listing` raises; "hole.empty" when no combination of open numbers is legal.
    """
    for name, one in (("a", a), ("b", b)):
        is_a(name, one, Schedule, "pass two schedules")
    rows = None if row is None else rows_inside(a.func, row) | rows_inside(b.func, row)
    found = changes(listing(a, kind, target), listing(b, kind, target), rows=rows, context=context)
    return replace(found, estimates=(estimate(a, target), estimate(b, target)))


def rows_inside(func: Func, row: str) -> frozenset[str]:
    """Return a row of the nest and those inside of it."""
    for loop, _ in loops(func.body):
        if loop.name == row:
            below = {lp.name for lp, _ in loops((loop,))}
            return frozenset(below | {f"{what}:{b.name}" for b, _ in blocks((loop,)) for what in ("stmt", "init")})
    return frozenset((row,))


def changes(a: Listing, b: Listing, *, rows: frozenset[str] | None = None, context: int | None = 3) -> Difference:
    """Compare two listings of one kind; arguments and result as for `difference`, without its estimates."""
    if context is not None:
        whole("context", context, 0)
    left, right = (
        [(n, line) for n, line in enumerate(listing) if rows is None or line.row in rows] for listing in (a, b)
    )
    longest = max(len(left), len(right))
    cut = f"only the first {m.counted(MAX_LINES)} lines of each are compared" if longest > MAX_LINES else ""
    every = list(_rows(left[:MAX_LINES], right[:MAX_LINES], a.kind))
    near = _near([one.mark != " " for one in every], context)
    kept = tuple(one for one, keep in zip(every, near, strict=True) if keep)
    return Difference(a.kind, kept, sum(one.mark != " " for one in every), len(every) - len(kept), None, cut)


def _near(changed: list[bool], context: int | None) -> list[bool]:
    """Which rows are changed or have a changed one within so many rows."""
    if context is None:
        return [True] * len(changed)
    keep = [False] * len(changed)
    for at in (k for k, one in enumerate(changed) if one):
        for k in range(max(0, at - context), min(len(changed), at + context + 1)):
            keep[k] = True
    return keep


Numbered: TypeAlias = tuple[int, Line]
_INDENT = (re.compile(r"^\s+"), "")
#: What does not tell two lines apart, by the kind of the listing: pattern and what stands for it. Another language is
#: taken for one like C.
_PLAIN: dict[CodeKind, tuple[tuple[re.Pattern[str], str], ...]] = {
    # A nest of its own that moves into another one does change.
    "nest": ((re.compile(r"^ {3,}"), "   "),),
    "c": (_INDENT,),
    "llvm": (_INDENT, (re.compile(r"%[\w.]+"), "%"), (re.compile(r"^[\w.]+:$"), ":")),
    "asm": (
        _INDENT,
        (re.compile(r"\.?\bL[\w$]+"), "L"),
        (re.compile(r"-?\d+\(%rsp\)|\[sp, #-?\d+\]"), "(sp)"),
        (re.compile(r"%([xyzt]mm|k)\d+"), r"%\1"),
        (re.compile(r"%[re]?[a-ds][ipxl]?[lh]?\b|%r\d+[dwb]?"), "%r"),
        (re.compile(r"\b([xwvqdsbhz])\d+\b"), r"\1"),
    ),
}


def _plain(text: str, kind: CodeKind) -> str:
    for pattern, stand_in in _PLAIN.get(kind, _PLAIN["c"]):
        text = pattern.sub(stand_in, text)
    return text


def _rows(left: Sequence[Numbered], right: Sequence[Numbered], kind: CodeKind) -> Iterator[DiffRow]:
    """Yield every line of both sides, in order."""
    keys = [[(line.row, _plain(line.text, kind)) for _, line in side] for side in (left, right)]
    i = j = 0
    for a, b in [*common(*keys), (len(left), len(right))]:
        yield from _changed(left[i:a], right[j:b], kind)
        if a < len(left):
            yield _row(" ", left[a], right[b])
        i, j = a + 1, b + 1


def _changed(left: Sequence[Numbered], right: Sequence[Numbered], kind: CodeKind) -> Iterator[DiffRow]:
    """Yield lines between two that are the same; what is about the same thing stands side by side."""
    about = [[_about(line, kind) for _, line in side] for side in (left, right)]
    i = j = 0
    for a, b in [*common(*about), (len(left), len(right))]:
        yield from (_row("-", one, None) for one in left[i:a])
        yield from (_row("+", None, one) for one in right[j:b])
        if a < len(left):
            yield _row("~", left[a], right[b])
        i, j = a + 1, b + 1


def _about(line: Line, kind: CodeKind) -> tuple[str, ...]:
    """What a line is about: its row, and which instruction it is; without a row, what it begins with."""
    words = _plain(line.text, kind).split()
    if kind in ("llvm", "asm"):
        return (line.row, *words[2 if words[1:2] == ["="] else 0 :][:1])
    return (line.row,) if line.row else tuple(words[:2])


def _row(mark: Mark, left: Numbered | None, right: Numbered | None) -> DiffRow:
    sides = [None if one is None else (one[0], one[1].text) for one in (left, right)]
    line = (right or left or (0, Line("")))[1]
    return DiffRow(mark, sides[0], sides[1], line.row)


def common(a: Sequence[object], b: Sequence[object]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence in both, in order; equal ends always belong to it."""
    numbers: dict[object, int] = {}
    x, y = (np.array([numbers.setdefault(one, len(numbers)) for one in side], np.int32) for side in (a, b))
    head = _equal(x, y)
    tail = _equal(x[head:][::-1], y[head:][::-1])
    inner = _subsequence(x[head : len(x) - tail], y[head : len(y) - tail])
    first = [(k, k) for k in range(head)]
    last = [(len(x) - k, len(y) - k) for k in range(tail, 0, -1)]
    return [*first, *((head + i, head + j) for i, j in inner), *last]


def _equal(x: NDArray[np.int32], y: NDArray[np.int32]) -> int:
    """How many of the first ones are equal."""
    n = min(len(x), len(y))
    differ = np.flatnonzero(x[:n] != y[:n])
    return int(differ[0]) if len(differ) else n


def _subsequence(x: NDArray[np.int32], y: NDArray[np.int32]) -> list[tuple[int, int]]:
    n, size = len(x), len(y)
    if not n or not size:
        return []
    # best[i, j]: the longest for what follows i and j; a row at a time, for Python alone takes far too long.
    best = np.zeros((n + 1, size + 1), np.uint16)
    for i in range(n - 1, -1, -1):
        row = np.maximum(best[i + 1, :-1], best[i + 1, 1:] + (y == x[i]))
        best[i, :-1] = np.maximum.accumulate(row[::-1])[::-1]
    out = []
    i = j = 0
    while i < n and j < size:
        if x[i] == y[j]:
            out.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1, j] >= best[i, j + 1]:
            i += 1
        else:
            j += 1
    return out
