"""A class at a glance: points of each student and exercise, and where students got stuck."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import path as checked_path
from workbench.errors import InputError
from workbench.labs.exercise import said
from workbench.labs.grading.several import told_apart
from workbench.labs.grading.submissions import Submission, Unread, submissions
from workbench.labs.plan import plans
from workbench.labs.progress.lab_file import LabFile, read_lab_file
from workbench.safe_text import spreadsheet_text
from workbench.target import Target

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "student", "lab", "exercise", "title", "state", "points", "possible", "attempts", "hints", "solution", "minutes",
    "slips", "first_wrong", "genuine", "on_trust", "file", "late",
)  # fmt: skip
_SOLVED = "solved"
_MORE = {"on_trust": "On trust", "late": "Late"}


def class_report(folder: str | os.PathLike[str], course: LabFile | None = None, run: bool = False) -> pandas.DataFrame:
    """Return where a class stands: one row for each student, lab and exercise; doubtful hand-ins stand first.

    Parameters
    ----------
    folder : path
        With hand-ins (``NAME.handin.json``), or progress files, in folders of students.
    course : LabFile, optional
        The lecturer's, with key and settings; by default ``lab.json`` in the folder, or what lies beside each file.
    run : bool
        Whether notebooks without either are run, and those beside a hand-in with points on trust.

    Returns
    -------
    DataFrame
        ``student lab exercise title state points possible attempts hints solution minutes slips first_wrong genuine
        on_trust file late``: points judged anew; ``slips``, the misconceptions that were recognised; ``first_wrong``, a
        dict of a question to the first wrong answer; ``on_trust``, points for functions in Python that were only read;
        ``late``, hours after it was due, by the student's clock. Of work in several files of one student's folder the
        better one of each exercise counts. ``attrs`` has ``doubts`` (a file and what speaks against it), ``notes`` (a
        file and what is to be known of it), ``unread`` (a file and why), ``finding``.

    Raises
    ------
    InputError
        "lab.not_a_folder".
    """
    import pandas

    place = Path(checked_path("folder", folder))
    if not place.is_dir():
        raise InputError("lab.not_a_folder", f"'{place}' is no folder", [str(place)], "name the folder of a class")
    found = list(submissions(place, course or read_lab_file(place), run))
    read = told_apart(s for s in found if isinstance(s, Submission))
    good = sorted(read, key=lambda s: (s.grade.genuine, s.student, s.file))
    frame = pandas.DataFrame([row for one in good for row in _rows(one)], columns=list(COLUMNS))
    frame.attrs["doubts"] = {s.file: list(s.grade.faults) for s in good if s.grade.faults}
    frame.attrs["notes"] = {s.file: list(s.notes) for s in good if s.notes}
    frame.attrs["unread"] = {s.file: s.why for s in found if isinstance(s, Unread)}
    frame.attrs["finding"] = _finding(frame)
    return frame


def _rows(one: Submission) -> Iterator[list[object]]:
    for e in one.grade.exercises:
        wrong = {name: answer for (exercise, name), (answer, _) in one.wrong.items() if exercise == e.name}
        yield [
            one.student, one.grade.lab, e.name, e.title, e.state, e.points, e.possible, e.attempts, e.hints, e.solution,
            e.minutes, e.slips, wrong, one.grade.genuine, e.on_trust, one.file, round(one.late, 2),
        ]  # fmt: skip


def _finding(frame: pandas.DataFrame) -> str:
    if not len(frame):
        return "There is no hand-in."
    students, doubts = frame["student"].nunique(), len(frame.attrs["doubts"])
    stuck = where_stuck(frame).iloc[0]
    told = f"{students} student{'' if students == 1 else 's'}; hardest: {stuck['exercise']} of {stuck['lab']}, "
    told += f"solved by {stuck['solved']} of {stuck['students']}."
    return told + (f" {doubts} hand-in{'' if doubts == 1 else 's'} to look at first." if doubts else "")


def where_stuck(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return one row for each exercise, the one with the least points first.

    Parameters
    ----------
    frame : DataFrame
        Of `class_report`.

    Returns
    -------
    DataFrame
        ``lab exercise title students begun solved share attempts hints solutions minutes``: ``share`` of the points,
        medians of ``attempts`` and ``minutes`` among those who have begun, how many hints were looked at, and by how
        many a solution.
    """
    import pandas

    rows = []
    for (lab, exercise), part in frame.groupby(["lab", "exercise"], sort=False):
        begun = part[part["attempts"] > 0]
        middle = begun[["attempts", "minutes"]].median() if len(begun) else {"attempts": 0.0, "minutes": 0.0}
        rows.append({
            "lab": lab, "exercise": exercise, "title": part["title"].iloc[0], "students": len(part),
            "begun": len(begun), "solved": int((part["state"] == _SOLVED).sum()),
            "share": float(part["points"].sum() / max(part["possible"].sum(), 1)),
            "attempts": float(middle["attempts"]), "hints": int(part["hints"].sum()),
            "solutions": int(part["solution"].sum()), "minutes": float(middle["minutes"]),
        })  # fmt: skip
    return pandas.DataFrame(rows).sort_values("share", kind="stable", ignore_index=True) if rows else pandas.DataFrame()


def misconceptions(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return which misconceptions were recognised: ``lab exercise question students hint``, the commonest first."""
    import pandas

    counts: Counter[tuple[str, str, str]] = Counter()
    for row in frame.to_dict("records"):
        counts.update((str(row["lab"]), str(row["exercise"]), slip) for slip in set(row["slips"]))
    rows = [
        {"lab": lab, "exercise": exercise, "question": slip.partition("[")[0], "students": count,
         "hint": _hint(lab, exercise, slip)}
        for (lab, exercise, slip), count in counts.most_common()
    ]  # fmt: skip
    return pandas.DataFrame(rows, columns=["lab", "exercise", "question", "students", "hint"])


def _hint(lab: str, exercise: str, slip: str) -> str:
    """What the lab tells who has this misconception, with the sizes of who studies alone."""
    one = next(e for e in plans().find(lab).exercises if e.name == exercise)
    name, _, number = slip.partition("[")
    known = next(p for p in one.predictions if p.name == name).misconceptions
    return said(known[int(number.rstrip("]"))].hint, one.setting_of("", Target.host(threads=1)))


def first_wrong(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the first wrong answers: ``lab exercise question answer students``, the commonest first."""
    import pandas

    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in frame.to_dict("records"):
        counts.update((str(row["lab"]), str(row["exercise"]), *item) for item in row["first_wrong"].items())
    rows = [(*key, count) for key, count in counts.most_common()]
    return pandas.DataFrame(rows, columns=["lab", "exercise", "question", "answer", "students"])


def points(frame: pandas.DataFrame) -> list[tuple[str, list[str], list[list[object]]]]:
    """Return a table for each lab in order: its name, heads, and a row for each student's file: points and their sum.

    Where there is something to say of somebody, a column each tells the points on trust and the hours late.
    """
    found = []
    for plan in plans().values():
        part = frame[frame["lab"] == plan.name]
        if not len(part):
            continue
        names = [e.name for e in plan.exercises]
        more = [name for name in ("on_trust", "late") if (part[name] > 0).any()]
        rows: list[list[object]] = []
        for (student, _file), own in part.groupby(["student", "file"], sort=False):
            given: dict[Any, float] = dict(zip(own["exercise"], own["points"], strict=True))
            mark = "" if own["genuine"].all() else "!"
            told = {"on_trust": own["on_trust"].sum(), "late": own["late"].max()}
            sums = [f"{sum(given.values()):g}", *(f"{told[name]:.3g}" if told[name] else "" for name in more)]
            rows.append([f"{student} {mark}".strip(), *(f"{given[n]:g}" for n in names), *sums])
        heads = ["Student", *names, f"Of {plan.points}", *(_MORE[name] for name in more)]
        found.append((plan.name, heads, rows))
    return found


def totals(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the marks of a class: one row for each student, a column for each lab that was handed in, and sums.

    Parameters
    ----------
    frame : DataFrame
        Of `class_report`.

    Returns
    -------
    DataFrame
        ``student``, the points of each lab (missing where nothing was handed in; the least of several folders),
        ``points`` and ``possible`` of all labs, ``on_trust``, ``late`` (hours, the most), ``look_first`` (true where
        something speaks against one of the files).
    """
    import pandas

    chosen = [plan for plan in plans().values() if (frame["lab"] == plan.name).any()]
    rows = []
    for student, own in frame.groupby("student"):
        files = own.groupby(["lab", "file"])["points"].sum()
        given = {plan.name: files[plan.name].min() for plan in chosen if plan.name in files}
        rows.append({
            "student": student, **{plan.name: given.get(plan.name) for plan in chosen}, "points": sum(given.values()),
            "possible": sum(plan.points for plan in chosen), "on_trust": int(own["on_trust"].sum()),
            "late": own["late"].max(), "look_first": not own["genuine"].all(),
        })  # fmt: skip
    names = ["student", *(p.name for p in chosen), "points", "possible", "on_trust", "late", "look_first"]
    return pandas.DataFrame(rows, columns=names)


def marks_text(frame: pandas.DataFrame) -> str:
    """Return `totals` as CSV; a name that a spreadsheet would take for a formula has a quote before it."""
    found = totals(frame)
    found["student"] = found["student"].map(spreadsheet_text)
    return found.to_csv(index=False)


def legend(frame: pandas.DataFrame) -> list[str]:
    """Return what the marks and columns in the tables of points mean, as far as they occur."""
    told = {
        "! stands for a hand-in to look at first; its points are those that its events give.": not frame[
            "genuine"
        ].all(),
        "On trust: points for functions in Python that only the student's own run shows; --run runs the notebooks.": (
            frame["on_trust"] > 0
        ).any(),
        "Late: hours after it was due, by the student's clock.": (frame["late"] > 0).any(),
    }
    return [text for text, there in told.items() if there]
