"""Where the threads of a block have to meet: between accesses of one element by two threads, one of which writes.

Statements between two barriers run in any order, thread by thread. So a barrier stands in front of a statement that
conflicts with what ran since the last one, as far outside as possible. Loops go round: what a loop ends with may be in
conflict with what its next iteration begins with. Accesses that tell the thread in the same way (`ir.thread_ownership`)
belong to one thread, and are in order anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from workbench.codegen.gpu.kernels import Kernel
from workbench.codegen.gpu.placement import Placed
from workbench.codegen.lowering import reduced_at
from workbench.ir import Block, For, Stmt, accesses, blocks
from workbench.ir.stmt import BLOCK_KINDS, THREAD_KINDS
from workbench.ir.thread_ownership import Owner, Place, owner

#: A barrier stands in front of the statement of this number in the body of this loop ("" for the kernel's own body).
Spot: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Use:
    """An access as far as it matters here; `owner` is None where the index does not tell the thread."""

    buffer: str
    writes: bool
    owner: Owner | None

    def meets(self, other: _Use) -> bool:
        """Whether two threads may touch one element, and one of them writes it."""
        if self.buffer != other.buffer or not (self.writes or other.writes):
            return False
        return self.owner is None or self.owner != other.owner


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
        if isinstance(s, For):
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
        pending = _visit(lp.body, lp.name, (*path, lp), placed, pending, found)
    return pending


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
            key = (use.buffer, use.writes, None if use.owner is None else frozenset(use.owner.items()))
            if key not in seen:
                seen.add(key)
                yield use


def _of_block(b: Block, path: tuple[For, ...], placed: Mapping[str, Placed]) -> Iterator[_Use]:
    for acc in accesses(b):
        where = placed.get(acc.buffer)
        if where is not None and where.memory == "local":
            continue
        own = {lp.name: lp for lp in where.copies if lp.kind in THREAD_KINDS} if where is not None else {}
        # A copy of its own tells the thread as well as a digit does.
        around = [For(lp.name, lp.extent, lp.body) if lp.name in own else lp for lp in path]
        told = owner(acc.index, around)
        if told is not None:
            told = dict(told)
            for lp in own.values():
                told[lp.kind] = frozenset([Place(-1, 1, 1, lp.extent)])
        yield _Use(acc.buffer, acc.is_write, told)
