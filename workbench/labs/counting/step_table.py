"""A table of steps: what was measured beside what was counted, so that the one explains the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from workbench import markup
from workbench.analysis import nest_rows
from workbench.ir.product_type import product_type
from workbench.labs.counting.load_counts import count
from workbench.runtime.machine.above_roofline import MARK, tile_of, why_above
from workbench.runtime.machine.measured_roofline import measure_all_threads

if TYPE_CHECKING:
    import pandas

    from workbench.runtime.results.measurement import Measurement
    from workbench.schedule import Schedule
    from workbench.widgets import Workbench

_HEADS = ("step", "ms", "GFLOP/s", "of peak", "lanes", "tile", "loaded", "sum touches", "fits", "moved")
#: Columns of the table of numbers.
_FRAME: dict[str, Callable[[Step], object]] = {
    "step": attrgetter("name"),
    **{name: attrgetter(f"measured.{name}") for name in ("ms", "gflops")},
    "peak_share": attrgetter("peak_share"),
    "clean": attrgetter("measured.clean"),
    **{name: attrgetter(name) for name in ("loaded", "touched", "moved")},
}
_NOTE = (
    "Measured: ms (fastest repeat) and GFLOP/s; of peak: of the measured multiply-add rate of the cores in use. "
    "Counted from the nest: lanes of the vector loop; tile of accumulators, rows × vectors; loaded: bytes that the "
    "core loads, the same one as often as it is loaded; sum touches: what one run of the loop over the sum touches, in "
    "whole cache lines; fits: the smallest cache that holds this; moved: this times the number of runs. "
    "KB, MB and GB are multiples of 1024."
)


@dataclass(frozen=True)
class Step:
    """One line of the table; bytes are in bytes, times in ms."""

    name: str
    measured: Measurement
    peak_share: float
    above: str
    lanes: str
    tile: str
    loaded: int
    touched: int | None
    level: str | None
    moved: int | None

    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        m = self.measured
        return (
            self.name,
            f"{m.ms:.4g}" if m.clean else f"≥ {m.at_least_ms:.4g}",
            f"{m.gflops:.3g}" if m.clean else "–",
            f"{self.peak_share:.0%}{MARK if self.above else ''}" if m.clean else "–",
            self.lanes,
            self.tile,
            markup.size(self.loaded),
            markup.size(self.touched),
            self.level or "–",
            markup.size(self.moved),
        )


class Steps:
    """Measurements of one computation under several schedules, each with the counts that explain it.

    ``steps.add("as written", schedule)`` measures, and returns the table so far.

    Parameters
    ----------
    beside : Workbench, optional
        What shows the schedules: it measures first, so that the two do not share the cores. Tuning runs that are on
        are ended for the same reason.
    """

    def __init__(self, beside: Workbench | None = None) -> None:
        self.steps: list[Step] = []
        self._beside = beside

    def add(self, name: str, schedule: Schedule) -> Steps:
        """Measure a schedule and put it into the table; a name that is there is measured anew.

        Raises
        ------
        ScheduleError
            "schedule.open" while holes are open.
        """
        from workbench.target import Target
        from workbench.tune.run.tuning_session import end_runs

        if self._beside is not None:
            end_runs()
            self._beside.measure()
        measured = schedule.measure()
        target = schedule.target or Target.host()
        counts = count(schedule.func, target.lanes("float32"))
        row = next(r for r in nest_rows(schedule.func, target).rows if r.reduce)
        product = product_type(schedule.base)
        share = measured.gflops / measure_all_threads(target, product)
        step = Step(
            name,
            measured,
            share,
            why_above(share, tile_of(schedule.func), (), 1),
            _lanes(counts.lanes, target.lanes("float32")),
            f"{counts.rows} × {counts.vectors}" if counts.accumulators else "–",
            sum(counts.loaded.values()),
            row.working_set,
            row.level,
            row.bytes,
        )
        self.steps = [*(s for s in self.steps if s.name != name), step]
        return self

    def frame(self) -> pandas.DataFrame:
        """Return the numbers as a table: ``step``, ``ms``, ``gflops``, ``peak_share``, ``clean`` (a disturbed step took
        ``ms`` at most), and the counts in bytes.
        """
        import pandas

        return pandas.DataFrame({name: [value(s) for s in self.steps] for name, value in _FRAME.items()})

    def __repr__(self) -> str:
        rows = [_HEADS, *(s.cells() for s in self.steps)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADS))]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self._remarks()])

    def _remarks(self) -> list[str]:
        """Why steps are faster than the peak, and why the times of others are not known."""
        above = [f"{MARK} {step.name}: {step.above}" for step in self.steps if step.above and step.measured.clean]
        doubts = [f"{s.name}: {s.measured.why_not}; add it again" for s in self.steps if not s.measured.clean]
        return [*above, *doubts]

    def _repr_html_(self) -> str:
        columns = [markup.Column(name, number=k > 0) for k, name in enumerate(_HEADS)]
        return markup.page(
            markup.table(columns, [s.cells() for s in self.steps]),
            *map(markup.line, self._remarks()),
            markup.fold("What the columns mean", _NOTE),
        )


def _lanes(extent: int, lanes: int) -> str:
    if extent == 1:
        return "–"
    return f"{extent // lanes} × {lanes}" if extent > lanes and extent % lanes == 0 else str(extent)
