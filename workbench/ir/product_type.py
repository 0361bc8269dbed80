"""Which numbers a function multiplies: processors have faster instructions for products of narrow ones."""

from __future__ import annotations

from workbench.ir.dtypes import itemsize
from workbench.ir.expr import Binary, Cast, Expr, loads, walk
from workbench.ir.func import Func
from workbench.ir.stmt import blocks

#: What is multiplied where nothing narrower is; its rate is the machine's peak.
PLAIN = "float32"


def product_type(func: Func) -> str:
    """Return the element type whose products a function sums: "bfloat16", "uint8" (bytes, one of them without a sign),
    "int8" (bytes with signs), "float16"; else "float32".
    """
    types = {b.name: b.dtype for b in func.buffers}
    for block, _ in blocks(func.body):
        for e in walk(block.value) if block.is_reduction else ():
            if isinstance(e, Binary) and e.op == "mul":
                a, b = _narrowest(e.a, types), _narrowest(e.b, types)
                if max(itemsize(a), itemsize(b)) < itemsize(PLAIN):
                    return a if a == b else "uint8" if itemsize(a) == itemsize(b) == 1 else PLAIN
    return PLAIN


def _narrowest(e: Expr, types: dict[str, str]) -> str:
    """The narrowest type that an operand is computed from: beside it there are zero points, which are wider."""
    found = min((types[x.buffer] for x in loads(e)), key=itemsize, default=PLAIN)
    return PLAIN if found == "float16" and isinstance(e, Cast) else found  # no instruction sums up halves in float32
