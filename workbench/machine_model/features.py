"""Feature columns of a generic nest, for one filled schedule and for a whole population alike.

`features` evaluates a `NestPlan` over columns of hole values and returns a float32 matrix with the same columns for
every task, so that one cost model serves all of them. `COLUMNS` documents each column. Unit loops never matter: a
filled schedule has exactly the features of its row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.ir.poly import evaluate
from workbench.machine_model.accelerator_estimate import accelerator_cycles
from workbench.machine_model.batched_values import Array, Distinct, Telling, Values
from workbench.machine_model.block_counts import BlockFacts, block_facts
from workbench.machine_model.cycle_estimate import Cycles, block_cycles, program_cycles
from workbench.machine_model.device_estimate import total_cycles
from workbench.machine_model.gpu_estimate import block_time, residence
from workbench.machine_model.gpu_facts import gpu_facts
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.machine_model.nest_summary import BlockPlan, NestPlan

#: Changes whenever a column is added, removed or computed differently.
VERSION = "10"


@dataclass(frozen=True, slots=True)
class Column:
    """One feature: its name, what it says, and whether it is stored as ``log2(1 + x)``."""

    name: str
    doc: str
    log: bool = True


_PROGRAM = (
    Column("estimate", "log2 of the analytic estimate, in cycles", False),
    Column("speed", "log2 of operations of the computation (of the nest, if unknown) per estimated cycle", False),
    Column("main_share", "part of the estimated time that the main block takes", False),
    Column("flops", "arithmetic operations, recomputation included"),
    Column("temps", "bytes of all temporaries"),
    Column("roots", "nests at the top level", False),
    Column("regions", "parallel regions with more than one task", False),
    Column("blocks", "blocks", False),
)
_MAIN = (
    Column("cycles_body", "estimated cycles of the straight-line body"),
    Column("efficiency", "fused multiply-adds per body over what the ports could do in that time", False),
    Column("fma", "vector multiply-adds of the body"),
    Column("arithmetic", "other vector instructions of the body"),
    Column("contiguous", "vector loads of the body"),
    Column("broadcast", "scalars that the body loads and spreads over the lanes"),
    Column("strided", "elements that the body gathers one by one"),
    Column("hoisted", "loads that leave the innermost serial loop"),
    Column("loads_per_fma", "loads over vector multiply-adds", False),
    Column("accumulators", "vector registers that the tile of a reduction takes"),
    Column("registers", "vector registers in use, over those that exist", False),
    Column("chain", "dependent multiply-adds per accumulator and body"),
    Column("vector", "extent of the vectorised loop"),
    Column("lanes_used", "part of the lanes that do useful work", False),
    Column("called", "points that one call of an intrinsic computes; 0 where there is none"),
    Column("inner_trips", "iterations of the innermost serial loop"),
    Column("bodies", "executions of the body"),
    Column("visits", "register tiles that are started"),
    Column("bodies_per_visit", "executions of the body per register tile"),
    Column("reloads", "1 if a register tile comes back and is loaded again", False),
    Column("guards", "index conditions that are tested"),
    Column("ahead", "iterations that loops fetch ahead, of all loops together"),
    Column("tasks", "parallel tasks"),
    Column("share", "part of the work of the busiest thread", False),
    Column("task_points", "points per parallel task"),
    Column("compute", "estimated cycles of issuing, busiest thread"),
    Column("memory", "estimated cycles of cache traffic, busiest thread"),
    Column("balance", "log2 of issuing cycles over traffic cycles", False),
    Column("l1_bytes", "bytes that L1 fetches from L2"),
    Column("l2_bytes", "bytes that L2 fetches from L3"),
    Column("l3_bytes", "bytes that L3 fetches from memory"),
    Column("l1_intensity", "arithmetic operations per byte that L1 fetches"),
    Column("l2_intensity", "arithmetic operations per byte that L2 fetches"),
    Column("l1_working", "working set in bytes at the level that fits L1"),
    Column("l2_working", "working set in bytes at the level that fits L2"),
    Column("footprint", "bytes that the whole block touches"),
    Column("tile_working", "bytes that one register tile touches until it is finished"),
)
_ACCESS = (
    Column("l1_bytes", "bytes of this access that L1 fetches from L2"),
    Column("l2_bytes", "bytes of this access that L2 fetches from L3"),
    Column("footprint", "bytes that this access touches in all"),
    Column("body", "elements that one body touches"),
    Column("reuse", "points per distinct element"),
    Column("stride", "elements between neighbouring lanes"),
)
_OTHERS = (
    Column("compute", "estimated cycles of issuing, busiest thread"),
    Column("memory", "estimated cycles of cache traffic, busiest thread"),
    Column("points", "points, recomputation included"),
    Column("bodies", "executions of the straight-line bodies"),
    Column("l1_bytes", "bytes that L1 fetches from L2"),
    Column("l2_bytes", "bytes that L2 fetches from L3"),
    Column("vector", "smallest extent of a vectorised loop, 1 if a block has none"),
    Column("tasks", "smallest number of parallel tasks"),
)
_GPU = (
    Column("threads", "threads of a block"),
    Column("grid", "blocks of the grid, main block"),
    Column("registers", "registers of a thread, as estimated"),
    Column("shared", "bytes that the threads of a block share"),
    Column("occupancy", "part of the warps of a multiprocessor that run", False),
    Column("sectors", "pieces of memory that a warp's request touches, over the least; worst of all accesses", False),
    Column("turns", "times that a request asks shared memory, over the least; worst of all accesses", False),
    Column("steps", "times that the threads of a block meet around the main block"),
)
_SLOTS = ("write", "read0", "read1", "read2")


def _columns() -> tuple[Column, ...]:
    out = list(_PROGRAM)
    out += [Column(f"main.{c.name}", c.doc, c.log) for c in _MAIN]
    out += [Column(f"main.{s}.{c.name}", f"{c.doc} ({s} of the main block)", c.log) for s in _SLOTS for c in _ACCESS]
    out += [
        Column(f"{g}.{c.name}", f"{c.doc} (all blocks {g} the main one)", c.log)
        for g in ("before", "after")
        for c in _OTHERS
    ]
    out += [Column(f"gpu.{c.name}", f"{c.doc} (GPUs only)", c.log) for c in _GPU]
    return tuple(out)


COLUMNS = _columns()
INDEX: Mapping[str, int] = {c.name: k for k, c in enumerate(COLUMNS)}
_FIRST_MAIN = len(_PROGRAM)
_FIRST_BEFORE = _FIRST_MAIN + len(_MAIN) + len(_SLOTS) * len(_ACCESS)
_FIRST_AFTER = _FIRST_BEFORE + len(_OTHERS)
_FIRST_GPU = _FIRST_AFTER + len(_OTHERS)


def features(plan: NestPlan, columns: Mapping[str, Any], n: int, machine: Machine) -> NDArray[np.float32]:
    """Evaluate all features.

    Parameters
    ----------
    plan : NestPlan
        From `nest_summary.plan`, of a schedule with holes or of a filled one.
    columns : mapping of str to array [N]
        Values of the holes; empty for a filled schedule.
    n : int
        Number of rows.
    machine : Machine

    Returns
    -------
    array [N, F] of float32
        C-contiguous; column k is `COLUMNS[k]`.
    """
    out = np.zeros((n, len(COLUMNS)), np.float32)
    arrays = {h: np.asarray(c) for h, c in columns.items()}
    for start in range(0, n, _CHUNK):
        stop = min(n, start + _CHUNK)
        part = {h: c[start:stop] if c.ndim else c for h, c in arrays.items()}
        _chunk(out[start:stop], plan, part, machine)
    return out


_CHUNK = 4096  # rows per pass: the matrices of one access then stay in the L2 cache


class _Block:
    """One block for the rows that it can tell apart: facts, cycles, and how rows are spread over the population."""

    def __init__(self, b: BlockPlan, rows: Distinct, n: int, machine: Machine) -> None:
        self.plan, self._rows, self._n = b, rows, n
        values = Values(rows.columns)
        self.facts = block_facts(b, values, rows.size, machine)
        self.threads = None if machine.gpu is None else gpu_facts(b, values, rows.size, machine.gpu)
        self.cycles = block_cycles(self.facts, machine)

    def spread(self, *parts: Array) -> NDArray[np.float32]:
        """Columns of the distinct rows, as matrix ``[N, columns]``."""
        return self.spread_table(np.stack(parts))

    def spread_table(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Table ``[columns, distinct rows]`` as matrix ``[N, columns]``."""
        return self._rows.spread(np.ascontiguousarray(table.T))


def _chunk(out: NDArray[np.float32], plan: NestPlan, columns: Mapping[str, Any], machine: Machine) -> None:
    n = len(out)
    telling = Telling(columns, n)
    # How full a GPU is depends on all blocks.
    rows = [telling.of(b.holes) if machine.gpu is None else telling.all for b in plan.blocks]
    blocks = [_Block(b, r, n, machine) for b, r in zip(plan.blocks, rows, strict=True)]
    if machine.gpu is not None:
        _on_gpu(out[:, _FIRST_GPU:], plan, columns, blocks, machine.gpu)
    shared = [b.spread(b.cycles.both, b.facts.tasks, b.facts.points) for b in blocks]
    parts, tasks, points = ([np.ascontiguousarray(s[:, k]) for s in shared] for k in range(3))
    roots = [b.plan.root for b in blocks]
    total, regions = program_cycles(parts, tasks, roots, machine)
    if machine.gpu is not None:
        total = total_cycles(parts, tasks, roots, machine)
    if machine.accelerator is not None:
        total = accelerator_cycles(plan, columns, n, machine.accelerator)
    flops = np.zeros(n, np.float32)
    for b, p in zip(blocks, points, strict=True):
        flops += p * float(b.plan.flops)
    work = flops if plan.work is None else float(plan.work)
    memo: dict[object, Any] = {}
    temps = sum((evaluate(d, columns, memo) for d in plan.temps), np.zeros(1))
    program = (
        np.log2(total), np.log2(np.maximum(work, 1.0) / total), parts[plan.main] / total, flops, temps,
        float(plan.roots), regions, float(len(plan.blocks)),
    )  # fmt: skip
    for k, values in enumerate(program):
        out[:, k] = np.log2(1.0 + values) if COLUMNS[k].log else values
    _main(out[:, _FIRST_MAIN:_FIRST_BEFORE], blocks[plan.main], machine)
    _others(out[:, _FIRST_BEFORE:_FIRST_AFTER], blocks[: plan.main])
    _others(out[:, _FIRST_AFTER:_FIRST_GPU], blocks[plan.main + 1 :])


def _on_gpu(
    out: NDArray[np.float32], plan: NestPlan, columns: Mapping[str, Any], blocks: Sequence[_Block], gpu: Gpu
) -> None:
    """Fill the columns of GPUs, and give each block the cycles that it takes there."""
    found = [b.threads for b in blocks if b.threads is not None]
    r = residence(plan, columns, found, gpu)
    for b, g in zip(blocks, found, strict=True):
        compute, memory, both = block_time(b.facts, g, r, gpu)
        b.cycles = Cycles(np.ones_like(compute), compute, memory, both)
    uses = [a for g in found for a in g.accesses]
    one, main = np.ones(len(out), np.float32), found[plan.main]
    sectors = np.maximum.reduce([one, *(a.sectors / a.least for a in uses if a.memory == "global")])
    turns = np.maximum.reduce([one, *(a.turns for a in uses if a.memory == "shared")])
    values = (r.threads, main.grid, r.registers, r.shared, r.occupancy, sectors, turns, main.steps)
    for k, (c, x) in enumerate(zip(_GPU, values, strict=True)):
        out[:, k] = np.log2(1.0 + x) if c.log else x


def _main(out: NDArray[np.float32], block: _Block, machine: Machine) -> None:
    f, cycles = block.facts, block.cycles
    flops = np.maximum(f.points * float(f.plan.flops), 1.0)
    loads = f.contiguous + f.broadcast + f.strided
    pieces = f.vectors * f.vector / f.body_points
    called, moved, working = f.plan.intrinsic, f.traffic.total, f.traffic.working
    values: dict[str, Any] = {
        "cycles_body": cycles.body, "efficiency": f.fma / (2.0 * cycles.body), "fma": f.fma,
        "arithmetic": f.arithmetic, "contiguous": f.contiguous, "broadcast": f.broadcast, "strided": f.strided,
        "hoisted": f.hoisted, "loads_per_fma": loads / np.maximum(f.fma, 1.0), "accumulators": f.accumulators,
        "registers": f.registers * (1.0 / machine.registers), "chain": f.chain, "vector": f.vector,
        "lanes_used": f.vector / (pieces * f.lanes) if called is None else 1.0,
        "called": 0.0 if called is None else f.body_points / f.vectors,
        "inner_trips": f.inner_trips, "bodies": f.bodies, "visits": f.visits,
        "bodies_per_visit": np.where(f.visits > 0, f.bodies / np.maximum(f.visits, 1.0), np.float32(0.0)),
        "reloads": f.reloads, "guards": f.guards, "ahead": f.ahead,
        "tasks": f.tasks, "share": f.share, "task_points": f.points / f.tasks, "compute": cycles.compute,
        "memory": cycles.memory, "balance": np.log2((cycles.compute + 1.0) / (cycles.memory + 1.0)),
        "l1_bytes": moved["l1"], "l2_bytes": moved["l2"], "l3_bytes": moved["l3"],
        "l1_intensity": flops / (moved["l1"] + 1.0), "l2_intensity": flops / (moved["l2"] + 1.0),
        "l1_working": working["l1"], "l2_working": working["l2"], "footprint": working["all"],
        "tile_working": f.tile_working,
    }  # fmt: skip
    table = np.zeros((out.shape[1], len(f.points)), np.float32)
    for k, c in enumerate(_MAIN):
        table[k] = values[c.name]
    reads = range(1, len(f.prints))[: len(_SLOTS) - 1]
    for slot, k in enumerate([0, *reads]):
        _access(table[len(_MAIN) + slot * len(_ACCESS) :], f, k)
    for low, high in _LOG_RUNS:
        part = table[low:high]
        part += 1.0
        np.log2(part, out=part)
    out[...] = block.spread_table(table)


def _log_runs(log: Sequence[bool]) -> tuple[tuple[int, int], ...]:
    """Ranges of neighbouring columns that are stored as logarithms."""
    edges = [k for k in range(len(log) + 1) if (k < len(log) and log[k]) != (k > 0 and log[k - 1])]
    return tuple(zip(edges[::2], edges[1::2], strict=True))


_LOG_RUNS = _log_runs([c.log for c in COLUMNS[_FIRST_MAIN:_FIRST_BEFORE]])


def _access(table: NDArray[np.float32], f: BlockFacts, k: int) -> None:
    fp = f.prints[k]
    lane = next((j for j, lp in enumerate(f.plan.loops) if lp.kind == "vectorize"), None)
    table[0], table[1] = f.traffic.moved["l1"][k], f.traffic.moved["l2"][k]
    table[2], table[3] = fp.bytes[0], f.body_level.pick(fp.elements)
    table[4] = f.points / fp.elements[0]
    if lane is not None:
        table[5] = np.where(f.vector > 1.0, np.abs(fp.stride[lane]), np.float32(0.0))


def _others(out: NDArray[np.float32], blocks: Sequence[_Block]) -> None:
    for number, b in enumerate(blocks):
        f, c, moved = b.facts, b.cycles, b.facts.traffic.total
        part = b.spread(c.compute, c.memory, f.points, f.bodies, moved["l1"], moved["l2"], f.vector, f.tasks)
        if not number:
            out[...] = part
        else:
            out[:, :_SUMMED] += part[:, :_SUMMED]
            out[:, _SUMMED:] = np.minimum(out[:, _SUMMED:], part[:, _SUMMED:])
    if blocks:
        out[...] = np.log2(1.0 + out)


_SUMMED = 6  # of `_OTHERS`: sums over the blocks; the rest are the smallest of them
