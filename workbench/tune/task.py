"""What is tuned; tasks come from graphs, so the class lives there."""

from __future__ import annotations

from workbench.graph.tasks import Task, extract_tasks

__all__ = ["Task", "extract_tasks"]
