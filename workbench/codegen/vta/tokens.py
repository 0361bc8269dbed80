"""Who waits for whom: tokens from one engine to the next, for every dependence that the order does not keep already.

Instructions of one engine run in order. Where an instruction depends on one of another engine (it reads what that one
writes, or overwrites what that one reads or writes), the earlier one pushes a token that the later one pops. What an
engine knows to be done, by its own tokens and by those that others had popped before, needs no token. A token more or
fewer is always a mistake: tokens between two engines are popped in the order in which they are pushed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.codegen.vta.design import Design
from workbench.codegen.vta.instructions import ENGINES, Footprints, Instruction, LoadMicroOps, Rows

Word = tuple[int, int, int]


class Touched:
    """Who touched each row last: for every memory, the last writer, and the last reader of every engine."""

    def __init__(self, design: Design) -> None:
        memories = ("inp", "wgt", "acc")
        self._writer = {m: np.full(design.depth[m], -1) for m in memories}
        self._engine = {m: np.zeros(design.depth[m], np.int64) for m in memories}
        self._reader = {m: np.full((len(ENGINES), design.depth[m]), -1) for m in memories}

    def before(self, memory: str, rows: Rows, writes: bool) -> Rows:
        """Number of the last instruction of each engine that has to be done before rows are read, or written."""
        last = np.full(len(ENGINES), -1)
        np.maximum.at(last, self._engine[memory][rows], self._writer[memory][rows])
        return np.maximum(last, self._reader[memory][:, rows].max(1, initial=-1)) if writes else last

    def note(self, memory: str, rows: Rows, writes: bool, engine: int, number: int) -> None:
        """Remember who touches rows."""
        if writes:
            self._writer[memory][rows], self._engine[memory][rows] = number, engine
        else:
            self._reader[memory][engine, rows] = number


def with_tokens(
    instructions: Sequence[Instruction], kernels: Sequence[Sequence[Word]], design: Design
) -> tuple[Instruction, ...]:
    """Let instructions wait for each other."""
    touched, footprints = Touched(design), Footprints(kernels, design.depth["uop"])
    counts = [0] * len(ENGINES)
    clock = [np.full(len(ENGINES), -1) for _ in ENGINES]
    #: Engine and number -> what that engine knew to be done, and the place in the program.
    past: dict[tuple[int, int], tuple[Rows, int]] = {}
    pops: dict[int, list[str]] = {}
    pushes: dict[int, list[str]] = {}
    for place, instruction in enumerate(instructions):
        engine = ENGINES.index(instruction.engine)
        number = counts[engine]
        if isinstance(instruction.does, LoadMicroOps):
            footprints.load(instruction.does)
        reads, writes = footprints.touched(instruction.does)
        need = np.full(len(ENGINES), -1)
        for rows, writing in ((reads, False), (writes, True)):
            for memory, which in rows:
                need = np.maximum(need, touched.before(memory, which, writing))
        known = clock[engine].copy()
        for other in range(len(ENGINES)):
            if other != engine and need[other] > known[other]:
                then, source = past[other, int(need[other])]
                pops.setdefault(place, []).append(ENGINES[other])
                pushes.setdefault(source, []).append(ENGINES[engine])
                known = np.maximum(known, then)
        known[engine] = number
        clock[engine], past[engine, number] = known, (known, place)
        counts[engine] += 1
        for rows, writing in ((reads, False), (writes, True)):
            for memory, which in rows:
                touched.note(memory, which, writing, engine, number)
    return tuple(
        replace(i, pops=tuple(pops.get(k, ())), pushes=tuple(pushes.get(k, ()))) for k, i in enumerate(instructions)
    )
