"""What stands between a scheduled nest and both code generation and features.

`loop_axes` writes every block directly in its loops; `compact` shrinks each temporary to the part that is live inside
the innermost loop that all its uses share. Both keep the meaning of the nest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.errors import ScheduleError
from workbench.ir.affine import Affine
from workbench.ir.buffer_regions import Span, spans_of, union
from workbench.ir.expr import Load
from workbench.ir.func import Func
from workbench.ir.stmt import (
    BLOCK_KINDS,
    THREAD_KINDS,
    Block,
    For,
    Iter,
    Stmt,
    accesses,
    blocks,
    map_block,
    map_block_loads,
    rewrite,
    shared_loops,
    touched,
)
from workbench.ir.thread_ownership import owner_of
from workbench.memoize import remembered


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a temporary lives: inside the loops `path` (outermost first); empty means for the whole function."""

    buffer: str
    path: tuple[For, ...]

    @property
    def loop(self) -> str | None:
        """Innermost loop that all uses share."""
        return self.path[-1].name if self.path else None


def scopes(func: Func) -> dict[str, Scope]:
    """Scope of every temporary."""
    uses: dict[str, list[tuple[For, ...]]] = {b.name: [] for b in func.buffers if b.role == "temp"}
    for block, path in blocks(func.body):
        for name in touched(block) & uses.keys():
            uses[name].append(path)
    return {name: Scope(name, shared_loops(*paths)) for name, paths in uses.items()}


def shared_by(func: Func, buffer: str) -> For | None:
    """Loop whose iterations run at once and share the temporary, which its scope forbids; None where there is none.

    A "local" temporary belongs to one iteration of every parallel loop and every loop over blocks or threads around a
    use, a "shared" one to one iteration of every parallel loop and every loop over blocks. Virtual threads belong to
    one thread, so their loops may share both. Several loops over threads may use a "local" temporary where each of its
    elements is touched by one thread only (`thread_ownership`).
    """
    path = scopes(func)[buffer].path
    home = {lp.name for lp in path}
    kinds = {"parallel"} | BLOCK_KINDS
    if func.buffer(buffer).scope == "local" and owner_of(func, buffer, path) is None:
        kinds |= THREAD_KINDS
    for block, path in blocks(func.body):
        if buffer in touched(block):
            for lp in path:
                if lp.name not in home and lp.kind in kinds:
                    return lp
    return None


def loop_axes(func: Func) -> Func:
    """Rewrite every block so that its axes are the loops around it and every index is a form over loops."""
    return replace(func, body=tuple(_loop_axes(s, ()) for s in func.body))


@remembered(32)
def compact(func: Func) -> Func:
    """Shrink temporaries to what is live under their scope (after `loop_axes`); shapes may depend on holes.

    A temporary whose accesses cannot be ordered for every filling keeps its full shape. The last few answers are
    remembered: a display asks for the nest, and then for its features.
    """
    func = loop_axes(func)
    live = _live(func)
    return _shift(func, live) if live else func


def _live(func: Func) -> dict[str, tuple[Span, ...]]:
    """Part of each temporary that is live under its scope, in one pass over all accesses."""
    inside = {name: len(scope.path) for name, scope in scopes(func).items() if scope.path}
    live: dict[str, tuple[Span, ...]] = {}
    for block, path in blocks(func.body):
        for acc in accesses(block) if touched(block) & inside.keys() else ():
            name = acc.buffer
            if name not in inside:
                continue
            spans = spans_of(acc.index, {lp.name: lp.extent for lp in path[inside[name] :]}, func.relations)
            try:
                live[name] = union(live[name], spans, func.relations) if name in live else spans
            except ScheduleError:
                del inside[name]
                live.pop(name, None)
    return live


def _loop_axes(s: Stmt, path: tuple[For, ...]) -> Stmt:
    if isinstance(s, For):
        return replace(s, body=tuple(_loop_axes(c, (*path, s)) for c in s.body))
    env = s.env
    reducing = s.driving("R")
    iters = tuple(Iter(lp.name, lp.extent, "R" if lp.name in reducing else "S") for lp in path)
    inlined = map_block(s, lambda a: a, lambda a: a.subst(env))
    return replace(inlined, iters=iters, binds=tuple(Affine.var(lp.name) for lp in path))


def _shift(func: Func, live: Mapping[str, tuple[Span, ...]]) -> Func:
    def index(name: str, idx: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple((x - sp.base).normal(func.relations) for x, sp in zip(idx, live[name], strict=True))

    def load(ld: Load) -> Load:
        return replace(ld, index=index(ld.buffer, ld.index)) if ld.buffer in live else ld

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, Block) or not touched(s) & live.keys():
            return None
        own = index(s.buffer, s.index) if s.buffer in live else s.index
        return (replace(map_block_loads(s, load), index=own),)

    buffers = [replace(func.buffer(name), shape=tuple(sp.width for sp in spans)) for name, spans in live.items()]
    return replace(func.with_buffers(buffers), body=rewrite(func.body, fn))
