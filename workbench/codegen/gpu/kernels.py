"""From a scheduled function to launches: kernels with a grid and a block, and temporaries without digits of threads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.codegen.gpu.combining import with_trees
from workbench.codegen.gpu.pipelining import pipelined
from workbench.codegen.gpu.warp_tiles import tiles, with_lanes, with_tiles
from workbench.codegen.lowering import init_nest, lowered, reduced_at, reducing_loops
from workbench.ir import Affine, Block, Buffer, Dim, For, Func, Load, Stmt, accesses, blocks, loops
from workbench.ir.affine import Digit, digit_extent
from workbench.ir.compact_temporaries import scopes
from workbench.ir.poly import concrete
from workbench.ir.stmt import BLOCK_KINDS, BOUND_KINDS, THREAD_KINDS, map_block_loads, rewrite, touched
from workbench.ir.thread_ownership import Owner, Place, owner_of

#: Note of a nest that writes the init of a block: the block's name.
INIT = "init"
#: What an init nest keeps of how its loops are run.
_KEPT = BOUND_KINDS | {"vectorize", "unroll"}


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch: statements, and how many blocks and threads run them along each axis.

    Attributes
    ----------
    name : str
    body : tuple of Stmt
    grid, block : dict
        Kind of a bound loop -> blocks of the grid, threads of a block.
    """

    name: str
    body: tuple[Stmt, ...]
    grid: Mapping[str, int]
    block: Mapping[str, int]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block.values())


def device_func(func: Func, has_tiles: bool = False) -> Func:
    """Return the function as code for a device is generated from it.

    A parallel loop that is outermost runs on the blocks of the grid, other parallel loops run in a row. The init of a
    sum around loops over threads, or around other blocks, is a nest of its own: barriers may stand in between. Threads
    that reduce together do so in a tree (`combining`), and pipelines fetch an iteration ahead (`pipelining`). Where the
    language has tiles, warps compute those (`warp_tiles`).

    Raises
    ------
    BuildError
        "build.holes" when a number is still open.
    """
    func = with_trees(pipelined(lowered(func)))
    if has_tiles:
        func = with_tiles(func)
    body = tuple(_on_grid(s) for s in func.body)
    return with_lanes(replace(func, body=_split_inits(body, frozenset())))


def _on_grid(s: Stmt) -> Stmt:
    if not isinstance(s, For) or s.kind != "parallel":
        return s
    return replace(s, kind="blockIdx.x", body=rewrite(s.body, _serial))


def _serial(s: Stmt) -> tuple[Stmt, ...] | None:
    return (replace(s, kind="serial"),) if isinstance(s, For) and s.kind == "parallel" else None


def _split_inits(body: tuple[Stmt, ...], started: frozenset[str]) -> tuple[Stmt, ...]:
    """Give the init of each block a nest before the first loop that adds up, unless that loop is of one thread only."""
    out: list[Stmt] = []
    for s in body:
        if not isinstance(s, For):
            out.append(_resuming(s) if s.name in started else s)
            continue
        alone = len([b for b, _ in blocks((s,))]) == 1 and not any(tiles((s,)))
        apart = {
            b.name: _noted(init_nest(b, path, f"{b.name}, init", _KEPT), b.name)
            for b, path in reduced_at(s)
            if b.name not in started
            and not b.resumes
            and not (alone and all(lp.kind not in THREAD_KINDS for lp in path))
        }
        out += apart.values()
        out.append(s.around(_split_inits(s.body, started | apart.keys())))
    return tuple(out)


def _noted(s: Stmt, block: str) -> Stmt:
    return replace(s, notes=((INIT, block),))


def _resuming(b: Block) -> Block:
    return replace(b, init=b.own_load()) if b.init is not None and reducing_loops(b) else b


def cut_into_kernels(func: Func, symbol: str) -> tuple[Kernel, ...]:
    """Each nest over the blocks of a grid is a kernel; what stands between them runs in one block."""
    groups: list[list[Stmt]] = []
    for s in func.body:
        alone = isinstance(s, For) and s.kind in BLOCK_KINDS
        if alone or not groups or _has_grid(groups[-1]):
            groups.append([])
        groups[-1].append(s)
    return tuple(_kernel(f"{symbol}{k}", tuple(g)) for k, g in enumerate(groups))


def _has_grid(group: Sequence[Stmt]) -> bool:
    return isinstance(group[0], For) and group[0].kind in BLOCK_KINDS


def _kernel(name: str, body: tuple[Stmt, ...]) -> Kernel:
    def sizes(kinds: frozenset[str]) -> dict[str, int]:
        out: dict[str, int] = {}
        for lp, _ in loops(body):
            if lp.kind in kinds:
                out[lp.kind] = max(out.get(lp.kind, 1), concrete(lp.extent))
        return out

    return Kernel(name, body, sizes(BLOCK_KINDS), sizes(THREAD_KINDS))


# ---- what each thread owns ------------------------------------------------------------------------------------------


def owned(func: Func) -> dict[str, Owner]:
    """Temporaries that may lie in the memory of a thread, each with what its indices say of the thread."""
    found = {}
    for name, scope in scopes(func).items():
        owner = owner_of(func, name, scope.path)
        if owner is not None:
            found[name] = owner
    return found


def without_threads(func: Func, local: Mapping[str, Owner]) -> Func:
    """Leave the digits of threads out of temporaries: each thread has only its own elements."""
    cuts = {n: [p for places in owner.values() for p in places] for n, owner in local.items() if owner}
    if not cuts:
        return func

    def index(name: str, idx: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(_without(x, [p for p in cuts[name] if p.dim == d], kinds) for d, x in enumerate(idx))

    def load(ld: Load) -> Load:
        return replace(ld, index=index(ld.buffer, ld.index)) if ld.buffer in cuts else ld

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, Block) or not touched(s) & cuts.keys():
            return None
        own = index(s.buffer, s.index) if s.buffer in cuts else s.index
        return (replace(map_block_loads(s, load), index=own),)

    kinds = {lp.name for lp, _ in loops(func.body) if lp.kind in THREAD_KINDS}
    body = rewrite(func.body, fn)
    return replace(func.with_buffers(_resized(func, body, cuts)), body=body)


def _without(form: Affine, places: Sequence[Place], threads: set[str]) -> Affine:
    """An index without the digits at some places: what lies above one moves down by its extent."""
    for p in sorted(places, key=lambda p: concrete(p.unit), reverse=True):
        unit, size = concrete(p.unit), concrete(p.extent)
        end = unit * size

        def moved(c: int, unit: int = unit, size: int = size, end: int = end) -> int:
            return c // end * unit + c % end if c >= 0 and end > 1 else c // size if c % end == 0 else c

        def dropped(d: Digit, c: int, p: Place = p, unit: int = unit) -> bool:
            return d.var in threads and c == unit and concrete(d.lower) == p.lower

        kept = [(d, moved(concrete(c))) for d, c in form.terms if not dropped(d, concrete(c))]
        form = Affine.make(kept, moved(concrete(form.const)))
    return form


def _reach(form: Affine, extents: Mapping[str, Dim]) -> int:
    """One more than the greatest value of a form."""
    steps = ((concrete(c), concrete(digit_extent(d, extents)) - 1) for d, c in form.terms)
    return 1 + concrete(form.const) + sum(c * last for c, last in steps if c > 0)


def _resized(func: Func, body: tuple[Stmt, ...], names: Mapping[str, object]) -> list[Buffer]:
    """Buffers of the size that their new indices reach."""
    sizes: dict[str, tuple[int, ...]] = {}
    for b, path in blocks(body):
        extents = {lp.name: lp.extent for lp in path}
        for acc in accesses(b):
            if acc.buffer in names:
                now = tuple(_reach(x, extents) for x in acc.index)
                sizes[acc.buffer] = tuple(map(max, now, sizes.get(acc.buffer, now)))
    return [replace(func.buffer(n), shape=shape) for n, shape in sizes.items()]
