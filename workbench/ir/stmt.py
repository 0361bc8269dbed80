"""Statements of a loop nest: loops, and blocks as their leaves.

A block is one computation with its own iteration axes. Its `binds` say which value each axis has for the loops around
it, so whether a loop may be moved, run in parallel or shared with another block is a question about the block alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Literal, TypeAlias, TypeVar

from workbench.ir.affine import Affine
from workbench.ir.expr import Binary, Bound, Expr, Load, all_index_forms, loads, map_affine, map_bounds, map_loads
from workbench.ir.poly import Dim
from workbench.memoize import remembered
from workbench.safe_text import shown_legibly

LoopKind: TypeAlias = Literal[
    "serial",
    "parallel",
    "vectorize",
    "unroll",
    "vthread",
    "blockIdx.x",
    "blockIdx.y",
    "blockIdx.z",
    "threadIdx.x",
    "threadIdx.y",
    "threadIdx.z",
]
IterKind: TypeAlias = Literal["S", "R"]
#: A remark on a loop or block: (key, value). `schedule.primitives.loop_annotations` lists the keys with an effect.
Note: TypeAlias = tuple[str, int | str]

#: Loops over the blocks of a device's grid, and over the threads of one block.
BLOCK_KINDS: frozenset[str] = frozenset({"blockIdx.x", "blockIdx.y", "blockIdx.z"})
THREAD_KINDS: frozenset[str] = frozenset({"threadIdx.x", "threadIdx.y", "threadIdx.z"})
#: Loops bound to a part of a device. Their iterations are independent, as for "parallel"; statements in one body are
#: separated by a barrier. The interpreter runs them in any order, code for a CPU serially.
BOUND_KINDS: frozenset[str] = BLOCK_KINDS | THREAD_KINDS | {"vthread"}
#: Loops that one thread runs by itself.
OWN_KINDS: frozenset[str] = frozenset({"serial", "unroll", "vectorize"})
#: Loops whose iterations run in any order.
UNORDERED_KINDS: frozenset[str] = BOUND_KINDS | {"parallel", "vectorize"}


def as_marked(kind: str) -> str:
    """Say how a loop of a kind is marked: ``vectorised``."""
    return {"vectorize": "vectorised", "unroll": "unrolled"}.get(kind, kind)


@dataclass(frozen=True, slots=True)
class Iter:
    """Iteration axis of a block: spatial ("S": one output element per value) or reduction ("R")."""

    name: str
    extent: Dim
    kind: IterKind


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """``buffer[index] = value`` at every point of the axes; `init` runs first where all reduction axes are 0.

    A reduction whose init is its own element (``init C[i] = C[i]``) goes on from what is there.

    `index`, `value`, `init` and `guard` are written in the axes; `binds` gives each axis as a form over the loops.
    """

    name: str
    iters: tuple[Iter, ...]
    binds: tuple[Affine, ...]
    buffer: str
    index: tuple[Affine, ...]
    value: Expr
    init: Expr | None = None
    guard: tuple[Bound, ...] = ()
    notes: tuple[Note, ...] = ()

    @shown_legibly
    def __repr__(self) -> str:
        return f"<block {self.name}({', '.join(('reduce ' if i.kind == 'R' else '') + i.name for i in self.iters)})>"

    @property
    def is_reduction(self) -> bool:
        """Whether the block accumulates (it has an init)."""
        return self.init is not None

    @property
    def resumes(self) -> bool:
        """Whether the block accumulates onto what an earlier block has stored: its init is its own element."""
        return self.init == self.own_load()

    @property
    def env(self) -> dict[str, Affine]:
        """Axis name -> form over the loops."""
        return {it.name: b for it, b in zip(self.iters, self.binds, strict=True)}

    def driving(self, kind: IterKind) -> set[str]:
        """Loops that drive an axis of a kind."""
        return {v for it, b in zip(self.iters, self.binds, strict=True) if it.kind == kind for v in b.vars}

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The value, then the initial value where there is one."""
        return (self.value,) if self.init is None else (self.value, self.init)

    def loads(self) -> Iterator[Load]:
        """Yield the loads of the value, then those of the initial value."""
        return (ld for e in self.exprs for ld in loads(e))

    def own_load(self) -> Load:
        """Load of the element that the block writes (what a reduction accumulates onto)."""
        return Load(self.buffer, self.index)

    def update(self) -> tuple[str, Expr]:
        """Return (operator, new term) of a reduction ``own op term``."""
        assert isinstance(self.value, Binary), self.name
        assert self.value.a == self.own_load(), self.name
        return self.value.op, self.value.b


@dataclass(frozen=True, slots=True, repr=False)
class For:
    """A loop from 0 to `extent`.

    `intrin` names an intrinsic that computes what the loop does: the body stays as its description, which the
    interpreter runs, and code generators may call the intrinsic instead. A loop with the note "block" is a unit that no
    step cuts through.
    """

    name: str
    extent: Dim
    body: tuple[Stmt, ...]
    kind: LoopKind = "serial"
    notes: tuple[Note, ...] = ()
    intrin: str | None = None

    def note(self, key: str) -> int | str | None:
        """Value of a note, None without it."""
        return dict(self.notes).get(key) if self.notes else None

    @property
    def is_unit(self) -> bool:
        """Whether the loop and all in it are one unit."""
        return self.intrin is not None or self.note("block") is not None

    def around(self, body: tuple[Stmt, ...]) -> For:
        """The same loop with other statements in it."""
        return For(self.name, self.extent, body, self.kind, self.notes, self.intrin)

    @shown_legibly
    def __repr__(self) -> str:
        return f"<{'' if self.kind == 'serial' else self.kind + ' '}loop {self.name} in {self.extent}>"


Stmt: TypeAlias = For | Block


S = TypeVar("S")
_Placed: TypeAlias = tuple[tuple[S, tuple["For", ...]], ...]
_Part: TypeAlias = Stmt | tuple[Stmt, ...]


def walk(body: tuple[Stmt, ...], path: tuple[For, ...] = ()) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """Yield every statement with the loops around it, in program order, outer before inner."""
    if path:
        return iter(_walk(body, path))
    return iter(_walked(_what_stays(body)))


def blocks(body: tuple[Stmt, ...]) -> Iterator[tuple[Block, tuple[For, ...]]]:
    """Yield every block with the loops around it, in program order."""
    return iter(_blocks_of(_what_stays(body)))


def loops(body: tuple[Stmt, ...]) -> Iterator[tuple[For, tuple[For, ...]]]:
    """Yield every loop with the loops around it, in program order."""
    return iter(_loops_of(_what_stays(body)))


def _what_stays(body: tuple[Stmt, ...]) -> _Part:
    """The one statement of a body, which is often made for the question: the statement is what is asked about again."""
    return body[0] if len(body) == 1 else body


def _joined(nests: Iterable[_Placed[S]]) -> _Placed[S]:
    """Most steps change one of the nests of a body; the others are the same objects as before."""
    return tuple(chain.from_iterable(nests))


@remembered(512)
def _walked(part: _Part) -> _Placed[Stmt]:
    return _joined(map(_walked, part)) if isinstance(part, tuple) else _walk((part,), ())


@remembered(512)
def _blocks_of(part: _Part) -> _Placed[Block]:
    if isinstance(part, tuple):
        return _joined(map(_blocks_of, part))
    return tuple([(s, p) for s, p in _walked(part) if isinstance(s, Block)])


@remembered(512)
def _loops_of(part: _Part) -> _Placed[For]:
    if isinstance(part, tuple):
        return _joined(map(_loops_of, part))
    return tuple([(s, p) for s, p in _walked(part) if isinstance(s, For)])


def _walk(body: tuple[Stmt, ...], path: tuple[For, ...]) -> _Placed[Stmt]:
    out: list[tuple[Stmt, tuple[For, ...]]] = []
    todo = [(s, path) for s in reversed(body)]
    while todo:
        s, around = placed = todo.pop()
        out.append(placed)
        while isinstance(s, For) and s.body:  # most loops hold one statement
            around = (*around, s)
            for other in s.body[:0:-1]:
                todo.append((other, around))
            s = s.body[0]
            out.append((s, around))
    return tuple(out)


def shared_loops(*paths: Sequence[For]) -> tuple[For, ...]:
    """Loops around all of several places, given by the loops around each."""
    levels = zip(*paths, strict=False)
    return tuple(lps[0] for lps in takewhile(lambda lps: all(lp.name == lps[0].name for lp in lps), levels))


def combined(lp: For) -> Block | None:
    """Return the block whose partial results the threads of a loop combine; None where the loop is no such one.

    The loop is over threads, holds this block alone, and is one over which it reduces, as are all loops inside.
    """
    inner: Stmt = lp
    names: list[str] = []
    while isinstance(inner, For) and len(inner.body) == 1:
        names.append(inner.name)
        inner = inner.body[0]
    if lp.kind not in THREAD_KINDS or not isinstance(inner, Block) or inner.init is None or inner.guard:
        return None
    return inner if set(names) <= inner.driving("R") - inner.driving("S") else None


def parallel_chain(s: Stmt) -> list[For]:
    """Adjacent parallel loops from the top of a nest, outermost first."""
    chained: list[For] = []
    while isinstance(s, For) and s.kind == "parallel":
        chained.append(s)
        if len(s.body) != 1:
            break
        s = s.body[0]
    return chained


def rewrite(body: tuple[Stmt, ...], fn: Callable[[Stmt], tuple[Stmt, ...] | None]) -> tuple[Stmt, ...]:
    """Rebuild bottom-up: ``fn(stmt)`` gives the statements that replace it, or None to keep it."""
    out: list[Stmt] = []
    changed = False
    for s in body:
        new = s
        if isinstance(s, For):
            inner = rewrite(s.body, fn)
            if inner is not s.body:
                new = s.around(inner)
        got = fn(new)
        changed |= got is not None or new is not s
        out.extend((new,) if got is None else got)
    return tuple(out) if changed else body


def map_block(
    b: Block,
    loop_form: Callable[[Affine], Affine],
    axis_form: Callable[[Affine], Affine] | None = None,
    dims: Callable[[Dim], Dim] | None = None,
) -> Block:
    """Map the bindings with `loop_form`, everything written in axes with `axis_form`, and extents and limits with
    `dims`; the same block where nothing changes.
    """
    g = dims or (lambda d: d)
    binds = tuple(loop_form(x) for x in b.binds)
    iters = b.iters
    if dims and any(g(i.extent) is not i.extent for i in iters):
        iters = tuple(Iter(i.name, g(i.extent), i.kind) for i in iters)
    same = iters is b.iters and all(map(operator.is_, binds, b.binds))
    if axis_form is None:
        return b if same else Block(b.name, iters, binds, b.buffer, b.index, b.value, b.init, b.guard, b.notes)
    index = tuple(axis_form(x) for x in b.index)
    value = map_affine(b.value, axis_form, dims)
    init = None if b.init is None else map_affine(b.init, axis_form, dims)
    if same and value is b.value and init is b.init and not b.guard and all(map(operator.is_, index, b.index)):
        return b
    guard = map_bounds(b.guard, axis_form, dims)
    return replace(b, iters=iters, binds=binds, index=index, value=value, init=init, guard=guard)


def map_block_loads(b: Block, fn: Callable[[Load], Expr]) -> Block:
    """Replace every load of the value and the initial value by ``fn(load)``; the store stays as it is."""
    return replace(b, value=map_loads(b.value, fn), init=None if b.init is None else map_loads(b.init, fn))


def subst_loops(body: tuple[Stmt, ...], env: dict[str, Affine | Callable[..., Affine]]) -> tuple[Stmt, ...]:
    """Replace loop variables in all bindings."""

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, Block) or not any(d.var in env for x in s.binds for d, _ in x.terms):
            return None
        return (map_block(s, lambda a: a.subst(env)),)

    return rewrite(body, fn)


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a block, with the index in loop variables.

    `picked` are the loops that decide the numbers which are read at run time and stand in the index.
    """

    buffer: str
    index: tuple[Affine, ...]
    is_write: bool
    picked: frozenset[str] = frozenset()


@remembered(1024)
def touched(b: Block) -> frozenset[str]:
    """Names of the buffers that a block reads or writes."""
    return frozenset((b.buffer, *(ld.buffer for ld in b.loads())))


@remembered(1024, parts=lambda b: (b.index, b.value, b.init, b.guard))
def cut_axes(b: Block) -> frozenset[str]:
    """Axes of which a block uses digits (``i // 4``), in whatever is written in axes.

    A step that changes how a block is bound to its loops leaves that as it is, so this is worked out once for all of
    them.
    """
    forms = chain(b.index, (g.form for g in b.guard), *map(all_index_forms, b.exprs))
    return frozenset(d.var for form in forms for d, _ in form.terms if not d.plain)


def _picking(ld: Load, env: dict[str, Affine]) -> frozenset[str]:
    if not ld.at:
        return frozenset()
    axes = {v for p in ld.at for form in all_index_forms(p.value) for v in form.vars}
    return frozenset(v for a in axes for v in env[a].vars)


@remembered(1024)
def written(b: Block) -> tuple[Affine, ...]:
    """Index of what a block writes, as forms over the loops."""
    env = b.env
    return tuple([x.subst(env) for x in b.index])


@remembered(1024)
def accesses(b: Block) -> tuple[Access, ...]:
    """The write first, then the distinct loads (own accumulator included), as forms over the loops."""
    env = b.env
    out = [Access(b.buffer, written(b), True)]
    seen: set[Load] = set()
    for ld in b.loads():
        if ld not in seen:
            seen.add(ld)
            out.append(Access(ld.buffer, tuple(x.subst(env) for x in ld.index), False, _picking(ld, env)))
    return tuple(out)
