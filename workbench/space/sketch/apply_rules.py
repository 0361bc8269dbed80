"""Applying rules one after the other: from one schedule to all sketches of a space."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.sketch.draft import Draft
from workbench.space.sketch.rule_table import RULES, Rule
from workbench.space.sketch.tile_structure import Structure
from workbench.space.sketch.user_rules import Tell, Trouble, fingerprint, guarded, state_of, unusable


def sketches(
    schedule: Schedule,
    machine: Machine,
    first_only: bool = False,
    structure: Structure | None = None,
    rules: Sequence[Rule] | None = None,
    tell: Tell | None = None,
) -> list[Draft]:
    """Apply all rules (or those that are given).

    Parameters
    ----------
    schedule : Schedule
    machine : Machine
    first_only : bool
        Whether to follow only the first draft of each rule.
    structure : Structure, optional
    rules : sequence of Rule, optional
    tell : callable, optional
        Gets what goes wrong with custom rules; a ``RuntimeWarning`` when left out. The sketches that it is about are
        missing, and no other ones.
    """
    tell = tell or _warn
    start = Draft(schedule, structure=structure)
    chosen = tuple(r for r in (RULES if rules is None else rules) if r.fits(machine))
    made = _sound([_Path(start)], chosen, machine, first_only, tell)
    # A custom rule can make all of them useless, but not the computation.
    return made or _sound([_Path(start)], tuple(r for r in chosen if not r.custom), machine, first_only, tell)


@dataclass(frozen=True, slots=True)
class _Path:
    """A draft, and the last custom rule that had a hand in it."""

    draft: Draft
    by: str | None = None


def _sound(paths: list[_Path], rules: Sequence[Rule], machine: Machine, first_only: bool, tell: Tell) -> list[Draft]:
    """All drafts in the end, without those that custom rules have spoilt or made twice."""
    start = paths[0].draft
    for r in rules:
        paths = [new for p in paths for new in islice(_followed(r, p, machine, tell), 1 if first_only else None)]
    ends = [(p.draft.settled(), p.by) for p in paths]
    touched = any(by is not None for _, by in ends)
    seen = {fingerprint(d) for d, by in ends if by is None} if touched else set()
    out: list[Draft] = []
    for d, by in ends:
        if by is not None:
            if said := unusable(d, start):
                tell(Trouble(by, f"makes a sketch that is no use in the end: {said}"))
                continue
            mark = fingerprint(d)
            if mark in seen:
                tell(Trouble(by, "makes a sketch that another one comes to as well"))
                continue
            seen.add(mark)
        out.append(d)
    return out


def _followed(r: Rule, path: _Path, machine: Machine, tell: Tell) -> Iterator[_Path]:
    """What a rule makes of one draft; a draft of a custom rule that another rule cannot go on with ends here."""
    if path.draft.closed:
        yield path
        return
    try:
        for new in guarded(r, path.draft, machine, tell) if r.custom else r(path.draft, machine):
            mine = r.custom and state_of(new) != state_of(path.draft)
            yield _Path(new, r.name if mine else path.by)
    except Exception as e:
        if path.by is None:
            raise
        text = f"makes a sketch that the rule {r.name!r} cannot go on with: {type(e).__name__}: {e}"
        tell(Trouble(path.by, text))


def _warn(trouble: Trouble) -> None:
    warnings.warn(str(trouble), RuntimeWarning, stacklevel=2)
