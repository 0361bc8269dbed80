"""What each step of a schedule is worth: the schedule without it, timed in turns with the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.arguments import is_a
from workbench.errors import UsageError, WorkbenchError
from workbench.runtime import schedule_methods
from workbench.runtime.results.comparison_words import Known, finding
from workbench.runtime.results.contest import Contest
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Without:
    """A schedule without one of its steps.

    Attributes
    ----------
    number : int
        Number of the step in the trace, from 0.
    step : str
        The step.
    ratio : float or None
        Time without it over the time with it: above 1 the step helps. None where it was not timed.
    confidence : float or None
        How sure that difference is; None where the two cannot be told apart.
    why_not : str
        Why it was not timed: a later step needs it, or the rest does not run.
    text : str
        The outcome in words.
    ms, whole_ms : float or None
        Milliseconds of one run without it, and with all steps, timed in turns; None where it was not timed.
    contest : Contest or None
        All of the turns, the whole schedule first; None where it was not timed.
    known : str
        ``apart`` where one of the two is faster, ``same`` where they take the same time, "" where nobody can tell.
    """

    number: int
    step: str
    ratio: float | None
    confidence: float | None
    why_not: str
    text: str
    ms: float | None = None
    whole_ms: float | None = None
    contest: Contest | None = field(default=None, repr=False)
    known: Known = ""


class LeaveOneOut(tuple[Without, ...]):
    """One `Without` for each step, in the order of the trace; printing shows a line for each."""

    __slots__ = ()

    @shown_legibly
    def __repr__(self) -> str:
        return "\n".join(
            f"{one.number:>3}  {one.step:<50}  "
            + (
                f"not timed: {one.why_not}"
                if one.ratio is None
                else f"without it {one.ms:.4g} ms, {one.ratio:.3f}× the {one.whole_ms:.4g} ms of all ({one.text})"
            )
            for one in self
        )


def leave_one_out(
    schedule: Schedule,
    target: Target | str | None = None,
    *,
    progress: Callable[[str, int, int], object] | None = None,
    **options: Any,
) -> LeaveOneOut:
    """Time a schedule in turns with itself without one of its steps, one step after the other.

    A step that a later one needs cannot be left out; it is told which one. What a step is worth depends on the others:
    of two that only gain together, each seems to be worth all of it.

    Parameters
    ----------
    schedule : Schedule
        Without open numbers.
    target : Target or str, optional
        The schedule's own by default, or this machine.
    progress : callable, optional
        Called before each step with what is done, its number from 1, and how many there are; what it raises ends the
        work.
    **options
        As for `Schedule.contest`, for each step: ``budget_ms``, ``resolution``, ...

    Raises
    ------
    UsageError
        "advice.no_steps" for a schedule without steps; as `Schedule.measure`.
    """
    is_a("schedule", schedule, Schedule, "pass a schedule")
    if not schedule.trace:
        raise UsageError("advice.no_steps", "The schedule has no steps to leave out", (), "take a step first")
    found = []
    for k, step in enumerate(schedule.trace):
        if progress is not None:
            progress(f"Without {step}", k + 1, len(schedule.trace))
        found.append(_without(schedule, k, target or schedule.target, options))
    return LeaveOneOut(found)


def _without(schedule: Schedule, k: int, target: Target | str | None, options: Mapping[str, Any]) -> Without:
    """Time a schedule without a step."""
    step = str(schedule.trace[k])
    rest, why_not = _rest(schedule, k)
    if rest is None:
        return Without(k, step, None, None, why_not, "")
    contest = schedule_methods.contest([schedule.func, rest.func], schedule.base, target, **options)
    contest = replace(contest, names=("the whole", f"it without step {k}"))
    failed = next((one for one in contest.measurements if not one.ok), None)
    if failed is not None:
        return Without(k, step, None, None, f"{failed.status}: {failed.error}", "")
    seen = finding(contest, 1, 0)
    times = (contest.beside_ms(1), contest.latency_ms(0))
    return Without(k, step, seen.ratio, seen.confidence, "", seen.text, *times, contest, seen.known)


def _rest(schedule: Schedule, left_out: int) -> tuple[Schedule | None, str]:
    """The schedule without a step; or None, and which later step cannot be taken without it, and why."""
    rest = Schedule(schedule.base, schedule.target)
    for k, step in enumerate(schedule.trace):
        if k == left_out:
            continue
        try:
            rest.apply(step)
        except WorkbenchError as refused:
            return None, f"step {k}, {step}, needs it: {refused.message}"
    return rest, ""
