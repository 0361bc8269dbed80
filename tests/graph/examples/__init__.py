"""Examples of every operator, on which `test_ops` checks what the operator declares: a module for each family.

`cases` gives the examples of an operator. They are registered for its class, or for one that it derives from.
"""

from graph.examples import arrays, blocks, control, math, nn, pointwise, quantized  # noqa: F401 (they register examples)
from graph.examples.case import Case, cases

__all__ = ["Case", "cases"]
