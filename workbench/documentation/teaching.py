"""The page of all labs for lecturers: times, what is needed, exercises and points, from the declarations.

Answers are not on it, because students read the site: the instructor's sheet has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.labs import LabPlan, plans

_HEAD = """\
# All labs

This page is made from the declarations by `python -m workbench.documentation`. Answers, typical wrong ones with what
the lab tells, and questions for an exam are on the instructor's sheets: `workbench labs new DIR --instructor --sheet`.
"""


def labs_page() -> str:
    """Return the page in Markdown."""
    rows = [
        f"| {plan.number} | [{plan.title}](#{_anchor(plan)}) | `{plan.name}` | {_minutes(plan)} | {plan.points} "
        f"| {', '.join(plan.prerequisites) or '–'} |"
        for plan in plans().values()
    ]
    table = "\n".join(["| | Lab | Name | Minutes | Points | After |", "|---|---|---|---|---|---|", *rows])
    return "\n".join([_HEAD, table, *(part for plan in plans().values() for part in _lab(plan))])


def _anchor(plan: LabPlan) -> str:
    """The anchor of a lab's heading, as sites make it."""
    return re.sub(r"[^\w -]", "", f"{plan.number}. {plan.title}".lower()).replace(" ", "-")


def _minutes(plan: LabPlan) -> str:
    return "{}–{}".format(*plan.minutes)


def _lab(plan: LabPlan) -> Iterator[str]:
    off = [name for name in ("advice", "tuner", "solutions") if not getattr(plan.settings, name)]
    yield f"\n## {plan.number}. {plan.title}\n"
    yield plan.summary
    if off:
        yield f"\nOff while it is open, where nothing else is said: {', '.join(off)}."
    yield "\n| Exercise | Name | Work | Questions | Points |\n|---|---|---|---|---|"
    for e in plan.exercises:
        work = "–" if e.work is None else type(e.work).__name__.lower()
        yield f"| {e.title} | `{e.name}` | {work} | {len(e.predictions)} | {e.points} |"
