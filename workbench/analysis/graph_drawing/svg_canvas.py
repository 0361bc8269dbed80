"""Pieces of SVG text: shapes, words that fit, and the colours of a light and a dark page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from workbench.markup import clean, shortened

_LIGHT = {
    "bg": "#ffffff", "line": "#e4e7eb", "line2": "#c5cbd3", "tx": "#1b1f24", "tx2": "#4f5862", "tx3": "#5f6974",
    "ac": "#2456c8", "soft": "#e9effc", "dng": "#a8321f", "bar": "#b9c1cb", "s1": "#fdf2de", "s2": "#f9dbab",
    "s3": "#f2b671", "s4": "#de8845", "s5": "#b4531f", "s6": "#7d2f12", "lo": "#1b1f24", "hi": "#ffffff",
}  # fmt: skip
_DARK = {
    "bg": "#14161a", "line": "#2f3238", "line2": "#4a515c", "tx": "#e7e9ec", "tx2": "#b3bac4", "tx3": "#9aa3af",
    "ac": "#8cabff", "soft": "#1f2a45", "dng": "#ff9c8a", "bar": "#566070", "s1": "#29221c", "s2": "#48321f",
    "s3": "#724722", "s4": "#b87730", "s5": "#dd9844", "s6": "#f8cf8a", "lo": "#e7e9ec", "hi": "#14161a",
}  # fmt: skip
THEMES: Mapping[str, Mapping[str, str]] = {"light": _LIGHT, "dark": _DARK}
"""The colours of a front end's style sheet, by theme and token."""

UI = "Inter,'Segoe UI','Helvetica Neue','Liberation Sans',Arial,sans-serif"
MONO = "'JetBrains Mono',Menlo,Consolas,'Liberation Mono',monospace"
#: Width of an average character over the size of the type.
WIDE, MONO_WIDE = 0.55, 0.605


def width_of(text: str, size: float = 12, mono: bool = False) -> float:
    """Return about how wide a text is."""
    return len(text) * size * (MONO_WIDE if mono else WIDE)


class TextStyle(TypedDict, total=False):
    """How words are written; without more, in black, with 12 pixels, from the left."""

    size: float
    fill: str
    anchor: str
    bold: bool
    mono: bool


class Canvas:
    """An SVG picture that is being drawn; later pieces lie over earlier ones.

    Parameters
    ----------
    theme : str or mapping
        The name of a theme, or the colours by token.
    """

    def __init__(self, theme: str | Mapping[str, str]) -> None:
        self.colour = THEMES[theme] if isinstance(theme, str) else theme
        self._parts: list[str] = []

    def rect(self, x: float, y: float, w: float, h: float, *, fill: str = "none", r: float = 0, **more: Any) -> None:
        """Draw a rectangle."""
        self._add("rect", x=x, y=y, width=max(0, w), height=max(0, h), rx=r or None, fill=self._of(fill), **more)

    def path(self, d: str, *, stroke: str = "line2", width: float = 1.2, fill: str = "none", **more: Any) -> None:
        """Draw a path."""
        self._add("path", d=d, stroke=self._of(stroke), stroke_width=width, fill=self._of(fill), **more)

    def circle(self, x: float, y: float, r: float, *, fill: str, stroke: str, **more: Any) -> None:
        """Draw a circle."""
        self._add("circle", cx=x, cy=y, r=r, fill=self._of(fill), stroke=self._of(stroke), **more)

    def text(self, x: float, y: float, value: object, *, room: float = 0, **style: Unpack[TextStyle]) -> None:
        """Write words; what does not fit into `room` is cut, and the whole stands in its title."""
        plain, size, mono = clean(value), style.get("size", 12), style.get("mono", False)
        per = size * (MONO_WIDE if mono else WIDE)
        short = shortened(plain, max(2, int(room / per))) if room else plain
        title = f"<title>{_escape(plain)}</title>" if short != plain else ""
        attributes = _attributes({
            "x": x, "y": y, "fill": self._of(style.get("fill", "tx")), "font_size": size,
            "font_weight": 600 if style.get("bold") else None, "text_anchor": style.get("anchor"),
            "font_family": MONO if mono else None,
        })  # fmt: skip
        self._parts.append(f'<text xml:space="preserve"{attributes}>{title}{_escape(short)}</text>')

    def done(self, width: float, height: float, title: str) -> str:
        """Return the picture."""
        w, h = (round(v) for v in (width, height))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" '
            f'font-family="{UI}" font-size="12" style="font-variant-numeric:tabular-nums">'
        )
        ground = f'<rect width="{w}" height="{h}" fill="{self.colour["bg"]}"/>'
        return "\n".join([f"{head}<title>{_escape(clean(title))}</title>{ground}", *self._parts, "</svg>", ""])

    def _of(self, name: str) -> str:
        return self.colour.get(name, name)

    def _add(self, tag: str, **attributes: Any) -> None:
        self._parts.append(f"<{tag}{_attributes(attributes)}/>")


def line_path(points: Iterable[tuple[float, float]]) -> str:
    """Return a path through points."""
    return "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _attributes(values: Mapping[str, Any]) -> str:
    shown = ((k.replace("_", "-"), v) for k, v in values.items() if v is not None)
    return "".join(f' {k}="{_number(v) if isinstance(v, float) else _escape(str(v))}"' for k, v in shown)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _escape(text: str) -> str:
    return html.escape(text, quote=True)
