"""Vectorised loops of OpenCL C as statements on whole vectors.

The compiler of a driver for a processor leaves alone what is written out element by element, and its functions take
vectors as well: ``exp`` of 16 numbers takes about twice as long as of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workbench.codegen.c.expressions import INFIX, ExprPrinter, Text
from workbench.codegen.c.support_functions import Helpers
from workbench.codegen.lowering import reducing_loops
from workbench.ir import Affine, Binary, Block, Buffer, Expr, For, Load, Select, Unary
from workbench.ir.affine import flat_index
from workbench.ir.expr import all_index_forms
from workbench.ir.poly import concrete

#: Elements of a vector, and the type that has vectors here.
LANES, DTYPE = (16, 8, 4, 2), "float32"

#: Element of a vector whose address is a multiple of 4 bytes only. vloadn and vstoren say the same; PoCL puts vectors
#: together from their elements for these, which takes twice as long.
HEAD = "\n".join(
    [
        *(f"typedef float floats{n} __attribute__((ext_vector_type({n}), aligned(4)));" for n in reversed(LANES)),
        *(
            f"#define {word}(n, element) (*({space}floats##n *)&(element))"
            for word, space in (("GLOBAL", "__global "), ("SHARED", "__local "), ("LOCAL", ""))
        ),
    ]
)


class Scalar(Exception):
    """The loop cannot be printed in vectors."""


def lanes_of(lp: For) -> int:
    """Elements of the longest vectors that a loop is made of; 1 where it is made of none."""
    return next((n for n in LANES if lp.kind == "vectorize" and concrete(lp.extent) % n == 0), 1)


@dataclass(frozen=True, slots=True)
class VectorPrinter:
    """Prints the expressions of a block for neighbouring iterations of a loop at once.

    Attributes
    ----------
    ex : ExprPrinter
        Prints what is the same in all iterations.
    helpers : Helpers
    buffers : mapping of str to Buffer
    lane : str
        The loop.
    counter : str
        Its variable.
    lanes : int
    memory : callable
        "global", "shared" or "local", of a buffer.
    """

    ex: ExprPrinter
    helpers: Helpers
    buffers: Mapping[str, Buffer]
    lane: str
    counter: str
    lanes: int
    memory: Callable[[str], str]

    def statement(self, b: Block) -> str:
        """Return the text of a block's statement; `Scalar` where it has none."""
        if self.lane in reducing_loops(b):
            raise Scalar
        left = self.element(b.buffer, b.index)
        if b.init is None:
            return f"{left} = {self.wide(self.expr(b.value))};"
        op, term = b.update()
        own = self.expr(b.own_load() if reducing_loops(b) else b.init)
        if reducing_loops(b) and op in ("add", "mul"):
            return f"{left} {'+=' if op == 'add' else '*='} {self.expr(term).text};"
        return f"{left} = {self.wide(self._binary(op, own, self.expr(term)))};"

    def element(self, buffer: str, index: Sequence[Affine]) -> str:
        """Return neighbouring elements of a buffer as an lvalue."""
        text = self.ex.element(buffer, tuple(index))
        if self.buffers[buffer].dtype != DTYPE:
            raise Scalar
        if buffer in self.ex.kept:
            if not text.endswith(f"[{self.counter}]"):
                raise Scalar
            return self.at(text, "local")
        own = [(d, c) for d, c in flat_index(tuple(index), self.buffers[buffer].strides()).terms if d.var == self.lane]
        if len(own) != 1 or not own[0][0].plain or own[0][1] != 1:
            raise Scalar
        return self.at(text, self.memory(buffer))

    def at(self, text: str, memory: str) -> str:
        """Return the vector that begins with an element."""
        return f"{memory.upper()}({self.lanes}, {text})"

    def wide(self, x: Text) -> str:
        """Return a value as a vector."""
        return x.text if x.dtype == self._type else f"(float{self.lanes})({x.text})"

    def expr(self, e: Expr) -> Text:
        """Return the text of a value: a vector, or a number that is the same in all lanes."""
        if not any(self.lane in f.vars for f in all_index_forms(e)):
            found = self.ex.expr(e)
            if found.dtype != DTYPE:
                raise Scalar
            return found
        match e:
            case Load(buffer, index, at) if not at:
                return Text(self.element(buffer, index), self._type)
            case Unary("neg", a):
                return Text(f"-{self.expr(a).at(9)}", self._type, 8)
            case Unary(op, a):
                return self._call(op, self.expr(a))
            case Binary(op, a, b):
                return self._binary(op, self.expr(a), self.expr(b))
            case Select(conds, a, b) if not any(self.lane in c.form.vars for c in conds):
                return self._choice(e, self.expr(a), self.expr(b))
        raise Scalar

    @property
    def _type(self) -> str:
        return f"{DTYPE}x{self.lanes}"

    def _choice(self, e: Select, a: Text, b: Text) -> Text:
        cond = self.ex.bounds(e.conds)
        if isinstance(cond, bool):
            return a if cond else b
        self.ex.careful = True
        return Text(f"{cond.at(3)} ? {self.wide(a)} : {self.wide(b)}", self._type, 2)

    def _binary(self, op: str, a: Text, b: Text) -> Text:
        if op in INFIX:
            sign, level = INFIX[op]
            return Text(f"{a.at(level)} {sign} {b.at(level + 1)}", self._type, level)
        if op == "pow" and b.literal == 2:
            return self._call("square", a)
        if op not in ("max", "min"):
            raise Scalar
        return self._call(*self.ex.extreme(op, a, b))

    def _call(self, op: str, *operands: Text) -> Text:
        name = self.helpers.name(op, DTYPE, self.lanes) or self.ex.library(op, DTYPE)
        if name is None:
            raise Scalar
        return Text(f"{name}({', '.join(self.wide(x) for x in operands)})", self._type)
