"""How many cycles an accelerator takes: its engines side by side where virtual threads hide the loads, else in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.codegen.vta.design import Design
from workbench.ir.poly import evaluate, product
from workbench.machine_model.batched_values import Array
from workbench.machine_model.nest_summary import BlockPlan, NestPlan


def accelerator_cycles(plan: NestPlan, columns: Mapping[str, Any], n: int, design: Design) -> NDArray[np.float32]:
    """Estimate the cycles ``[N]`` of every row.

    Parameters
    ----------
    plan : NestPlan
    columns : mapping of str to array [N]
        Values of the holes.
    n : int
    design : Design
    """
    return np.asarray(_total(plan, engine_cycles(plan, columns, n, design)), np.float32)


@dataclass(frozen=True, slots=True)
class EngineCycles:
    """Cycles of one block ``[N]``: of moving data, of computing, and of a call, during which nothing else happens at
    the ends.
    """

    moved: NDArray[np.float64]
    computed: NDArray[np.float64]
    ends: NDArray[np.float64]


def engine_cycles(plan: NestPlan, columns: Mapping[str, Any], n: int, design: Design) -> list[EngineCycles]:
    """Return the cycles that each block keeps its engines busy."""
    found, zero = list[EngineCycles](), np.zeros(n)
    memo: dict[object, Any] = {}
    for k, block in enumerate(plan.blocks):
        others = {lp.name for b in plan.blocks if b is not block for lp in b.loops}
        points = np.asarray(evaluate(product(lp.extent for lp in block.loops), columns, memo), np.float64)
        shared = product(lp.extent for lp in block.loops if lp.name in others)
        calls = np.asarray(evaluate(shared, columns, memo), np.float64)
        moved = calls * design.latency + points * _written(block) / design.bus
        if k == plan.main:
            computed = calls * design.fill + points / (design.inputs * design.outputs)
            found.append(EngineCycles(zero, zero + computed, zero))
        else:
            computed = block.flops * (calls * design.fill + points / design.outputs) if k > plan.main else zero
            # Nothing is computed during the first loads and the last store.
            found.append(EngineCycles(zero + moved, zero + computed, zero + moved / calls))
    return found


def _total(plan: NestPlan, found: Sequence[EngineCycles]) -> NDArray[np.float64]:
    load = sum((c.moved for c in found[: plan.main]), np.zeros(1))
    store = sum((c.moved for c in found[plan.main :]), np.zeros(1))
    compute = sum((c.computed for c in found), np.zeros(1))
    busy = np.maximum(load, compute) if hides_loads(plan) else load + compute
    return np.asarray(np.maximum(busy, store) + sum((c.ends for c in found), np.zeros(1)), np.float64)


def hides_loads(plan: NestPlan) -> bool:
    """Whether one part of the accelerator computes while the next operands are loaded."""
    return any(lp.kind == "vthread" for lp in plan.blocks[plan.main].loops)


def block_cycles_of(plan: NestPlan, columns: Mapping[str, Any], n: int, design: Design) -> list[tuple[Array, ...]]:
    """Return what each block takes of the whole, by how busy it keeps the engines: computing, moving, and both."""
    found = engine_cycles(plan, columns, n, design)
    busy = sum((c.moved + c.computed for c in found), np.zeros(1))
    pace = _total(plan, found) / np.maximum(busy, 1.0)
    return [
        tuple(np.asarray(x, np.float32) for x in (c.computed * pace, c.moved * pace, (c.computed + c.moved) * pace))
        for c in found
    ]


def _written(block: BlockPlan) -> int:
    return next(a.itemsize for a in block.accesses if a.is_write)
