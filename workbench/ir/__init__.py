"""Loop nests as values: expressions, blocks, loops, functions, and what can be asked of them.

Imports only small modules at the bottom of the package. Start with `expr`, `stmt` (loops and blocks) and `func`;
`affine`, `poly` and `interval` are the arithmetic of indices and holes; `wellformed` and `verify` check a function;
`compact` shrinks temporaries before code generation. Subrooms: `text` (printer, parser), `interpreter` (the meaning of
a nest), `numpy_reference` (what an unscheduled function computes) and `rounding_bounds` (how far rounding may carry a
result). The last three share no code on purpose: they are compared with each other.
"""

import workbench.ir.text.printer  # noqa: F401 (it says how a function is shown)
