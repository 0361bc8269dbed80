"""Feature columns of a generic nest, for one filled schedule and for a whole population alike.

`features` evaluates a `NestPlan` over columns of hole values and returns a float32 matrix with the same columns for
every task, so that one cost model serves all of them. `COLUMNS` documents each column. Unit loops never matter: a
filled schedule has exactly the features of its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.ir.poly import Dim, evaluate
from workbench.tune.facts import BlockFacts, nest_facts
from workbench.tune.footprint import Array, at_level
from workbench.tune.machine import Machine
from workbench.tune.nestplan import NestPlan
from workbench.tune.roofline import block_cycles, body_cycles, program_cycles

#: Changes whenever a column is added, removed or computed differently.
VERSION = "4"


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
    return tuple(out)


COLUMNS = _columns()
INDEX: Mapping[str, int] = {c.name: k for k, c in enumerate(COLUMNS)}
_LOG = np.array([c.log for c in COLUMNS])


def features(plan: NestPlan, columns: Mapping[str, Any], n: int, machine: Machine) -> NDArray[np.float32]:
    """Evaluate all features.

    Parameters
    ----------
    plan : NestPlan
        From `nestplan.plan`, of a schedule with holes or of a filled one.
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
    out = np.empty((n, len(COLUMNS)), np.float32)
    floats = {h: np.asarray(c, np.float64) for h, c in columns.items()}
    for start in range(0, n, _CHUNK):
        stop = min(n, start + _CHUNK)
        part = {h: c[start:stop] if c.ndim else c for h, c in floats.items()}
        out[start:stop] = _chunk(plan, part, stop - start, machine)
    return out


_CHUNK = 1024  # rows per pass: the matrices of one access then stay in the L2 cache


def _chunk(plan: NestPlan, columns: Mapping[str, Any], n: int, machine: Machine) -> NDArray[np.float32]:
    facts = nest_facts(plan, columns, n, machine)
    total, parts, regions = program_cycles(facts, machine)
    rows = _Rows(n)
    flops = np.sum([f.points * float(f.plan.flops) for f in facts], axis=0)
    rows.add("estimate", np.log2(total))
    work = flops if plan.work is None else float(plan.work)
    rows.add("speed", np.log2(np.maximum(work, 1.0) / total))
    rows.add("main_share", parts[plan.main] / total)
    rows.add("flops", flops)
    rows.add("temps", sum((_dim(d, columns) for d in plan.temps), 0.0))
    rows.add("roots", float(plan.roots))
    rows.add("regions", regions)
    rows.add("blocks", float(len(plan.blocks)))
    _main(rows, facts[plan.main], machine)
    _others(rows, "before", facts[: plan.main], machine)
    _others(rows, "after", facts[plan.main + 1 :], machine)
    return rows.matrix()


def _dim(dim: Dim, columns: Mapping[str, Any]) -> Any:
    return evaluate(dim, columns, {})


class _Rows:
    """Collects columns by name and applies the logarithm to all of them at once."""

    def __init__(self, n: int) -> None:
        self._data = np.zeros((len(COLUMNS), n))

    def add(self, name: str, values: Any) -> None:
        self._data[INDEX[name]] = values

    def matrix(self) -> NDArray[np.float32]:
        out = self._data.astype(np.float32)
        out[_LOG] = np.log2(1.0 + self._data[_LOG])
        return np.ascontiguousarray(out.T)


def _main(rows: _Rows, f: BlockFacts, machine: Machine) -> None:
    compute, memory, _ = block_cycles(f, machine)
    cycles = body_cycles(f, machine)
    flops = np.maximum(f.points * float(f.plan.flops), 1.0)
    loads = f.contiguous + f.broadcast + f.strided
    pieces = f.vectors * f.vector / f.body_points
    called = f.plan.intrinsic
    per_visit = np.where(f.visits > 0, f.bodies / np.maximum(f.visits, 1.0), 0.0)
    values: dict[str, Any] = {
        "cycles_body": cycles, "efficiency": f.fma / (2.0 * cycles), "fma": f.fma, "arithmetic": f.arithmetic,
        "contiguous": f.contiguous, "broadcast": f.broadcast, "strided": f.strided, "hoisted": f.hoisted,
        "loads_per_fma": loads / np.maximum(f.fma, 1.0), "accumulators": f.accumulators,
        "registers": f.registers / machine.registers, "chain": f.chain, "vector": f.vector,
        "lanes_used": f.vector / (pieces * f.lanes) if called is None else 1.0,
        "called": 0.0 if called is None else f.body_points / f.vectors,
        "inner_trips": f.inner_trips, "bodies": f.bodies,
        "visits": f.visits, "bodies_per_visit": per_visit, "reloads": f.reloads, "guards": f.guards, "tasks": f.tasks,
        "ahead": float(sum(lp.ahead for lp in f.plan.loops)),
        "share": f.share, "task_points": f.points / f.tasks, "compute": compute, "memory": memory,
        "balance": np.log2((compute + 1.0) / (memory + 1.0)), "l1_bytes": f.traffic["l1"], "l2_bytes": f.traffic["l2"],
        "l3_bytes": f.traffic["l3"], "l1_intensity": flops / (f.traffic["l1"] + 1.0),
        "l2_intensity": flops / (f.traffic["l2"] + 1.0), "l1_working": f.working["l1"], "l2_working": f.working["l2"],
        "footprint": f.working["all"], "tile_working": f.tile_working,
    }  # fmt: skip
    for name, v in values.items():
        rows.add(f"main.{name}", v)
    reads = range(1, len(f.prints))[: len(_SLOTS) - 1]
    for slot, k in zip(_SLOTS, [0, *reads], strict=False):
        _access(rows, f"main.{slot}", f, k)


def _access(rows: _Rows, prefix: str, f: BlockFacts, k: int) -> None:
    fp = f.prints[k]
    lane = next((j for j, lp in enumerate(f.plan.loops) if lp.kind == "vectorize"), None)
    step: Any = 0.0 if lane is None else np.where(f.vector > 1.0, np.abs(fp.stride[lane]), 0.0)
    rows.add(f"{prefix}.l1_bytes", f.moved["l1"][k])
    rows.add(f"{prefix}.l2_bytes", f.moved["l2"][k])
    rows.add(f"{prefix}.footprint", fp.bytes[0])
    rows.add(f"{prefix}.body", at_level(fp.elements, f.body_level))
    rows.add(f"{prefix}.reuse", f.points / fp.elements[0])
    rows.add(f"{prefix}.stride", step)


def _others(rows: _Rows, prefix: str, facts: list[BlockFacts], machine: Machine) -> None:
    if not facts:
        return
    cycles = [block_cycles(f, machine) for f in facts]
    totals: dict[str, list[Array]] = {
        "compute": [c[0] for c in cycles], "memory": [c[1] for c in cycles], "points": [f.points for f in facts],
        "bodies": [f.bodies for f in facts], "l1_bytes": [f.traffic["l1"] for f in facts],
        "l2_bytes": [f.traffic["l2"] for f in facts],
    }  # fmt: skip
    for name, parts in totals.items():
        rows.add(f"{prefix}.{name}", np.sum(parts, axis=0))
    rows.add(f"{prefix}.vector", np.min([f.vector for f in facts], axis=0))
    rows.add(f"{prefix}.tasks", np.min([f.tasks for f in facts], axis=0))
