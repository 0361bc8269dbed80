"""Pieces that AutoTVM's templates for GPUs have in common: tiles, copies, blocks and threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.logs.replays.taking import Taking
from workbench.schedule.size_limits import UNROLL_LIMIT

Knobs: TypeAlias = Mapping[str, Any]
"""Name of a knob -> its value: the factors of a split, an option."""

Bindings: TypeAlias = list[tuple[str, str]]
"""Loops, outermost first, and what each is bound to."""


def caches(taking: Taking, block: str, apart: bool = False) -> tuple[str, list[str]]:
    """Sum up in a temporary, from copies of all that is read; a stage that makes what is read is such a copy itself,
    unless it has to stay `apart`.

    Returns the block that copies the result, and those that copy what is read, the last one first: so they are placed.
    """
    copy = str(taking.do("cache_write", block))
    taking.told("cache_write", f"{block} sums up in a temporary, {copy} copies from it")
    makers = {} if apart else {made.buffer: made.name for made in taking.schedule.blocks}
    return copy, [makers.get(read) or cached(taking, block, read) for read in reversed(taking.reads_of(block))]


def cached(taking: Taking, block: str, buffer: str) -> str:
    """Copy what a block reads; returns the block that copies."""
    copy = str(taking.do("cache_read", block, buffer))
    taking.told("cache_read", f"{block} reads a copy of {buffer}")
    return copy


def tiles(taking: Taking, knobs: Knobs, **loops: str) -> list[list[str]]:
    """Cut loops, each by the knob of its name; returns the parts of each, outermost first."""
    parts = []
    for knob, loop in loops.items():
        parts.append(taking.cut(loop, knobs[knob]))
        taking.told(f"{knob} {list(knobs[knob])}", f"{loop} in tiles")
    return parts


def on_grid(taking: Taking, axes: Sequence[Sequence[str]], images: str = "") -> Bindings:
    """Order the parts of axes: blocks, virtual threads, threads, elements of a thread; several `images` also."""
    level = list(zip(*axes, strict=True))
    blocks = list(level[0])
    many = images and taking.extent(images) > 1
    taking.order(*(loop for loops in level for loop in loops), *([images] if images and not many else []))
    if many:
        blocks[0] = str(taking.do("fuse", images, blocks[0]))
    taking.told("reorder", "blocks, virtual threads, threads, and the elements of a thread")
    names = "zyx"[-len(axes) :]
    found = [(loop, f"blockIdx.{axis}") for loop, axis in zip(blocks, names, strict=True)]
    found += [(loop, "vthread") for loop in level[1]]
    return found + [(loop, f"threadIdx.{axis}") for loop, axis in zip(level[2], names, strict=True)]


def place(taking: Taking, block: str, loop: str, scope: str) -> list[str]:
    """Compute a block inside a loop, into a memory; returns its own loops there."""
    loops = list(taking.do("compute_at", block, loop))
    taking.do("set_scope", taking.buffer_of(block), scope)
    taking.told(f"compute_at, {scope}", f"{block} is made inside {loop}, in {scope} memory")
    return loops


def bind(taking: Taking, bindings: Bindings) -> None:
    """Bind loops; a bound loop is cut no more."""
    for loop, to in bindings:
        taking.do("bind", loop, to)
    taking.told("bind", ", ".join(f"{loop} by {to}" for loop, to in bindings))


def unroll(taking: Taking, knobs: Knobs, scopes: Mapping[str, str]) -> None:
    """Unroll from the inside up to ``auto_unroll_max_step`` steps; `scopes` has blocks and the loop of the pragma."""
    most = int(knobs["auto_unroll_max_step"])
    for block, outermost in scopes.items():
        for name in loops_to_unroll(taking.schedule.func, block, min(most, UNROLL_LIMIT), outermost):
            taking.do("unroll", name)
    limit = f"; {UNROLL_LIMIT} here" if most > UNROLL_LIMIT else ""
    taking.told(f"auto_unroll_max_step {most}", f"loops of up to {most} steps are written out{limit}")


def finish(taking: Taking, bindings: Bindings, knobs: Knobs, copy: str) -> None:
    """Bind loops, and unroll in the whole nest."""
    bind(taking, bindings)
    unroll(taking, knobs, {copy: ""})
