"""What a nest touches, in order, as a tree of loops with accesses as its leaves (`access_tree`).

"written" is the nest as it reads: every load and store of every statement, one element at a time. "generated" is what
the code of the LLVM backend does, by the rules of `workbench.codegen.llvm`: results of a reduction stay in registers
from the loop on where the backend keeps them, a vector is one access of each of its lines, what an inner loop does not
move is loaded before it, and the copies of an unrolled loop share what is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from workbench.analysis.cache.access_tree import Access, Cond, Kind, Loop, Mode, Node, Program, Repeat, Unless
from workbench.analysis.loop_nest.statement_text import element
from workbench.architectures import architecture
from workbench.codegen.llvm.accumulators import fits_registers
from workbench.codegen.llvm.module import as_emitted
from workbench.codegen.llvm.strip_mining import Pieces
from workbench.codegen.lowering import init_nest, lowered, reduced_at, reducing_loops
from workbench.errors import InputError
from workbench.ir import Affine, Block, Bound, Buffer, Expr, For, Func, Load, Select, Stmt, blocks, loops
from workbench.ir.affine import digit_extent, flat_index
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import children
from workbench.ir.poly import concrete
from workbench.ir.stmt import rewrite
from workbench.ir.stmt import walk as walk_nest

if TYPE_CHECKING:
    from workbench.target import Target


def program(func: Func, target: Target, mode: Mode, apart: int, line: int) -> Program:
    """List what a concrete function touches.

    Buffers lie one after the other in the order of the function, each on a multiple of a line, `apart` bytes between
    the end of one and the place of the next.

    Raises
    ------
    BuildError
        "build.holes" when a number is open.
    InputError
        "cache.data" when data decide what is read.
    """
    own = as_emitted(func, target) if mode == "generated" else lowered(func)
    bases: dict[str, int] = {}
    at = line
    for b in own.buffers:
        bases[b.name] = at
        at = -(-(at + b.nbytes + apart) // line) * line
    texts = {
        (block.name, own_load): element(load.buffer, load.index)
        for (block, _), (short, _) in zip(blocks(func.body), blocks(own.body), strict=True)
        for load, own_load in _pairs(block, short)
    }
    lister = (Generated if mode == "generated" else Written)(own, target, bases, texts)
    nodes = tuple(n for s in own.body for n in lister.statement(s, ()))
    nest = [Loop(x.name, len(path), concrete(x.extent), _iterations((*path, x))) for x, path in loops(own.body)]
    return Program(nodes, tuple(lister.found), tuple(nest), own.buffers, bases, at)


def _iterations(path: Sequence[For]) -> int:
    return prod(concrete(lp.extent) for lp in path)


def _pairs(block: Block, own: Block) -> Iterator[tuple[Load, Load]]:
    yield block.own_load(), own.own_load()
    yield from zip(block.loads(), own.loads(), strict=True)


@dataclass(slots=True)
class Written:
    """Lists the accesses of a lowered function as the nest reads."""

    func: Func
    target: Target
    bases: Mapping[str, int]
    texts: Mapping[tuple[str, Load], str]
    buffers: Mapping[str, Buffer] = field(init=False)
    found: list[Access] = field(default_factory=list)
    extents: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buffers = {b.name: b for b in self.func.buffers}

    def statement(self, s: Stmt, path: tuple[For, ...]) -> list[Node]:
        """Return what a statement touches, inside the loops of `path`."""
        if isinstance(s, For):
            extent = self.extents[s.name] = concrete(s.extent)
            return [Repeat(s.name, 0, 1, extent, self.body(s, path))]
        out: list[Node] = []
        if s.init is not None and not s.resumes:
            first = tuple(Bound(Affine.var(n), 0, 1) for n in sorted(reducing_loops(s)))
            out += [self.access(s, ld, "read", (*first, *conds)) for ld, conds in _reads(s.init, s.guard)]
            out.append(self.access(s, s.own_load(), "write", (*first, *s.guard)))
        out += [self.access(s, ld, "read", conds) for ld, conds in _reads(s.value, s.guard)]
        return [*out, self.access(s, s.own_load(), "write", s.guard)]

    def body(self, lp: For, path: tuple[For, ...]) -> tuple[Node, ...]:
        """Return what one iteration of a loop touches."""
        return tuple(n for x in lp.body for n in self.statement(x, (*path, lp)))

    def access(self, b: Block, ld: Load, kind: Kind, conds: tuple[Cond, ...], elements: int = 1) -> Access:
        """Make an access of neighbouring elements."""
        if ld.at:
            text = f"Where {ld.buffer} is read is decided by data, so its lines are not known"
            raise InputError("cache.data", text, (b.name, ld.buffer), "show another block")
        name, size = b.name.removesuffix(_INIT), itemsize(self.buffers[ld.buffer].dtype) * elements
        text = self.texts.get((name, ld), ld.buffer)
        left = tuple(c for c in conds if not self._holds(c))
        made = Access(name, ld.buffer, text, kind, self.address(ld), size, left, len(self.found))
        self.found.append(made)
        return made

    def address(self, ld: Load) -> Affine:
        """Return the address of an element in bytes."""
        buffer = self.buffers[ld.buffer]
        return flat_index(ld.index, buffer.strides()) * itemsize(buffer.dtype) + self.bases[ld.buffer]

    def _holds(self, c: Cond) -> bool:
        if isinstance(c, Unless):
            return False
        lo = hi = concrete(c.form.const)
        for d, by in c.form.terms:
            far = concrete(by) * (concrete(digit_extent(d, self.extents)) - 1)
            lo, hi = lo + min(0, far), hi + max(0, far)
        return concrete(c.lo) <= lo and hi < concrete(c.hi)


_INIT = ".init"


def _reads(e: Expr, conds: tuple[Cond, ...]) -> Iterator[tuple[Load, tuple[Cond, ...]]]:
    """Loads of an expression in the order of evaluation, each with the conditions under which it happens."""
    if isinstance(e, Load):
        yield e, conds
    if isinstance(e, Select):
        yield from _reads(e.a, (*conds, *e.conds))
        yield from _reads(e.b, (*conds, Unless(e.conds)))
        return
    for part in children(e):
        yield from _reads(part, conds)


class Generated(Written):
    """Lists the accesses that the code of a lowered function makes."""

    def __init__(
        self, func: Func, target: Target, bases: Mapping[str, int], texts: Mapping[tuple[str, Load], str]
    ) -> None:
        super().__init__(func, target, bases, texts)
        sizes = {b.name: itemsize(b.dtype) for b in func.buffers}
        self._pieces = Pieces(sizes.__getitem__, target.vector_bytes, architecture(target.arch).mask_bytes(target.isa))
        #: Buffers whose elements are in registers, loops around that reduce, loops that one instruction runs.
        self._kept: set[str] = set()
        self._around: list[str] = []
        self._units: set[str] = set()
        #: Lanes of the open vector loop, and of the loops of an instruction.
        self._lanes: dict[str, int] = {}

    def statement(self, s: Stmt, path: tuple[For, ...]) -> list[Node]:
        """Return what a statement touches, inside the loops of `path`."""
        if isinstance(s, Block):
            return self._block(s, path)
        if not path:
            self.extents.update({lp.name: concrete(lp.extent) for lp, _ in loops((s,))})
            s = self._with_units(s)
        begun = {b.name for b, _ in reduced_at(s) if any(n in self._around for n in reducing_loops(b))}
        before: list[Node] = []
        for b, inner in reduced_at(s):
            if not (b.name in begun or b.resumes or self._is_kept(s, b) or self._kept_inside(inner, b)):
                before += self.statement(init_nest(b, inner, b.name + _INIT), path)
        kept = [(b, inner) for b, inner in reduced_at(s) if b.buffer not in self._kept and self._is_kept(s, b)]
        for b, inner in kept:
            assert b.init is not None
            reads = [] if b.resumes else list(_reads(b.init, b.guard))
            if b.resumes or b.name in begun:  # what is there, or the init, is chosen at run time
                reads.append((b.own_load(), b.guard))
            before += [n for ld, conds in reads for n in self._results(b, inner, ld, "read", conds)]
        self._kept |= {b.buffer for b, _ in kept}
        self._around.append(s.name)
        repeated = self._repeated(s, lambda: self.body(s, path))
        self._around.pop()
        self._kept -= {b.buffer for b, _ in kept}
        after = [n for b, inner in kept for n in self._results(b, inner, b.own_load(), "write", b.guard)]
        inside = [(b, inner) for b, inner in walk_nest((s,), path) if isinstance(b, Block)]
        early = [n for b, inner in inside for n in self._early(b, inner, len(path))]
        return [*before, *early, *repeated, *after]

    # ---- loops -----------------------------------------------------------------------------------------------------

    def _repeated(self, lp: For, body: Callable[[], tuple[Node, ...]]) -> list[Node]:
        """Repeat a body as the code does: a vector loop vector by vector."""
        extent = self.extents[lp.name]
        if lp.kind != "vectorize" and lp.name not in self._units:
            return [Repeat(lp.name, 0, 1, extent, body())]
        out: list[Node] = []
        for first, count_, lanes in self._vectors(lp):
            self._lanes[lp.name] = lanes
            inner = body()
            out += inner if lp.name in self._units else [Repeat(lp.name, first, lanes, count_, inner)]
            del self._lanes[lp.name]
        return out

    def _vectors(self, lp: For) -> list[tuple[int, int, int]]:
        """Vectors of equal length that a loop becomes: the first iteration, how many, and their lanes."""
        if lp.name in self._units:
            return [(0, 1, self.extents[lp.name])]
        lanes, pieces = self._pieces.lanes(lp), self._pieces.of(lp)
        full = sum(active == lanes for _, _, active in pieces)
        return ([(0, full, lanes)] if full else []) + [(at, 1, active) for at, _, active in pieces[full:]]

    def _nested(self, around: Sequence[For], make: Callable[[], list[Node]]) -> list[Node]:
        if not around:
            return make()
        return self._repeated(around[0], lambda: tuple(self._nested(around[1:], make)))

    def _with_units(self, nest: For) -> For:
        """Make the loops of instructions unrolled ones, each of whose rows is touched at once."""
        self._units |= {x.name for lp, _ in loops((nest,)) if lp.intrin is not None for x, _ in loops((lp,))}

        def unrolled(s: Stmt) -> tuple[Stmt, ...] | None:
            return (replace(s, kind="unroll", intrin=None),) if isinstance(s, For) and s.name in self._units else None

        (out,) = rewrite((nest,), unrolled)
        assert isinstance(out, For)
        return out

    # ---- results in registers --------------------------------------------------------------------------------------

    def _is_kept(self, lp: For, b: Block) -> bool:
        """Whether a block's results are in registers while the loop runs; those of an instruction count as one."""

        def single(s: Stmt) -> tuple[Stmt, ...] | None:
            return (replace(s, extent=1),) if isinstance(s, For) and s.name in self._units else None

        (shrunk,) = rewrite((lp,), single)
        assert isinstance(shrunk, For)
        return lp.name in reducing_loops(b) and fits_registers(shrunk, b, lambda x: len(self._pieces.of(x)))

    def _kept_inside(self, path: Sequence[For], b: Block) -> bool:
        return b.buffer in self._kept or any(self._is_kept(x, b) for x in path)

    def _results(self, b: Block, path: Sequence[For], ld: Load, kind: Kind, conds: tuple[Cond, ...]) -> list[Node]:
        """Load or store what lives in registers while the loops of `path` run."""
        reduce = reducing_loops(b)
        spatial = tuple(c for c in conds if not _asked([c]) & reduce)
        moving = _moving(ld, spatial)
        around = [x for x in path if x.name not in reduce and x.name in moving]
        return self._nested(around, lambda: self._element(b, ld, kind, spatial))

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, b: Block, path: tuple[For, ...]) -> list[Node]:
        """Return what a block touches where it stands; `_early` has what is loaded before."""
        out = self._early(b, path, len(path))
        if b.init is not None and b.buffer in self._kept:
            return out
        if b.init is not None:
            sums = any(it.kind == "R" and it.extent != 1 for it in b.iters)
            for ld, conds in [(b.own_load(), b.guard)] if sums else _reads(b.init, b.guard):
                out += self._element(b, ld, "read", conds)
        return [*out, *self._element(b, b.own_load(), "write", b.guard)]

    def _early(self, b: Block, path: tuple[For, ...], depth: int) -> list[Node]:
        """Return the loads of a block that stand inside the first `depth` loops around it, ahead of the next one."""
        out: list[Node] = []
        for ld, conds in dict.fromkeys(_reads(b.value if b.init is None else b.update()[1], b.guard)):
            at, inner = self._place(ld, conds, path)
            if at == depth:
                out += self._nested(inner, lambda ld=ld, conds=conds: self._element(b, ld, "read", conds))  # type: ignore[misc]
        return out

    def _place(self, ld: Load, conds: tuple[Cond, ...], path: tuple[For, ...]) -> tuple[int, list[For]]:
        """Return how many loops are around a load, and which inner ones repeat it there.

        What is only read leaves all loops that do not move it, what is written too those alone that become copies.
        """
        moving = _moving(ld, conds)
        copies = next((k for k in range(len(path), 0, -1) if not self._is_copied(path[k - 1])), 0)
        least = 0 if not conds and self.buffers[ld.buffer].role in ("input", "const") else copies
        at = max([least, *(k + 1 for k, lp in enumerate(path) if lp.name in moving)])
        if at > copies and any(lp.name not in moving for lp in path[copies:at]):
            return copies, [lp for lp in path[copies:at] if lp.name in moving]
        return at, []

    def _is_copied(self, lp: For) -> bool:
        return lp.kind in ("unroll", "vectorize")

    def _element(self, b: Block, ld: Load, kind: Kind, conds: tuple[Cond, ...]) -> list[Node]:
        """Return the access of one element, or of those of all lanes."""
        size, address = itemsize(self.buffers[ld.buffer].dtype), self.address(ld)
        asked = _asked([c for c in conds if not self._holds(c)])
        wide = next((v for v in self._lanes if _is_unit_step(address, v, size)), None)
        whole = wide is not None and wide not in asked
        node: Node = self.access(b, ld, kind, conds, self._lanes[wide] if whole and wide is not None else 1)
        for v, lanes in self._lanes.items():
            if (v != wide or not whole) and (v in address.vars or v in asked):
                node = Repeat(v, 0, 1, lanes, (node,), inside=True, merged=v == wide)
        return [node]


def _moving(ld: Load, conds: Sequence[Cond]) -> set[str]:
    return _asked(conds).union(*(x.vars for x in ld.index))


def _asked(conds: Sequence[Cond]) -> set[str]:
    """Loops that conditions look at."""
    bounds = [b for c in conds for b in (c.bounds if isinstance(c, Unless) else (c,))]
    return set[str]().union(*(b.form.vars for b in bounds))


def _is_unit_step(address: Affine, var: str, size: int) -> bool:
    return [(d.plain, c) for d, c in address.terms if d.var == var] == [(True, size)]
