"""Random schedules in which an intrinsic computes a tile: chance alone would never cut, order and pack an axis so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench import workloads
from workbench.intrinsics import registry
from workbench.ir import Affine, Block, For, Func, Load, Stmt
from workbench.ir.expr import loads
from workbench.schedule import Hole, Schedule


@dataclass(frozen=True)
class Tile:
    """What an intrinsic asks of the axes i, j, k: the extents of its own loops, innermost last."""

    nest: str
    i: tuple[int, ...]
    j: tuple[int, ...]
    k: tuple[int, ...]


#: Of accelerators and GPUs, whose products are no part of a processor's nests: tests/codegen/test_vta.py and
#: test_warp_tiles.py draw them.
ELSEWHERE = tuple(name for name in registry.names if name.startswith(("vta.", "cuda.")))
TILES = {
    "x86.amx.bf16": Tile("tiles_bf16", (16,), (16,), (16, 2)),
    "x86.amx.u8s8": Tile("tiles_u8s8", (16,), (16,), (16, 4)),
    "x86.amx.s8s8": Tile("tiles_s8s8", (16,), (16,), (16, 4)),
    "x86.vnni.dot4": Tile("dots", (), (16,), (4,)),
    "x86.avxvnni.dot4": Tile("dots", (), (8,), (4,)),
    "x86.vnni.signed4": Tile("wide_signed_dots", (), (16,), (4,)),
    "x86.avxvnni.signed4": Tile("wide_signed_dots", (), (8,), (4,)),
    "x86.avx512bw.dot4": Tile("dots", (), (16,), (4,)),
    "x86.avx2.dot4": Tile("dots", (), (8,), (4,)),
    "x86.avx512bw.signed4": Tile("wide_signed_dots", (), (16,), (4,)),
    "x86.avx2.signed4": Tile("wide_signed_dots", (), (8,), (4,)),
    "arm.dotprod.sdot": Tile("signed_dots", (), (4,), (4,)),
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


def signed_dots() -> Func:
    """The same of signed bytes."""
    return workloads.matmul_int8(5, 24, 12, signed=True, constant_b=True)


def wide_signed_dots() -> Func:
    """The same for wider vectors."""
    return workloads.matmul_int8(5, 48, 12, signed=True, constant_b=True)


NESTS = {f.__name__: f for f in (tiles_bf16, tiles_u8s8, tiles_s8s8, dots, signed_dots, wide_signed_dots)}


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
        if len(outer) + len(inner) < 2:
            return [loop], []
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
        s.transform_layout("B", 1, s.func.loop(tj[-1])[0].extent)
    if not slip():
        s.transform_layout("B", 1, s.func.loop(tk[-1])[0].extent, "here")
    for name in around:
        if rng.random() < 0.4 and not holes:
            s.unroll(name)
    s.tensorize(inner[0], intrin)


def differs(func: Func, loop: For) -> str:
    """Say how the loops at an intrinsic differ from its description, "" when they do not.

    Written without `workbench.intrinsics.match`: the addresses of all points are worked out and compared.
    """
    described = registry[loop.intrin]
    have, want = _nest(loop), _nest(described.func.body[0])
    if [lp.extent for lp in have[0]] != [lp.extent for lp in want[0]]:
        return f"extents {[lp.extent for lp in have[0]]}"
    own, same = have[1], want[1]
    pairs = list(zip(loads(own.value), loads(same.value), strict=True))
    if func.buffer(pairs[1][0].buffer).dtype != described.func.buffer(pairs[1][1].buffer).dtype:
        pairs[1], pairs[2] = (pairs[2][0], pairs[1][1]), (pairs[1][0], pairs[2][1])
    for mine, theirs in pairs:
        buffer, model = func.buffer(mine.buffer), described.func.buffer(theirs.buffer)
        if buffer.dtype != model.dtype:
            return f"{mine.buffer} holds {buffer.dtype}"
        steps = list(model.strides())
        got = _addresses(mine, own, have[0], buffer.strides())
        if theirs.buffer in described.rows:
            first = tuple(int(d == 0) for d in range(got.ndim)) if theirs.buffer != "B" else (0, 0, 1, 0)
            steps[0] = int(got[first])
        if not np.array_equal(got, _addresses(theirs, same, want[0], steps)):
            return f"{mine.buffer} lies elsewhere"
    return ""


def _nest(stmt: Stmt) -> tuple[list[For], Block]:
    chain: list[For] = []
    while isinstance(stmt, For):
        chain.append(stmt)
        (stmt,) = stmt.body
    return chain, stmt


def _addresses(load: Load, block: Block, chain: list[For], strides: Sequence[int]) -> np.ndarray:
    """Distance in elements from the first point of the loops to every other, all other loops standing still."""
    grids = np.meshgrid(*(np.arange(lp.extent) for lp in chain), indexing="ij")
    at = dict(zip((lp.name for lp in chain), grids, strict=True))

    def value(form: Affine, env: dict[str, np.ndarray]) -> np.ndarray:
        total = np.zeros(grids[0].shape, int) + form.const
        for d, c in form.terms:
            v = env.get(d.var, np.zeros((), int)) // d.lower
            total = total + c * (v if d.extent is None else v % d.extent)
        return total

    axes = {it.name: value(b, at) for it, b in zip(block.iters, block.binds, strict=True)}
    out = sum(s * value(x, axes) for x, s in zip(load.index, strides, strict=True))
    return out - out.flat[0]
