"""What the processor counts while a schedule runs, each counter beside what the models say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from workbench import markup as m
from workbench.analysis.cache.view import CacheCounts, cache_view
from workbench.analysis.throughput.report import Throughput, throughput
from workbench.arguments import is_a
from workbench.errors import WorkbenchError
from workbench.runtime.machine.hardware_counters import EVENTS
from workbench.runtime.results.counted import Counted
from workbench.runtime.results.measurement import Measurement
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Counter:
    """An event in one call of a kernel.

    Attributes
    ----------
    name, says : str
        The event, and what it is.
    counted : float or None
        What the processor counted; None where it could not be asked.
    why_not : str
        Why it could not.
    simulated : float or None
        What the models say of it; None where they say nothing.
    source : str
        Which model, and where it is shown.
    """

    name: str
    says: str
    counted: float | None
    why_not: str
    simulated: float | None
    source: str


@dataclass(frozen=True, slots=True, repr=False)
class Counters(m.Drawn):
    """Events in one call of a kernel, and the measurement they belong to.

    Attributes
    ----------
    rows : tuple of Counter
    measurement : Measurement
        The time, taken just before.
    """

    rows: tuple[Counter, ...]
    measurement: Measurement

    @property
    def why_not(self) -> str:
        """Why events of the processor itself were not counted; "" where one was."""
        reasons = [row.why_not for row in self.rows if row.name != "page faults"]
        return reasons[0] if all(reasons) else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {"why_not": self.why_not, "rows": [asdict(row) for row in self.rows]}

    @shown_legibly
    def __repr__(self) -> str:
        lines = [f"in one call of {self.measurement}", *filter(None, [self.why_not and f"not counted: {self.why_not}"])]
        for row in self.rows:
            simulated = "" if row.simulated is None else f", {m.counted(row.simulated)} by {row.source}"
            lines.append(f"{row.name:>14}  {m.counted(row.counted)} counted{simulated}")
        return "\n".join(lines)


@m.drawn.register(Counters)
def _html(found: Counters) -> m.Html:
    heads = (m.Column("Event"), m.Column("counted", number=True), m.Column("said", number=True), m.Column("by"))
    rows = [
        [m.text(f"{row.name}: {row.says}", 100), m.counted(row.counted), m.counted(row.simulated), row.source]
        for row in found.rows
    ]
    lines = [m.line(m.text(line, 200)) for line in (str(found.measurement), found.why_not) if line]
    return m.page(m.heading("Counters", "of one call"), *lines, m.table(heads, rows))


def counters(schedule: Schedule, target: Target | str | None = None, **options: Any) -> Counters:
    """Count what the processor does in a call of a schedule, beside what the models say.

    The cache view says how often a level is missed by one core that runs everything, without prefetching; the innermost
    machine loop says how many instructions its iterations have, and how many cycles they take at least. A counter that
    is far from its model shows what that does not know: prefetching, other programs, threads that wait for each other.

    Parameters
    ----------
    schedule : Schedule
        Without open numbers.
    target : Target or str, optional
        The schedule's own by default, or this machine.
    **options
        As for `Schedule.measure`.

    Returns
    -------
    Counters
        Where the system allows no counters, or the processor hides them, each row says so, and what the models say is
        there all the same.

    Raises
    ------
    ScheduleError, BuildError, TargetError
        As `Schedule.measure`.
    """
    is_a("schedule", schedule, Schedule, "pass a schedule")
    own = target or schedule.target or Target.host()
    machine = own if isinstance(own, Target) else Target(own)
    found: Measurement = schedule.measure(machine, counters=True, **options)
    counted = found.counters or Counted((), tuple((one.name, found.error or "no counter") for one in EVENTS))
    return Counters(tuple(_rows(counted, dict(_simulated(schedule, machine)))), found)


def _rows(counted: Counted, simulated: Mapping[str, tuple[float, str]]) -> Iterator[Counter]:
    values, why_not = dict(counted.values), dict(counted.why_not)
    for event in EVENTS:
        value, source = simulated.get(event.name, (None, ""))
        yield Counter(event.name, event.says, values.get(event.name), why_not.get(event.name, ""), value, source)


def _simulated(schedule: Schedule, target: Target) -> Iterator[tuple[str, tuple[float, str]]]:
    """What the models say, by the event's name; nothing where a model cannot be asked."""
    with suppress(WorkbenchError):  # its own panel says why
        yield from _of_loop(throughput(schedule, target))
    with suppress(WorkbenchError):
        yield from _of_caches(cache_view(schedule), target)


def _of_loop(loop: Throughput) -> Iterator[tuple[str, tuple[float, str]]]:
    if loop.iterations is not None:
        where = f"the innermost loop alone, {loop.row} (Throughput)"
        yield "cycles", (loop.iterations * loop.cycles, where)
        yield "instructions", (loop.iterations * len(loop.instructions), where)


def _of_caches(view: CacheCounts, target: Target) -> Iterator[tuple[str, tuple[float, str]]]:
    loads = sum(a.levels[0].misses for a in view.accesses if a.kind == "read")
    yield "L1 load misses", (loads, "loads that miss L1, without stores (Caches)")
    last = view.levels[1 if target.cpu.startswith("znver") and len(view.levels) > 1 else -1]
    yield "cache misses", (view.misses(last.name), f"loads and stores that miss {last.name}, empty at first (Caches)")
