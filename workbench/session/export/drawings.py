"""Panels of a workbench as SVG pictures, from the same values that a front end draws them from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.analysis.graph_drawing.svg_canvas import THEMES, Canvas
from workbench.arguments import is_a, shown
from workbench.errors import UsageError
from workbench.session.registry import PANELS, drawing


def draw(slices: Mapping[str, Any], panel: str, theme: str = "light") -> str:
    """Draw a panel.

    Parameters
    ----------
    slices : mapping
        The slices of a session's snapshot; ``graph`` is the drawing of the network, as the question "graph" answers
        (`network(...).columns()`).
    panel : str
        One that is declared with a drawing.
    theme : {"light", "dark"}

    Returns
    -------
    str
        A whole SVG document without references to anything else.

    Raises
    ------
    UsageError
        "export.panel" for something that cannot be drawn, "export.empty" when there is nothing in it, "export.theme".
    """
    is_a("slices", slices, Mapping)
    make = drawing.find(panel)
    if theme not in list(THEMES):  # which compares, whatever was passed in
        raise UsageError("export.theme", f"There is no theme {shown(theme)}", (), "choose 'light' or 'dark'")
    value = slices.get(PANELS[panel].slice)
    if not value or not next((value[key] for key in ("rows", "id", "nodes") if key in value), None):
        raise UsageError("export.empty", f"There is nothing in {panel!r} to draw", (), "open a task or a model first")
    return make(value, slices, Canvas(theme))
