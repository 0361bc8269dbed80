"""One plot as a part of a figure: alone in it, or beside others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from workbench.analysis.figures.style import FAMILY, SIZE, TITLE, Colours

if TYPE_CHECKING:
    import plotly.graph_objects as go

Trace: TypeAlias = dict[str, Any]
"""A trace as plotly reads it."""

Values: TypeAlias = "Sequence[Any] | NDArray[Any]"

Domain: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
"""Where a part lies in its figure: from and to, across and up, as shares of it."""

#: Pixels from the left where the line above a plot begins: above the labels of its axis, so that there is room for all
#: of it. Chosen by eye.
EDGE = 16

#: A part that begins left of this share of the width is the first of its row: its heading begins at the edge.
FIRST = 0.3

#: Pixels for the axis below a plot that stands alone, and for the line above it; letters of a title and of what stands
#: beside it that a narrow notebook has room for. Chosen by eye.
FOOT, LINE, BESIDE = 44, 16, 76

WHOLE: Domain = ((0.0, 1.0), (0.0, 1.0))

IN_PLOT: dict[str, Any] = {"xref": "x domain", "yref": "y domain"}
"""A note with these stands at shares of its plot, else at numbers of the axes."""


@dataclass(frozen=True, slots=True)
class Part:
    """Traces, axes and notes of one plot.

    Attributes
    ----------
    traces : list of dict
        On the axes ``x`` and ``y``, or on ``y2``, which lies over ``y``.
    x, y, y2 : dict
        The axes; no `y2` where there is only one.
    notes : list of dict
        Annotations; where they stand is told with the names of the part's own axes.
    title, aside : str
        What the plot shows; what is to be known of it, at the right end of that line, in two lines at most. Where a
        plot stands alone, what is long has a line of its own above the title.
    """

    traces: list[Trace]
    x: dict[str, Any]
    y: dict[str, Any]
    notes: list[dict[str, Any]] = field(default_factory=list)
    y2: dict[str, Any] | None = None
    title: str = ""
    aside: str = ""


def trace(name: str, x: Values, y: Values, **more: Any) -> Trace:
    """Return points or a line; without a text for it, nothing is told of them on hover."""
    told = {} if {"hovertemplate", "hoverinfo"} & more.keys() else {"hoverinfo": "skip"}
    return {"type": "scatter", "name": name, "x": x, "y": y, **told, **more}


def note(x: float, y: float, text: str, place: str, colour: str, size: int = SIZE, **more: Any) -> dict[str, Any]:
    """Return a text at a place of the plot; `place` is which of its own edges stand there: "top left"."""
    up, across = place.split()
    at = {"xanchor": across, "yanchor": up, "font": {"size": size, "color": colour}}
    return {"x": x, "y": y, "text": text, **at, **more}


def in_middle(text: str, c: Colours, **more: Any) -> dict[str, Any]:
    """Return a text in the middle of a plot that shows nothing else."""
    return note(0.5, 0.5, text, "middle center", c.ink, **IN_PLOT, **more)


def compose(
    parts: Sequence[Part],
    domains: Sequence[Domain],
    c: Colours,
    height: int,
    margin: dict[str, int],
    lifted: int = 0,
    **layout: Any,
) -> go.Figure:
    """Put parts together, in the order of their traces; what stands beside titles is `lifted` by so many pixels."""
    import plotly.graph_objects as go

    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    traces: list[Trace] = []
    number = 0
    for part, (across, up) in zip(parts, domains, strict=True):
        number += 1
        names = {"x": _name("x", number), "y": _name("y", number)}
        axes[_key("x", number)] = {**part.x, "domain": across, "anchor": names["y"]}
        axes[_key("y", number)] = {**part.y, "domain": up, "anchor": names["x"]}
        if part.y2 is not None:
            names["y2"] = _name("y", number + 1)
            over = {"overlaying": names["y"], "anchor": names["x"]}
            axes[_key("y", number + 1)] = {**part.y2, **over}
            axes[_key("x", number + 1)] = {"visible": False, "domain": across}  # so that numbers stay in step
            number += 1
        traces += [{**one, "xaxis": names["x"], "yaxis": names[one.get("yaxis", "y")]} for one in part.traces]
        heading = _heading(part, c, EDGE - margin["l"], "paper" if across[0] < FIRST else "x domain", lifted)
        notes += [_placed(note, names) for note in (*part.notes, *heading)]
    return go.Figure(
        data=traces,
        layout={
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "margin": margin, "height": height,
            "font": {"family": FAMILY, "size": SIZE, "color": c.ink}, "showlegend": False, "hovermode": "closest",
            "annotations": notes, "template": "none", **axes, **layout,
        },
    )  # fmt: skip


def escaped(text: str) -> str:
    """Return a text that plotly takes for no markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def alone(part: Part, c: Colours, height: int = 320, left: int = 64, below: int = 0, **layout: Any) -> go.Figure:
    """Return a figure of one part, with so many pixels `below` its axis for notes."""
    over = LINE if len(part.title) + len(part.aside) > BESIDE and "<" not in part.aside else 0
    margin = {"l": left, "r": 20, "t": 36 + over, "b": FOOT + below}
    return compose([part], [WHOLE], c, height + over, margin, over, **layout)


def _key(letter: str, number: int) -> str:
    return f"{letter}axis{number if number > 1 else ''}"


def _name(letter: str, number: int) -> str:
    return f"{letter}{number if number > 1 else ''}"


def _placed(note: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    out = {"showarrow": False, **note}
    for ref in ("xref", "yref"):
        name, _, rest = out.get(ref, ref[0]).partition(" ")
        out[ref] = f"{names.get(name, name)} {rest}".strip()
    return out


def _heading(part: Part, c: Colours, shift: int, ref: str, lifted: int) -> list[dict[str, Any]]:
    """The line above a plot: always the same notes, so that they are updated in place; `shift` is where it begins."""
    left = {**IN_PLOT, "xref": ref, "xshift": shift, "yshift": 10}
    right = {**IN_PLOT, "align": "left", "yshift": lifted + (3 if "<br>" in part.aside else 10)}
    return [
        note(0.0, 1.0, f"<b>{escaped(part.title)}</b>", "bottom left", c.ink, TITLE, **left),
        note(1.0, 1.0, part.aside, "bottom right", c.faint, **right),
    ]
