"""The steps of a record as values: positions are whole numbers, whatever the file says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.logs.replays.result import CannotReplay
from workbench.markup import clean, shortened

MOST_STEPS = 1000
"""Steps of a record that are followed. Chosen: a Winograd convolution for a GPU has 70."""

KINDS = {
    "SP": "split", "FSP": "split like another stage", "FFSP": "split by the product of other splits", "FU": "fuse",
    "RE": "reorder", "AN": "annotate", "PR": "pragma", "CA": "compute at", "CI": "compute inline",
    "CR": "compute at root", "CHR": "cache read", "CHW": "cache write", "RF": "rfactor", "SA": "storage align",
}  # fmt: skip
"""Every kind of step, in words."""

#: What the arguments of each kind are: a whole number, a list of them (numbers may be open: None), a text.
_FORMS = {
    "SP": "iiiLi", "FSP": "iiii", "FFSP": "iilii", "FU": "il", "RE": "il", "AN": "iii", "PR": "iis", "CA": "iii",
    "CI": "i", "CR": "i", "CHR": "isl", "CHW": "is", "RF": "iii", "SA": "iiii",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its place in the record, its kind, its arguments."""

    number: int
    kind: str
    args: tuple[Any, ...]

    @property
    def stage(self) -> int:
        """Number of the stage that it is about, at its time."""
        return int(self.args[0])

    @property
    def text(self) -> str:
        """The step as the record writes it."""
        return json.dumps([self.kind, *(list(a) if isinstance(a, tuple) else a for a in self.args)])


def read_steps(raw: Any) -> list[Step]:
    """Read the steps of a record.

    Raises
    ------
    CannotReplay
        Where the record has another form.
    """
    try:
        listed = raw["i"][1][1]
    except (LookupError, TypeError):
        raise CannotReplay("the record has no list of steps") from None
    if not isinstance(listed, list) or len(listed) > MOST_STEPS:
        raise CannotReplay(f"the record has no list of at most {MOST_STEPS} steps")
    return [_step(k, item) for k, item in enumerate(listed)]


def _step(number: int, item: Any) -> Step:
    if not isinstance(item, list) or not item or not isinstance(item[0], str):
        raise CannotReplay(f"step {number} has another form than a list that begins with its kind")
    kind, args = item[0], item[1:]
    if kind not in _FORMS:
        raise CannotReplay(f"step {number} is of a kind that is not known: {shortened(clean(kind), 20)!r}")
    form = _FORMS[kind]
    if len(args) != len(form) or not all(map(_fits, form, args)):
        raise CannotReplay(f"step {number} ({kind}) has other arguments than such a step: {_shown(args)}")
    return Step(number, kind, tuple(tuple(a) if isinstance(a, list) else a for a in args))


def _shown(args: Sequence[Any]) -> str:
    return shortened(clean(json.dumps(args)), 60)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40


def _fits(form: str, value: Any) -> bool:
    match form:
        case "i":
            return _whole(value)
        case "l":
            return isinstance(value, list) and all(map(_whole, value))
        case "L":
            return isinstance(value, list) and all(v is None or (_whole(v) and v > 0) for v in value)
    return isinstance(value, str)
