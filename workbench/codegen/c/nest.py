"""Loops and blocks as C statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ...ir.affine import Affine, Digit
from ...ir.expr import Bound
from ...ir.func import Buffer
from ...ir.stmt import Block, For, Stmt, blocks
from ..memory import Placed
from .exprs import ExprPrinter
from .helpers import MEMORY_TYPE
from .names import Names

#: Ask for at most so many copies of a loop's body; C compilers take long over more.
MAX_COPIES = 256


@dataclass(slots=True)
class NestPrinter:
    """Prints statements as indented lines."""

    ex: ExprPrinter
    names: Names
    buffers: Mapping[str, Buffer]
    placed: Mapping[str, Placed]
    poison: bool
    lines: list[str] = field(default_factory=list)
    _reducing: list[str] = field(default_factory=list)
    _copies: int = 1

    def emit(self, depth: int, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * depth + text if text else "")

    def body(self, stmts: tuple[Stmt, ...], depth: int) -> None:
        """Print statements in order."""
        for s in stmts:
            if isinstance(s, Block):
                self._block(s, depth)
            else:
                self._loop(s, depth)

    def variables(self, loop: str | None, depth: int) -> None:
        """Declare the temporaries on the stack that live inside a loop, or for the whole call."""
        for name, p in self.placed.items():
            if p.kind == "stack" and p.loop == loop:
                b, text = self.buffers[name], self.names("buffer", name)
                count = p.nbytes // _itemsize(b)
                self.emit(depth, f"ALIGNED {MEMORY_TYPE[b.dtype]} {text}[{count}]; /* {_shape(b)} */")
                if self.poison:
                    self.emit(depth, f"memset({text}, 0xff, sizeof {text});")

    # ---- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, lp: For, depth: int) -> None:
        for b, path in blocks((lp,)):
            if b.init is not None and b.init != b.own_load() and self._starts_here(lp, b):
                self._init_nest(b, path, depth)
        self._reducing.append(lp.name)
        v, before = self.names("loop", lp.name), self._copies
        self._pragma(lp, depth)
        what = "" if lp.kind == "serial" else f" ({lp.kind})"
        self.emit(depth, f"for (int64_t {v} = 0; {v} < {lp.extent}; ++{v}) {{ /* {comment(lp.name)}{what} */")
        self.variables(lp.name, depth + 1)
        self.body(lp.body, depth + 1)
        self.emit(depth, "}")
        self._copies = before
        self._reducing.pop()

    def _pragma(self, lp: For, depth: int) -> None:
        assert isinstance(lp.extent, int)
        if lp.kind == "unroll" and self._copies * lp.extent <= MAX_COPIES:
            self._copies *= lp.extent
            self.emit(depth, f"UNROLL({lp.extent})")
        # The promise of independent iterations holds only where no block accumulates over the loop.
        if lp.kind == "vectorize" and not any(lp.name in _reduction(b) for b, _ in blocks((lp,))):
            self.emit(depth, "VECTOR_LOOP")

    def _starts_here(self, lp: For, b: Block) -> bool:
        """Whether `lp` is the outermost loop over which the block reduces."""
        reduction = _reduction(b)
        return lp.name in reduction and not reduction & set(self._reducing)

    def _init_nest(self, b: Block, path: tuple[For, ...], depth: int) -> None:
        """Write the init of every element that the loop about to begin accumulates onto."""
        assert b.init is not None
        reduction = _reduction(b)
        first: dict[str, Affine | Callable[[Digit], Affine]] = dict.fromkeys(reduction, _zero)
        guard = tuple(Bound(c.form.subst(first), c.lo, c.hi) for c in b.guard)
        kept = [k for k, it in enumerate(b.iters) if it.name not in reduction]
        stmt: Stmt = replace(
            b,
            name=f"{b.name}, init",
            iters=tuple(b.iters[k] for k in kept),
            binds=tuple(b.binds[k] for k in kept),
            value=b.init,
            init=None,
            guard=guard,
        )
        for inner in reversed(path):
            if inner.name not in reduction:
                stmt = For(inner.name, inner.extent, (stmt,), "vectorize" if inner.kind == "vectorize" else "serial")
        placed, self.placed = self.placed, {}  # no loop of this nest is anyone's home
        self.body((stmt,), depth)
        self.placed = placed

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, b: Block, depth: int) -> None:
        guard = self.ex.bounds(b.guard)
        if guard is False:
            return
        if guard is not True:
            self.emit(depth, f"if ({guard.text}) {{")
        inner = depth if guard is True else depth + 1
        element, dtype = self.ex.element(b.buffer, b.index), self.buffers[b.buffer].dtype
        left = f"{element} ="
        if b.init is None:
            value = self.ex.expr(b.value)
        else:
            op, term = b.update()
            # Without a loop that reduces, the init is simply the other operand.
            own = self.ex.expr(b.own_load() if _reduction(b) else b.init)
            value = self.ex.binary(op, own, self.ex.expr(term))
            if _reduction(b) and op in ("add", "mul") and dtype in ("float32", "float64"):
                left, value = f"{element} {'+=' if op == 'add' else '*='}", self.ex.expr(term)
        note = "" if b.name == b.buffer else f" /* {comment(b.name)} */"
        self.emit(inner, f"{left} {self.ex.stored(value, dtype)};{note}")
        if guard is not True:
            self.emit(depth, "}")


def _zero(digit: Digit) -> Affine:
    return Affine()


def _reduction(b: Block) -> set[str]:
    """Loops over which the block accumulates (its axes are loops)."""
    return {it.name for it in b.iters if it.kind == "R"}


def _itemsize(b: Buffer) -> int:
    from ...ir.dtypes import itemsize

    return itemsize(b.dtype)


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
