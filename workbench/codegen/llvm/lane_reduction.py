"""What lanes of a vector have to do with each other: reductions over neighbours in memory, conditions, indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workbench.codegen.llvm.addresses import Lanes
from workbench.codegen.llvm.expressions import ExprEmitter
from workbench.codegen.llvm.values import Value, index
from workbench.codegen.lowering import reducing_loops
from workbench.ir import Block, Bound, For, Load, Select
from workbench.ir.expr import walk
from workbench.ir.poly import concrete


def across_lanes(ex: ExprEmitter, lp: For, lanes: Callable[[For], int]) -> int | None:
    """Lanes of the vectors that a loop can be reduced with; None where it has to run one by one.

    That is so for an unrolled loop over a temporary, as ``rfactor`` leaves it: there the order of the terms is free.
    """
    if lp.kind != "unroll" or len(lp.body) != 1 or not isinstance(lp.body[0], Block) or ex.lanes > 1:
        return None
    b = lp.body[0]
    if b.init is None or b.guard or lp.name not in reducing_loops(b) or any(lp.name in f.vars for f in b.index):
        return None
    _, term = b.update()
    if not isinstance(term, Load) or term.at or not ex.is_temporary(term.buffer):
        return None
    form = ex.flat(term.buffer, term.index)
    if form.coefficient(lp.name) != 1 or not all(d.plain for d, _ in form.terms if d.var == lp.name):
        return None
    width = lanes(lp)
    while width > concrete(lp.extent):
        width //= 2
    return width if width > 1 else None


def reduced_vectors(ex: ExprEmitter, lp: For, b: Block, lanes: int) -> Value:
    """Reduce the terms of all full vectors to one scalar."""
    op, term = b.update()
    extent = concrete(lp.extent)
    ex.lanes = lanes
    parts = []
    for at in range(0, extent - extent % lanes, lanes):
        ex.env[lp.name] = Lanes(index(at), lanes, lanes)
        parts.append(ex.expr(term))
    ex.lanes = 1
    while len(parts) > 1:
        pairs = [ex.arith.binary(op, x, y) for x, y in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(pairs) * 2 :]
    wide = parts[0]
    while wide.lanes > 1:
        wide = ex.arith.binary(op, *_halves(ex, wide))
    return wide


def _halves(ex: ExprEmitter, v: Value) -> tuple[Value, Value]:
    if v.lanes == 2:
        low, high = (ex.fb.pure(f"extractelement {v.typed}, i64 {k}", v.dtype, 1, (v,)) for k in (0, 1))
        return low, high
    half = v.lanes // 2

    def part(first: int) -> Value:
        picks = ", ".join(f"i32 {first + k}" for k in range(half))
        text = f"shufflevector {v.typed}, {v.type} poison, <{half} x i32> <{picks}>"
        return ex.fb.pure(text, v.dtype, half, (v,))

    return part(0), part(half)


def conditions(b: Block) -> Iterator[Bound]:
    """Every bound that decides whether a block runs or what it reads."""
    yield from b.guard
    for e in walk(b.value):
        if isinstance(e, Select):
            yield from e.conds
