"""How large the parts of a nest may be, whoever made it: a person's text, a model's file or a step of a schedule.

What is larger is refused with a code of its own ("te.*", "parse.*", "verify.*"). What steps of a schedule make is held
to the narrower limits of `workbench.schedule.size_limits`. All were chosen; no measurement set them.
"""

from __future__ import annotations

#: Extents of loops and dimensions, in elements, are below it: no machine holds more.
EXTENT_LIMIT = 1 << 40
#: Dimensions of a tensor: NumPy has no more either.
MOST_DIMENSIONS = 64
#: Nodes of the expression of one block, and levels of nodes inside each other: what walks one takes a few frames
#: of Python's stack for each level, of which there are a thousand.
MOST_NODES, DEEPEST_EXPRESSION = 20_000, 150
#: Loops inside each other: each takes a few frames of Python's stack, of which there are a thousand.
MOST_LOOPS = 100
#: Times that a hole is a factor of one product in a text.
MOST_POWER = 64
#: Digits of a whole number in a text; it fits 64 bits then.
MOST_DIGITS = 18
