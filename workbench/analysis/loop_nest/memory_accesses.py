"""What a loop does to memory from one iteration to the next: one row for every access of the statements inside."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.analysis.loop_nest.statement_text import element, shrunk_dims
from workbench.analysis.loop_nest.working_set import patch_of, touched
from workbench.arguments import is_a
from workbench.errors import InputError, did_you_mean
from workbench.ir import Access, Block, Buffer, Digit, Dim, For, Func, Load, blocks
from workbench.ir import accesses as accesses_of
from workbench.ir.affine import digit_extent
from workbench.ir.compact_temporaries import compact, scopes
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import loads
from workbench.target import Target

AccessKind = Literal["read", "write", "read, write"]
#: Iterations that are looked at where an index is no multiple of the loop. Chosen, not measured.
_SAMPLES = 4096
#: Bytes of a page of memory, as x86-64 and most AArch64 systems have it.
_PAGE = 4096
_OPEN = "depends on an open number"
_PICKED = "decided at run time"
#: Why the iterations of a reduction cannot be exchanged at will.
_ORDER = {"add": "so the order of additions matters", "mul": "so the order of products matters"}


@dataclass(frozen=True, slots=True)
class AccessRow:
    """What one access does while a loop runs once.

    Attributes
    ----------
    block : str
        Statement that the access is part of.
    buffer : str
    text : str
        The element, as the statement writes it: ``in[y+ky, x+kx, ic]``.
    kind : str
        ``read``, ``write``, or ``read, write`` for what is accumulated onto.
    step_bytes : int or None
        Distance in memory from one iteration of the loop to the next, while all other loops stand still; of several
        the most frequent one. None where an open number or a number that is read at run time decides it.
    says : str
        The same in words: ``next element, contiguous``, ``256 bytes, a new line each time``, ``same element, so the
        order of additions matters``.
    touched : int or None
        Bytes of the cache lines that this access touches in one run of the loop; None where a hole decides it.
    """

    block: str
    buffer: str
    text: str
    kind: AccessKind
    step_bytes: int | None
    says: str
    touched: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the row as the front end reads it."""
        return {
            "buffer": self.buffer, "text": self.text, "kind": self.kind, "step": self.step_bytes, "says": self.says,
            "touched": self.touched,
        }  # fmt: skip


def accesses(func: Func, loop: str, target: Target | None = None) -> tuple[AccessRow, ...]:
    """Describe what every statement inside a loop does to memory while the loop runs.

    Parameters
    ----------
    func : Func
        Under any schedule, holes allowed.
    loop : str
        Name of a loop.
    target : Target, optional
        Gives the size of a cache line; this machine when left out.

    Returns
    -------
    tuple of AccessRow
        Statements in program order; of each what it reads, then what it writes. What only a first value reads is not
        among them.
    """
    is_a("func", func, Func, "pass schedule.func")
    line = (target or Target.host()).line_bytes
    own = compact(func)
    buffers = {b.name: b for b in own.buffers}
    shrunk = shrunk_dims(func, buffers)
    homes = {name: {lp.name for lp in scope.path} for name, scope in scopes(func).items()}
    out: list[AccessRow] = []
    for (block, path), (short, _) in zip(blocks(func.body), blocks(own.body), strict=True):
        level = next((k for k, lp in enumerate(path) if lp.name == loop), None)
        if level is not None:
            fresh = {name for name, home in homes.items() if loop in home}
            part = _Inside(func, path, level, buffers, line, fresh)
            out += (part.row(*one) for one in _rows(block, short, shrunk))
    if not out:
        names = {lp.name for _, path in blocks(func.body) for lp in path}
        raise InputError("accesses.loop", f"There is no loop {loop!r}.", (loop,), did_you_mean(loop, names, "loops"))
    return tuple(out)


def _rows(
    block: Block, own: Block, shrunk: Mapping[str, Sequence[int]]
) -> Iterator[tuple[Block, Access, AccessKind, str]]:
    """Yield the accesses of a block, those that it loads first: the block, the access, its kind, its text."""
    write, *reads = accesses_of(own)
    texts = {
        (b.buffer, b.index): _text(a.buffer, a, b.index, shrunk)
        for a, b in zip(loads(block.value), loads(own.value), strict=True)
    }
    both = any(r.buffer == write.buffer and r.index == write.index for r in reads)
    for read in reads:
        text = texts.get((read.buffer, read.index))
        if text is not None and not (read.buffer == write.buffer and read.index == write.index):
            yield block, read, "read", text
    kept = shrunk.get(write.buffer)
    index = block.index if kept is None else [own.index[d] for d in kept]
    yield block, write, "read, write" if both else "write", element(write.buffer, index)


def _text(buffer: str, said: Load, own: Sequence[Any], shrunk: Mapping[str, Sequence[int]]) -> str:
    kept = shrunk.get(buffer)
    return element(buffer, said.index if kept is None else [own[d] for d in kept], said.at)


@dataclass(frozen=True, slots=True)
class _Inside:
    """Accesses of statements inside ``path[level]``; each of its iterations has temporaries `fresh` of its own."""

    func: Func
    path: tuple[For, ...]
    level: int
    buffers: Mapping[str, Buffer]
    line: int
    fresh: Collection[str]

    def row(self, block: Block, access: Access, kind: AccessKind, text: str) -> AccessRow:
        buffer = self.buffers[access.buffer]
        step, often, why = self._step(access)
        says = why if step is None else self._says(step, often, block, buffer, kind)
        patch = patch_of(access, self.path[self.level :], self.func.relations)
        size = touched(self.buffers, {buffer.name: (patch,)}, self.line)
        return AccessRow(block.name, buffer.name, text, kind, step, says, None if size is None else size.lines)

    def _says(self, step: int, often: float, block: Block, buffer: Buffer, kind: AccessKind) -> str:
        """Say in words what a step means."""
        loop = self.path[self.level]
        if loop.extent == 1:
            return "one iteration only"
        if step == 0 and often == 1.0:
            return "same place, another value each time" if buffer.name in self.fresh else _stays(loop, block, kind)
        first, _, then = _moves(step, loop.kind == "vectorize", itemsize(buffer.dtype), self.line, kind).partition(", ")
        share = "" if often == 1.0 else f"in {min(99, round(100 * often))} % of the steps"
        return ", ".join(part for part in (first, " ".join(part for part in (then, share) if part)) if part)

    def _step(self, access: Access) -> tuple[int | None, float, str]:
        """Bytes from one iteration to the next, the share of the iterations where it is so, or why nobody knows."""
        loop, buffer = self.path[self.level], self.buffers[access.buffer]
        if loop.name in access.picked:
            return None, 0.0, _PICKED
        terms = [(digit, c, d) for d, x in enumerate(access.index) for digit, c in x.terms if digit.var == loop.name]
        strides = _strides(buffer)
        if strides is None:
            return None, 0.0, _OPEN
        moves: list[tuple[Digit, int]] = []
        for digit, c, d in terms:
            by = c * strides[d]
            if not isinstance(by, int):
                return None, 0.0, _OPEN
            moves.append((digit, by * itemsize(buffer.dtype)))
        if all(digit.plain for digit, _ in moves):
            return sum(by for _, by in moves), 1.0, ""
        return _sampled(moves, loop)


def _strides(buffer: Buffer) -> tuple[Dim, ...] | None:
    """Distance in elements between neighbours of each dimension; None where padding depends on an open number."""
    if any(not isinstance(n, int) for a in buffer.align for n in buffer.shape[a.dim + 1 :]):
        return None
    return buffer.strides()


def _sampled(moves: Sequence[tuple[Digit, int]], loop: For) -> tuple[int | None, float, str]:
    """The most frequent step of an index that is made of digits of the loop, as after `fuse`."""
    if not isinstance(loop.extent, int):
        return None, 0.0, _OPEN
    at = np.arange(min(loop.extent, _SAMPLES + 1), dtype=np.int64)
    place = np.zeros_like(at)
    for digit, by in moves:
        size = digit_extent(digit, {loop.name: loop.extent})
        if not isinstance(digit.lower, int) or not isinstance(size, int):
            return None, 0.0, _OPEN
        place += at // digit.lower % size * by
    if len(at) == 1:
        return 0, 1.0, ""
    steps, counts = np.unique(np.diff(place), return_counts=True)
    most = int(counts.argmax())
    return int(steps[most]), float(counts[most] / counts.sum()), ""


def _stays(loop: For, block: Block, kind: AccessKind) -> str:
    if kind == "read":
        return f"same element, {'the same for all lanes' if loop.kind == 'vectorize' else 'used again'}"
    if loop.name not in block.driving("R"):
        return "same element, written again"
    return f"same element, {_ORDER.get(block.update()[0], 'so each iteration waits for the one before')}"


def _moves(step: int, lanes: bool, item: int, line: int, kind: AccessKind) -> str:
    if step == 0:
        return "same element"
    if step == item:
        return "next element, contiguous"
    if step == -item:
        return "element before, contiguous backwards"
    size = _bytes(abs(step)) + (" back" if step < 0 else "")
    if lanes:
        return f"{size}, {'gathered' if kind == 'read' else 'scattered'} lane by lane"
    if abs(step) >= line:
        return f"{size}, a new {'4 KB page of memory' if abs(step) >= _PAGE else 'line'} each time"
    share = line // abs(step)
    return f"{size}, " + (f"a line serves {share} iterations" if share > 1 else "mostly a new line")


def _bytes(size: int) -> str:
    """``256 bytes``, ``12.3 KB``, ``1.5 MB``."""
    if size < 10_000:
        return f"{size} bytes"
    return f"{size / 1024:.3g} KB" if size < 1000 << 10 else f"{size / (1 << 20):.3g} MB"
