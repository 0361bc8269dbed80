"""What a step would make of the nest, before it is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from workbench.advice.step_legality import attempt, verdict_json
from workbench.analysis import estimate, nest_rows
from workbench.analysis.loop_nest.nest_rows import NestRow
from workbench.analysis.loop_nest.schedule_estimate import Estimate
from workbench.errors import ScheduleError
from workbench.schedule import Schedule
from workbench.schedule.legal_moves import Move
from workbench.schedule.primitive import Primitive
from workbench.session.core.encoding import lean_row
from workbench.session.core.identity_cache import IdentityCache
from workbench.session.schedule_view.edit_step import changed
from workbench.session.variants.transfer import ReplayStep
from workbench.target import Target

KEPT = 64
"""Previews that are kept: a slider goes back and forth over the same few."""

TEXT = 80
"""Characters of a statement."""

USUAL: Mapping[str, Any] = MappingProxyType(
    {
        "kind": "loop", "extent": None, "mark": "serial", "chips": [], "kinds": [], "text": "", "reduce": False,
        "iters": None, "flops": None, "bytes": None, "own": None, "ws": None, "level": None, "block": None,
    }
)  # fmt: skip
"""What a new row is where the answer does not say otherwise; the front end has the same (`palette/preview.ts`)."""

WORKING_SETS = 4
"""Working sets that are named: those that change most."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a step would do.

    Attributes
    ----------
    move : Move
        Whether it is legal, and why not.
    makes : tuple of str
        Names that it would make.
    before, after : tuple of NestRow
        The nest as it is and as it would be; `after` is empty for a step that is not legal.
    estimate : Estimate or None
        What the schedule would take after the step; None where no filling of what is open is legal.
    present : Estimate or None
        What it takes without the step; None for a step that is not legal, too.
    later : tuple of ReplayStep or None
        What came of the steps after one that is changed; None for a step that is no change.
    """

    move: Move
    makes: tuple[str, ...] = ()
    before: tuple[NestRow, ...] = ()
    after: tuple[NestRow, ...] = ()
    estimate: Estimate | None = None
    present: Estimate | None = None
    later: tuple[ReplayStep, ...] | None = None

    @property
    def gone(self) -> tuple[str, ...]:
        """Rows that there would not be any more."""
        left = {r.id for r in self.after}
        return tuple(r.id for r in self.before if r.id not in left) if self.after else ()

    @property
    def working_sets(self) -> tuple[tuple[str, int | None, int | None], ...]:
        """Loops whose working set would be another one, with what it is and would be; those that change most first.

        A loop is compared with itself; one that is made, be it a part of another, has nothing to be compared with.
        """
        old = {r.id: r.working_set for r in self.before if r.kind == "loop"}
        new = [(r.id, old.get(r.id), r.working_set) for r in self.after if r.kind == "loop"]
        return tuple(sorted((one for one in new if one[1] != one[2]), key=_change, reverse=True)[:WORKING_SETS])

    def to_json(self) -> dict[str, Any]:
        """Return the answer as it travels: of a row only what changes, of a new one what is not as usual."""
        old = {r.id: lean_row(r.to_json()) for r in self.before}
        new = [lean_row(r.to_json()) for r in self.after]
        return {
            "verdict": verdict_json(self.move),
            "makes": list(self.makes),
            "rows": [change for row in new if (change := _difference(old.get(row["id"], USUAL), row))],
            "order": [r["id"] for r in new],
            "gone": list(self.gone),
            "ws": [{"row": row, "before": before, "after": after} for row, before, after in self.working_sets],
            "estimate": None if self.estimate is None else self.estimate.to_json(),
            "before": None if self.present is None else self.present.to_json(),
        } | ({} if self.later is None else {"later": [step.to_json() for step in self.later]})


def preview(
    view: Schedule,
    step: Primitive,
    target: Target | None = None,
    *,
    then: Sequence[Primitive] = (),
    peak_gflops: float | None = None,
    present: Estimate | None = None,
    base: Schedule | None = None,
    constants: str = "near",
) -> Preview:
    """Work out what a step would do, without taking it.

    Parameters
    ----------
    view : Schedule
        Stays as it is.
    step : Primitive
        With a choice left open: its first choice that is legal.
    target : Target, optional
        Gives caches and threads; that of the schedule, else this machine.
    then : sequence of Primitive
        Steps to take right after it: what all of them would do.
    peak_gflops : float, optional
        Multiply-add rate of one core, for the estimate; what was measured before when left out.
    present : Estimate, optional
        That of the schedule as it is, where it is known already.
    base : Schedule, optional
        What the step is taken on where that is not `view` itself: without a step that is to be taken back.
    constants : str
        Where a call finds its constants, for the estimate.
    """
    machine = target or view.target or Target.host()

    def work_out() -> Preview:
        move, after, names = attempt(view if base is None else base, step, *then)
        if after is None:
            return Preview(move)
        before, rows = nest_rows(view.func, machine).rows, nest_rows(after.func, machine).rows
        now = present if present is not None else _estimate(view, machine, peak_gflops, constants)
        return Preview(move, names, before, rows, _estimate(after, machine, peak_gflops, constants), now)

    steps = map(str, (step, *then))
    made_of = (view.func, machine, None if base is None else base.func, *steps, peak_gflops, constants)
    return _PREVIEWS.of(made_of, work_out)


def preview_change(
    view: Schedule,
    of: Schedule,
    place: int,
    step: Primitive,
    target: Target | None = None,
    *,
    peak_gflops: float | None = None,
    constants: str = "near",
) -> Preview:
    """Work out what another step in the place of one would make of a whole schedule, with the steps after it.

    Parameters
    ----------
    view : Schedule
        What is on show: what changes is said of it.
    of : Schedule
        The one that has the step; stays as it is.
    place : int
        Of the step, from 1.
    step : Primitive
        What is to stand there.
    target, peak_gflops, constants
        As for `preview`.
    """
    machine = target or view.target or Target.host()
    move, _, names = attempt(of.prefix(place - 1), step)
    if not move.legal:
        return Preview(move)
    found = changed(of, place, step.args)
    before, rows = nest_rows(view.func, machine).rows, nest_rows(found.schedule.func, machine).rows
    after = _estimate(found.schedule, machine, peak_gflops, constants)
    present = _estimate(of, machine, peak_gflops, constants)
    return Preview(move, names, before, rows, after, present, found.steps[place:])


def _estimate(schedule: Schedule, target: Target, peak: float | None, constants: str) -> Estimate | None:
    try:
        return estimate(schedule, target, peak_gflops=peak, constants=constants)
    except ScheduleError:  # open numbers that no filling satisfies
        return None


_PREVIEWS = IdentityCache(KEPT)


def _difference(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What of a row is another; nothing when all is the same. A name that is the id goes without saying."""
    changed = {k: _short(v) for k, v in new.items() if k not in old or old[k] != v}
    if old is USUAL and changed["name"] == changed["id"]:
        del changed["name"]
    return {"id": new["id"], **changed} if changed else {}


def _short(value: Any) -> Any:
    """Cut a long statement: what is only previewed is not read to its end."""
    return f"{value[: TEXT - 1]}…" if isinstance(value, str) and len(value) > TEXT else value


def _change(one: tuple[str, int | None, int | None]) -> float:
    """By which factor a working set changes; what was not there, or is not known, comes last."""
    _, before, after = one
    if not before or not after:
        return 0.0
    return float(max(before / after, after / before))
