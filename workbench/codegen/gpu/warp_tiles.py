"""Tiles that the threads of a warp compute together: where their sums live, and what is loaded and stored.

Sums stay in registers of the warp from the outermost reducing loop on inside of which every spatial loop is unrolled or
bound to threads, as those of a CPU's intrinsics do. They are 0 before that loop, or read where a loop around it has
begun the sum already, and stored after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

from workbench.codegen.lowering import init_nest, reduced_at, reducing_loops
from workbench.errors import BuildError
from workbench.intrinsics import Match, Mismatch, match, registry
from workbench.ir import Affine, Block, Buffer, For, Func, Stmt, accesses, blocks, loops
from workbench.ir.affine import flat_index
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete
from workbench.ir.stmt import THREAD_KINDS, rewrite
from workbench.target import Target

#: Note of a loop that a warp computes: "step" where the sums are in registers around it, "first" where they begin with
#: it and "whole" where they go on in memory, "load" and "store" for the nests that move them.
TILE = "tile"
#: Beginning of the note of a statement from which on a block's sums are in registers.
SUMS = "sums of "
#: Bytes that the address of a tile is a multiple of, and the distance of its rows.
ALIGN, ROW_ALIGN = 32, 16


def with_tiles(func: Func) -> Func:
    """Return the lowered function with notes of what a warp does where, and nests that load and store its sums."""
    return func.with_body(tuple(new for s in func.body for new in _statements(s, frozenset())))


def _statements(s: Stmt, outside: frozenset[str]) -> tuple[Stmt, ...]:
    """What stands in the place of a statement inside of some loops."""
    if not isinstance(s, For):
        return (s,)
    if _is_tile(s):
        return (s if s.note(TILE) else _in_memory(s, outside),)
    before: list[For] = []
    after: list[For] = []
    for b, path in reduced_at(s):
        if not _stays(s, b, path):
            continue
        begun = b.resumes or bool(reducing_loops(b) & outside)
        s = s.around(_marked(s.body, b, begun))
        after.append(_moving(b, path, "store"))
        if begun:
            before.append(_holding(_moving(b, path, "load"), b))
        else:
            s = _holding(s, b)
    body = tuple(new for c in s.body for new in _statements(c, outside | {s.name}))
    return (*before, s.around(body), *after)


def _in_memory(tile: For, outside: frozenset[str]) -> For:
    """The tile of sums that no loop around keeps in registers."""
    b = next(blocks((tile,)))[0]
    if b.resumes or reducing_loops(b) & outside:
        return replace(tile, notes=((TILE, "whole"),))
    return replace(tile, body=_going_on(tile.body), notes=((TILE, "first"),))


def _going_on(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return rewrite(body, lambda s: (replace(s, init=s.own_load()),) if isinstance(s, Block) else None)


def _is_tile(lp: For) -> bool:
    return lp.intrin is not None and registry[lp.intrin].threads > 1


def _stays(around: For, b: Block, path: tuple[For, ...]) -> bool:
    """Whether the sums of a block may be in registers of the warp while a loop runs."""
    at = next((k for k, lp in enumerate(path) if _is_tile(lp)), None)
    if at is None or path[at].note(TILE) is not None:
        return False
    spatial = [lp for lp in path[:at] if lp.name not in reducing_loops(b)]
    count = math.prod(concrete(lp.extent) for lp in spatial if lp.kind == "unroll")
    others = {a.buffer for other, _ in blocks((around,)) if other.name != b.name for a in accesses(other)}
    return (
        all(lp.kind == "unroll" or lp.kind in THREAD_KINDS for lp in spatial)
        and count <= registry[path[at].intrin or ""].accumulators
        and b.buffer not in others
    )


def _holding(s: For, block: Block) -> For:
    """The statement from which on the sums of a block are in registers."""
    return replace(s, notes=(*s.notes, (SUMS + block.name, 1)))


def _marked(body: tuple[Stmt, ...], block: Block, begun: bool) -> tuple[Stmt, ...]:
    """A body in which the tile of a block is a step. Sums that have not begun before start as 0, in registers."""

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, For) or not _is_tile(s) or next(blocks((s,)))[0].name != block.name:
            return None
        return (replace(s, body=s.body if begun else _going_on(s.body), notes=((TILE, "step"),)),)

    return rewrite(body, fn)


def _moving(b: Block, path: tuple[For, ...], what: str) -> For:
    """The nest that loads or stores the sums of a block."""
    tile = next(lp for lp in path if _is_tile(lp))
    made = init_nest(replace(b, init=b.own_load()), path, f"{b.name}, {what}", {*THREAD_KINDS, "unroll"})
    note = ((TILE, what), ("of", b.name))
    (nest,) = rewrite(
        (made,),
        lambda s: (replace(s, intrin=tile.intrin, notes=note),) if isinstance(s, For) and s.name == tile.name else None,
    )
    assert isinstance(nest, For)
    return nest


def with_lanes(func: Func) -> Func:
    """Return the function with a loop over the threads of a warp around each of its tiles."""
    lane = func.fresh_name("lane")

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, For) or s.note(TILE) is None:
            return None
        sums = tuple(n for n in s.notes if n[0].startswith(SUMS))  # declared around the lanes, not inside them
        inner = replace(s, notes=tuple(n for n in s.notes if n not in sums))
        return (replace(For(lane, registry[s.intrin or ""].threads, (inner,), "threadIdx.x"), notes=sums),)

    return func.with_body(rewrite(func.body, fn))


def tile_at(path: tuple[For, ...]) -> int | None:
    """Position of the loop that a warp computes, None where there is none."""
    return next((k for k, lp in enumerate(path) if lp.note(TILE) is not None), None)


def tiles(body: tuple[Stmt, ...]) -> Iterator[For]:
    """Yield the loops that a warp computes."""
    return (lp for lp, _ in loops(body) if lp.note(TILE) is not None)


# ---- text ------------------------------------------------------------------------------------------------------------


def head() -> str:
    """Return what CUDA C needs to know of tiles."""
    return files(__package__).joinpath("wmma.cuh").read_text(encoding="utf-8").rstrip()


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile in memory: where its first element is, and how many elements its rows lie apart."""

    buffer: Buffer
    index: tuple[Affine, ...]
    row: int

    @property
    def is_aligned(self) -> bool:
        """Whether a warp can load it, whatever the loops around say."""
        size = itemsize(self.buffer.dtype)
        flat = flat_index(self.index, self.buffer.strides())
        steps = (concrete(flat.const), *(concrete(c) for _, c in flat.terms))
        return not any(x * size % ALIGN for x in steps) and self.row * size % ROW_ALIGN == 0


def operands(lp: For, buffers: Mapping[str, Buffer], target: Target) -> dict[str, Tile]:
    """Return the tiles that a loop with the note "tile" touches, by their names in the intrinsic's description.

    Raises
    ------
    BuildError
        "build.intrinsic" where the target lacks the instruction, "build.tensorize" where the loops are others by now,
        "gpu.tile" for a tile that lies so that a warp cannot load it.
    """
    intrinsic = registry[lp.intrin or ""]
    if missing := intrinsic.missing(target):
        raise BuildError(
            "build.intrinsic",
            f"Loop {lp.name!r} calls {lp.intrin}, and {target.title!r} lacks {', '.join(missing)}.",
            (lp.name, *missing),
            "build for a GPU that has it; the interpreter, C and OpenCL run the loops that describe it",
        )
    inside = {x.name: Affine() for x, _ in loops((lp,))}
    block = next(blocks((lp,)))[0]
    if lp.note(TILE) in ("load", "store"):
        row = flat_index(block.index, buffers[block.buffer].strides()).coefficient(lp.name)
        found = {"C": (block.index, buffers[block.buffer], row)}
    else:
        found = dict(_match(lp, buffers).operands)
    out = {n: Tile(b, tuple(x.subst(inside) for x in index), concrete(row)) for n, (index, b, row) in found.items()}
    for tile in out.values():
        if not tile.is_aligned:
            raise BuildError(
                "gpu.tile",
                f"The tiles of {tile.buffer.name!r} begin at places that are no multiple of {ALIGN} bytes, or rows lie "
                f"{tile.row * itemsize(tile.buffer.dtype)} bytes apart, no multiple of {ROW_ALIGN}: a warp cannot load "
                "them.",
                (tile.buffer.name,),
                "pad its rows to a multiple of 16 elements, or copy it to shared memory first (cache_read)",
            )
    return out


def _match(lp: For, buffers: Mapping[str, Buffer]) -> Match:
    try:
        return match(registry[lp.intrin or ""], Func("kernel", tuple(buffers.values()), (lp,)), lp.name)
    except Mismatch as e:
        raise BuildError(
            "build.tensorize", f"{lp.intrin} does not fit loop {lp.name!r} any more: {e.sentence}", (lp.name,), e.hint
        ) from e
