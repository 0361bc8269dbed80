"""A class as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench.labs.grading.class_report import first_wrong, legend, misconceptions, points, totals, where_stuck
from workbench.labs.plan import plans
from workbench.markup import text
from workbench.pages import page, table

if TYPE_CHECKING:
    import pandas

_STYLE = "body { max-width: 1200px; } h2 { margin-top: 32px; } li { overflow-wrap: anywhere; }"


def report_page(frame: pandas.DataFrame, title: str) -> str:
    """Return one page of HTML about a class, which needs nothing beside it."""
    return "".join(page(title, _body(frame), _STYLE))


def told_of_files(frame: pandas.DataFrame) -> list[tuple[str, dict[str, str]]]:
    """Return what is said of files, under its head: a file and a text."""
    named = (("To look at first", "doubts"), ("Handed in several times", "notes"), ("Not judged", "unread"))
    told: list[tuple[str, dict[str, Any]]] = [(head, frame.attrs[name]) for head, name in named]
    return [
        (head, {file: why if isinstance(why, str) else " ".join(why) for file, why in files.items()})
        for head, files in told
        if files
    ]


def totals_table(frame: pandas.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Return heads and rows: each student's points of each lab, and of all."""
    found = totals(frame)
    names = [str(name) for name in found.columns[1:-3]]
    rows: list[list[object]] = []
    for row in found.to_dict("records"):
        mark = " !" if row["look_first"] else ""
        rows.append([f"{row['student']}{mark}", *("–" if row[n] != row[n] else f"{row[n]:g}" for n in names)])
    return ["Student", *(name.capitalize() if name in ("points", "possible") else name for name in names)], rows


def _body(frame: pandas.DataFrame) -> Iterator[str]:
    yield f'<p class="faint">{text(frame.attrs["finding"])}</p>\n'
    for head, told in told_of_files(frame):
        yield f"<h2>{head}</h2>\n"
        yield from table(("File", "Why"), list(told.items()), ())
    if len(frame):
        yield "<h2>Points</h2>\n"
        heads, rows = totals_table(frame)
        yield from table(heads, rows, range(1, len(heads)))
    for lab, heads, rows in points(frame):
        plan = plans().find(lab)
        yield f"<h2>Points: {plan.number}. {text(plan.title)}</h2>\n"
        yield from table(heads, rows, range(1, len(heads)))
    yield from (f'<p class="faint">{text(line)}</p>\n' for line in legend(frame))
    if len(frame):
        yield from _stuck(frame)


def _stuck(frame: pandas.DataFrame) -> Iterator[str]:
    yield "<h2>Where students got stuck</h2>\n"
    heads = ("Lab", "Exercise", "Students", "Begun", "Solved", "Points", "Checks", "Hints", "Solutions", "Minutes")
    stuck: list[Any] = where_stuck(frame).to_dict("records")
    rows = [
        [r["lab"], r["title"], r["students"], r["begun"], r["solved"], f"{100 * r['share']:.0f} %",
         f"{r['attempts']:g}", r["hints"], r["solutions"], f"{r['minutes']:.0f}"]
        for r in stuck
    ]  # fmt: skip
    yield from table(heads, rows, range(2, len(heads)))
    yield '<p class="faint">Checks and minutes are medians among those who have begun.</p>\n'
    for head, found, names in (
        ("Misconceptions", misconceptions(frame), ("Lab", "Exercise", "Question", "Students", "What it was told")),
        ("First wrong answers", first_wrong(frame), ("Lab", "Exercise", "Question", "Answer", "Students")),
    ):
        yield f"<h2>{head}</h2>\n"
        if not len(found):
            yield '<p class="faint">None.</p>\n'
            continue
        yield from table(names, found.to_numpy().tolist(), {names.index("Students")})
