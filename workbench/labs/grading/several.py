"""Work that was handed in more than once: by one student, who gets the better of each, or in the folder of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from workbench.labs.grading.submissions import Submission


def told_apart(found: Iterable[Submission]) -> list[Submission]:
    """Return one submission for each student, lab and student's folder, with what is odd among them.

    The student's folder is the one at the top: work in two folders below it comes from two machines, or twice. Of each
    exercise the better one counts. One name in two students' folders is a fault of both: one may have another's file.
    """
    groups: dict[tuple[str, str], dict[str, list[Submission]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        groups[one.student, one.grade.lab][_top(one.file)].append(one)
    kept = []
    for (student, lab), folders in groups.items():
        fault = f"Several folders hand in {lab} as '{student}': {', '.join(sorted(folders))}."
        faults = [fault] if len(folders) > 1 else []
        kept += [_doubted(_better(own), faults) for own in folders.values()]
    return [_doubted(one, _copied(one, kept)) for one in kept]


def _top(file: str) -> str:
    """The student's folder, at the top of the class's; empty for a file of no folder."""
    parts = PurePath(file).parts
    return parts[0] if len(parts) > 1 else ""


def _copied(one: Submission, kept: list[Submission]) -> list[str]:
    """What has the same events up to the first check, sealed at the same moments, was copied; names may be missing."""
    same = [o.file for o in kept if o is not one and o.began and o.began == one.began and o.student != one.student]
    return [f"It begins with the very events of {', '.join(same)}: one of them is a copy."] if same else []


def _doubted(one: Submission, faults: list[str]) -> Submission:
    return replace(one, grade=replace(one.grade, faults=(*faults, *one.grade.faults)))


def _better(own: list[Submission]) -> Submission:
    """One submission with the best of each exercise; what was handed in first where they are equal."""
    if len(own) == 1:
        return own[0]
    own = sorted(own, key=lambda one: (one.made, one.file))
    rows = [max(same, key=lambda e: e.points) for same in zip(*(one.grade.exercises for one in own), strict=True)]
    used = [one for one in own if any(row is e for row in rows for e in one.grade.exercises)]
    faults = dict.fromkeys(fault for one in own for fault in one.grade.faults)
    best = max(own, key=lambda one: one.grade.points)
    grade = replace(best.grade, exercises=tuple(rows), points=sum(e.points for e in rows), faults=tuple(faults))
    wrong = {key: answer for one in reversed(own) for key, answer in one.wrong.items()}
    note = f"Handed in {len(own)} times ({', '.join(one.file for one in own)}): of each exercise the better one counts."
    return replace(best, grade=grade, wrong=wrong, made=max(one.made for one in used), notes=(note,))
