"""Rules of a user: what goes wrong in one is told with its name, and costs no more than the sketch it was about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from workbench.errors import ScheduleError, WorkbenchError
from workbench.ir.poly import holes_of
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.sketch.draft import Draft
from workbench.space.sketch.rule_table import Rule

#: Sketches that a custom rule may make of one: a rule that never ends is one that fails. Chosen, not measured.
MOST = 64


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong with a custom rule.

    Attributes
    ----------
    rule : str
    reason : str
        What it did, as the rest of a sentence that begins with the rule.
    """

    rule: str
    reason: str

    def __str__(self) -> str:
        return f"the sketch rule {self.rule!r} {self.reason}"


Tell: TypeAlias = Callable[[Trouble], None]


def guarded(r: Rule, draft: Draft, machine: Machine, tell: Tell) -> Iterator[Draft]:
    """Drafts that a custom rule makes of one, without what is none, is not legal, or was there before.

    Where nothing is left the draft stays as it is. The rule gets a copy, and what it makes is copied at once: one that
    changes the schedule in place spoils nobody else's, nor what it has made before.
    """
    mine = replace(draft, schedule=draft.schedule.copy())
    seen: set[str] = set()
    said = ""
    for new in islice(_asked(r, mine, machine), MOST + 1):
        said = _wrong(new, mine, seen) if len(seen) < MOST else f"makes more than {MOST} sketches of one"
        if isinstance(new, ScheduleError) and not seen:
            said = new.message  # a primitive that is not legal: nothing is wrong with the rule
        elif said:
            tell(Trouble(r.name, said))
        else:
            kept = mine.skip(r.name, "it gave the draft back as it was, without a reason") if new is mine else new
            yield replace(kept, schedule=kept.schedule.copy())
    if not seen:
        yield draft.skip(r.name, said or "it gave back no draft")


def _asked(r: Rule, draft: Draft, machine: Machine) -> Iterator[Any]:
    """Whatever the rule gives back; the exception that it raises comes last."""
    try:
        said = True if r.applies is None else r.applies(draft, machine)
        if isinstance(said, str) or not said:
            yield draft.skip(r.name, said or "its condition does not hold here")
            return
        made = r.function(draft, machine)
        yield from made if isinstance(made, Iterable) else (made,)
    except Exception as e:
        yield e


def _wrong(new: Any, draft: Draft, seen: set[str]) -> str:
    """What is wrong with something that a rule gave back; empty where it is a new sketch."""
    if isinstance(new, Exception):
        return f"fails: {new.message if isinstance(new, ScheduleError) else f'{type(new).__name__}: {new}'}"
    if not isinstance(new, Draft):
        return f"gives back {type(new).__name__} and no draft"
    said = unusable(new, draft)
    if said:
        return f"makes a sketch that is no use: {said}"
    mark = state_of(new)
    if mark in seen:
        return "makes the same sketch twice"
    seen.add(mark)
    return ""


def unusable(new: Draft, before: Draft) -> str:
    """Why a draft cannot be a variant of the space; empty where it can."""
    made: Any = new.schedule
    if not isinstance(made, Schedule) or made.base != before.schedule.base:
        return "its schedule is none of this computation"
    try:
        settled = new.settled()
        holes = {h.name for h in settled.func.holes}
        unknown = {h for c in (*settled.limits, *settled.wishes) for h in holes_of(c.expr)} - holes
        if unknown:
            return f"its limits are about {', '.join(sorted(unknown))}, and there is no such hole"
        return "" if settled.has_rows() else f"no numbers fulfil its limits{_labels(settled)}"
    except WorkbenchError as e:
        return e.message
    except Exception as e:  # limits that are none, for example
        return f"{type(e).__name__}: {e}"


def _labels(draft: Draft) -> str:
    return f" ({', '.join(c.label for c in draft.limits[:4])})" if draft.limits else ""


def state_of(draft: Draft) -> str:
    """Text that is the same for drafts with which all rules that follow do the same."""
    names = (draft.focus, draft.main, draft.outer, draft.middle, draft.tile, draft.panels, draft.unrolled, draft.copies)
    return f"{fingerprint(draft)} {names} {sorted(draft.done)} {draft.closed}"


def fingerprint(draft: Draft) -> str:
    """Text that is the same for drafts that make the same variant."""
    limits = [f"{c.label}: {c.expr}" for c in (*draft.limits, *draft.wishes)]
    return f"{draft.schedule.to_json()} {limits}"
