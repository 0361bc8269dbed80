"""Loop nests as values: expressions, blocks, loops, functions, and what can be asked of them.

Imports only small modules at the bottom of the package. Start with `expr`, `stmt` (loops and blocks) and `func`;
`affine`, `poly` and `interval` are the arithmetic of indices and holes; `wellformed` and `verify` check a function;
`compact` shrinks temporaries before code generation. Subrooms: `text` (printer, parser), `interpreter` (the meaning of
a nest), `numpy_reference` (what an unscheduled function computes) and `rounding_bounds` (how far rounding may carry a
result, in the reference's arrays). Text, interpreter and reference share no code on purpose: they are compared.

Other rooms import the nodes from here; modules of this room import each other.
"""

import workbench.ir.text.printer  # noqa: F401 (it says how a function is shown)
from workbench.ir.affine import Affine, Digit
from workbench.ir.expr import Binary, Bound, Cast, Const, Expr, Index, Load, Pick, Select, Unary, Where
from workbench.ir.func import Align, Buffer, Constraint, Func, HoleInfo, LayoutStep, PadStep
from workbench.ir.poly import Dim, Poly, Relation
from workbench.ir.stmt import Access, Block, For, Iter, LoopKind, Note, Stmt, accesses, blocks, loops

__all__ = [
    "Access",
    "Affine",
    "Align",
    "Binary",
    "Block",
    "Bound",
    "Buffer",
    "Cast",
    "Const",
    "Constraint",
    "Digit",
    "Dim",
    "Expr",
    "For",
    "Func",
    "HoleInfo",
    "Index",
    "Iter",
    "LayoutStep",
    "Load",
    "LoopKind",
    "Note",
    "PadStep",
    "Pick",
    "Poly",
    "Relation",
    "Select",
    "Stmt",
    "Unary",
    "Where",
    "accesses",
    "blocks",
    "loops",
]
