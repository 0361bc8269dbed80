"""An analytic estimate of time on a GPU: what multiprocessors compute, and what memory and shared memory deliver.

The constants are ratios that are documented of NVIDIA's devices; none was fitted. The estimate ranks first candidates
and is one feature of the learned model, never a claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.ir.poly import evaluate
from workbench.machine_model.batched_values import Array
from workbench.machine_model.block_counts import BlockFacts
from workbench.machine_model.gpu_facts import SECTOR, GpuFacts
from workbench.machine_model.machine_parameters import Gpu
from workbench.machine_model.nest_summary import NestPlan

#: Operations that a multiprocessor starts in a cycle, and multiply-adds of its tensor cores.
LANES, TENSOR = 128, 1024
#: Registers of a thread besides its temporaries, and the most that it may have.
OTHER_REGISTERS, MOST_REGISTERS = 32, 255
#: Cycles of a launch, of a load from memory, and of a barrier.
LAUNCH, LATENCY, BARRIER = 4000.0, 500.0, 30.0
#: Warps that keep a multiprocessor busy, where each has one operation that waits for no other.
BUSY = 16.0
#: Times as much as memory that the second cache delivers.
CACHED = 3.0
#: Part of the shorter of two times that does not pass during the longer one.
OVERLAP = 0.2


@dataclass(slots=True)
class Residence:
    """How full a multiprocessor is; arrays ``[N]``.

    Attributes
    ----------
    threads : array
        Threads of a block.
    registers, shared : array
        Registers of a thread, and bytes of a block.
    blocks : array
        Blocks at the same time.
    occupancy : array
        Part of the warps that there could be.
    """

    threads: Array
    registers: Array
    shared: Array
    blocks: Array
    occupancy: Array


def residence(plan: NestPlan, columns: Mapping[str, Any], found: Sequence[GpuFacts], gpu: Gpu) -> Residence:
    """Work out what the temporaries of a function, and the tiles of its warps, leave room for."""
    threads = np.maximum.reduce([g.threads for g in found])
    memo: dict[object, Any] = {}
    sums = {"local": np.zeros(1), "shared": np.zeros(1)}
    for size, scope in zip(plan.temps, plan.scopes, strict=True):
        if scope in sums:
            sums[scope] = sums[scope] + evaluate(size, columns, memo)
    held = np.maximum.reduce([g.held for g in found])
    registers = np.minimum(sums["local"] / (4.0 * threads) + held + OTHER_REGISTERS, MOST_REGISTERS)
    limits = gpu.each.limits(*(np.ceil(x).astype(np.int64) for x in (threads, registers, sums["shared"])))
    blocks = np.maximum(np.minimum.reduce(np.broadcast_arrays(*limits.values())), 1)
    shared = np.broadcast_to(sums["shared"], threads.shape)
    occupancy = np.minimum(blocks * np.ceil(threads / gpu.warp) / gpu.each.warps, 1.0)
    return Residence(threads, *(np.asarray(x, np.float32) for x in (registers, shared, blocks, occupancy)))


def block_time(f: BlockFacts, g: GpuFacts, r: Residence, gpu: Gpu) -> tuple[Array, Array, Array]:
    """Estimate the cycles of one block: of computing, of waiting for memory, and of both together."""
    warps = np.ceil(g.threads / gpu.warp)
    # The last round of blocks leaves multiprocessors idle, and so does a warp that is not full.
    share = g.grid / (np.ceil(g.grid / gpu.multiprocessors) * gpu.multiprocessors) * (g.threads / (warps * gpu.warp))
    resident = np.minimum(r.blocks, np.ceil(g.grid / gpu.multiprocessors)) * warps
    apart = np.clip(f.accumulators * f.vector, 1.0, 8.0)  # sums of a thread, or of a warp, that wait for each other
    busy = np.minimum(1.0, resident * apart / BUSY)
    pace = 1.0 if f.plan.intrinsic is None else LANES / TENSOR
    issued = f.points * np.float32(pace * (f.plan.fma + f.plan.ops)) + f.guards
    issued = issued + 32.0 * sum((a.requests for a in g.accesses), np.float32(0.0))
    compute = issued / (LANES * gpu.multiprocessors * share * busy)
    turns = sum((a.requests * a.turns for a in g.accesses if a.memory == "shared"), np.float32(0.0))
    near = turns / (gpu.multiprocessors * share)
    pairs = [(a, f.prints[k]) for k, a in enumerate(g.accesses) if a.memory == "global"]
    moved = sum((a.requests * a.sectors * SECTOR for a, _ in pairs), np.float32(0.0))
    fresh = sum((np.minimum(p.bytes[0] * a.sectors / a.least, a.requests * a.sectors * SECTOR) for a, p in pairs),
                np.float32(0.0))  # fmt: skip
    memory = np.maximum(moved / (CACHED * gpu.bytes_per_cycle), fresh / gpu.bytes_per_cycle) / np.minimum(busy, 1.0)
    rounds = np.ceil(g.grid / (gpu.multiprocessors * r.blocks))
    fetches = any(a.memory == "shared" for a in g.accesses[:1]) and bool(pairs)
    wait = rounds * g.steps * (BARRIER + np.where(g.ahead > 0, 0.25, 1.0) * LATENCY) if fetches else np.float32(0.0)
    compute = np.maximum(compute, near) + OVERLAP * np.minimum(compute, near)
    memory = memory + wait / r.blocks
    both = np.maximum(compute, memory) + OVERLAP * np.minimum(compute, memory)
    return compute, np.broadcast_to(memory, compute.shape), both


def launches(roots: Sequence[int]) -> float:
    """Cycles of starting the kernels of a function, by the top-level statements of its blocks."""
    return LAUNCH * len(set(roots))
