"""`explain`: what each step of a schedule is worth, measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.ir import Func
from workbench.logs.replays.explaining.variations import without
from workbench.logs.replays.result import Replay, ReplayStep
from workbench.markup import clean, shortened
from workbench.runtime.results.contest import Contest
from workbench.runtime.schedule_methods import contest
from workbench.schedule.primitive import Primitive
from workbench.schedule.schedule import Schedule
from workbench.target import Target

if TYPE_CHECKING:
    import pandas

TOGETHER = 8
"""Schedules in one contest besides the whole one. Chosen: a round of more is disturbed too often to count."""

COLUMNS = (
    "kind", "unit", "step", "theirs", "words", "ms", "share", "worth", "worth_low", "worth_high", "told", "also",
    "status", "why_not",
)  # fmt: skip


@dataclass(slots=True)
class _Unit:
    """Steps of a schedule that one step of a record became, or one step of a schedule."""

    places: list[int]
    steps: list[Primitive]
    theirs: str = ""
    words: str = ""

    @property
    def text(self) -> str:
        return "; ".join(map(str, self.steps))


@dataclass(slots=True)
class _Case:
    """A row of the table that is to be measured."""

    kind: str
    unit: int
    func: Func
    also: tuple[str, ...] = ()
    result: _Result | None = field(default=None)


@dataclass(frozen=True, slots=True)
class _Result:
    """Time over that of the whole schedule, with the half width of its logarithm."""

    ms: float
    ratio: float
    half: float
    status: str
    why_not: str


def explain(what: Any, target: Target | str | None = None, *, enough: float = 0.9, **rules: Any) -> pandas.DataFrame:
    """Measure what each step of a schedule is worth: with more and more of them, and with each left out.

    All are timed in turns with the whole schedule, and their results are checked first. Of a replay, the steps are
    those of the record.

    Parameters
    ----------
    what : Replay or Schedule
        What to explain: a record of any tuner's log that replays (`workbench.logs.replay`), or a schedule.
    target : Target or str, optional
        The schedule's own by default.
    enough : float
        The share of the whole schedule's speed that the shortest prefix has to have.
    **rules
        As for a contest: ``budget_ms``, ``most_ms``, ``least``, …

    Returns
    -------
    pandas.DataFrame
        A row per prefix (kind ``prefix``; unit -1 is the computation without a step) and per step that is left out
        (``without``). ``ms`` is the time, ``share`` the speed as a share of the whole schedule's. ``worth`` is a
        quotient of times: without the step over with it, with its 99 % interval (``worth_low``, ``worth_high``); of a
        prefix, the prefix before it over this one. ``told`` says whether the interval excludes 1. ``also`` lists steps
        that go with it, since they need it. ``attrs["shortest_prefix"]`` is the unit with which `enough` is reached,
        ``attrs["finding"]`` the result in a sentence.

    Raises
    ------
    UsageError
        ``explain.schedule`` where it is neither, has open numbers or no steps; ``replay.refused``;
        ``replay.device`` for a record of a GPU.
    """
    import pandas

    schedule, units = _units_of(what)
    machine = target if isinstance(target, Target) else Target(target) if target else schedule.target or Target("llvm")
    cases = [*_prefixes(schedule, units, machine), *_left_out(schedule, units, machine)]
    _measure(schedule, cases, machine, rules)
    frame = pandas.DataFrame(list(_rows(units, cases)), columns=list(COLUMNS))
    frame.attrs["shortest_prefix"] = _shortest(cases, enough)
    frame.attrs["enough"] = enough
    frame.attrs["finding"] = _finding(frame, units)
    return frame


# ----- which schedules


def _units_of(what: Any) -> tuple[Schedule, list[_Unit]]:
    schedule = what.timed_here() if isinstance(what, Replay) else what
    if not isinstance(schedule, Schedule):
        hint = "pass wb.logs.replay(log, record, …), or a schedule"
        raise UsageError("explain.schedule", f"A {type(what).__name__} has no steps to explain", (), hint)
    if not schedule.trace or not schedule.is_concrete:
        why = "has open numbers" if schedule.trace else "has no steps"
        raise UsageError("explain.schedule", f"The schedule {why}, so there is nothing to measure", (), "fill it first")
    units: list[_Unit] = []
    owners = _owners(what) if isinstance(what, Replay) else {}
    last: ReplayStep | None = None
    for k, step in enumerate(schedule.trace):
        owner = owners.get(id(step))
        if owner is None or owner is not last:
            units.append(_Unit([], [], owner.theirs if owner else "", owner.words if owner else ""))
        units[-1].places.append(k)
        units[-1].steps.append(step)
        last = owner
    return schedule, units


def _owners(replay: Replay) -> dict[int, ReplayStep]:
    """Which step of the record each step of the schedule is for; the values in both are the same objects."""
    return {id(step): owner for owner in replay.steps for step in owner.ours}


def _prefixes(schedule: Schedule, units: Sequence[_Unit], target: Target) -> Iterator[_Case]:
    """The computation, then with more and more steps; the last one is the whole schedule, which is in every contest."""
    at = Schedule(schedule.base, target)
    yield _Case("prefix", -1, at.func)
    for k, unit in enumerate(units):
        for step in unit.steps:
            at.apply(step)
        yield _Case("prefix", k, at.func)


def _left_out(schedule: Schedule, units: Sequence[_Unit], target: Target) -> Iterator[_Case]:
    owner = {place: k for k, unit in enumerate(units) for place in unit.places}
    for k, unit in enumerate(units):
        found = without(schedule.base, schedule.trace, set(unit.places), target)
        gone = dict.fromkeys(owner[place] for place in found.gone)
        whole = [i for i in gone if all(p in found.gone for p in units[i].places)]
        also = (*(units[i].text for i in whole), *(_partly(units[i], found.gone) for i in gone if i not in whole))
        yield _Case("without", k, found.schedule.func, also)


def _partly(unit: _Unit, gone: Any) -> str:
    return "; ".join(str(s) for s, p in zip(unit.steps, unit.places, strict=True) if p in gone)


# ----- how long they take


def _measure(schedule: Schedule, cases: Sequence[_Case], target: Target, rules: dict[str, Any]) -> None:
    """Time the cases in turns, a few together, each time with the whole schedule; equal nests once."""
    whole = schedule.func
    by_nest: dict[Func, list[_Case]] = {}
    for case in cases:
        by_nest.setdefault(case.func, []).append(case)
    funcs = [func for func in by_nest if func != whole]
    known: dict[Func, _Result] = {}
    for start in range(0, len(funcs), TOGETHER):
        part = funcs[start : start + TOGETHER]
        asked = {"budget_ms": 60.0 * len(part), "most_ms": 300.0 * len(part), **rules}
        found = contest([whole, *part], schedule.base, target, **asked)
        known |= {func: _result(found, k) for k, func in enumerate(part, 1)}
        known.setdefault(whole, _result(found, 0))
    if whole not in known:
        asked = {"budget_ms": 100.0, **rules}
        known[whole] = _result(contest([whole, whole], schedule.base, target, **asked), 0)
    for func, those in by_nest.items():
        for case in those:
            case.result = known[func]


def _result(found: Contest, k: int) -> _Result:
    mine = found.measurements[k]
    if not mine.ok:
        return _Result(math.nan, math.inf, math.inf, mine.status, mine.error.strip().splitlines()[-1:][0])
    half = 0.0 if k == 0 else found.resolution(k)
    return _Result(found.latency_ms(k), found.ratio(k) if k else 1.0, half, "ok", found.why_not)


# ----- the table


def _rows(units: Sequence[_Unit], cases: Sequence[_Case]) -> Iterator[tuple[Any, ...]]:
    before: _Result | None = None
    for case in cases:
        now = case.result
        assert now is not None
        unit = units[case.unit] if case.unit >= 0 else _Unit([], [], "", "the computation without a step")
        if case.kind == "prefix":
            worth, half = (before.ratio / now.ratio, math.hypot(before.half, now.half)) if before else (math.nan, 0.0)
            before = now
        else:
            worth, half = now.ratio, now.half
        low, high = worth * math.exp(-half), worth * math.exp(half)
        told = not now.why_not and now.status == "ok" and (low > 1 or high < 1)
        yield (
            case.kind, case.unit, unit.text, unit.theirs, unit.words, now.ms, 1 / now.ratio, worth, low, high, told,
            "; ".join(case.also), now.status, now.why_not,
        )  # fmt: skip


def _shortest(cases: Sequence[_Case], enough: float) -> int:
    """Number of the unit with which a prefix is fast enough for the first time."""
    fits: Callable[[_Case], bool] = lambda c: c.result is not None and 1 / c.result.ratio >= enough  # noqa: E731
    return next(case.unit for case in cases if case.kind == "prefix" and fits(case))


def _finding(frame: pandas.DataFrame, units: Sequence[_Unit]) -> str:
    left = frame[(frame["kind"] == "without") & (frame["status"] == "ok")]
    told = left[left["told"]]
    parts = [
        f"{frame.attrs['shortest_prefix'] + 1} of {len(units)} steps give {frame.attrs['enough']:.0%} of the speed"
    ]
    if len(told[told["worth"] > 1]):
        most = told.iloc[int(told["worth"].argmax())]
        parts.append(f"without '{label(most)}' the schedule takes {most['worth']:.2f} times as long")
    if len(told[told["worth"] < 1]):
        least = told.iloc[int(told["worth"].argmin())]
        parts.append(f"'{label(least)}' costs time: without it {least['worth']:.2f} of the time is enough")
    if told.empty and len(left):
        parts.append("no step that is left out changes the time for certain")
    if disturbed := int((frame["why_not"] != "").sum()):
        parts.append(f"other programs disturbed {disturbed} of {len(frame)} times, so these are not for certain")
    return "; ".join(parts) + "."


def label(row: Any, letters: int = 48) -> str:
    """Return a short name of a row's step: in the words of the record where there is one, else the step itself."""
    return shortened(clean(row["words"] or row["step"]), letters)
