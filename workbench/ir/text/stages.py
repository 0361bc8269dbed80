"""A function with one line per stage, as TVM prints a computation: what is computed, without loops."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.ir.expr import Binary, Load
from workbench.ir.func import Func
from workbench.ir.stmt import Block, blocks
from workbench.ir.text.printer import INFIX, affine_text, bound_text, dim_text, expr_text, name_text

#: Characters of a line; the middle of a longer one is left out.
WIDTH = 256


def one_line_per_stage(func: Func) -> str:
    """Return the inputs with their shapes, and one equation for each block.

    ::

        A = PLACEHOLDER [64, 32]
        B = PLACEHOLDER [32, 16]
        C(i, j) += A[i, k] * B[k, j]
    """
    return "\n".join(map(_cut, _lines(func))) + "\n"


def _lines(func: Func) -> Iterator[str]:
    seen: set[str] = set()
    given = {b.name: b for b in func.buffers if b.role in ("input", "const")}
    for block, _ in blocks(func.body):
        for load in block.loads():
            if load.buffer in given and load.buffer not in seen:
                seen.add(load.buffer)
                sizes = ", ".join(dim_text(d) for d in given[load.buffer].shape)
                yield f"{name_text(load.buffer)} = PLACEHOLDER [{sizes}]"
        yield _equation(block)


def _equation(b: Block) -> str:
    left = f"{name_text(b.buffer)}({', '.join(affine_text(x) for x in b.index)})"
    if b.guard:
        left = f"when {' & '.join(bound_text(g) for g in b.guard)}: {left}"
    own = Load(b.buffer, b.index)
    match b.value:
        case Binary(op, a, term) if b.init is not None and a == own:
            return f"{left} {INFIX[op][0] if op in INFIX else op}= {expr_text(term)}"
    return f"{left} = {expr_text(b.value)}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH // 2]} ..(OMITTED).. {line[-WIDTH // 2 :]}"
