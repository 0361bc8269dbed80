"""The model as a drawing."""

from __future__ import annotations

from typing import Any

from ..registry import Look, slice_


@slice_("graph")
def graph(look: Look) -> Any:
    """Return the slice `graph`; None where there is no model."""
    from workbench.analysis import model_graph

    opened = look.desk.opened
    model = opened.graph
    if model is None:
        return None
    return look.kept.of("graph", (), lambda: model_graph(model, [t.task for t in opened.tasks if t.task is not None]))
