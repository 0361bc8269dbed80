"""What an exercise says, as text and as HTML that survives a notebook's sanitiser (no classes, no scripts)."""

from __future__ import annotations

from dataclasses import dataclass

from workbench import markup

UNATTEMPTED, OPEN, SOLVED, SHOWN = "not attempted", "not yet", "solved", "solution shown"
_MARK = {True: "✓", False: "✗", None: "○"}
#: Characters of a note that is kept in one line.
_SHORT = 20
#: Readable on white and on dark grey.
_COLOUR = {True: "#3f9a45", False: markup.RED, None: "#808080"}
_FRAME = f"border-left: 3px solid {markup.AMBER}; padding: 2px 0 2px 12px; margin: 4px 0"


@dataclass(frozen=True)
class Item:
    """One line of a list: what it is called, what it says, a remark in grey, and what the student said."""

    name: str
    text: str
    note: str = ""
    said: str = ""

    def __str__(self) -> str:
        parts = [f"{self.name}:" if self.name else "", self.text, f"({self.note})" if self.note else ""]
        return " ".join(p for p in [*parts, f"You said: {self.said}." if self.said else ""] if p)

    def cells(self) -> tuple[object, ...]:
        """Return the line as cells of a table."""
        style = "opacity: 0.65" + ("; white-space: nowrap" if len(self.note) <= _SHORT else "")
        return markup.mono(self.name), prose(self.text), markup.styled(style, self.note), markup.mono(self.said)


@dataclass(frozen=True)
class Shown:
    """A heading, paragraphs, lists with a heading each, and a piece of code. Names of code stand in backquotes."""

    title: str
    text: str
    lists: tuple[tuple[str, tuple[Item, ...]], ...] = ()
    code: str = ""

    def __repr__(self) -> str:
        parts = [self.title, self.text]
        for head, items in self.lists:
            parts += [f"{head}:", *(f"  - {item}" for item in items)]
        return "\n".join(p for p in [*parts, self.code] if p)

    def _repr_html_(self) -> str:
        parts = [_title(self.title)]
        parts += [markup.styled("margin: 4px 0; max-width: 75em", prose(p), "p") for p in self.text.split("\n\n") if p]
        for head, items in self.lists:
            columns = [markup.Column(head if k == 1 else "") for k in range(4)]
            parts.append(markup.table(columns, [item.cells() for item in items]))
        if self.code:
            parts.append(markup.code(self.code))
        return markup.page(markup.styled(_FRAME, markup.join(*parts), "div"))


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    good : bool or None
        Reached, not reached, or not tried yet.
    text : str
    points : int
        What it gives when it is reached.
    slip : str
        Which misconception was recognised, ``"naive[0]"``; else empty.
    """

    good: bool | None
    text: str
    points: int = 0
    slip: str = ""


@dataclass(frozen=True)
class Verdict:
    """What `check` found.

    Attributes
    ----------
    title : str
    findings : tuple of Finding
    notes : tuple of str
        What was judged, and what the clock says, for interest only.
    """

    title: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """In words: not attempted, not yet, or solved."""
        if all(f.good for f in self.findings):
            return SOLVED
        return UNATTEMPTED if all(f.good is None for f in self.findings) else OPEN

    @property
    def points(self) -> int:
        """Points for what is reached."""
        return sum(f.points for f in self.findings if f.good)

    @property
    def possible(self) -> int:
        """Points for all of it."""
        return sum(f.points for f in self.findings)

    @property
    def solved(self) -> bool:
        """Whether nothing is missing."""
        return self.state == SOLVED

    def __bool__(self) -> bool:
        return self.solved

    def __repr__(self) -> str:
        head = f"{self.title}: {self.state}, {self.points} of {self.possible} points"
        return "\n".join([head, *(f"  {_MARK[f.good]} {f.text}" for f in self.findings), *self.notes])

    def _repr_html_(self) -> str:
        points = markup.faint(f" · {self.points} of {self.possible} points")
        rows = [(_coloured(f.good, _MARK[f.good]), prose(f.text), _worth(f)) for f in self.findings]
        table = markup.table((markup.Column(""), markup.Column(""), markup.Column("", number=True)), rows)
        notes = [markup.line(markup.faint(prose(note))) for note in self.notes]
        head = _title(markup.join(self.title, markup.faint(" · "), coloured(self.state), points))
        return markup.page(markup.styled(_FRAME, markup.join(head, table, *notes), "div"))


@dataclass(frozen=True)
class Report:
    """Where every exercise of a lab stands.

    Attributes
    ----------
    title : str
    facts : tuple of str
        Whose it is, and points in all.
    share : float
        Of the points.
    rows : tuple
        Exercise, its title, its state, points, points possible, checks and hints.
    note : str
        What comes next.
    """

    title: str
    facts: tuple[str, ...]
    share: float
    rows: tuple[tuple[str, str, str, float, int, int, int], ...]
    note: str = ""

    def __repr__(self) -> str:
        lines = [
            f"  {name} ({title}): {state}, {points:g} of {of} points"
            for name, title, state, points, of, *_ in self.rows
        ]
        return "\n".join([f"{self.title}: {', '.join(self.facts)}", *lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        names = ("", "exercise", "state", "points", "of", "checks", "hints")
        columns = [markup.Column(name, number=k > 2) for k, name in enumerate(names)]
        rows = [
            (markup.mono(name), title, coloured(state), f"{points:g}", of, checks or "", hints or "")
            for name, title, state, points, of, checks, hints in self.rows
        ]
        head = markup.heading("Lab", self.title, *self.facts)
        note = [markup.line(prose(self.note))] if self.note else []
        return markup.page(head, markup.line(markup.bar(self.share, 240)), markup.table(columns, rows), *note)


def prose(text: str) -> markup.Html:
    """Return a paragraph; what stands in backquotes is code."""
    return markup.join(*(markup.mono(part) if k % 2 else part for k, part in enumerate(text.split("`"))))


def coloured(state: str) -> markup.Html:
    """Return a state in its colour."""
    return _coloured({SOLVED: True, OPEN: False}.get(state), state)


def _coloured(good: bool | None, value: str) -> markup.Html:
    return markup.styled(f"color: {_COLOUR[good]}; white-space: nowrap", value)


def _title(value: object) -> markup.Html:
    return markup.styled("font-weight: bold; margin: 2px 0 4px 0", value, "div")


def _worth(found: Finding) -> object:
    text = f"{found.points if found.good else 0} of {found.points}"
    return markup.styled("opacity: 0.65; white-space: nowrap", text) if found.points else ""
