"""Random schedules in which an intrinsic computes a tile: chance alone would never cut, order and pack an axis so."""

from __future__ import annotations

import random
from dataclasses import dataclass

from workbench import workloads
from workbench.ir.func import Func
from workbench.schedule import Hole, Schedule


@dataclass(frozen=True)
class Tile:
    """What an intrinsic asks of the axes i, j, k: the extents of its own loops, innermost last."""

    nest: str
    i: tuple[int, ...]
    j: tuple[int, ...]
    k: tuple[int, ...]


TILES = {
    "x86.amx.bf16": Tile("tiles_bf16", (16,), (16,), (16, 2)),
    "x86.amx.u8s8": Tile("tiles_u8s8", (16,), (16,), (16, 4)),
    "x86.amx.s8s8": Tile("tiles_s8s8", (16,), (16,), (16, 4)),
    "x86.vnni.dot4": Tile("dots", (), (16,), (4,)),
    "x86.avxvnni.dot4": Tile("dots", (), (8,), (4,)),
}


def tiles_bf16() -> Func:
    """Two by two tiles."""
    return workloads.matmul(32, 32, 32, dtype="bfloat16", constant_b=True)


def tiles_u8s8() -> Func:
    """Two tiles of bytes along the sum."""
    return workloads.matmul_int8(16, 16, 128, constant_b=True)


def tiles_s8s8() -> Func:
    """One by two tiles of signed bytes."""
    return workloads.matmul_int8(16, 32, 64, signed=True, constant_b=True)


def dots() -> Func:
    """Rows of an odd number, and sums of an odd number of groups."""
    return workloads.matmul_int8(5, 48, 12, constant_b=True)


NESTS = {f.__name__: f for f in (tiles_bf16, tiles_u8s8, tiles_s8s8, dots)}


def tensorized(rng: random.Random, s: Schedule, intrin: str, holes: bool = False, careless: float = 0.0) -> None:
    """Cut, order, pack and tensorize `s`, an unscheduled matrix product; raises what a step is refused with.

    With `careless`, each of the steps that the intrinsic relies on is left out or done wrong so often.
    """
    tile = TILES[intrin]

    def slip() -> bool:
        return rng.random() < careless

    def cut(loop: str, inner: tuple[int, ...]) -> tuple[list[str], list[str]]:
        extent = s.func.loop(loop)[0].extent
        size = 1
        for n in inner:
            size *= n
        if slip() and inner:
            inner = (*inner[:-1], inner[-1] * 2)
        outer: list[object] = [None]
        if holes:
            outer = [Hole(), Hole()]
        elif rng.random() < 0.7:
            outer = [None, rng.choice([d for d in range(1, extent // size + 1) if (extent // size) % d == 0])]
        names = list(s.split(loop, [*outer, *inner]))
        return names[: len(outer)], names[len(outer) :]

    (i, ti), (j, tj), (k, tk) = cut("i", tile.i), cut("j", tile.j), cut("k", tile.k)
    around = [*i, *j, *k]
    rng.shuffle(around)
    inner = [*ti, *tj, *tk]
    if slip():
        rng.shuffle(inner)
    s.reorder(*around, *inner)
    if not slip():
        s.transform_layout("B", 1, tile.j[-1])
    if not slip():
        s.transform_layout("B", 1, tile.k[-1], "here")
    for name in around:
        if rng.random() < 0.4 and not holes:
            s.unroll(name)
    s.tensorize(inner[0], intrin)
