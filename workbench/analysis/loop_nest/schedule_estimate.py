"""How long a schedule would take by the analytic model that the search starts from: never measured, never calibrated.

The cycles are those of the feature column ``estimate``, from the same functions, so a number here ranks schedules
exactly as the search ranks them. Cycles become time where the machine's peak is known, for that tells its clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import whole
from workbench.errors import ScheduleError
from workbench.ir.flops import count_flops
from workbench.ir.func import Func, Same
from workbench.machine_model.batched_values import Array, Telling, Values
from workbench.machine_model.block_counts import BlockFacts, block_facts
from workbench.machine_model.cache_traffic import LEVELS
from workbench.machine_model.cycle_estimate import Cycles, block_cycles, from_memory
from workbench.machine_model.device_estimate import on_device, total_cycles
from workbench.machine_model.machine_parameters import Machine
from workbench.machine_model.nest_summary import NestPlan, plan
from workbench.schedule import Schedule
from workbench.space.space import space_from_schedule
from workbench.target import Target

LOW, HIGH = 0.1, 0.9
"""Quantiles over the rows of a schedule with open numbers that `Estimate.low_ms` and `Estimate.high_ms` are."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the analytic model says of a schedule.

    Attributes
    ----------
    ms : float or None
        Time of one call; None where the machine's peak is not known. With open numbers the median over sampled rows.
    low_ms, high_ms : float or None
        With open numbers the 10 % and the 90 % quantile, else equal to `ms`.
    bytes : mapping of str to int
        ``{"L1": ..., "L2": ..., "L3": ...}``: what this level fetches from the next one at every call, for the levels
        that exist: L3 nothing where it keeps everything from one call to the next. None of a device.
    flops : int
        Operations of the computation as written, whatever algorithm the schedule has.
    share : mapping of str to float
        Parts of the time: ``compute`` (issuing instructions), ``memory`` (waiting for caches), ``launch`` (parallel
        regions); they sum to 1.
    cycles : float
        The estimate itself. A cycle is the time of two vector multiply-adds; of a device, one of its clock.
    """

    ms: float | None
    low_ms: float | None
    high_ms: float | None
    bytes: Mapping[str, int]
    flops: int
    share: Mapping[str, float]
    cycles: float

    @property
    def intensity(self) -> float | None:
        """Operations per byte that the first cache fetches; None where it fetches nothing."""
        fetched = self.bytes.get("L1", 0)
        return self.flops / fetched if fetched else None

    @property
    def gflops(self) -> float | None:
        """Speed in GFLOP/s; None where the time is not known or nothing is counted."""
        return self.flops / (self.ms * 1e6) if self.ms and self.flops else None

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows, as ``EstimateInfo`` of its types; three digits, for it is no measurement.

        A range is part of it only where it is one.
        """
        wide = {} if self.low_ms == self.high_ms else {"low": _short(self.low_ms), "high": _short(self.high_ms)}
        moved = {name: int(_short(float(n)) or 0) for name, n in self.bytes.items()}
        return {"ms": _short(self.ms), **wide, "bytes": moved}

    def __str__(self) -> str:
        if self.ms is None or self.low_ms is None or self.high_ms is None:
            return f"≈ {self.cycles:.3g} cycles est."
        if self.low_ms == self.high_ms:
            return f"≈ {self.ms:.3g} ms est."
        return f"≈ {self.low_ms:.3g} to {self.high_ms:.3g} ms est."


def estimate(
    schedule: Schedule,
    target: Target | None = None,
    *,
    samples: int = 256,
    peak_gflops: float | None = None,
    constants: str = "near",
) -> Estimate:
    """Estimate the time of a schedule without building it.

    Parameters
    ----------
    schedule : Schedule
        With open numbers, rows of them are sampled.
    target : Target, optional
        That of the schedule, else this machine.
    samples : int
        Rows to draw, over all variants together; the same ones every time.
    peak_gflops : float, optional
        Multiply-add rate of one core; what was measured before (`Target.stored_peak`) when left out.
    constants : {"near", "shared", "memory"}
        Where a call finds its constants, as for `MeasureOptions`.

    Raises
    ------
    ScheduleError
        "hole.empty" when no combination of open numbers is legal.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.analysis import estimate
    >>> found = estimate(wb.Schedule(wb.workloads.matmul(64, 64, 64)))
    >>> round(sum(found.share.values()), 6), found.flops
    (1.0, 524288)
    """
    whole("samples", samples, 1)
    target = target if target is not None else getattr(schedule, "target", None)
    machine = Machine.of(target, constants)
    peak = peak_gflops if peak_gflops is not None else _stored(target)
    if schedule.is_concrete:
        rows = _rows(evaluated(schedule, machine), _ONE_ROW, 1, machine)
    else:
        rows = _sampled(schedule, samples, machine)
    return _estimate(rows, count_flops(schedule.base), machine, peak, target)


def estimated(schedule: Schedule, target: Target, peak: float | None, constants: str = "near") -> Estimate | None:
    """Estimate a schedule; None where no numbers fit its open ones, so that there is no program to estimate."""
    try:
        return estimate(schedule, target, peak_gflops=peak, constants=constants)
    except ScheduleError as error:
        if error.code != "hole.empty":
            raise
        return None


def cycles_per_ms(machine: Machine, peak_gflops: float | None) -> float | None:
    """Cycles of the model in a millisecond: the clock that a peak of one core in GFLOP/s stands for, or a device's."""
    if machine.gpu is not None:
        return machine.gpu.clock / 1e3
    if machine.accelerator is not None:
        return machine.accelerator.mhz * 1e3
    return None if not peak_gflops else peak_gflops / (4.0 * machine.lanes) * 1e6


def _stored(target: Target | None) -> float | None:
    return (target if target is not None else Target.host()).stored_peak()


def _sampled(schedule: Schedule, samples: int, machine: Machine) -> NDArray[np.float64]:
    """Rows of the open numbers, every variant of the structure with as many."""
    variants = space_from_schedule(schedule).variants
    each = -(-samples // len(variants))
    rng = np.random.default_rng(0)
    found = []
    for variant in variants:
        picks = variant.sampler.draw(each, rng)
        if len(picks):
            telling = Telling(variant.sampler.columns(picks), len(picks))
            found.append(_rows(_told(variant.plan, telling, machine), telling, len(picks), machine))
    if not found:
        names = [h.name for h in schedule.holes]
        raise ScheduleError("hole.empty", "No combination of the open numbers is legal.", names, "widen their choices")
    return np.concatenate(found, axis=1)


#: Rows of the table that `_rows` returns: cycles, of which issuing, waiting and launching; bytes of the three levels.
_CYCLES, _COMPUTE, _MEMORY, _LAUNCH, _BYTES = 0, 1, 2, 3, 4


#: The only row of a schedule without open numbers.
_ONE_ROW = Telling({}, 1)

Evaluated = tuple[BlockFacts, Cycles]
"""What a statement issues and moves, and the cycles that this takes."""


def evaluated(schedule: Schedule, machine: Machine) -> tuple[Evaluated, ...]:
    """Evaluate every statement of a schedule without open numbers; what was evaluated last is kept."""
    return _evaluated(Same(schedule.func), count_flops(schedule.base), machine)


def evaluated_func(func: Func, machine: Machine) -> tuple[Evaluated, ...]:
    """Evaluate every statement of a function without open numbers, whatever it was made from."""
    return _evaluated(Same(func), count_flops(func), machine)


def cycles_of(schedule: Schedule, machine: Machine) -> float:
    """Cycles of a schedule without open numbers, by the estimate."""
    return float(np.ravel(whole_cycles(evaluated(schedule, machine), machine))[0])


def whole_cycles(found: Sequence[Evaluated], machine: Machine) -> NDArray[np.float32]:
    """Cycles of all statements together, the start of their parallel regions included."""
    times, tasks, roots = zip(*((c.both, f.tasks, f.plan.root) for f, c in found), strict=True)
    return total_cycles(times, tasks, roots, machine)


@lru_cache(maxsize=8)
def _evaluated(of: Same, work: int, machine: Machine) -> tuple[Evaluated, ...]:
    return tuple(_told(plan(of.func, work), _ONE_ROW, machine))


def _told(summary: NestPlan, telling: Telling, machine: Machine) -> Iterator[Evaluated]:
    """Evaluate every statement for the rows that it can tell apart; on a device, for all of them."""
    if machine.kind != "cpu":
        yield from on_device(summary, telling.all, machine)
        return
    for block in summary.blocks:
        rows = telling.of(block.holes)
        facts = block_facts(block, Values(rows.columns), rows.size, machine)
        yield facts, block_cycles(facts, machine)


def _rows(found: Iterable[Evaluated], telling: Telling, n: int, machine: Machine) -> NDArray[np.float64]:
    """Table ``[7, n]`` of what is estimated for every row of the open numbers."""
    out = np.zeros((_BYTES + len(LEVELS), n))
    both, tasks, roots = [], [], []
    for facts, cycles in found:
        # What one waits for while the other goes on is the time of both, in proportion.
        part = cycles.both / np.maximum(cycles.compute + cycles.memory, 1e-30)
        table = np.stack([cycles.both, facts.tasks, cycles.compute * part, cycles.memory * part,
                          *_moved(facts, machine)])  # fmt: skip
        rows = telling.of(facts.plan.holes) if machine.kind == "cpu" else telling.all
        table = rows.spread(np.ascontiguousarray(table.T)).T
        both.append(table[0])
        tasks.append(table[1])
        roots.append(facts.plan.root)
        out[_COMPUTE] += table[2]
        out[_MEMORY] += table[3]
        out[_BYTES:] += table[4:]
    total = total_cycles(both, tasks, roots, machine)
    out[_CYCLES] = total
    out[_LAUNCH] = np.maximum(total - np.sum(both, axis=0), 0.0)
    return out


def _moved(facts: BlockFacts, machine: Machine) -> Iterator[Array]:
    """Bytes that each level fetches from the next one at every call."""
    *near, last = LEVELS
    yield from (facts.traffic.total[level] for level in near)
    yield from_memory(facts, machine) if machine.kind == "cpu" else facts.traffic.total[last]


def _estimate(
    rows: NDArray[np.float64], flops: int, machine: Machine, peak: float | None, target: Target | None
) -> Estimate:
    middle = np.median(rows, axis=1)
    pace = cycles_per_ms(machine, peak)
    ms, low, high = (
        (None, None, None) if pace is None else (float(q) / pace for q in np.quantile(rows[_CYCLES], (0.5, LOW, HIGH)))
    )
    parts = {"compute": middle[_COMPUTE], "memory": middle[_MEMORY], "launch": middle[_LAUNCH]}
    whole_ = sum(parts.values()) or 1.0
    share = {name: float(value / whole_) for name, value in parts.items()}
    levels = LEVELS if machine.kind == "cpu" else ()
    known = [level for level in levels if target is None or level == "l1" or getattr(target, f"{level}_bytes")]
    moved = {level.upper(): int(middle[_BYTES + LEVELS.index(level)]) for level in known}
    return Estimate(ms, low, high, moved, flops, share, float(middle[_CYCLES]))


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
