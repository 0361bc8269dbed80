"""What bounds a statement on a GPU or an accelerator, by the estimate of the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from workbench.machine_model.accelerator_estimate import engine_cycles, hides_loads
from workbench.machine_model.batched_values import Telling
from workbench.machine_model.cycle_estimate import Cycles
from workbench.machine_model.device_estimate import threads_of
from workbench.machine_model.gpu_estimate import BUSY, LATENCY, Residence
from workbench.machine_model.gpu_facts import AccessFacts, GpuFacts
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.machine_model.nest_summary import BlockPlan, NestPlan, plan
from workbench.schedule import Schedule

#: Code, sentence, row of the nest, share of the statement's time: as in `bottlenecks.Reason`.
Found: TypeAlias = tuple[str, str, str, float]


def device_reasons(schedule: Schedule, machine: Machine, k: int, cycles: Cycles) -> Iterator[Found]:
    """Yield what takes time in the block of number `k` of a schedule without open numbers.

    Codes are ``threads`` (too few in a block), ``grid`` (multiprocessors without work), ``occupancy`` (too few warps
    to hide waiting), ``coalescing`` (pieces of memory that hold little of what is asked for), ``banks`` (threads that
    want other words of one bank), ``waits`` (fetches that nothing hides).
    """
    summary = plan(schedule.func)
    if machine.gpu is not None:
        found, full = threads_of(summary, Telling({}, 1).all, machine.gpu)
        yield from _on_gpu(summary.blocks[k], found[k], full, machine.gpu, cycles)
    else:
        yield from _on_accelerator(summary, machine)


def _on_gpu(block: BlockPlan, g: GpuFacts, full: Residence, gpu: Gpu, cycles: Cycles) -> Iterator[Found]:
    row = f"stmt:{block.name}"
    compute, memory = _one(cycles.compute), _one(cycles.memory)
    whole = compute + memory
    threads, grid = round(_one(g.threads)), round(_one(g.grid))
    free = next((lp.name for lp in reversed(block.loops) if lp.kind == "serial" and not lp.reduces), row)
    if threads < gpu.warp:
        text = f"a block has {threads} of the {gpu.warp} threads of a warp: the others do nothing"
        yield "threads", text, free, 1.0 - threads / gpu.warp
    rounds = -(-grid // gpu.multiprocessors)
    if rounds * gpu.multiprocessors > grid:
        text = f"{_many(grid, 'block')} for {gpu.multiprocessors} multiprocessors: some have no work in the last round"
        yield "grid", text, free, 1.0 - grid / (rounds * gpu.multiprocessors)
    warps = -(-threads // gpu.warp)
    held = round(_one(full.blocks))
    there = min(held, rounds) * warps
    if there < BUSY:
        limits = gpu.each.limits(warps * gpu.warp, *(int(np.ceil(_one(x))) for x in (full.registers, full.shared)))
        limiter = min(limits, key=lambda name: int(limits[name])) if held <= rounds else "the grid"
        bound = f"bounded by {limiter}; {BUSY:.0f} would hide waiting"
        text = f"a multiprocessor has {_many(there, 'warp')} at a time, {bound}"
        yield "occupancy", text, row, 1.0 - there / BUSY
    yield from _accesses(block, g, gpu, compute, memory)
    fetches = any(a.memory == "shared" for a in g.accesses[:1]) and any(a.memory == "global" for a in g.accesses)
    if fetches and not _one(g.ahead):
        around = next((lp.name for lp in block.loops if lp.kind == "serial"), "")
        waited = -(-grid // (gpu.multiprocessors * held)) * _one(g.steps) * LATENCY / held
        text = f"each of {round(_one(g.steps)):,} fetches is waited for: none is under way while the one before is used"
        yield "waits", text, around, min(1.0, 0.75 * waited / whole)


def _accesses(block: BlockPlan, g: GpuFacts, gpu: Gpu, compute: float, memory: float) -> Iterator[Found]:
    """The worst of the accesses to memory, and of those to shared memory."""
    pairs = list(zip(g.accesses, block.accesses, strict=True))
    moved = sum(_one(a.requests * a.sectors) for a, _ in pairs if a.memory == "global")
    row, whole = f"stmt:{block.name}", compute + memory
    far = max((p for p in pairs if p[0].memory == "global"), key=lambda p: _lost(p[0]), default=None)
    if far is not None and _one(far[0].sectors) > _one(far[0].least):
        a, about = far
        there, least = round(_one(a.sectors)), round(_one(a.least))
        verb = "writes" if about.is_write else "reads"
        text = f"a warp {verb} {about.buffer} in {there} pieces of memory, {least} would hold it: its threads lie apart"
        yield "coalescing", text, row, _lost(a) / max(moved, 1.0) * memory / whole
    near = max((p for p in pairs if p[0].memory == "shared"), key=lambda p: _one(p[0].turns), default=None)
    if near is not None and _one(near[0].turns) > 1.0:
        a, about = near
        text = f"threads of a warp ask one bank for {about.buffer} in {round(_one(a.turns))} turns in the place of one"
        lost = _one(a.requests * (a.turns - 1.0)) / (gpu.multiprocessors * min(1.0, _one(g.grid) / gpu.multiprocessors))
        yield "banks", text, row, min(lost, compute) / whole


def _lost(a: AccessFacts) -> float:
    """Pieces of memory that hold nothing of what is asked for."""
    return _one(a.requests * (a.sectors - a.least))


def _on_accelerator(summary: NestPlan, machine: Machine) -> Iterator[Found]:
    assert machine.accelerator is not None
    found = engine_cycles(summary, {}, 1, machine.accelerator)
    load = sum(_one(c.moved) for c in found[: summary.main])
    compute = sum(_one(c.computed) for c in found)
    main = summary.blocks[summary.main]
    outer = next((lp.name for lp in main.loops if lp.kind == "serial" and not lp.reduces), "")
    if load + compute <= 0.0:
        return
    if not hides_loads(summary):
        text = "loads and computing take turns: two virtual threads would load for one while the other computes"
        yield "waits", text, outer, min(load, compute) / (load + compute)
    elif load > compute:
        text = f"the bus is busy {load / compute:.1f} times as long as the products: larger tiles load less"
        yield "loads", text, f"stmt:{main.name}", 1.0 - compute / load


def _one(x: object) -> float:
    """The number of a schedule without open ones."""
    return float(np.ravel(np.asarray(x))[0])


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
