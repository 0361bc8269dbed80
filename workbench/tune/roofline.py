"""An analytic estimate of time: what the core has to issue, and what the caches have to deliver.

The constants were fitted to measurements of register tiles and of whole convolutions on a core with two 512-bit FMA ports; they
are ratios more than truths. The estimate ranks first candidates and is one feature of the learned model, never a claim.
"""

from __future__ import annotations

import numpy as np

from workbench.tune.facts import CHUNKS_PER_THREAD, BlockFacts
from workbench.tune.footprint import Array
from workbench.tune.machine import Machine

#: Bytes per cycle that L2, L3 and memory deliver to one core.
BANDWIDTH = {"l1": 40.0, "l2": 9.0, "l3": 4.5}
#: Cycles: loop overhead of one body, start and end of one tile, one parallel region, one task of it.
BODY_OVERHEAD, TILE_OVERHEAD, LAUNCH, TASK = 0.8, 14.0, 3000.0, 250.0
FMA_LATENCY = 4.0
GUARD, LANE_GUARD = 1.0, 3.0


def body_cycles(f: BlockFacts, machine: Machine) -> Array:
    """Cycles of one straight-line body on one core."""
    arithmetic = f.fma + f.arithmetic
    loads = f.contiguous + f.broadcast + 2.0 * f.strided
    rewrites = np.where((f.chain > 0) & (f.visits >= f.bodies), f.accumulators, 0.0)
    stores = f.stores + rewrites * (f.inner_trips >= 1.0) * (f.visits > 0)
    ports = np.maximum(arithmetic, loads) / 2.0
    issue = (arithmetic + loads + stores) / 5.0
    crowded = np.maximum(0.0, loads - 0.6 * arithmetic) * 0.3
    latency = FMA_LATENCY * f.chain
    spilled = np.maximum(0.0, f.registers - machine.registers) * 1.5
    busy = np.maximum(np.maximum(ports + crowded, issue), np.maximum(latency, stores))
    cycles: Array = busy + spilled + BODY_OVERHEAD
    return cycles


def tile_cycles(f: BlockFacts) -> Array:
    """Cycles to start, load and store one register tile of a reduction; 0 for other blocks."""
    cycles: Array = np.where(f.visits > 0, TILE_OVERHEAD + f.accumulators * (1.0 + 0.5 * f.reloads), 0.0)
    return cycles


def block_cycles(f: BlockFacts, machine: Machine) -> tuple[Array, Array, Array]:
    """Cycles of the busiest thread: issuing, waiting for caches, and both together."""
    compute = f.bodies * body_cycles(f, machine) + f.visits * tile_cycles(f) + 0.5 * f.hoisted * f.bodies / f.inner_trips
    compute = compute + GUARD * f.guards + LANE_GUARD * f.lane_guards
    memory = np.zeros_like(compute)
    for level, rate in BANDWIDTH.items():
        memory = memory + f.traffic[level] / rate
    both = np.maximum(compute, memory) + 0.35 * np.minimum(compute, memory)
    return compute * f.share, memory * f.share, both * f.share


def program_cycles(facts: list[BlockFacts], machine: Machine) -> tuple[Array, list[Array], Array]:
    """Cycles of the whole function, cycles of each block, and number of parallel regions that really have several tasks."""
    parts = [block_cycles(f, machine)[2] for f in facts]
    total: Array = np.sum(parts, axis=0)
    regions: dict[int, Array] = {}
    for f in facts:
        known = regions.get(f.plan.root)
        regions[f.plan.root] = f.tasks if known is None else np.maximum(known, f.tasks)
    count = np.zeros_like(total)
    for tasks in regions.values():
        several = tasks > 1.0
        chunks = np.minimum(tasks, CHUNKS_PER_THREAD * machine.threads)
        total = total + np.where(several, LAUNCH + chunks * TASK / machine.threads, 0.0)
        count = count + several
    return total, parts, count
