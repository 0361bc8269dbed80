"""Hand out the labs and grade them."""

from __future__ import annotations

import json
import secrets
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import path as as_path
from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.output import Output, columns, counted
from workbench.errors import InputError, UsageError

if TYPE_CHECKING:
    import pandas

    from workbench.labs import LabFile

TEXTS = {
    "list": "the labs, with time, points and what they need",
    "new": "write the notebooks of labs to a folder",
    "check": "run notebooks of labs and give their points",
    "report": "a class at a glance: points, and where students got stuck",
}


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, text in TEXTS.items():
        action = actions.add_parser(name, help=text)
        if name == "new":
            _declare_new(action)
        elif name == "check":
            action.add_argument(
                "notebooks", nargs="+", metavar="NOTEBOOK", help="notebooks of labs; they stay as they are"
            )
            action.add_argument(
                "--seconds", type=shared.positive_number, default=300.0, metavar="S", help="time for each (default 300)"
            )
            _declare_course(action)
        elif name == "report":
            action.add_argument("folder", metavar="DIR", help="with hand-ins or progress files, in folders of students")
            action.add_argument(
                "-o", "--output", metavar="OUT", help="also write a page (.html), or a table of marks (.csv)"
            )
            action.add_argument(
                "--run",
                action="store_true",
                help="run notebooks of which there is nothing else, or beside points on trust",
            )
            _declare_course(action)
        shared.json_option(action)
        action.set_defaults(function=f"{name}_labs")


def _declare_new(action: Parser) -> None:
    action.add_argument("folder", metavar="DIR", help="folder to write to; files that are there are kept")
    action.add_argument("labs", nargs="*", metavar="LAB", help="names as 'workbench labs list' has them (default: all)")
    edition = action.add_mutually_exclusive_group()
    edition.add_argument("--student", action="store_true", help="with room for the student's work (the default)")
    edition.add_argument("--instructor", action="store_true", help="with solutions and notes for the lecturer")
    edition.add_argument("--nbgrader", action="store_true", help="as assignments of an nbgrader course")
    edition.add_argument("--otter", action="store_true", help="as master notebooks for 'otter assign'")
    about = action.add_argument_group("written to lab.json, which stands beside the notebooks")
    about.add_argument("--name", default="", metavar="WHO", help="the student; draws the sizes of exercises")
    about.add_argument("--course", default="", metavar="NAME", help="the course; hand-ins get a key of their own")
    about.add_argument(
        "--off", action="append", default=[], choices=("advice", "tuner", "solutions"), help="not while a lab is open"
    )
    about.add_argument("--hint-cost", type=_points, metavar="P", help="points that a look at a hint costs")
    about.add_argument(
        "--due", action="append", default=[], type=_due, metavar="[LAB=]TIME",
        help="until when all labs, or one, are to be handed in: tiling='2027-03-12 18:00'",
    )  # fmt: skip
    action.add_argument("--slides", action="store_true", help="also slides, as HTML")
    action.add_argument("--sheet", action="store_true", help="also a sheet to print, as HTML")


def _points(text: str) -> float:
    return 0.0 if text.strip() == "0" else shared.positive_number(text)


def _due(text: str) -> tuple[str, str]:
    lab, _, when = text.rpartition("=")
    try:
        return lab, datetime.fromisoformat(when.strip()).astimezone().isoformat(timespec="minutes")
    except (ValueError, OverflowError, OSError):
        raise ArgumentTypeError("a time is written '2027-03-12 18:00', for one lab tiling='2027-03-12 18:00'") from None


def _declare_course(action: Parser) -> None:
    help_text = "the lecturer's lab.json, with key and settings (default: what lies beside each notebook)"
    action.add_argument("--course", metavar="LAB.JSON", help=help_text)


def list_labs(options: Namespace, output: Output) -> int:
    """Say which labs there are."""
    from workbench.labs import plans

    found = [
        {
            "number": plan.number, "name": plan.name, "title": plan.title, "minutes": list(plan.minutes),
            "points": plan.points, "exercises": [e.name for e in plan.exercises], "notebook": f"{plan.file_name}.ipynb",
            "prerequisites": list(plan.prerequisites), "summary": plan.summary,
        }
        for plan in plans().values()
    ]  # fmt: skip
    rows = [
        [str(plan.number), plan.name, plan.title, "{}-{}".format(*plan.minutes), str(plan.points),
         str(len(plan.exercises)), ", ".join(plan.prerequisites) or "-"]
        for plan in plans().values()
    ]  # fmt: skip
    text = columns(["", "Name", "Title", "Minutes", "Points", "Exercises", "After"], rows, {0, 3, 4, 5})
    output.result({"labs": found}, text)
    return 0


def new_labs(options: Namespace, output: Output) -> int:
    """Write notebooks."""
    from workbench.labs import LabFile, plans
    from workbench.labs.handing_out import Handout, hand_out

    kinds = ("instructor", "nbgrader", "otter")
    kind = next((name for name in kinds if getattr(options, name)), "student")
    folder = Path(as_path("the folder", options.folder)).absolute()
    settings: dict[str, object] = dict.fromkeys(options.off, False)
    if options.hint_cost is not None:
        settings["hint_cost"] = options.hint_cost
    key = secrets.token_hex(16) if options.course else ""
    chosen = [plans().find(name).name for name in options.labs] or list(plans())
    due = {name: when for lab, when in sorted(options.due) for name in ([plans().find(lab).name] if lab else chosen)}
    about = LabFile(student=options.name, course=options.course, key=key, settings=settings, due=due)
    files = hand_out(Handout(kind, about, options.slides, options.sheet), folder, options.labs)  # type: ignore[arg-type]
    for file in files:
        output.say(f"{'wrote' if file.written else 'kept'} {file.path}{file.why}")
    written = [str(file.path) for file in files if file.written]
    data = {"folder": str(folder), "edition": kind, "written": written,
            "kept": [str(file.path) for file in files if not file.written]}  # fmt: skip
    output.result(data, f"{counted(len(written), 'file')} written to {folder}.")
    return 0


def check_labs(options: Namespace, output: Output) -> int:
    """Run notebooks and grade them. The exit code is 3 where one of them could not be read."""
    from workbench.labs.grading.checking import check_notebook

    course = _course(options.course)
    found, unreadable = [], 0
    for name in options.notebooks:
        path = Path(as_path("the notebook", name))
        output.say(f"running {path}")
        try:
            found.append(check_notebook(path, options.seconds, course).to_json())
        except InputError as error:
            unreadable += 1
            nothing = {"lab": "", "student": "", "points": 0.0, "possible": 0, "exercises": [], "genuine": True}
            fault = {"cell": "", "text": f"{error.message} [{error.code}]"}
            found.append(
                {"file": str(path), **nothing, "doubts": [], "faults": [fault], "own_word": [], "seconds": 0.0}
            )
    output.result({"notebooks": found}, "\n\n".join(map(_checked_text, found)))
    return 3 if unreadable else 0


def report_labs(options: Namespace, output: Output) -> int:
    """Show a class."""
    from workbench.labs.grading.class_page import report_page
    from workbench.labs.grading.class_report import class_report, marks_text, where_stuck

    frame = class_report(options.folder, _course(options.course), options.run)
    told = {str(name): value for name, value in frame.attrs.items()}
    if options.output:
        if options.output.lower().endswith(".csv"):
            write_text(options.output, marks_text(frame))
        else:
            write_page(options.output, report_page(frame, f"Labs: {Path(options.folder).resolve().name}"))
    rows = json.loads(frame.to_json(orient="records"))
    stuck = json.loads(where_stuck(frame).to_json(orient="records"))
    data = {"folder": options.folder, "rows": rows, "stuck": stuck, "output": options.output or "", **told}
    output.result(data, "\n\n".join(_report_text(frame)))
    return 0


def write_page(name: str, text: str) -> None:
    """Write a page of HTML.

    Raises
    ------
    UsageError
        "usage.log_form" for a name that ends in something else.
    InputError
        "lab.unwritable".
    """
    target = Path(as_path("the page", name))
    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError("usage.log_form", f"The name {target.name!r} tells no page", [name], "let it end in .html")
    write_text(name, text)


def write_text(name: str, text: str) -> None:
    """Write a file.

    Raises
    ------
    InputError
        "lab.unwritable".
    """
    target = Path(as_path("the file", name))
    try:
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"The file cannot be written: {error.strerror or error}"
        raise InputError("lab.unwritable", message, [name], "name a file that you may write") from None


def _report_text(frame: pandas.DataFrame) -> Iterator[str]:
    from workbench.labs.grading.class_page import told_of_files, totals_table
    from workbench.labs.grading.class_report import legend, points, where_stuck

    yield frame.attrs["finding"]
    for head, told in told_of_files(frame):
        yield "\n".join([f"{head}:", *(f"  {file}: {why}" for file, why in told.items())])
    if len(frame):
        heads, sums = totals_table(frame)
        yield columns(heads, [[str(cell) for cell in row] for row in sums], set(range(1, len(heads))))
    for lab, heads, rows in points(frame):
        texts = [[str(cell) for cell in row] for row in rows]
        yield f"{lab}\n{columns(heads, texts, set(range(1, len(heads))))}"
    if marks := legend(frame):
        yield "\n".join(marks)
    if len(frame):
        names = ["lab", "exercise", "students", "begun", "solved", "attempts", "hints", "solutions", "minutes"]
        texts = [[f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
                 for row in where_stuck(frame)[names].to_numpy().tolist()]  # fmt: skip
        yield columns([name.capitalize() for name in names], texts, set(range(2, len(names))))


def _course(path: str | None) -> LabFile | None:
    """Read the lecturer's lab.json, given by its file or folder."""
    from workbench.labs import read_lab_file

    if path is None:
        return None
    file = Path(as_path("the lab.json", path))
    found = read_lab_file(file if file.is_dir() else file.parent)
    if found is None:
        raise InputError(
            "lab.file", f"There is no lab.json at '{file}'", [str(file)], "'workbench labs new' writes one"
        )
    return found


def _checked_text(told: dict[str, Any]) -> str:
    who = f", {told['student']}" if told["student"] else ""
    lab = f" ({told['lab']}{who})" if told["lab"] else ""
    head = f"{told['file']}{lab}: {told['points']:g} of {told['possible']} points"
    rows = [[e["name"], e["state"], f"{e['points']:g}", str(e["possible"]), str(e["hints"])] for e in told["exercises"]]
    parts = [head, *([columns(["Exercise", "State", "Points", "Of", "Hints"], rows, {2, 3, 4})] if rows else [])]
    if told["own_word"]:
        parts.append(f"functions, judged by the notebook's own kernel: {', '.join(told['own_word'])}")
    parts += [f"doubtful: {text}" for text in told["doubts"]]
    parts += [f"failed: {f['cell'] + ': ' if f['cell'] else ''}{f['text']}" for f in told["faults"]]
    return "\n".join(parts)
