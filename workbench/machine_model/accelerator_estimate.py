"""How many cycles an accelerator takes: its engines side by side where virtual threads hide the loads, else in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.codegen.vta.design import Design
from workbench.ir.poly import evaluate, product
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
    zero: NDArray[np.float64] = np.zeros(n)
    load, compute, store, ends = zero, zero, zero, zero
    memo: dict[object, Any] = {}
    main = plan.blocks[plan.main]
    for k, block in enumerate(plan.blocks):
        others = {lp.name for b in plan.blocks if b is not block for lp in b.loops}
        points = np.asarray(evaluate(product(lp.extent for lp in block.loops), columns, memo), np.float64)
        shared = product(lp.extent for lp in block.loops if lp.name in others)
        calls = np.asarray(evaluate(shared, columns, memo), np.float64)
        moved = calls * design.latency + points * _written(block) / design.bus
        # Nothing is computed during the first loads and the last store.
        ends = ends + (0.0 if block is main else moved / calls)
        if block is main:
            compute = compute + calls * design.fill + points / (design.inputs * design.outputs)
        elif k < plan.main:
            load = load + moved
        else:
            store = store + moved
            compute = compute + block.flops * (calls * design.fill + points / design.outputs)
    hidden = any(lp.kind == "vthread" for lp in main.loops)
    busy = np.maximum(load, compute) if hidden else load + compute
    return np.asarray(np.maximum(busy, store) + ends, np.float32)


def _written(block: BlockPlan) -> int:
    return next(a.itemsize for a in block.accesses if a.is_write)
