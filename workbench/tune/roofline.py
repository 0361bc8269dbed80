"""An analytic estimate of time: what the core has to issue, and what the caches have to deliver.

The constants were fitted to measurements of register tiles and of whole convolutions: on a core with two 512-bit FMA
ports, and on one that executes such vectors in two halves (`Machine.halves`). They are ratios more than truths. The
estimate ranks first candidates and is one feature of the learned model, never a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.codegen.lowering import task_limit
from workbench.tune.facts import BlockFacts
from workbench.tune.machine import Machine
from workbench.tune.population import Array


@dataclass(frozen=True, slots=True)
class Constants:
    """What was fitted, in cycles (bytes per cycle for the caches). A cycle is the time of two vector multiply-adds.

    Attributes
    ----------
    body, tile : float
        Loop overhead of one body; start and end of one register tile.
    crowd, free_loads : float
        Cost of a load beyond `free_loads` per multiply-add.
    issue : float
        Instructions that leave the front end per cycle.
    load_port, store_port : float
        Loads, compared with multiply-adds two of which take a cycle; a store.
    latency : float
        From one multiply-add to the next on the same accumulator.
    spill, strided, hoisted, store : float
        Per spilled register, gathered element, load outside of the innermost loop, stored or reloaded accumulator.
    guard, lane_guard : float
        Per tested index condition, and per mask of a vector.
    l1, l2, l3 : float
        Bytes per cycle that this level gets from the next one.
    overlap, fetched : float
        Share of the shorter of issuing and waiting that is not hidden behind the longer one; with prefetches.
    launch, task : float
        One parallel region, one task of it.
    """

    body: float = 0.7
    tile: float = 6.0
    crowd: float = 0.25
    free_loads: float = 0.0
    issue: float = 3.8
    load_port: float = 1.0
    store_port: float = 1.0
    latency: float = 4.0
    spill: float = 0.6
    strided: float = 1.0
    hoisted: float = 0.1
    store: float = 0.9
    guard: float = 0.3
    lane_guard: float = 1.0
    l1: float = 120.0
    l2: float = 14.0
    l3: float = 12.0
    overlap: float = 0.25
    fetched: float = 0.1
    launch: float = 3000.0
    task: float = 250.0


CONSTANTS = Constants()

#: Where a wide vector is executed in two halves, two multiply-adds take two ticks of the clock, so what does not pass
#: through the vector units takes about half as many of these cycles. A fit to one such machine, no description.
HALVES = Constants(
    body=0.11, tile=1.8, crowd=0.12, issue=7.5, load_port=0.77, store_port=6.0, latency=2.6, store=1.35, guard=0.11,
    l1=125.0, l2=60.0, overlap=0.4,
)  # fmt: skip


def fitted_for(machine: Machine) -> Constants:
    """Return what was fitted on a machine of this kind."""
    return HALVES if machine.halves else CONSTANTS


def body_parts(f: BlockFacts, machine: Machine, c: Constants) -> dict[str, Array]:
    """Cycles of one straight-line body on one core by what takes them: those of ``ports``, ``issue``, ``latency`` and
    ``stores`` pass at the same time, so the longest of them counts; ``spilled`` is added.
    """
    arithmetic = f.fma + f.arithmetic
    loads = f.contiguous + f.broadcast + c.strided * f.strided
    unpromoted = (f.visits >= f.bodies) & (f.chain > 0)
    stores = f.stores + np.where(unpromoted, f.accumulators, 0.0)
    # Vectors of at most half a register find a third load port and do not crowd the others.
    narrow = 2.0 * f.vector <= f.lanes
    ports = np.maximum(arithmetic, loads * np.where(narrow, 2.0 / 3.0, c.load_port)) / 2.0
    issue = (arithmetic + loads + stores) / c.issue
    crowded = np.where(narrow, 0.0, np.maximum(0.0, loads - c.free_loads * arithmetic) * c.crowd)
    spilled = np.maximum(0.0, f.registers - machine.registers) * c.spill
    latency, stored = c.latency * f.chain, c.store_port * stores
    return {"ports": ports + crowded, "issue": issue, "latency": latency, "stores": stored, "spilled": spilled}


def body_cycles(f: BlockFacts, machine: Machine, c: Constants) -> Array:
    """Cycles of one straight-line body on one core."""
    parts = body_parts(f, machine, c)
    busy = np.maximum(np.maximum(parts["ports"], parts["issue"]), np.maximum(parts["latency"], parts["stores"]))
    cycles: Array = busy + parts["spilled"] + c.body
    return cycles


def tile_cycles(f: BlockFacts, c: Constants) -> Array:
    """Cycles to start, load and store one register tile of a reduction; 0 for other blocks."""
    cycles: Array = np.where(f.visits > 0, c.tile + f.accumulators * c.store * (1.0 + 0.5 * f.reloads), 0.0)
    return cycles


@dataclass(frozen=True, slots=True)
class Cycles:
    """Estimated cycles of one block: of one body, and of the busiest thread for issuing, for waiting for caches, and
    for both together.
    """

    body: Array
    compute: Array
    memory: Array
    both: Array


def block_cycles(f: BlockFacts, machine: Machine) -> Cycles:
    """Estimate the cycles of one block."""
    c = fitted_for(machine)
    body = body_cycles(f, machine, c)
    compute = f.bodies * body + f.visits * tile_cycles(f, c)
    compute = (
        compute + c.hoisted * f.hoisted * f.bodies / f.inner_trips + c.guard * f.guards + c.lane_guard * f.lane_guards
    )
    near, far = machine.pace
    memory = f.traffic["l1"] / (c.l1 * near) + f.traffic["l2"] / (c.l2 * far) + f.traffic["l3"] / c.l3
    overlap = c.fetched if any(lp.ahead for lp in f.plan.loops) else c.overlap
    both = np.maximum(compute, memory) + overlap * np.minimum(compute, memory)
    return Cycles(body, compute * f.share, memory * f.share, both * f.share)


def program_cycles(
    parts: Sequence[Array], tasks: Sequence[Array], roots: Sequence[int], machine: Machine
) -> tuple[Array, Array]:
    """Cycles of the whole function, and number of parallel regions that really have several tasks.

    Parameters
    ----------
    parts, tasks : sequence of array [N]
        Per block: cycles, and parallel tasks.
    roots : sequence of int
        Per block: the top-level statement that it is in.
    """
    c, total = fitted_for(machine), parts[0].copy()
    for p in parts[1:]:
        total += p
    regions: dict[int, Array] = {}
    for root, n in zip(roots, tasks, strict=True):
        known = regions.get(root)
        regions[root] = n if known is None else np.maximum(known, n)
    count = np.zeros_like(total)
    for n in regions.values():
        several = n > 1.0
        if several.any():
            chunks = np.minimum(n, float(task_limit(machine.threads)))
            total += np.where(several, c.launch + chunks * (c.task / machine.threads), np.float32(0.0))
            count += several
    return total, count
