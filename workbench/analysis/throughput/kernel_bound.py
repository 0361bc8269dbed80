"""What the innermost loop makes of a whole call: its cycles, times as many iterations as the busiest thread runs."""

from __future__ import annotations

import numpy as np

from workbench.analysis.loop_nest.machine_loops import MachineLoop
from workbench.analysis.loop_nest.nest_rows import nest_rows
from workbench.analysis.loop_nest.schedule_estimate import cycles_per_ms, evaluated_func
from workbench.ir import Func
from workbench.machine_model.machine_parameters import Machine
from workbench.target import Target


def iterations(func: Func, loop: MachineLoop, target: Target) -> float | None:
    """How often a machine loop goes round in a call, in all threads; None where the code does not say it."""
    row = next((r for r in nest_rows(func, target).rows if r.id == loop.row), None)
    if row is None or not row.iters or not isinstance(row.extent, int) or not loop.trips:
        return None
    return row.iters / row.extent * loop.trips


def bound_ms(func: Func, loop: MachineLoop, cycles: float, target: Target) -> float | None:
    """Milliseconds that a call takes at least for the iterations of a machine loop.

    None where the code does not say how often that runs, or the machine's clock is not known: it follows from the peak
    that was measured (`Target.peak_gflops`).
    """
    machine = Machine.of(target)
    pace, rounds = cycles_per_ms(machine, target.stored_peak()), iterations(func, loop, target)
    if pace is None or rounds is None:
        return None
    share = max(
        (
            float(np.ravel(facts.share)[0])
            for facts, _ in evaluated_func(func, machine)
            if any(lp.name == loop.row for lp in facts.plan.loops)
        ),
        default=1.0,
    )
    ticks = pace * (2.0 if machine.halves else 1.0)  # there a cycle of the estimate is two of the clock
    return rounds * share * cycles / ticks
