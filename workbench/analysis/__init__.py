"""What a person wants to know about a nest, a network or a tuning log, as data that a front end or a notebook can show.

Nothing here schedules or measures anything.
"""

from __future__ import annotations

from workbench.analysis.nest import NestRow, NestView, nest_rows

__all__ = ["NestRow", "NestView", "nest_rows"]
