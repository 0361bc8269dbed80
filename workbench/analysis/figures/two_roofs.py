"""A drawing of the two roofs of a core to think of, with kernels under them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.analysis.figures.style import SIZE, axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, alone, escaped, note, trace

if TYPE_CHECKING:
    import plotly.graph_objects as go


def two_roofs(peak: float, memory: float, kernels: Mapping[str, float]) -> go.Figure:
    """Draw the most that a core can do, by intensity.

    Parameters
    ----------
    peak : float
        GFLOP/s of its arithmetic.
    memory : float
        GB/s of its memory.
    kernels : dict of str to float
        Name to operations per byte; each stands at the most that it can reach.
    """
    c, ridge = colours("auto"), peak / memory
    low, high = min([0.1, *kernels.values()]) / 2, 4 * max([ridge, *kernels.values()])
    least, reached = low * memory, {name: min(peak, x * memory) for name, x in kernels.items()}
    traces = [
        trace("roofs", [low, ridge, high], [least, peak, peak], mode="lines", line={"width": 2, "color": c.ink}),
        trace("ridge", [ridge, ridge], [least, peak], mode="lines", line={"width": 1, "dash": "dot", "color": c.faint}),
        trace("kernels", [*kernels.values()], [*reached.values()], mode="markers+text",
              text=[f"{escaped(name)}: {reached[name]:.3g} GFLOP/s" for name in kernels],
              textposition=["bottom right" if x < ridge else "bottom left" for x in kernels.values()],
              textfont={"size": SIZE, "color": c.ink},
              marker={"size": 9, "color": c.accent}),
    ]  # fmt: skip
    notes = [
        note(math.log10(ridge), math.log10(least), f"ridge: {ridge:.3g} FLOP/B", "bottom left", c.faint, xshift=4),
        note(math.log10(high), math.log10(peak), f"arithmetic: {peak:g} GFLOP/s", "bottom right", c.faint, yshift=2),
        note(
            math.log10(ridge / 3), math.log10(peak / 3), f"memory: {memory:g} GB/s", "bottom right", c.faint, xshift=-4
        ),
    ]
    span = [math.log10(low), math.log10(high)]
    across = axis(c, "FLOP per byte", type="log", range=span, showgrid=False, **log_ticks(low, high))
    up = [math.log10(least / 2), math.log10(2 * peak)]
    speed = axis(c, "GFLOP/s, at most", type="log", range=up, **log_ticks(least, peak))
    return alone(Part(traces, across, speed, notes, None, "Two roofs", "both axes are logarithmic"), c)
