"""Loops and blocks as C statements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.codegen.c.expressions import ExprPrinter, Text
from workbench.codegen.c.identifiers import Names
from workbench.codegen.c.support_functions import MEMORY_TYPE, VALUE_TYPE
from workbench.codegen.code_line import Line, RowNotes
from workbench.codegen.constants import CText
from workbench.codegen.lowering import init_nest, reduced_at, reducing_loops
from workbench.codegen.temporary_storage import Placed
from workbench.ir import Affine, Block, Bound, Buffer, Digit, Expr, For, Stmt, accesses, blocks
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete


@dataclass(frozen=True, slots=True)
class Accumulators:
    """Elements of a block that are local variables while a loop runs, one for each iteration of `loops`."""

    block: Block
    loops: tuple[For, ...]
    element: str
    from_init: bool


@dataclass(slots=True)
class NestPrinter:
    """Prints statements as indented lines."""

    ex: ExprPrinter
    names: Names
    buffers: Mapping[str, Buffer]
    placed: Mapping[str, Placed]
    poison: bool
    #: Type of a loop's counter.
    counter: str = "int64_t"
    lines: list[str] = field(default_factory=list)
    notes: RowNotes = field(default_factory=RowNotes)
    _reducing: list[str] = field(default_factory=list)
    _copies: int = 1
    _met: tuple[Bound, ...] = ()

    def emit(self, depth: int, text: str) -> None:
        """Append a line."""
        self.lines.append(Line("    " * depth + text if text else "", self.notes.row))

    def body(self, stmts: tuple[Stmt, ...], depth: int) -> None:
        """Print statements in order."""
        for s in stmts:
            if isinstance(s, Block):
                with self.notes.at(f"stmt:{s.name}"):
                    self._block(s, depth)
            else:
                with self.notes.at(s.name):
                    self._loop(s, depth)

    def variables(self, loop: str | None, depth: int) -> None:
        """Declare the temporaries on the stack that live inside a loop, or for the whole call."""
        for name, p in self.placed.items():
            if p.kind == "stack" and p.loop == loop:
                b, text = self.buffers[name], self.names("buffer", name)
                count = p.nbytes // itemsize(b.dtype)
                self.emit(depth, f"ALIGNED {MEMORY_TYPE[b.dtype]} {text}[{count}]; /* {_shape(b)} */")
                if self.poison:
                    self.emit(depth, f"memset({text}, 0xff, sizeof {text});")

    # ---- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, lp: For, depth: int) -> None:
        kept: list[Accumulators] = []
        for b, path in reduced_at(lp):
            first = not reducing_loops(b) & set(self._reducing)
            if self._may_keep(b, path):
                kept.append(self._accumulators(b, path, first))
            elif first and not b.resumes:
                with self.notes.at(f"init:{b.name}", pinned=True):
                    self._init_nest(b, path, depth)
        for acc in kept:
            with self.notes.at(f"{'init' if acc.from_init else 'stmt'}:{acc.block.name}"):
                self._fill(acc, depth)
        self.ex.kept |= {acc.block.buffer: acc.element for acc in kept}
        self._reducing.append(lp.name)
        known = self.ex.known
        self.ex.known = known | self._decide(lp, depth)
        met = self._met
        stop = self._stop(lp, depth)
        self._header(lp, depth, stop)
        self.variables(lp.name, depth + 1)
        copies = self._copies
        if lp.kind == "unroll":
            self._copies *= concrete(lp.extent)
        self.body(lp.body, depth + 1)
        self._copies = copies
        self.emit(depth, "}")
        self._reducing.pop()
        self.ex.known, self._met = known, met
        for acc in kept:
            del self.ex.kept[acc.block.buffer]
        for acc in kept:
            target = self.ex.element(acc.block.buffer, acc.block.index)
            with self.notes.at(f"stmt:{acc.block.name}"):
                self._for_each(acc, target, acc.element, depth)

    def _decide(self, lp: For, depth: int) -> dict[Expr, Text]:
        """Take choices out of a vectorised loop that are the same in all its iterations (no compiler must do it)."""
        block = lp.body[0]
        if lp.kind != "vectorize" or not isinstance(block, Block) or len(lp.body) != 1 or block.guard:
            return {}
        out: dict[Expr, Text] = {}
        careful = self.ex.careful
        for k, e in enumerate(self.ex.choices_outside(block, lp.name)):
            value, name = self.ex.expr(e), self.names("choice", f"{block.name}_in{k}")
            self.emit(depth, f"const {VALUE_TYPE[value.dtype]} {name} = {value.text};")
            out[e] = Text(name, value.dtype)
        self.ex.careful = careful
        return out

    def _stop(self, lp: For, depth: int) -> str:
        """End of a loop. Where the guard of its block cuts it short, the end is worked out before instead."""
        block = lp.body[0]
        if lp.kind == "unroll" or len(lp.body) != 1 or not isinstance(block, Block):
            return str(lp.extent)
        for c in block.guard:
            rest = Affine.make([(d, x) for d, x in c.form.terms if d.var != lp.name], c.form.const)
            alone = [d for d, _ in c.form.terms if d.var == lp.name] == [Digit(lp.name)]
            if (
                not alone
                or c.form.coefficient(lp.name) != 1
                or self.ex.range(c.form)[0] < concrete(c.lo)
                or c in self._met
            ):
                continue
            name, left = self.names(f"stop {len(self.lines)}", f"{lp.name}_stop"), self.ex.form(rest * -1 + c.hi).text
            self.emit(depth, f"const {self.counter} {name} = {left} < {lp.extent} ? {left} : {lp.extent};")
            self._met = (*self._met, c)
            return name
        return str(lp.extent)

    def _header(self, lp: For, depth: int, stop: str = "") -> None:
        self._pragma(lp, depth)
        v, what = self.names("loop", lp.name), "" if lp.kind == "serial" else f" ({lp.kind})"
        self.emit(
            depth, f"for ({self.counter} {v} = 0; {v} < {stop or lp.extent}; ++{v}) {{ /* {comment(lp.name)}{what} */"
        )

    def _pragma(self, lp: For, depth: int) -> None:
        if lp.kind == "unroll" and self._copies * concrete(lp.extent) <= CText.COPIES:
            self.emit(depth, f"UNROLL({lp.extent})")
        # The promise of independent iterations holds only where no block accumulates over the loop.
        if lp.kind == "vectorize" and not any(lp.name in reducing_loops(b) for b, _ in blocks((lp,))):
            self.emit(depth, "VECTOR_LOOP")

    def _init_nest(self, b: Block, path: tuple[For, ...], depth: int) -> None:
        """Write the init of every element that the loop about to begin accumulates onto."""
        stmt = init_nest(b, path, f"{b.name}, init")
        placed, self.placed = self.placed, {}  # no loop of this nest is anyone's home
        self.body((stmt,), depth)
        self.placed = placed

    # ---- accumulators ----------------------------------------------------------------------------------------------

    def _may_keep(self, b: Block, path: tuple[For, ...]) -> bool:
        """Whether the elements that the first loop of `path` accumulates onto can be in local variables meanwhile."""
        reduction, spatial = reducing_loops(b), _spatial(b, path)
        if b.buffer in self.ex.kept or any(c.form.vars - reduction for c in b.guard):
            return False  # what is written back is written back without asking whether it exists
        if any(lp.kind not in ("unroll", "vectorize") for lp in spatial):
            return False
        others = (a.buffer for other, _ in blocks((path[0],)) if other.name != b.name for a in accesses(other))
        size = math.prod(concrete(lp.extent) for lp in spatial) * itemsize(self.buffers[b.buffer].dtype)
        return b.buffer not in others and size <= CText.KEPT_BYTES

    def _accumulators(self, b: Block, path: tuple[For, ...], first: bool) -> Accumulators:
        name, spatial = self.names("accumulators", f"{b.name}_acc"), _spatial(b, path)
        element = name + "".join(f"[{self.names('loop', lp.name)}]" for lp in spatial)
        return Accumulators(b, spatial, element, first)

    def _fill(self, acc: Accumulators, depth: int) -> None:
        """Declare the accumulators; the outermost loop that reduces starts from the init, others from memory."""
        b, dtype = acc.block, self.buffers[acc.block.buffer].dtype
        sizes = "".join(f"[{lp.extent}]" for lp in acc.loops)
        name = acc.element.partition("[")[0]
        first = self.ex.element(b.buffer, b.index)
        if acc.from_init and b.init is not None and b.init != b.own_load():
            first = self.ex.stored(self.ex.expr(b.init), dtype)
        if not acc.loops:
            self.emit(depth, f"{MEMORY_TYPE[dtype]} {name} = {first};")
            return
        self.emit(depth, f"ALIGNED {MEMORY_TYPE[dtype]} {name}{sizes};")
        self._for_each(acc, acc.element, first, depth)

    def _for_each(self, acc: Accumulators, left: str, right: str, depth: int) -> None:
        for k, lp in enumerate(acc.loops):
            self._header(lp, depth + k)
        self.emit(depth + len(acc.loops), f"{left} = {right};")
        for k in reversed(range(len(acc.loops))):
            self.emit(depth + k, "}")

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, b: Block, depth: int) -> None:
        guard = self.ex.bounds([c for c in b.guard if c not in self._met])
        if guard is False:
            return
        if guard is not True:
            self.emit(depth, f"if ({guard.text}) {{")
            self.ex.careful = True
        inner = depth if guard is True else depth + 1
        element, dtype = self.ex.element(b.buffer, b.index), self.buffers[b.buffer].dtype
        left = f"{element} ="
        if b.init is None:
            value = self.ex.expr(b.value)
        else:
            op, term = b.update()
            # Without a loop that reduces, the init is simply the other operand.
            own = self.ex.expr(b.own_load() if reducing_loops(b) else b.init)
            value = self.ex.binary(op, own, self.ex.expr(term))
            if reducing_loops(b) and op in ("add", "mul") and dtype in ("float32", "float64"):
                left, value = f"{element} {'+=' if op == 'add' else '*='}", self.ex.expr(term)
        note = "" if b.name == b.buffer else f" /* {comment(b.name)} */"
        self.emit(inner, f"{left} {self.ex.stored(value, dtype)};{note}")
        if guard is not True:
            self.emit(depth, "}")


def _spatial(b: Block, path: tuple[For, ...]) -> tuple[For, ...]:
    """Loops of the path over which the block does not accumulate."""
    return tuple(lp for lp in path if lp.name not in reducing_loops(b))


def _shape(b: Buffer) -> str:
    return "x".join(str(d) for d in b.shape) or "scalar"


def comment(name: str) -> str:
    """A name as part of a comment, which it must not end."""
    return (
        "".join(c if c.isprintable() else "?" for c in name)
        .replace("*/", "* /")
        .replace("/*", "/ *")
        .replace("\\", "?")
    )
