"""Pieces of HTML for notebooks: tables, bars and figures that are still there after JupyterLab's sanitiser.

An untrusted notebook is shown without ``<style>``, ``<svg>``, scripts and every CSS property that is not on a list. So
everything here is a table, a ``<div>`` or a ``<span>`` with a few inline properties of that list. There is one set of
colours for light and dark pages: the page's own text colour, made fainter, and half-transparent ones.

Text that is not `Html` is escaped wherever it is put in.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

from workbench.safe_text import legible

UNKNOWN = "–"
AMBER = "rgba(227, 138, 20, 0.75)"
RED = "#d64545"
LINE = "rgba(128, 128, 128, 0.35)"
SHADE = "rgba(128, 128, 128, 0.16)"

_THIN = "\u202f"
_FONT = "font-size: 13px; line-height: 1.45"
_MONO = "font-family: monospace; font-size: 12px"
_PAD = "padding: 1px 10px 1px 0"


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


@singledispatch
def drawn(value: object) -> str:
    """What a notebook shows of a value: a function for each type of `Drawn`, registered where it is drawn."""
    raise TypeError(f"nothing draws a {type(value).__name__}")


class Drawn:
    """Base of what a notebook shows by the function that is registered with `drawn`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return drawn(self)


# ----- small pieces


def text(value: object, limit: int = 0) -> Html:
    """Escape a value; of more than `limit` characters the rest goes to the title, up to 400 characters of it."""
    if isinstance(value, Html):
        return value
    plain = clean(value)
    if limit and len(plain) > limit:
        return Html(f'<span title="{html.escape(shortened(plain, 400))}">{html.escape(shortened(plain, limit))}</span>')
    return Html(html.escape(plain))


def titled(value: object, title: object) -> Html:
    """Short text with a longer one in its title."""
    return Html(f'<span title="{html.escape(clean(title)[:1000])}">{text(value)}</span>')


def clean(value: object) -> str:
    """Text of a value with a replacement for every character that a page cannot show."""
    return legible(str(value).replace("\r\n", "\n").replace("\r", "\n"))


def shortened(plain: str, limit: int) -> str:
    """Text of at most `limit` characters, the last of them an ellipsis where something is left out."""
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def last_line(plain: str, otherwise: str = "") -> str:
    """The last line of an error's text, which says most in least room; `otherwise` when there is none."""
    return (plain.strip().splitlines() or [otherwise])[-1]


def join(*parts: object) -> Html:
    """Put pieces one after the other."""
    return Html("".join(text(p) for p in parts))


def styled(style: str, value: object, tag: str = "span") -> Html:
    """Put a value into an element with inline properties."""
    return Html(f'<{tag} style="{style}">{text(value)}</{tag}>')


def faint(value: object) -> Html:
    """Text that matters less."""
    return styled("opacity: 0.65", value)


def mono(value: object, limit: int = 0) -> Html:
    """Code, or a name of code."""
    return styled(_MONO, text(value, limit))


def bad(value: object, limit: int = 0) -> Html:
    """Something that went wrong."""
    return styled(f"color: {RED}", text(value, limit))


def chip(value: object) -> Html:
    """A word in a box."""
    return styled(
        f"display: inline-block; background-color: {SHADE}; border-radius: 3px; padding: 0 5px; margin: 0 4px 0 0; "
        "font-size: 11px; white-space: nowrap",
        value,
    )


def chips(values: Sequence[object], limit: int = 6) -> Html:
    """Words in boxes; the blank between them keeps them apart where styles are lost."""
    return listed([chip(text(v, 48)) for v in values[:limit]], len(values), " ")


def listed(shown: Sequence[object], total: int, separator: str = ", ") -> Html:
    """The first of `total` items one after the other, and how many more there are."""
    rest = [faint(f"… {total - len(shown)} more")] if total > len(shown) else []
    return Html(separator.join(text(item) for item in [*shown, *rest]))


def bar(share: float | None, width: int = 80) -> Html:
    """A horizontal bar of at most `width` pixels; the number it shows belongs beside it."""
    if share is None or not math.isfinite(share) or share <= 0:
        return Html("")
    long = max(1, round(width * min(1.0, share)))
    style = f"display: inline-block; width: {long}px; height: 9px; background-color: {AMBER}; border-radius: 2px"
    return Html(f'<span style="{style}"></span>')


# ----- blocks


def page(*parts: object) -> Html:
    """Everything that one object shows."""
    return Html(f'<div style="{_FONT}; overflow-x: auto; max-width: 100%">{join(*parts)}</div>')


def heading(kind: str, name: object, *notes: object) -> Html:
    """First line: what it is, what it is called, and a few facts."""
    facts = [text(n) for n in notes if n != ""]
    tail = styled("opacity: 0.75; padding-left: 6px", Html(" " + " · ".join(facts))) if facts else Html("")
    named = f" <b>{text(name, 100)}</b>" if name else ""
    return Html(f'<div style="margin: 2px 0 4px 0">{faint(kind)}{named}{tail}</div>')


def indented(depth: int, value: object) -> Html:
    """A line that is set in by `depth` levels of code, also where it wraps."""
    return Html(f'<div style="padding-left: {1.8 * depth:g}em">{text(value)}</div>')


def line(*parts: object) -> Html:
    """A line of its own."""
    return Html(f'<div style="margin: 1px 0">{join(*parts)}</div>')


def label(name: str, *parts: object) -> Html:
    """A line that begins with the name of what follows."""
    return line(faint(f"{name}: "), *parts)


def section(title: str) -> Html:
    """Name of a part."""
    return Html(f'<div style="margin: 8px 0 2px 0; font-weight: bold">{text(title)}</div>')


def fold(summary: object, *parts: object) -> Html:
    """Something to open by a click; open on paper and where `<details>` is not known."""
    return Html(
        f'<details style="margin: 4px 0"><summary style="cursor: pointer">{text(summary)}</summary>'
        f"{join(*parts)}</details>"
    )


def code(value: object, lines: int = 60, columns: int = 200) -> Html:
    """Lines of code as they are; of very many, the first."""
    every = clean(value).rstrip("\n").split("\n")
    shown = [shortened(x, columns) for x in every[:lines]]
    if len(every) > lines:
        shown.append(f"… {len(every) - lines} more lines")
    style = (
        f"{_MONO}; line-height: 1.35; margin: 2px 0; padding: 0; white-space: pre; background-color: rgba(0, 0, 0, 0)"
    )
    body = "\n".join(shown)
    return Html(f'<pre style="{style}">{html.escape(body)}</pre>')


class Column(NamedTuple):
    """Head of a column. Numbers stand at the right, in digits of one width."""

    name: str
    number: bool = False
    code: bool = False


class Wide(NamedTuple):
    """A cell that takes the place of several."""

    value: object
    columns: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What is left of a long list: the first ones, and how many more there are."""

    rows: Sequence[Sequence[object]]
    more: int = 0
    of: str = ""


def table(columns: Sequence[Column], shown: Shown | Sequence[Sequence[object]]) -> Html:
    """Draw a table; a last line tells what was left out. Without names of columns it has no head."""
    if not isinstance(shown, Shown):
        shown = Shown(shown)
    body = "".join(f"<tr>{_cells(row, columns)}</tr>" for row in shown.rows)
    if shown.more > 0:
        rest = faint(f"… {counted(shown.more)} more{' ' + shown.of if shown.of else ''}")
        body += f"<tr>{_cells([Wide(rest, len(columns))], columns)}</tr>"
    frame = f"{_FONT}; border-collapse: collapse; border: none; margin: 2px 0; table-layout: auto; width: auto"
    head = _heads(columns) if any(c.name for c in columns) else ""
    return Html(f'<table style="{frame}">{head}<tbody>{body}</tbody></table>')


def _heads(columns: Sequence[Column]) -> str:
    line = f"border: none; border-bottom: 1px solid {LINE}; background-color: rgba(0, 0, 0, 0)"
    style = f"{_PAD}; font-weight: bold; white-space: nowrap"
    heads = "".join(f'<th style="text-align: {_side(c)}; {style}">{text(c.name)}</th>' for c in columns)
    return f'<thead><tr style="{line}">{heads}</tr></thead>'


def _cells(row: Sequence[object], columns: Sequence[Column]) -> str:
    out, at = [], 0
    for cell in row:
        if isinstance(cell, Wide):
            style = _cell_style(Column("", False, columns[at].code))
            out.append(f'<td colspan="{cell.columns}" style="{style}">{text(cell.value)}</td>')
            at += cell.columns
        else:
            out.append(f'<td style="{_cell_style(columns[at])}">{text(cell)}</td>')
            at += 1
    assert at == len(columns), "a row has as many cells as the table has columns"
    return "".join(out)


def _side(column: Column) -> str:
    return "right" if column.number else "left"


def _cell_style(column: Column) -> str:
    """Properties of a cell. Every cell repeats them, so there are few; numbers hold no blank at which to break."""
    digits_ = f"; {_MONO}" if column.number or column.code else ""
    return f"text-align: {_side(column)}; {_PAD}{digits_}"


def cut(rows: Sequence[Sequence[object]], limit: int, of: str = "", total: int | None = None) -> Shown:
    """Keep the first `limit` rows; `total` says how many there are when `rows` is not all of them."""
    many = len(rows) if total is None else total
    kept = rows[:limit]
    return Shown(kept, many - len(kept), of)


# ----- numbers


def digits(value: float | None) -> str:
    """Three significant digits without an exponent; whole numbers from 100 on."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    if size >= 99.95:
        return _thousands(value)
    if size >= 9.995:
        return f"{value:.1f}"
    if size >= 0.9995:
        return f"{value:.2f}"
    return "0" if size == 0 else f"{value:.{min(9, 2 - math.floor(math.log10(size)))}f}"


def _thousands(value: float) -> str:
    return f"{round(value):,}".replace(",", _THIN)


def milliseconds(value: float | None) -> str:
    """``0.534 ms``."""
    shown = digits(value)
    return shown if shown == UNKNOWN else f"{shown}{_THIN}ms"


def plus_minus(ms: float, spread: float | None) -> str:
    """``± 0.011``: half of the distance of the quartiles, given relative to `ms`; empty where it is not known."""
    if spread is None:
        return ""
    decimals = len(digits(ms).partition(".")[2])
    half, least = ms * spread / 2, 10.0**-decimals
    return f"± <{least:.{decimals}f}" if 0.0 < half < least / 2 else f"± {half:.{decimals}f}"


def doubtful(ms: float | None, at_least_ms: float | None) -> str:
    """A disturbed time in milliseconds, without its unit: ``≥ 0.137``, or, where nobody knows how long it takes at
    least, ``≤ 0.248``.
    """
    return f"≥{_THIN}{digits(at_least_ms)}" if at_least_ms else f"≤{_THIN}{digits(ms)}"


def row_time(row: Mapping[str, Any]) -> str:
    """The time of what has ``ms`` and ``doubt``, as sessions say them; empty where nothing was timed."""
    if row.get("doubt"):
        return f"{row['doubt']['ms']}{_THIN}ms"
    return "" if row.get("ms") is None else milliseconds(row["ms"])


def counted(value: float | None) -> str:
    """A whole number in groups of three digits."""
    return UNKNOWN if value is None or not math.isfinite(value) else _thousands(value)


def compact(value: float | None) -> str:
    """A large count in short: ``1 344``, ``258 k``, ``3.61 M``."""
    if value is None or abs(value) < 1e4:
        return counted(value)
    return _scaled(value, 1000, ("", "k", "M", "G", "T", "P"))


def size(value: float | None) -> str:
    """An amount of memory in units of 1024."""
    return UNKNOWN if value is None else _scaled(value, 1024, ("B", "KB", "MB", "GB", "TB"))


def operations(value: float | None) -> str:
    """Arithmetic operations: ``3.7 MFLOP``."""
    return UNKNOWN if value is None else _scaled(value, 1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"))


def _scaled(value: float, base: int, units: Sequence[str]) -> str:
    power = 0
    while abs(value) >= base * 0.9995 and power < len(units) - 1:
        value /= base
        power += 1
    shown = digits(value) if power else _thousands(value)
    return f"{shown}{_THIN}{units[power]}" if units[power] else shown


def percent(share: float | None) -> str:
    """A share of one: ``15.1 %``."""
    if share is None or not math.isfinite(share):
        return UNKNOWN
    if 0.0 < share < 0.0005:
        return f"<{_THIN}0.1{_THIN}%"
    return f"{100 * share:.{0 if share >= 0.9995 else 1}f}{_THIN}%"


def duration(seconds: float | None) -> str:
    """``42 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def plural(n: int, one: str, many: str = "") -> str:
    """``1 node``, ``3 nodes``."""
    return f"{counted(n)} {one if n == 1 else many or one + 's'}"


def log_share(value: float | None, largest: float) -> float | None:
    """Length of a logarithmic bar: 0 for one, 1 for `largest`."""
    if value is None or value <= 1:
        return None
    return math.log(value) / math.log(largest) if largest > 1 else 1.0


def shape(dims: Iterable[object]) -> str:
    """``1×56×56×64``; a scalar as ``1``."""
    return "×".join(map(str, dims)) or "1"
