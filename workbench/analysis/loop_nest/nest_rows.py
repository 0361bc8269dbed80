"""The loop nest as rows of a table: one per loop and per statement, with what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal

from workbench.analysis.loop_nest.statement_text import init_text, shrunk_dims, update_text
from workbench.analysis.loop_nest.working_set import Patch, Touched, patches, starts, times, touched
from workbench.arguments import is_a, whole
from workbench.errors import InputError
from workbench.ir import Block, Buffer, Dim, For, Func, Stmt, accesses, blocks, loops
from workbench.ir.compact_temporaries import compact, scopes
from workbench.ir.dtypes import itemsize
from workbench.ir.flops import expr_flops
from workbench.ir.poly import normal
from workbench.ir.stmt import parallel_chain
from workbench.ir.text.printer import dim_text
from workbench.schedule.legality.invariants import unit_regions
from workbench.target import Target

Kind = Literal["loop", "init", "stmt"]
_REDUCES = {"add": "sum", "mul": "product", "max": "max", "min": "min"}


@dataclass(frozen=True, slots=True)
class NestRow:
    """One loop or statement.

    Attributes
    ----------
    id : str
        Stays the same from step to step: the loop's name, ``init:BLOCK`` or ``stmt:BLOCK``.
    parent : str or None
        Row of the loop around it.
    depth : int
        Number of loops around it.
    kind : str
        ``loop``, ``init`` (first value of a reduction) or ``stmt``.
    name : str
        Name of the loop, or of the block.
    extent : int, str or None
        Iterations of one run of the loop; text with ``?`` where it is open; None for statements.
    mark : str
        ``serial``, ``parallel``, ``vectorize``, ``unroll``, or what the loop is bound to (``threadIdx.x``, ...).
    chips : tuple of str
        What a person should see at once: ``parallel · 2 threads``, ``2 × 16 lanes``, ``sum``, ``acc 14×32``, notes, an
        intrinsic, and of a unit what it reads and writes.
    kinds : tuple of str
        What each of the chips is about: ``reduce``, ``run`` (the mark), ``intrin``, ``note``, ``unit``, ``buffer``.
    text : str
        A statement as text; empty for loops.
    reduce : bool
        Whether the loop adds up (or takes a maximum, ...): its iterations meet in the same element.
    iters : int or None
        Loop: how often its body runs in one call of the function. Statement: how often it is executed.
    flops : int or None
        Arithmetic operations of everything below the row, in one call; recomputation counts each time.
    bytes : int or None
        Loop: `working_set` times the number of times that the loop is entered, which is what has to come from
        further away when nothing survives from one run of the loop to the next, and everything within a run does.
        Statement: bytes of the elements that it loads and stores, each access counted.
    working_set : int or None
        Loop: bytes that one run of the loop (all its iterations) touches: distinct elements of every buffer, in whole
        cache lines, as if each run of neighbours began on a line. A padded read counts as if nothing were cut off,
        so this is at most too large. None for statements.
    level : str or None
        Smallest level that holds the working set: ``reg`` (its elements fit the vector registers, and the loops from
        here on are unrolled or vectorised: no loop can step through registers), ``L1``, ``L2``, ``L3``, ``RAM``.
    block : str or None
        Block of a statement.
    own_flops, own_bytes : int or None
        The part of `flops` and `bytes` of the statements that stand right in the loop, not in a loop inside it. Their
        bytes are counted by the same rule as all, so what both share counts for both.

    An open hole that decides a number makes it None.
    """

    id: str
    parent: str | None
    depth: int
    kind: Kind
    name: str
    extent: int | str | None = None
    mark: str = "serial"
    chips: tuple[str, ...] = ()
    text: str = ""
    reduce: bool = False
    iters: int | None = None
    flops: int | None = None
    bytes: int | None = None
    working_set: int | None = None
    level: str | None = None
    block: str | None = None
    kinds: tuple[str, ...] = ()
    own_flops: int | None = None
    own_bytes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the row as the front end reads it; ``own`` is None where all bytes are its own."""
        return {
            "id": self.id, "parent": self.parent, "depth": self.depth, "kind": self.kind, "name": self.name,
            "extent": self.extent, "mark": self.mark, "chips": list(self.chips),
            "kinds": list(self.kinds), "text": self.text,
            "reduce": self.reduce, "iters": self.iters, "flops": self.flops, "bytes": self.bytes,
            "own": None if self.own_bytes == self.bytes else self.own_bytes, "ws": self.working_set,
            "level": self.level, "block": self.block,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class NestView:
    """Rows in program order; `hidden` more were left out. `loops` and `statements` count all of them; what a sum starts
    from is no statement of its own.
    """

    rows: tuple[NestRow, ...]
    loops: int
    statements: int
    hidden: int
    buffers: tuple[str, ...] = ()
    holes: tuple[tuple[str, tuple[int, ...] | None], ...] = ()
    #: How many of the holes are chosen: one number of every split follows from the others.
    free: int = 0

    def row(self, id: str) -> NestRow:
        """Return a row by id; `InputError` "nest.row" when it is not shown."""
        for r in self.rows:
            if r.id == id:
                return r
        raise InputError("nest.row", f"The nest shows no row {id!r}.", (id,))

    def to_json(self) -> dict[str, Any]:
        """Return the nest as the front end reads it."""
        holes = [{"name": n, "choices": None if c is None else list(c)} for n, c in self.holes]
        return {
            "rows": [r.to_json() for r in self.rows], "loops": self.loops, "statements": self.statements,
            "hidden": self.hidden, "buffers": list(self.buffers), "holes": holes,
            "free": self.free,
        }  # fmt: skip


def nest_rows(func: Func, target: Target | None = None, limit: int = 400) -> NestView:
    """Describe a nest row by row.

    Parameters
    ----------
    func : Func
        Under any schedule, holes allowed.
    target : Target, optional
        Gives registers, caches and threads; this machine when left out.
    limit : int
        Rows to return at most, the first ones in program order.

    Returns
    -------
    NestView
    """
    is_a("func", func, Func, "pass schedule.func")
    limit = whole("limit", limit, 0)
    heads = [b for b, _ in blocks(func.body)]
    n_loops, n_inits = sum(1 for _ in loops(func.body)), sum(b.is_reduction for b in heads)
    target = target or Target.host()
    part = _first_roots(func, limit)
    rows = _Rows(func, part, compact(part), target, limit).build()
    total = n_loops + len(heads) + n_inits
    holes = tuple((h.name, h.choices) for h in func.holes)
    return NestView(
        tuple(rows), n_loops, len(heads), total - len(rows), tuple(b.name for b in func.buffers), holes,
        max(len(holes) - len(func.relations), min(len(holes), 1)),
    )  # fmt: skip


def _first_roots(func: Func, limit: int) -> Func:
    """The top-level statements that the first `limit` rows lie in; temporaries that others use keep their size."""
    count, kept = 0, 0
    for s in func.body:
        if count >= limit:
            break
        count += sum(1 + b.is_reduction for b, _ in blocks((s,))) + sum(1 for _ in loops((s,)))
        kept += 1
    if kept == len(func.body):
        return func
    shared = {a.buffer for b, _ in blocks(func.body[kept:]) for a in accesses(b)}
    buffers = tuple(replace(b, role="output") if b.name in shared and b.role == "temp" else b for b in func.buffers)
    return replace(func, buffers=buffers, body=func.body[:kept])


@dataclass(slots=True)
class _Below:
    """What lies below a loop."""

    flops: Dim = 0
    reduces: str = ""
    lanes: int = 0
    straight: bool = True
    memory: dict[str, dict[Patch, None]] = field(default_factory=dict)
    own_flops: Dim = 0
    own: dict[str, dict[Patch, None]] = field(default_factory=dict)
    nested: bool = False


class _Rows:
    """Builder of the rows of one nest; `part` is as scheduled, `own` the same after `compact`."""

    def __init__(self, func: Func, part: Func, own: Func, target: Target, limit: int) -> None:
        self.func, self.part, self.own, self.target, self.limit = func, part, own, target, limit
        self.buffers = {b.name: b for b in own.buffers}
        self.shrunk = shrunk_dims(part, self.buffers)
        self.rows: list[NestRow] = []
        self.below: dict[str, _Below] = {}
        self.inits: dict[str, list[tuple[Block, Block, tuple[For, ...], int]]] = {}
        self.homes: dict[str, list[str]] = {}
        self.chains: dict[str, For] = {}

    def build(self) -> list[NestRow]:
        for name, scope in scopes(self.part).items():
            if scope.loop is not None and name in self.shrunk:
                self.homes.setdefault(scope.loop, []).append(name)
        pairs = zip(blocks(self.part.body), blocks(self.own.body), strict=True)
        for (block, path), (own, _) in pairs:
            self._note(block, own, path)
        self._walk(self.part.body, self.own.body, ())
        return self.rows

    def _note(self, block: Block, own: Block, path: tuple[For, ...]) -> None:
        """Add a block to all loops around it."""
        point = expr_flops(block.value)
        flops = point * times(path, self.part.relations) if point else 0
        lanes = self.target.vector_bytes // itemsize(self.buffers[block.buffer].dtype)
        axes = {it.name for it in own.iters if it.kind == "R"}
        for k, lp in enumerate(path):
            below = self.below.setdefault(lp.name, _Below())
            below.straight &= all(x.kind in ("unroll", "vectorize") or x.extent == 1 for x in path[k:])
            below.flops = below.flops + flops
            if lp is path[-1]:
                below.own_flops = below.own_flops + flops
            else:
                below.nested = True
            below.lanes = min(below.lanes or lanes, lanes)
            if block.is_reduction and lp.name in axes:
                below.reduces = below.reduces or _REDUCES.get(block.update()[0], block.update()[0])
        for k, buffer, patch in patches(own, path, self.part.relations):
            below = self.below[path[k].name]
            below.memory.setdefault(buffer, {})[patch] = None
            if k == len(path) - 1:
                below.own.setdefault(buffer, {})[patch] = None
        if block.is_reduction:
            first = next((k for k, lp in enumerate(path) if lp.name in axes), len(path))
            at = path[first].name if first < len(path) else f"stmt:{block.name}"
            self.inits.setdefault(at, []).append((block, own, path, first))

    def _walk(self, body: Sequence[Stmt], own: Sequence[Stmt], path: tuple[For, ...]) -> None:
        for s, t in zip(body, own, strict=True):
            for init in self.inits.get(s.name if isinstance(s, For) else f"stmt:{s.name}", ()):
                self._init(*init)
            if len(self.rows) >= self.limit:
                return
            if isinstance(s, For):
                assert isinstance(t, For)
                self.rows.append(self._loop(s, path))
                self._walk(s.body, t.body, (*path, s))
            else:
                assert isinstance(t, Block)
                self.rows.append(self._stmt(s, t, path))

    def _loop(self, loop: For, path: tuple[For, ...]) -> NestRow:
        relations = self.part.relations
        below = self.below[loop.name]
        size = touched(self.buffers, below.memory, self.target.line_bytes)
        entered = _known(times(path, relations))
        moved = _moved(size, entered)
        own = moved if not below.nested else _moved(touched(self.buffers, below.own, self.target.line_bytes), entered)
        chips = self._chips(loop, below)
        return NestRow(
            loop.name, path[-1].name if path else None, len(path), "loop", loop.name, _extent(loop.extent), loop.kind,
            tuple(text for _, text in chips), "", bool(below.reduces), _known(times((*path, loop), relations)),
            _known(normal(below.flops, relations)), moved, None if size is None else size.lines,
            None if size is None else self._level(size, below.straight), None, tuple(kind for kind, _ in chips),
            _known(normal(below.own_flops, relations)), own,
        )  # fmt: skip

    def _chips(self, loop: For, below: _Below) -> list[tuple[str, str]]:
        """What a chip is about, and its text."""
        out = [("reduce", below.reduces)] if below.reduces else []
        extent = loop.extent
        if loop.kind == "parallel":
            out.append(("run", self._parallel(loop)))
        elif loop.kind == "vectorize":
            lanes = f" · {_lanes(extent, below.lanes)} lanes" if isinstance(extent, int) else ""
            out.append(("run", f"vectorize{lanes}"))
        elif loop.kind != "serial":
            out.append(("run", loop.kind))
        if loop.intrin is not None:
            out.append(("intrin", loop.intrin))
        out += [("note", f"{key} {value}") for key, value in loop.notes if key != "block"]
        if loop.note("block") is not None:
            out.append(("unit", self._unit(loop)))
        return out + [("buffer", _lives(self.buffers[b])) for b in self.homes.get(loop.name, ())]

    def _parallel(self, loop: For) -> str:
        """Say how many threads a parallel nest has, at its first loop; the others run as one loop with that."""
        if loop.name not in self.chains:
            self.chains.update((inner.name, loop) for inner in parallel_chain(loop))
        first = self.chains.get(loop.name, loop)
        if first.name != loop.name:
            return f"parallel with {first.name}"
        size = prod(n if isinstance(n := one.extent, int) else self.target.threads for one in parallel_chain(loop))
        threads = max(1, min(self.target.threads, size))
        return f"parallel · {threads} thread{'s' if threads != 1 else ''}"

    def _unit(self, loop: For) -> str:
        """What one run of a unit reads and writes: ``C.unit: A 4×8, B 8×8 → C 4×8``."""
        reads, writes = (
            ", ".join(f"{n} {'part' if s is None else _sizes(s)}" for n, s in table.items())
            for table in unit_regions(self.part, loop.name)
        )
        return f"{loop.note('block')}: {reads} → {writes}"

    def _init(self, block: Block, own: Block, path: tuple[For, ...], first: int) -> None:
        if len(self.rows) >= self.limit:
            return
        outer, inside = path[:first], {lp.name: lp.extent for lp in path[first:]}
        count = starts(block, path, self.part.relations)
        item = itemsize(self.buffers[block.buffer].dtype)
        text = init_text(block, own, self.shrunk, inside)
        self.rows.append(_statement("init", block.name, outer, text, count, 0, _times(count, item)))

    def _stmt(self, block: Block, own: Block, path: tuple[For, ...]) -> NestRow:
        count = _known(times(path, self.part.relations))
        size = sum(itemsize(self.buffers[a.buffer].dtype) for a in accesses(own))
        text = update_text(block, own, self.shrunk)
        flops, moved = _times(count, expr_flops(block.value)), _times(count, size)
        return _statement("stmt", block.name, path, text, count, flops, moved)

    def _level(self, size: Touched, straight: bool) -> str:
        t = self.target
        if straight and size.elements <= t.vector_registers * t.vector_bytes:
            return "reg"
        levels = (("L1", t.l1_bytes), ("L2", t.l2_bytes), ("L3", t.l3_bytes))
        return next((name for name, held in levels if size.lines <= held), "RAM")


def _statement(
    kind: Kind, block: str, path: Sequence[For], text: str, iters: int | None, flops: int | None, moved: int | None
) -> NestRow:
    parent = path[-1].name if path else None
    return NestRow(
        f"{kind}:{block}", parent, len(path), kind, block, text=text, iters=iters, block=block, flops=flops, bytes=moved
    )


def _times(count: int | None, each: int) -> int | None:
    return None if count is None else count * each


def _moved(size: Touched | None, entered: int | None) -> int | None:
    return None if size is None else _times(entered, size.lines)


def _known(dim: Dim) -> int | None:
    return dim if isinstance(dim, int) else None


def _extent(dim: Dim) -> int | str:
    return dim if isinstance(dim, int) else dim_text(dim)


def _lives(buffer: Buffer) -> str:
    scope = "" if buffer.scope == "auto" else f" · {buffer.scope}"
    return f"{buffer.name} {_sizes(buffer.shape)}{scope}"


def _sizes(shape: Sequence[Dim]) -> str:
    return "×".join(dim_text(n) for n in shape if n != 1) or "1"


def _lanes(extent: int, lanes: int) -> str:
    """``2 × 16``, ``16 + 8``: whole registers, then the rest."""
    whole_, rest = divmod(extent, lanes)
    parts = [f"{whole_} × {lanes}" if whole_ > 1 else str(lanes)] if whole_ else []
    return " + ".join(parts + ([str(rest)] if rest or not parts else []))


def name_of(row: str) -> str:
    """Return the loop, block or buffer that a row of the nest stands for."""
    kind, colon, name = row.partition(":")
    return name if colon and kind in ("stmt", "init") else row
