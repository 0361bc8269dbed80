"""Where the threads of a block have to meet: between accesses of one element by two threads, one of which writes.

Statements between two barriers run in any order, thread by thread. So a barrier stands in front of a statement that
conflicts with what ran since the last one, as far outside as possible. Loops go round: what a loop ends with may be in
conflict with what its next iteration begins with. Accesses that tell the thread in the same way (`ir.thread_ownership`)
belong to one thread, and are in order anyway. The two places of a pipeline's buffer take turns with each iteration of
its loop: accesses of different ones do not meet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from workbench.codegen.gpu.kernels import Kernel
from workbench.codegen.gpu.placement import Placed
from workbench.codegen.gpu.warp_tiles import TILE, tile_at
from workbench.codegen.lowering import reduced_at
from workbench.ir import Affine, Block, For, Stmt, accesses, blocks
from workbench.ir.stmt import BLOCK_KINDS, THREAD_KINDS
from workbench.ir.thread_ownership import Owner, Place, owner

#: A barrier stands in front of the statement of this number in the body of this loop ("" for the kernel's own body).
Spot: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Use:
    """An access as far as it matters here.

    `owner` is None where the index does not tell the thread. `turn` says which of two places it is, as ``(loop, place
    in an even iteration)``; None where the index does not tell.
    """

    buffer: str
    writes: bool
    owner: Owner | None
    turn: tuple[str, int] | None = None

    def meets(self, other: _Use) -> bool:
        """Whether two threads may touch one element, and one of them writes it."""
        if self.buffer != other.buffer or not (self.writes or other.writes):
            return False
        if self.turn and other.turn and self.turn[0] == other.turn[0] and self.turn[1] != other.turn[1]:
            return False
        return self.owner is None or self.owner != other.owner

    def before(self, loop: str) -> _Use:
        """The access of the iteration before, as this iteration sees it."""
        if self.turn is None or self.turn[0] != loop:
            return self
        return replace(self, turn=(loop, 1 - self.turn[1]))

    def outside(self, loop: str) -> _Use:
        """The access as what comes behind the loop sees it."""
        return replace(self, turn=None) if self.turn is not None and self.turn[0] == loop else self


def barriers(kernel: Kernel, placed: Mapping[str, Placed]) -> frozenset[Spot]:
    """Return where barriers are needed."""
    if kernel.threads == 1:
        return frozenset()
    found: set[Spot] = set()
    _visit(kernel.body, "", (), placed, [], found)
    return frozenset(found)


def _visit(
    body: tuple[Stmt, ...],
    around: str,
    path: tuple[For, ...],
    placed: Mapping[str, Placed],
    pending: list[_Use],
    found: set[Spot],
) -> list[_Use]:
    """Put barriers into a body; returns what ran since the last one."""
    for k, s in enumerate(body):
        if (around, k) in found:
            pending = []
        uses = list(_uses(s, path, placed))
        inside: list[_Use] = uses
        if isinstance(s, For) and s.note(TILE) is None:
            inside = _repeated(s, path, placed, found)
        starts = isinstance(s, For) and _starts_with_barrier(s, found)
        if not starts and any(u.meets(p) for u in uses for p in pending):
            found.add((around, k))
            pending = []
        pending = list(inside) if _has_barrier(s, found) else [*pending, *inside]
    return pending


def _repeated(lp: For, path: tuple[For, ...], placed: Mapping[str, Placed], found: set[Spot]) -> list[_Use]:
    """Barriers inside a loop, whose iterations follow each other unless they are run by different threads."""
    pending: list[_Use] = []
    for _ in range(1 if lp.kind in THREAD_KINDS | BLOCK_KINDS else 2):
        pending = [u.before(lp.name) for u in pending]
        pending = _visit(lp.body, lp.name, (*path, lp), placed, pending, found)
    return [u.outside(lp.name) for u in pending]


def _starts_with_barrier(s: For, found: Collection[Spot]) -> bool:
    if any(not b.resumes for b, _ in reduced_at(s)):
        return False  # its init comes first
    first = s.body[0]
    return (s.name, 0) in found or (isinstance(first, For) and _starts_with_barrier(first, found))


def _has_barrier(s: Stmt, found: Iterable[Spot]) -> bool:
    return any(has_barrier(s, spot) for spot in found)


def has_barrier(s: Stmt, spot: Spot) -> bool:
    """Whether a barrier stands inside a statement."""
    return isinstance(s, For) and (s.name == spot[0] or any(has_barrier(c, spot) for c in s.body))


def _uses(s: Stmt, path: tuple[For, ...], placed: Mapping[str, Placed]) -> Iterator[_Use]:
    seen: set[tuple[object, ...]] = set()
    for b, rest in blocks((s,)):
        for use in _of_block(b, (*path, *rest), placed):
            key = (use.buffer, use.writes, use.turn, None if use.owner is None else frozenset(use.owner.items()))
            if key not in seen:
                seen.add(key)
                yield use


def _of_block(b: Block, path: tuple[For, ...], placed: Mapping[str, Placed]) -> Iterator[_Use]:
    at = tile_at(path)
    lanes = None if at is None else path[at - 1]
    for acc in accesses(b):
        where = placed.get(acc.buffer)
        if where is not None and where.memory == "local":
            continue
        own = {lp.name: lp for lp in where.copies if lp.kind in THREAD_KINDS} if where is not None else {}
        # A copy of its own tells the thread as well as a digit does.
        around = [For(lp.name, lp.extent, lp.body) if lp.name in own or lp is lanes else lp for lp in path]
        told = owner(acc.index, around)
        if told is not None:
            told = dict(told)
            for lp in own.values():
                told[lp.kind] = frozenset([Place(-1, 1, 1, lp.extent)])
            if lanes is not None:  # a warp is in order with itself, not with one of its threads
                told[lanes.kind] = frozenset([Place(-2, 1, 1, lanes.extent)])
        yield _Use(acc.buffer, acc.is_write, told, _turn(acc.index))


def _turn(index: Sequence[Affine]) -> tuple[str, int] | None:
    """Which of two places an index takes: ``loop % 2``, or the other one."""
    for form in index[:1]:
        if len(form.terms) == 1 and (form.terms[0][0].lower, form.terms[0][0].extent) == (1, 2):
            digit, c = form.terms[0]
            if (c, form.const) in ((1, 0), (-1, 1)):
                return digit.var, int(c == -1)
    return None
