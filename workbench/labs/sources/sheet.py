"""A lab on paper: one page of HTML that needs nothing beside it and prints on A4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mistune

from workbench.labs.exercise import Exercise, Misconception, Prediction, Setting, said, valued
from workbench.labs.judging import answer_text, start_of
from workbench.labs.plan import LabPlan
from workbench.labs.sources.editions import Edition, cells_of
from workbench.labs.sources.names import cell_name, checked
from workbench.labs.sources.percent import Cell
from workbench.markup import plural, text
from workbench.pages import page, table
from workbench.target import Target

SHEET_STYLE = """
body { max-width: 720px; } h1 { margin-bottom: 2px; } pre { font: 12px/1.4 ui-monospace, monospace;
  white-space: pre-wrap; border-left: 2px solid var(--line); padding-left: 10px; margin: 8px 0; }
code { font: 12px ui-monospace, monospace; } .box { border: 1px solid var(--line); border-radius: 4px;
  padding: 4px 14px 12px; margin: 16px 0; } .box h3 { margin: 8px 0 4px; font-size: 15px; }
.room { border-bottom: 1px dotted var(--faint); display: inline-block; min-width: 140px; }
.lines { height: 104px; border: 1px dotted var(--faint); border-radius: 4px; margin: 8px 0; }
ul { margin: 4px 0; padding-left: 20px; } .lecturer { border-left: 3px solid var(--warn); padding-left: 10px; }
@page { size: A4; margin: 18mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --faint: #555; --line: #aaa; --page: #fff; --warn: #8a5a00; }
  body { padding: 0; max-width: none; font-size: 10.5pt; } h2 { break-after: avoid; margin-top: 22px; }
  .box, pre, table { break-inside: avoid; }
}
"""

_markdown = mistune.create_markdown(escape=True, plugins=["table"])


def sheet(plan: LabPlan, cells: Sequence[Cell], edition: Edition, student: str) -> str:
    """Return the page.

    Parameters
    ----------
    plan : LabPlan
    cells : sequence of Cell
        The lab's source.
    edition : {"student", "instructor"}
        A student's has room to write, an instructor's the answers and the texts for the lecturer.
    student : str
        Whose sizes the questions and answers are for, on this machine; empty for nobody in particular.
    """
    return "".join(page(f"{plan.number}. {plan.title}", _body(plan, cells, edition, student), SHEET_STYLE))


def _body(plan: LabPlan, cells: Sequence[Cell], edition: Edition, student: str) -> Iterator[str]:
    target = Target.host(threads=plan.threads)
    low, high = plan.minutes
    needs = ", ".join(plan.prerequisites) or "nothing"
    machine = f"{target.cpu}, {target.lanes('float32')} float32 numbers in a vector"
    about = f"{low} to {high} minutes, {plan.points} points. Needed before: {needs}. Machine: {machine}."
    yield f'<p>{text(plan.summary)}</p>\n<p class="faint">{text(about)}</p>\n'
    made = Sheet(plan, cells, edition, student)
    for cell in cells_of(cells, edition):
        yield from made.of(cell)


class Sheet:
    """Turns the cells of a lab into markup; the parameters are those of `sheet`.

    Attributes
    ----------
    shown : dict of str to Exercise
        Cells that show an exercise.
    """

    def __init__(self, plan: LabPlan, cells: Sequence[Cell], edition: Edition, student: str) -> None:
        self.edition, self._student, self._target = edition, student, Target.host(threads=plan.threads)
        self.shown = {cell_name(e, "show"): e for e in checked(plan, cells).values()}
        self._done = {cell_name(e, "do") for e in self.shown.values()}
        self._left_out = {cell_name(e, part) for e in self.shown.values() for part in ("predict", "check")}

    def of(self, cell: Cell) -> Iterator[str]:
        """Yield the markup of a cell: nothing of those in which a student answers and checks."""
        if (exercise := self.shown.get(cell.name)) is not None:
            yield from _exercise(exercise, exercise.setting_of(self._student, self._target), self.edition)
        elif cell.name in self._done and self.edition == "student":
            yield '<div class="lines"></div>\n'
        elif not cell.code:
            role = ' class="lecturer"' if "instructor" in cell.tags else ""
            yield f"<div{role}>{_below_the_title(str(_markdown(cell.text)))}</div>\n"
        elif cell.name not in self._left_out:
            yield f"<pre>{text(cell.text)}</pre>\n"


def _below_the_title(markup: str) -> str:
    """The page has its title already: headings of the notebook become those below it."""
    return markup.replace("<h1>", "<h2>").replace("</h1>", "</h2>")


def _exercise(exercise: Exercise, at: Setting, edition: Edition) -> Iterator[str]:
    points = plural(exercise.points, "point")
    yield f'<div class="box"><h3>Exercise: {text(exercise.title)} <span class="faint">({points})</span></h3>\n'
    yield from (f"<p>{text(part)}</p>\n" for part in said(exercise.task, at).split("\n\n"))
    if (start := start_of(exercise, at)) is not None:
        yield f"<pre>{text(start.nest())}</pre>\n"
    for p in exercise.predictions:
        shown = answer_text(p, valued(p.answer, at))
        room = f'<span class="room"></span> {text(p.unit)}' if edition == "student" else f"<b>{text(shown)}</b>"
        choices = f" ({', '.join(p.choices)})" if p.choices else ""
        yield f"<p>{text(said(p.question, at) + choices)} {room}</p>\n"
        if edition == "instructor" and p.misconceptions:
            yield from table(("Who says", "is told"), [_misconception(p, slip, at) for slip in p.misconceptions], ())
    if exercise.goals:
        goals = "".join(f"<li>{text(said(goal.text, at))}</li>" for goal in exercise.goals)
        yield f"<p>Then reach:</p>\n<ul>{goals}</ul>\n"
    if edition == "instructor":
        yield f"<p>{text(said(exercise.why, at))}</p>\n"
        hints = "".join(f"<li>{text(said(hint, at))}</li>" for hint in exercise.hints)
        yield f"<p>Hints:</p>\n<ol>{hints}</ol>\n"
    yield "</div>\n"


def _misconception(p: Prediction, slip: Misconception, at: Setting) -> list[object]:
    return [answer_text(p, valued(slip.says, at)), said(slip.hint, at)]
