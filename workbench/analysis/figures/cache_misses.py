"""Misses of each access on each level of simulated caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.analysis.cache.view import CacheCounts
from workbench.analysis.figures.style import SIZE, Theme, axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, Trace, alone, escaped, in_middle, trace
from workbench.arguments import is_a
from workbench.markup import compact, percent, shortened

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Accesses that are drawn, those with the most misses; pixels of a bar; characters of a label. Chosen by eye.
_MOST, _BAR, _LABEL = 16, 16, 28


def cache_view_figure(view: CacheCounts, *, theme: Theme = "auto") -> go.Figure:
    """Plot how often each access misses each level; the line above says which array misses most.

    Parameters
    ----------
    view : CacheCounts
        Of `cache_view`. Of many accesses, those with the most misses of the first level are drawn.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        A trace of bars for each level, the nearest first, on a logarithmic axis.
    """
    is_a("view", view, CacheCounts, "pass what cache_view(schedule) returns")
    c = colours(theme)
    by_misses = sorted(view.accesses, key=lambda a: a.levels[0].misses, reverse=True)[:_MOST]
    shown = [a for a in view.accesses if a in by_misses]
    labels = [f"{k + 1}. {escaped(shortened(f'{a.text} {a.kind}', _LABEL))}" for k, a in enumerate(shown)]
    traces: list[Trace] = []
    most = max([1, *(x.misses for a in shown for x in a.levels)])
    for k, cache in enumerate(view.levels):
        counts = [a.levels[k] for a in shown]
        told = [
            f"{escaped(a.text)} {a.kind} in {escaped(a.block)}<br>{escaped(cache.name)}: {x.misses:,} misses of"
            f" {x.accesses:,} accesses ({percent(x.misses / x.accesses if x.accesses else 0)})"
            for a, x in zip(shown, counts, strict=True)
        ]
        bars = {
            "type": "bar", "orientation": "h", "hovertext": told, "hoverinfo": "text", "base": 0.5,
            "marker": {"color": c.scale[1 + k % (len(c.scale) - 1)]}, "textposition": "outside", "cliponaxis": False,
            "text": [f"{escaped(cache.name)} {compact(x.misses)}" for x in counts],
            "textfont": {"size": SIZE, "color": c.ink},
        }  # fmt: skip
        traces.append(trace(cache.name, [x.misses for x in counts], labels, **bars))
    part = Part(
        traces,
        axis(c, "misses", type="log", range=[-0.3, _far(most)], **log_ticks(1, most * 3)),
        axis(c, autorange="reversed", type="category", showgrid=False, tickfont={"size": SIZE, "color": c.ink}),
        [] if shown else [in_middle("no memory is touched", c)],
        title=f"Cache misses of {view.name}",
        aside=escaped(view.sentence()),
    )
    height = 96 + len(shown) * (len(view.levels) * _BAR + 10)
    return alone(part, c, height, left=190, bargap=0.25)


def _far(most: int) -> float:
    """Where the axis ends: room for the number behind the longest bar."""
    return len(str(most)) * 1.12 + 0.2
