"""One small grammar for the expressions that logs hold and that people type: Python's, by a list of what is allowed.

T1 files write restrictions and lists of values in it, pyATF its constraints, the explorer its filters. A text becomes a
syntax tree; a tree with anything that is not listed is refused (`grammar`), and the rest is computed node by node,
within bounds on numbers, lengths and steps (`computing`), or for all rows of a table at once (`columns`). Nothing is
compiled, nothing is executed.
"""

from workbench.logs.expressions.expression import Expression, constraints_in

__all__ = ["Expression", "constraints_in"]
