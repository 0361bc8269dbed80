"""What comes of a replay, and how a replayer of a kind of record is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from workbench import markup as m
from workbench.errors import UsageError
from workbench.ir.stmt import BLOCK_KINDS
from workbench.logs.tuning_log import TuningLog
from workbench.registry import Registry
from workbench.runtime.results.measurement import Measurement
from workbench.schedule.primitive import Primitive
from workbench.schedule.schedule import Schedule
from workbench.target import Target

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A step of a record, and what it became.

    Attributes
    ----------
    number : int
        Its place in the record, from 0; -1 for what the record says without a step.
    theirs : str
        The step as its tuner writes it.
    words : str
        What it does, with the names of the nest.
    ours : tuple of Primitive
        The steps of the schedule that do it, in the order in which they are taken; empty where nothing is to be done.
    """

    number: int
    theirs: str
    words: str
    ours: tuple[Primitive, ...] = ()

    def __str__(self) -> str:
        return f"{self.theirs}: {self.words}"


@dataclass(frozen=True, slots=True)
class Request:
    """What a replayer gets.

    Attributes
    ----------
    log, record, raw
        The log, the number of the record, and the record as it was written.
    task : Any
        The computation as the caller gave it: a `Func`, a `Task`, a tensor, a text or a file; None where nothing is
        given.
    target : Target
        What the schedule is for.
    """

    log: TuningLog
    record: int
    raw: Any
    task: Any
    target: Target


class CannotReplay(Exception):
    """Why a record does not become a schedule; `steps` are those before that did, `where` the step that did not."""

    def __init__(self, reason: str, steps: Sequence[ReplayStep] = ()) -> None:
        super().__init__(reason)
        self.reason, self.steps = reason, tuple(steps)


Rebuilt: TypeAlias = tuple[Schedule, Sequence[ReplayStep], Sequence[str]]
"""A schedule, the steps, and what differs from the record, each a sentence."""

R = TypeVar("R", bound=Callable[[Request], Rebuilt])
REPLAYERS: Registry[Callable[[Request], Rebuilt]] = Registry("replay of a log format", "log formats", "replay.format")


def replayer(*formats: str) -> Callable[[R], R]:
    """Declare what rebuilds the records of log formats; it raises `CannotReplay` with the reason where it cannot."""

    def declare(function: R) -> R:
        for name in formats:
            REPLAYERS[name] = function
        return function

    return declare


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A record of a log as a schedule of the same computation.

    Attributes
    ----------
    record : int
        Number of the record in the log.
    task, device : str
        What it was for, as the log says it.
    then_ms : float or None
        Milliseconds that the log tells, on the machine where it was written; None for a failure.
    schedule : Schedule or None
        The schedule, where the record replays.
    steps : tuple of ReplayStep
        The steps of the record, and what each became.
    reason : str
        Why the record does not replay; empty where it does.
    notes : tuple of str
        In what the schedule differs from the record, each a sentence.
    """

    record: int
    task: str = ""
    device: str = ""
    then_ms: float | None = None
    schedule: Schedule | None = None
    steps: tuple[ReplayStep, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether the record replays."""
        return self.schedule is not None

    @property
    def for_a_gpu(self) -> bool:
        """Whether its loops are bound to the blocks of a grid: here it runs for its result only, not for its time."""
        return self.schedule is not None and any(lp.kind in BLOCK_KINDS for lp in self.schedule.loops)

    def timed_here(self) -> Schedule:
        """Return the schedule, where its time on this machine says something.

        Raises
        ------
        UsageError
            ``replay.device`` for a record of a GPU, else as `rebuilt`.
        """
        schedule = self.rebuilt()
        if self.for_a_gpu:
            text = f"Record {self.record} is for a GPU: on a CPU its blocks and threads run one after the other"
            hint = "schedule.build() runs it for its result; replay.then_ms is the time that the log tells"
            raise UsageError("replay.device", f"{text}, so there is no time to measure", ("record",), hint)
        return schedule

    def rebuilt(self) -> Schedule:
        """Return the schedule.

        Raises
        ------
        UsageError
            ``replay.refused`` with the reason where there is none.
        """
        if self.schedule is None:
            hint = "replay.steps has what was understood of it"
            raise UsageError("replay.refused", f"Record {self.record} does not replay: {self.reason}", (), hint)
        return self.schedule

    def measure(self, **options: Any) -> Measurement:
        """Measure the schedule on this machine; its results are compared with the NumPy reference first.

        Parameters
        ----------
        **options
            As for `workbench.Schedule.measure`.

        Raises
        ------
        UsageError
            ``replay.refused``, ``replay.device`` where there is nothing to measure.
        """
        found: Measurement = self.timed_here().measure(**options)
        return found

    def table(self) -> pandas.DataFrame:
        """One row per step of the record: ``step theirs words ours``, the last as Python text."""
        import pandas

        rows = [(s.number, s.theirs, s.words, "; ".join(map(str, s.ours))) for s in self.steps]
        return pandas.DataFrame(rows, columns=["step", "theirs", "words", "ours"])

    def __repr__(self) -> str:
        state = f"{len(self.rebuilt().trace)} steps" if self.ok else f"does not replay: {self.reason}"
        return f"Replay(record {self.record}, {m.clean(self.task)}: {state})"

    def _repr_html_(self) -> str:
        then = [] if self.then_ms is None else [m.line(m.join("then: ", m.milliseconds(self.then_ms)))]
        problem = [m.line(m.bad(f"does not replay: {self.reason}"))] if self.reason else []
        rows = [[m.mono(s.theirs, 60), s.words, m.mono("; ".join(map(str, s.ours)), 200)] for s in self.steps]
        columns = (m.Column("Step of the record"), m.Column("In words"), m.Column("Here"))
        head = m.heading(f"Record {self.record}", m.shortened(m.clean(self.task), 120))
        return m.page(head, *then, *problem, *map(m.line, self.notes), m.table(columns, rows))

    def __iter__(self) -> Iterator[ReplayStep]:
        return iter(self.steps)
