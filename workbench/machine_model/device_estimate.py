"""What the statements of a schedule take on a device, by its own model: a GPU's threads, an accelerator's engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from workbench.machine_model.accelerator_estimate import block_cycles_of
from workbench.machine_model.batched_values import Array, Distinct, Values
from workbench.machine_model.block_counts import BlockFacts, block_facts
from workbench.machine_model.cycle_estimate import Cycles, program_cycles
from workbench.machine_model.gpu_estimate import Residence, block_time, launches, residence
from workbench.machine_model.gpu_facts import GpuFacts, gpu_facts
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.machine_model.nest_summary import NestPlan


def threads_of(plan: NestPlan, rows: Distinct, gpu: Gpu) -> tuple[list[GpuFacts], Residence]:
    """Return what the threads of a GPU do in each block, and how full its multiprocessors are."""
    values = Values(rows.columns)
    found = [gpu_facts(b, values, rows.size, gpu) for b in plan.blocks]
    return found, residence(plan, rows.columns, found, gpu)


def on_device(plan: NestPlan, rows: Distinct, machine: Machine) -> Iterator[tuple[BlockFacts, Cycles]]:
    """Yield each block's facts and its cycles on a GPU or an accelerator."""
    values = Values(rows.columns)
    facts = [block_facts(b, values, rows.size, machine) for b in plan.blocks]
    if machine.gpu is not None:
        found, full = threads_of(plan, rows, machine.gpu)
        parts = [block_time(f, g, full, machine.gpu) for f, g in zip(facts, found, strict=True)]
    else:
        assert machine.accelerator is not None
        parts = [(c, m, b) for c, m, b in block_cycles_of(plan, rows.columns, rows.size, machine.accelerator)]
    for f, (compute, memory, both) in zip(facts, parts, strict=True):
        yield f, Cycles(np.ones_like(both), compute, memory, both)


def total_cycles(parts: Sequence[Array], tasks: Sequence[Array], roots: Sequence[int], machine: Machine) -> Array:
    """Return the cycles of the whole function, on a processor or a device, by those of its blocks."""
    if machine.kind == "cpu":
        return program_cycles(parts, tasks, roots, machine)[0]
    total: Array = np.sum(parts, axis=0)
    return total if machine.gpu is None else total + np.float32(launches(roots))
