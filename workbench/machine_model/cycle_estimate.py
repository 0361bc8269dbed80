"""An analytic estimate of time: what the core has to issue, and what the caches have to deliver.

The constants were fitted to measurements of register tiles and of whole convolutions: on a core with two 512-bit FMA
ports, and on one that executes such vectors in two halves (`Machine.halves`). They are ratios more than truths. The
estimate ranks first candidates and is one feature of the learned model, never a claim.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.codegen.lowering import task_limit
from workbench.machine_model.batched_values import Array
from workbench.machine_model.block_counts import BlockFacts
from workbench.machine_model.constants import CONSTANTS, HALVES, Constants
from workbench.machine_model.machine_parameters import Machine


def fitted_for(machine: Machine) -> Constants:
    """Return what was fitted on a machine of this kind."""
    return HALVES if machine.halves else CONSTANTS


def body_parts(f: BlockFacts, machine: Machine, c: Constants, kept: bool = False) -> dict[str, Array]:
    """Cycles of one straight-line body on one core by what takes them: those of ``ports``, ``issue``, ``latency``,
    ``stores`` and ``turn`` pass at the same time, so the longest of them counts; ``spilled`` is added. With `kept` as
    if sums stayed in registers.
    """
    arithmetic = f.fma + f.arithmetic
    loads = f.contiguous + f.broadcast + c.strided * f.strided + f.again
    plain = f.visits >= f.bodies  # no loop around the body keeps its results in registers
    through = _ZERO if kept else np.where(plain & (f.chain > 0), f.accumulators, _ZERO)
    stores = f.stores + through
    loads = loads + np.where(f.apart > 0, through, _ZERO)
    # Vectors of at most half a register find a third load port and do not crowd the others.
    narrow = 2.0 * f.vector <= f.lanes
    size = np.where(narrow, np.float32(c.narrow), _ONE)
    ports = np.maximum(arithmetic * size, loads * np.where(narrow, min(c.narrow, 2.0 / 3.0), c.load_port)) / 2.0
    issue = (arithmetic + loads + stores) / c.issue
    crowded = np.where(narrow, _ZERO, np.maximum(0.0, loads - c.free_loads * arithmetic) * c.crowd)
    spilled = (np.maximum(0.0, f.registers - machine.registers) + f.again) * c.spill
    stored = stores * np.where(narrow, np.float32(c.turn), np.float32(c.store_port))
    turn = plain * np.float32(c.turn)
    latency = _latency(f, c, _NEVER if kept else plain)
    return {"ports": ports + crowded, "issue": issue, "latency": latency, "stores": stored, "turn": turn,
            "spilled": spilled}  # fmt: skip


def _latency(f: BlockFacts, c: Constants, plain: NDArray[np.bool_]) -> Array:
    """Cycles of a body in which sums wait for those before.

    One tile's sums wait for each other, those of later tiles do not: they go ahead as far as the window reaches. A sum
    that goes through memory waits for its last update only, which is `apart` bodies ago.
    """
    chain = c.latency * f.chain
    alone = chain if f.plan.intrinsic else chain / _in_flight(f, c)
    through = np.where(plain & (f.apart > 0), (c.forward + chain) / np.maximum(f.apart, 1.0), _ZERO)
    result: Array = np.maximum(alone, through)
    return result


def _in_flight(f: BlockFacts, c: Constants) -> Array:
    """How many tiles are at work at the same time."""
    result: Array = 1.0 + c.window * f.visits / np.maximum(f.bodies * f.vectors, 1.0)
    return result


_ZERO, _ONE, _NEVER = np.zeros(1, np.float32), np.ones(1, np.float32), np.zeros(1, np.bool_)


def body_cycles(f: BlockFacts, machine: Machine, c: Constants) -> Array:
    """Cycles of one straight-line body on one core."""
    parts = body_parts(f, machine, c)
    spilled = parts.pop("spilled")
    cycles: Array = functools.reduce(np.maximum, parts.values()) + spilled + c.body
    return cycles


def tile_cycles(f: BlockFacts, c: Constants) -> Array:
    """Cycles to start, load and store one register tile of a reduction; 0 where a body is no more than that."""
    alone = c.tile / _in_flight(f, c)
    size = np.where(2.0 * f.vector <= f.lanes, np.float32(c.narrow), _ONE)
    stored = f.accumulators * c.store * size * (1.0 + 0.5 * f.reloads)
    cycles: Array = np.where((f.visits > 0) & (f.visits < f.bodies), alone + stored, _ZERO)
    return cycles


def waiting(f: BlockFacts, machine: Machine, c: Constants) -> dict[str, Array]:
    """Cycles that each cache waits for the next one: bytes that come in order, and lines at the end of long steps."""
    near, far = machine.pace
    t = f.traffic
    found = {
        "l1": (t.total["l1"] / c.l1 + c.walk * t.walks["l1"] + c.crowded * t.crowded) / near,
        "l2": (t.total["l2"] / c.l2 + c.far * t.walks["l2"]) / far,
        "l3": from_memory(f, machine) / c.l3 + np.where(_full(f), c.memory * t.walks["l3"], _ZERO),
    }
    return found


def from_memory(f: BlockFacts, machine: Machine) -> Array:
    """Bytes that come from memory at every call: what the last cache does not keep from one to the next, and constants
    that are not there.
    """
    moved = zip(f.traffic.moved["l3"], f.plan.accesses, strict=True)
    weights = sum((x for x, a in moved if a.constant), _ZERO) if machine.weights == "memory" else _ZERO
    found: Array = np.where(_full(f), f.traffic.total["l3"], weights)
    return found


def _full(f: BlockFacts) -> NDArray[np.bool_]:
    """Whether a call touches more than the last cache keeps."""
    full: NDArray[np.bool_] = f.traffic.filled[2, 0] > 1.0
    return full


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
    waits = waiting(f, machine, c)
    memory = waits["l1"] + waits["l2"] + waits["l3"]
    overlap = np.where(f.ahead > 0, np.float32(c.fetched), np.float32(c.overlap))
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
