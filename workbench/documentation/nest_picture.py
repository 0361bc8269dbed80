"""A nest before and after a step as two drawings that take their colours from the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.analysis import NestRow, nest_rows
from workbench.analysis.graph_drawing.svg_canvas import THEMES, Canvas, width_of
from workbench.schedule import Schedule
from workbench.target import Target

#: Pixels: a row, a level of loops, the space around, the size of letters, and the widest drawing.
_ROW, _STEP, _PAD, _SIZE, _WIDEST = 22, 13, 6, 11, 720
#: What a mark of a loop is drawn with; other loops have a thin frame.
_MARKS = {"parallel": "ac", "vectorize": "s4", "unroll": "s3"}
#: The machine that the words of a row are about, so that a drawing is the same wherever it is made.
_TARGET = "llvm -mcpu=x86-64-v3 -threads=4"
_COLOURS = {token: f"var(--wb-{token}, {value})" for token, value in THEMES["light"].items()}


def style_sheet() -> str:
    """Return the colours of drawings on a light and on a dark page, for Furo's switch and for paper."""
    light, dark = (" ".join(f"--wb-{t}: {v};" for t, v in THEMES[name].items()) for name in ("light", "dark"))
    return (
        "/* Made by `python -m workbench.documentation`. */\n"
        f"body {{ {light} }}\n"
        f'@media screen {{ body[data-theme="dark"] {{ {dark} }} }}\n'
        f'@media screen and (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {{ {dark} }} }}\n'
    )


def before_and_after(before: Schedule, after: Schedule, step: str) -> str:
    """Return a figure in HTML: two drawings, in which what the step changed is marked.

    Parameters
    ----------
    before, after : Schedule
    step : str
        The step in words, for those who hear the page.
    """
    lines = [_lines(s) for s in (before, after)]
    known = [{_said(row) for row in rows} for rows in lines]
    left = _drawing(lines[0], known[1], f"The nest before {step}", "dng")
    right = _drawing(lines[1], known[0], f"The nest after {step}", "ac")
    parts = [f"<div><span>{word}</span>{drawn}</div>" for word, drawn in (("before", left), ("after", right))]
    return f'<div class="wb-steps">\n{"".join(parts)}</div>\n'


def _lines(schedule: Schedule) -> Sequence[NestRow]:
    """Temporaries, as rows of their own, then the rows of the nest."""
    texts = [line.strip() for line in str(schedule.nest()).splitlines() if line.startswith("  temp ")]
    temps = [NestRow(text, None, 0, "stmt", "", text=text) for text in texts]
    return [*temps, *nest_rows(schedule.func, Target(_TARGET)).rows]


def _said(row: NestRow) -> tuple[object, ...]:
    return row.id, row.parent, row.extent, row.mark, row.chips, row.text


def _words(row: NestRow) -> str:
    if row.kind != "loop":
        return row.text
    marked = f"{row.mark} " if row.mark != "serial" else ""
    notes = [c for c in row.chips if not c.startswith(row.mark)]
    return f"{marked}{row.name} in {row.extent}" + (f"  · {', '.join(notes)}" if notes else "")


def _drawing(rows: Sequence[NestRow], known: Collection[object], title: str, colour: str) -> str:
    """Loops are frames around what runs in them; rows that the other side does not know have a bar."""
    width = max(width_of(_words(r), _SIZE, mono=True) + 2 * _STEP * r.depth for r in rows) + 6 * _PAD
    width = min(width, _WIDEST)
    canvas = Canvas(_COLOURS)
    for at, row in enumerate(rows):
        x, y = _PAD + row.depth * _STEP, _PAD + at * _ROW
        if row.kind == "loop":
            inside = _inside(rows, at)
            mark = _MARKS.get(row.mark) or ("ac" if row.mark != "serial" else "line2")
            height = (inside + 1) * _ROW - 2 - _closing(rows, at, inside)
            canvas.rect(x, y, width - 2 * x, height, fill="bg", r=3, stroke=canvas.colour[mark])
            canvas.rect(x, y, 3, height, fill=mark, r=1.5)
        if _said(row) not in known:
            canvas.rect(x + 4, y + 2, width - 2 * x - 6, _ROW - 7, fill="soft", r=2)
            canvas.rect(width - x - 5, y + 2, 3, _ROW - 7, fill=colour)
        room = width - 2 * x - 8
        fill = "tx" if row.kind == "loop" else "tx2"
        canvas.text(x + 8, y + 14, _words(row), room=room, size=_SIZE, mono=True, fill=fill, bold=row.kind == "loop")
    return canvas.done(width, len(rows) * _ROW + 2 * _PAD, title)


def _inside(rows: Sequence[NestRow], at: int) -> int:
    """Rows that lie inside the loop of a row."""
    return next((n for n, r in enumerate(rows[at + 1 :]) if r.depth <= rows[at].depth), len(rows) - at - 1)


def _closing(rows: Sequence[NestRow], at: int, inside: int) -> int:
    """Keep the lower edges of frames apart that end with the same row."""
    return min(rows[at].depth, 3) if inside else 0
