"""What a nest loads, keeps and computes again, counted from the nest, and a table of steps with measured times."""

from __future__ import annotations

from workbench.labs.counting.load_counts import Counts, count
from workbench.labs.counting.shared_lines import LINE, PER_LINE, Sharing, shared_lines
from workbench.labs.counting.stage_counts import Stage, stages
from workbench.labs.counting.step_table import Steps

__all__ = ["LINE", "PER_LINE", "Counts", "Sharing", "Stage", "Steps", "count", "shared_lines", "stages"]
