"""What the figures share: one plot with its finding above it, bounded in what it draws."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import DASHES, SIZE, Colours, colours
from workbench.analysis.figures.subplot import FOOT, WHOLE, Part, compose, escaped, in_middle, note
from workbench.logs.analysis.selection import Group
from workbench.safe_text import legible_line

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

POINTS = 5_000
"""Points that a figure draws at most; it says how many are left out. Chosen: a browser draws them at once."""

CURVES = 12
"""Curves of one figure at most. Chosen: more cannot be told apart."""

LINE = 104
"""Characters of a line of the finding. Chosen for a plot of 700 pixels."""

LETTERS = 28
"""Characters of a name on an axis. Chosen by eye."""

BESIDE_TITLE = 60
"""Letters beside the title of a plot. Chosen for the explorer on a page of 1000 pixels."""

GREEN = "#2e9e5b"

HUES = ("#3f7fe8", "#d0453a", GREEN, "#b8860b", "#8e5bd0", "#0fa3b1", "#d0629a", "#7a828e")
"""Colours of several curves; they can be read on light and on dark pages."""


def figure(
    part: Part, frame: pandas.DataFrame, theme: str, height: int = 340, left: int = 64, **layout: Any
) -> go.Figure:
    """Return a figure of one plot, with the sentence of ``frame.attrs["finding"]`` above it."""
    c = colours(theme)
    lines = [escaped(line) for line in textwrap.wrap(legible_line(frame.attrs.get("finding", "")), LINE)]
    part.notes.append(
        note(0.0, 1.0, "<br>".join(lines), "bottom left", c.ink, SIZE, align="left", xref="paper", yref="y domain",
             yshift=30, xshift=16 - left)
    )  # fmt: skip
    margin = {"l": left, "r": 20 if part.y2 is None else 46, "t": 42 + 16 * len(lines), "b": FOOT}
    return compose([part], [WHOLE], c, height + 16 * len(lines), margin, **layout)


def nothing(title: str, text: str, frame: pandas.DataFrame, theme: str) -> go.Figure:
    """Return a figure that says why it shows nothing."""
    hidden = {"visible": False}
    return figure(Part([], {**hidden}, {**hidden}, [in_middle(text, colours(theme))], title=title), frame, theme)


def thinned(n: int, keep: NDArray[np.intp] | None = None, most: int = POINTS) -> NDArray[np.intp]:
    """Return which of `n` points to draw: an even sample, and those that have to be there."""
    if n <= most:
        return np.arange(n)
    even = np.linspace(0, n - 1, most).astype(np.intp)
    return np.unique(even if keep is None else np.concatenate([even, keep]))


def drawn(shown: int, of: int, what: str = "records") -> str:
    """Return what a figure has to say about what it leaves out; nothing where it shows all."""
    return f"{shown:,} of {of:,} {what} drawn" if shown < of else ""


def failure_hue(k: int) -> str:
    """Return the colour of a kind of failure: red first, and none that stands for success."""
    return [one for one in HUES[1:] if one != GREEN][k % (len(HUES) - 2)]


def hue(k: int) -> str:
    """Return the colour of a curve."""
    return HUES[k % len(HUES)]


def stroke(k: int) -> dict[str, Any]:
    """Return the line of a curve: where the colours begin again, it is dashed."""
    return {"color": hue(k), "width": 2, "dash": DASHES[k // len(HUES) % len(DASHES)]}


def name(text: object, letters: int = LETTERS) -> str:
    """Return a name from a file as an axis or a legend shows it: on one line, short, no markup."""
    plain = legible_line(text)
    return escaped(plain if len(plain) <= letters else plain[: letters - 1] + "…")


def legend(c: Colours) -> dict[str, Any]:
    """Return the layout of a legend inside the plot, at the upper right."""
    font = {"size": SIZE, "color": c.faint}
    return {"showlegend": True, "legend": {"x": 1, "y": 1, "xanchor": "right", "bgcolor": c.under, "font": font}}


def beside(c: Colours) -> dict[str, Any]:
    """Return the layout of a legend at the right of the plot, which covers none of it."""
    font = {"size": SIZE, "color": c.faint}
    return {"showlegend": True, "legend": {"x": 1.01, "y": 1, "xanchor": "left", "font": font}}


def measured_in(group: Group, unit: str | None = None) -> str:
    """Return the name of the axis of a group's values: ``time, ms``."""
    return ", ".join(filter(None, (name(group.key["objective"]), name(group.unit if unit is None else unit))))


def wrapped(text: str, letters: int, lines: int = 3) -> str:
    """Return a text from a file in lines, for an axis."""
    return "<br>".join(map(escaped, textwrap.wrap(legible_line(text), letters, max_lines=lines, placeholder=" …")))


def names(labels: Sequence[str]) -> list[str]:
    """Return several names for a legend, without the words that all of them share."""
    return [name(label, 35) for label in apart(labels)]


def apart(labels: Sequence[str]) -> Sequence[str]:
    """Return several names without the words that all of them share; as they are where nothing would be left."""
    words = [re.findall(r"[^\s\[\](),;\"']+", label) for label in labels]
    common = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    left = [" ".join(w for w in one if w not in common) for one in words]
    return labels if len(set(left)) < len(set(labels)) or not all(left) else left


def keys(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a legend for the line above a plot, of colours and what they stand for."""
    return " · ".join(f"<span style='color:{colour}'>■</span> {name(text, 40)}" for colour, text in pairs)


def percent(share: float) -> str:
    """Return a share in percent, three digits of it."""
    return f"{100 * share:.3g} %"


def above(*texts: str) -> str:
    """Return what stands at the right above a plot: in two lines where one would reach the title of a narrow plot."""
    told = [text for text in texts if text]
    letters = sum(len(re.sub("<[^>]*>", "", text)) for text in told)
    return (" · " if letters <= BESIDE_TITLE else "<br>").join(told)
