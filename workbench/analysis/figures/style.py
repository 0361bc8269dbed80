"""Colours of the charts by theme, and what all of them share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from workbench.arguments import is_a
from workbench.errors import UsageError, did_you_mean

Theme = Literal["auto", "light", "dark"]

FAMILY = "system-ui, -apple-system, 'Segoe UI', sans-serif"
SIZE, TITLE = 11, 12


@dataclass(frozen=True, slots=True)
class Colours:
    """One theme: text, fainter text, lines of the grid, what one is to look at, points, what failed, amounts, and what
    lies under a text that stands among points.
    """

    ink: str
    faint: str
    grid: str
    accent: str
    point: str
    danger: str
    scale: tuple[str, ...]
    under: str = "rgba(0,0,0,0)"


DASHES = ("solid", "dash", "dot")
"""Strokes of lines, the plainest first."""

THEMES = {
    "light": Colours("#1b1f24", "#616b76", "#e4e7eb", "#2456c8", "#9aa4af", "#a8321f",
                     ("#fdf2de", "#f9dbab", "#f2b671", "#de8845", "#b4531f", "#7d2f12"),
                     "rgba(255,255,255,0.8)"),
    "dark": Colours("#e7e9ec", "#8d96a3", "#292d34", "#8cabff", "#6d7683", "#ff9c8a",
                    ("#29221c", "#48321f", "#724722", "#b87730", "#dd9844", "#f8cf8a"),
                    "rgba(24,26,30,0.8)"),
    # On a page that is not known: everything can be read on both.
    "auto": Colours("#7a828e", "#7a828e", "rgba(128,136,148,0.28)", "#3f7fe8", "#8b95a5", "#d0453a",
                    ("#f2d9b3", "#eec48a", "#e5a863", "#d58742", "#b4602a", "#8f4218")),
}  # fmt: skip


def colours(theme: str) -> Colours:
    """Return the colours of a theme.

    Raises
    ------
    UsageError
        "figure.theme" when there is none of this name.
    """
    found = THEMES.get(is_a("theme", theme, str))
    if found is None:
        raise UsageError("figure.theme", f"There is no theme {theme!r}", (), did_you_mean(theme, THEMES, "themes"))
    return found


def axis(c: Colours, title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis as all charts have it."""
    usual = {
        "gridcolor": c.grid, "linecolor": c.grid, "zeroline": False, "tickfont": {"size": SIZE, "color": c.faint},
        "title": {"text": title, "font": {"size": SIZE, "color": c.faint}, **({"standoff": 6} if title else {})},
        "automargin": False, "ticklabeloverflow": "allow",  # otherwise every drawing measures every label
    }  # fmt: skip
    return {**usual, **more}


FEW_TICKS = 3
"""Ticks that a logarithmic axis has at least."""


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """Return ticks of a logarithmic axis that shows at least from `low` to `high`: 1, 2 and 5 of every decade, or even
    steps in a range with fewer than three of these. No more than a small plot has room for.
    """
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = (1, 2, 5) if len(decades) <= 6 else (1,)
    values = [step * 10.0**k for k in decades for step in steps]
    if sum(low <= value <= high for value in values) < FEW_TICKS:
        rough = max((high - low) / 4, low / 500) if high > low else low / 20
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(n * power for n in (1, 2, 5, 10) if n * power >= rough * 0.999)
        first, last = math.floor(low / step) - 2, math.ceil(high / step) + 2
        values = [k * step for k in range(max(first, 1), last + 1)]
    return {"tickvals": values, "ticktext": [f"{value:.6g}" if value < 1e5 else f"{value:.0e}" for value in values]}


def shade(c: Colours, share: float) -> str:
    """Return the colour of an amount between 0 and 1.

    Plotly's own colour scale is not used for bars: it complains about every number that stands where a colour may, and
    a complaint costs more than drawing the bar.
    """
    place = max(0.0, min(share, 1.0)) * (len(c.scale) - 1)
    k = min(int(place), len(c.scale) - 2)
    pair = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in c.scale[k : k + 2]]
    return "#" + "".join(f"{round(a + (place - k) * (b - a)):02x}" for a, b in zip(*pair, strict=True))
