"""The caches while a nest runs: which lines of each array they hold, before one access after the other."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.analysis.cache.access_tree import Access, Mode, Program, Repeat, count
from workbench.analysis.cache.accesses import program
from workbench.analysis.cache.levels import Cache
from workbench.analysis.cache.lru import Hierarchy
from workbench.analysis.cache.machine_code import Code
from workbench.ir import Buffer, Func
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete
from workbench.target import Target

Bytes = npt.NDArray[np.uint8]

#: Pictures of a whole run, and of single accesses. Chosen: a minute of looking, and three vectors' worth of a tile.
FRAMES, STEPS = 160, 400
#: Accesses that are run of a larger nest, about; at most twice as many, where an outermost iteration is larger. Cells
#: of an array along each side, and lines that are looked at in each cell along each side.
_LIMIT, _SIDE, _PROBES = 8_000_000, 64, 4
#: Levels that are shown: of more, a picture says nothing.
LEVELS = 2
_SHARES = 255
_LOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
#: Columns of `Shots.table` ahead of the misses of each level.
TIME, ACCESS, ARRAY, CELL, FOUND = range(5)


@dataclass(frozen=True, slots=True)
class Grid:
    """An array as cells: a row of the array, or several, by a line, or several.

    Attributes
    ----------
    name, shape : str
    rows, columns : int
        Cells.
    tall, wide : int
        Rows of the array, and lines, of one cell.
    base, long, line : int
        Bytes: where the array lies, from one of its rows to the next, of a line.
    lines : array, shape (rows * columns, probes)
        Lines of memory that stand for each cell.
    """

    name: str
    shape: str
    rows: int
    columns: int
    tall: int
    wide: int
    base: int
    long: int
    line: int
    lines: npt.NDArray[np.int64]

    def cell(self, line: int) -> int:
        """Return the cell of a line of memory; of one that two rows share, that of the earlier row."""
        row, at = divmod(max(0, line * self.line - self.base), self.long)
        return min(row // self.tall, self.rows - 1) * self.columns + at // self.line // self.wide


@dataclass(frozen=True, slots=True)
class Shots:
    """Pictures of caches.

    Attributes
    ----------
    table : array of int32, shape (pictures, 5 + levels + arrays + loops)
        Number of the access that is about to happen; which one of the nest (-1 behind the last); its array and cell;
        the level that has its line (the number of levels for none); misses of each level so far; misses of the first
        level by array so far; values of the loops.
    cells : array of uint8, shape (pictures, cells of all arrays, levels)
        Of each cell, the share of its lines that a level or one before it holds, in 255ths.
    """

    table: npt.NDArray[np.int32]
    cells: Bytes


class Film:
    """Runs a nest on simulated caches and takes pictures; nothing is computed.

    Parameters
    ----------
    func : Func
        Concrete.
    target : Target
    levels : sequence of Cache
        The first two are simulated.
    mode : {"generated", "written"}
    apart : int
        Bytes between two arrays.

    Attributes
    ----------
    total : int
        Accesses of the run. Of a larger nest, the first iterations of each outermost loop are run.
    part : float
        Share of all accesses that this is.
    """

    def __init__(self, func: Func, target: Target, levels: Sequence[Cache], mode: Mode, apart: int) -> None:
        self.levels = tuple(levels[:LEVELS])
        self.program: Program = program(func, target, mode, apart, self.levels[0].line)
        self.loops = tuple(x.name for x in self.program.loops)
        touched = {a.buffer for a in self.program.accesses}
        self.grids = tuple(
            _grid(b, self.program.bases[b.name], self.levels[0].line) for b in self.program.buffers if b.name in touched
        )
        self._code = Code(self.program, self.levels, self.loops)
        sizes = [count([node], self.levels[0].line) for node in self.program.nodes]
        share = min(1.0, _LIMIT / max(1, sum(sizes)))
        self._ends = [max(1, int(n.count * share)) if isinstance(n, Repeat) else 1 for n in self.program.nodes]
        self.total = 0
        self.total = self._run([], None)
        self.part = self.total / max(1, sum(sizes)) if share < 1 else 1.0

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Places of the nest that touch memory, by their number."""
        return self.program.accesses

    def whole(self) -> Shots:
        """Take pictures at equal distances, the last one at the end."""
        return self._shots(np.unique(np.linspace(0, self.total, FRAMES).astype(int)))

    def steps(self, first: int) -> Shots:
        """Take a picture before each access from `first` on."""
        first = max(0, min(first, self.total - STEPS))
        return self._shots(np.arange(first, min(self.total, first + STEPS) + 1))

    def _shots(self, times: npt.NDArray[np.int64]) -> Shots:
        cells = sum(g.rows * g.columns for g in self.grids)
        width = FOUND + 1 + len(self.levels) + len(self.grids) + len(self.loops)
        shots = Shots(
            np.zeros((len(times), width), np.int32), np.zeros((len(times), cells, len(self.levels)), np.uint8)
        )
        self._run([int(t) for t in times], shots)
        return shots

    def _run(self, times: Sequence[int], shots: Shots | None) -> int:
        """Run everything, with a picture at each time; returns how many accesses there were."""
        memory = self.program.nbytes // self.levels[0].line + 1
        caches = Hierarchy(self.levels, memory, len(self.accesses), len(self.loops), 2 * _LIMIT)
        waiting = list(enumerate(times))[::-1]

        def look(_state: int | None) -> None:
            k, _ = waiting.pop()
            assert shots is not None
            self._picture(caches, shots, k)
            caches.pause(waiting[-1][1] if waiting else -1, address)

        callback = _LOOK(look)
        address = ctypes.cast(callback, ctypes.c_void_p).value or 0
        caches.pause(waiting[-1][1] if waiting else -1, address)
        for part, stop in enumerate(self._ends):
            self._code.run(part, caches.address, 0, stop)
        if shots is not None:
            for k, _ in waiting:
                self._picture(caches, shots, k, at_end=True)
        return caches.time

    def _picture(self, caches: Hierarchy, shots: Shots, k: int, at_end: bool = False) -> None:
        held = caches.holders(self.program.nbytes // self.levels[0].line + 1)
        at = 0
        for grid in self.grids:
            found = held[grid.lines]
            size = grid.rows * grid.columns
            for level in range(len(self.levels)):
                shots.cells[k, at : at + size, level] = np.ceil((found <= level).mean(axis=1) * _SHARES)
            at += size
        levels, row = len(self.levels), shots.table[k]
        misses = caches.counts[2 : 2 + levels]
        by_array = [int(misses[0, self._of(g.name)].sum()) for g in self.grids]
        row[TIME] = caches.time
        row[ACCESS : FOUND + 1] = -1
        if not at_end:
            who, line = caches.next
            array = [g.name for g in self.grids].index(self.accesses[who].buffer)
            row[ACCESS : FOUND + 1] = [who, array, self.grids[array].cell(line), held[line]]
        row[FOUND + 1 :] = [*misses.sum(axis=1), *by_array, *caches.loops]

    def _of(self, buffer: str) -> list[int]:
        return [a.number for a in self.accesses if a.buffer == buffer]


def _grid(b: Buffer, base: int, line: int) -> Grid:
    sizes = [concrete(n) for n in b.shape] or [1]
    long = concrete(b.strides()[-2] if len(sizes) > 1 else sizes[-1]) * itemsize(b.dtype)
    rows, lines = math.prod(sizes[:-1]), -(-long // line)
    tall, wide = -(-rows // _SIDE), -(-lines // _SIDE)
    down, across = -(-rows // tall), -(-lines // wide)
    probe_r, probe_c = _probes(rows, tall, down), _probes(lines, wide, across)
    offsets = probe_r[:, None, :, None] * long + probe_c[None, :, None, :] * line
    places = np.minimum((base + offsets) // line, (base + b.nbytes - 1) // line)
    shape = "×".join(map(str, sizes))
    return Grid(b.name, shape, down, across, tall, wide, base, long, line, places.reshape(down * across, -1))


def _probes(size: int, each: int, cells: int) -> npt.NDArray[np.int64]:
    """Places in each cell that are looked at, shape (cells, probes)."""
    inside = np.unique(np.linspace(0, each - 1, min(each, _PROBES)).astype(np.int64))
    at = np.arange(cells, dtype=np.int64)[:, None] * each + inside
    return at.clip(max=size - 1)
