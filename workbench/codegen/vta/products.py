"""Tensorized nests as GEMM instructions: two loops in hardware, the others as micro-ops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from workbench.codegen.vta.addresses import Inner, row_of, value
from workbench.codegen.vta.design import Design
from workbench.codegen.vta.instructions import HardwareLoop
from workbench.ir import Affine

Word = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Product:
    """A GEMM instruction before its micro-ops have a place."""

    words: tuple[Word, ...]
    reset: int
    loops: tuple[HardwareLoop, HardwareLoop]


def hardware_loops(loops: Sequence[Inner]) -> tuple[tuple[HardwareLoop, HardwareLoop], list[Inner]]:
    """Take the two longest loops; the others stay."""
    rest = list(loops)
    chosen: list[HardwareLoop] = []
    for lp in sorted(loops, key=lambda lp: -lp.extent)[:2]:
        rest.remove(lp)
        a, b, c = (*lp.moves, 0, 0)[:3]
        chosen.append((lp.extent, a, b, c))
    while len(chosen) < 2:
        chosen.append((1, 0, 0, 0))
    return (chosen[0], chosen[1]), rest


def words_of(loops: Sequence[Inner], start: Word) -> tuple[Word, ...]:
    """A micro-op for every iteration of the loops, outermost first."""
    return tuple(
        (
            start[0] + sum(i * lp.moves[0] for i, lp in zip(at, loops, strict=True)),
            start[1] + sum(i * lp.moves[1] for i, lp in zip(at, loops, strict=True)),
            start[2] + sum(i * lp.moves[2] for i, lp in zip(at, loops, strict=True)),
        )
        for at in product(*(range(lp.extent) for lp in loops))
    )


def gemm(
    forms: Sequence[Affine],
    loops: Sequence[tuple[Inner, bool]],
    firsts: Sequence[int],
    at: Mapping[str, int],
    starts: bool,
    design: Design,
    what: str,
) -> Product | None:
    """Make the instruction of a tensorized nest; None where it needs more micro-ops than there is room for.

    Parameters
    ----------
    forms : sequence of Affine
        Addresses of sums, data and weights, in elements.
    loops : sequence
        Loops around the intrinsic, with steps in elements, and whether they reduce.
    firsts : sequence of int
        Where the buffers begin, in rows.
    at : mapping
        Values of the loops outside.
    starts : bool
        Whether sums start at 0 here.
    """
    elements = [design.rows[m] for m in ("acc", "inp", "wgt")]
    steps = [
        (Inner(lp.extent, tuple(row_of(m, e, what, "rows") for m, e in zip(lp.moves, elements, strict=True))), reduces)
        for lp, reduces in loops
    ]
    start = [f + row_of(value(form, at), e, what, "rows") for form, e, f in zip(forms, elements, firsts, strict=True)]
    hardware, rest = hardware_loops([lp for lp, reduces in steps if not reduces])
    summed = [lp for lp, reduces in steps if reduces]
    if math.prod(lp.extent for lp in [*rest, *summed]) > design.depth["uop"]:
        return None
    # Sums start with the first micro-ops: what is summed over goes outside.
    words = words_of([*summed, *rest], (start[0], start[1], start[2]))
    return Product(words, math.prod(lp.extent for lp in rest) if starts else 0, hardware)
