"""JupyterLab's sanitiser as far as tables need it (apputils, sanitizer.ts), and a strict reader of HTML fragments.

It is narrower than the original: a tag, attribute, property or value that is not listed here counts as lost, although
JupyterLab may let it pass. So what passes here passes there.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

_TAGS = frozenset(
    [
        "b",
        "br",
        "code",
        "details",
        "div",
        "em",
        "i",
        "img",
        "p",
        "pre",
        "small",
        "span",
        "strong",
        "sub",
        "summary",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
    ]
)
_ANYWHERE = frozenset({"class", "style", "title"})
_ATTRIBUTES = {
    "img": frozenset({"alt", "height", "src", "width"}),
    "td": frozenset({"colspan", "rowspan"}),
    "th": frozenset({"colspan", "rowspan"}),
    "details": frozenset({"open"}),
}
_VOID = frozenset({"br", "img"})
_BLOCKS = frozenset({"div", "p", "table", "pre", "details"})
_INLINE = frozenset({"span", "b", "i", "em", "strong", "small", "sub", "sup", "code", "p", "pre", "summary"})
_PARENTS = {
    "thead": {"table"},
    "tbody": {"table"},
    "tr": {"thead", "tbody"},
    "td": {"tr"},
    "th": {"tr"},
    "summary": {"details"},
}
_ONLY = {"table": {"thead", "tbody"}, "thead": {"tr"}, "tbody": {"tr"}, "tr": {"td", "th"}}

_LENGTH = r"(\d*\.)?\d+(px|em)|0"
_COLOUR = r"#[0-9a-f]{3,8}|rgba?\(\d{1,3}, ?\d{1,3}, ?\d{1,3}(, ?[01]?(\.\d+)?)?\)"
_VALUES = {
    "background-color": _COLOUR,
    "border": rf"none|({_LENGTH}) solid ({_COLOUR})",
    "border-bottom": rf"none|({_LENGTH}) solid ({_COLOUR})",
    "border-collapse": "collapse|separate",
    "border-left": rf"none|({_LENGTH}) solid ({_COLOUR})",
    "border-radius": _LENGTH,
    "color": _COLOUR,
    "cursor": "pointer",
    "display": "block|inline|inline-block",
    "font-family": "monospace",
    "font-size": _LENGTH,
    "font-style": "italic|normal",
    "font-weight": "bold|normal|[1-9]00",
    "height": _LENGTH,
    "line-height": r"\d+(\.\d+)?",
    "margin": rf"({_LENGTH})( ({_LENGTH})){{0,3}}",
    "max-width": rf"{_LENGTH}|\d+%|none",
    "min-width": _LENGTH,
    "opacity": r"1|0?\.\d+",
    "overflow": "auto|hidden|visible",
    "overflow-x": "auto|hidden|visible",
    "padding": rf"({_LENGTH})( ({_LENGTH})){{0,3}}",
    "padding-left": _LENGTH,
    "table-layout": "auto|fixed",
    "text-align": "left|right|center",
    "vertical-align": "top|middle|baseline",
    "white-space": "normal|pre|nowrap|pre-wrap|pre-line",
    "width": rf"{_LENGTH}|\d+%|auto",
}


@dataclass
class Cleaned:
    """What is left, the text that a reader sees, and what was taken away."""

    html: str = ""
    text: str = ""
    lost: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    styles: Counter[str] = field(default_factory=Counter)


def sanitize(fragment: str) -> Cleaned:
    """Take away what an untrusted notebook does not show, and note every fault of the markup."""
    reader = _Reader()
    reader.feed(fragment)
    reader.close()
    reader.out.faults += [f"<{tag}> is not closed" for tag in reader.open]
    return reader.out


def bars(cleaned: Cleaned) -> list[int]:
    """Widths of the bars that are still drawn, in pixels."""
    found = []
    for style, many in cleaned.styles.items():
        if "display: inline-block" in style and "height: 9px" in style and "background-color" in style:
            found += [int(re.search(r"(?<![-\w])width: (\d+)px", style)[1])] * many
    return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out = Cleaned()
        self.open: list[str] = []
        self.dropped = 0

    def handle_starttag(self, tag, attrs):
        self._placed(tag)
        kept = [(k, v) for k, v in attrs if self._attribute(tag, k, v or "")]
        if len({k for k, _ in attrs}) < len(attrs):
            self.out.faults.append(f"<{tag}> has an attribute twice")
        if tag not in _VOID:
            self.open.append(tag)
        if tag not in _TAGS:
            self.out.lost.append(f"<{tag}>")
            self.dropped += tag in ("script", "style")
            return
        styles = dict(kept).get("style")
        if styles:
            self.out.styles[styles] += 1
        self.out.html += f"<{tag}" + "".join(f' {k}="{html.escape(v or "")}"' for k, v in kept) + ">"

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.out.faults.append(f"</{tag}> closes {self.open[-1:] or 'nothing'}")
            return
        self.open.pop()
        if tag in _TAGS:
            self.out.html += f"</{tag}>"
        else:
            self.dropped -= tag in ("script", "style")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.out.faults.append(f"<{tag}/> does not close itself")

    def handle_data(self, data):
        if self.dropped:
            self.out.lost.append(data)
            return
        if self.open and self.open[-1] in _ONLY and data.strip():
            self.out.faults.append(f"text in <{self.open[-1]}>: {data!r}")
        self.out.html += html.escape(data, quote=False)
        self.out.text += data

    def handle_comment(self, data):
        self.out.lost.append(f"<!--{data}-->")

    def handle_decl(self, decl):
        self.out.lost.append(decl)

    def _placed(self, tag):
        parent = self.open[-1] if self.open else ""
        if tag in _PARENTS and parent not in _PARENTS[tag]:
            self.out.faults.append(f"<{tag}> in <{parent}>")
        if parent in _ONLY and tag not in _ONLY[parent]:
            self.out.faults.append(f"<{tag}> in <{parent}>")
        if tag in _BLOCKS and set(self.open) & _INLINE:
            self.out.faults.append(f"<{tag}> inside of {self.open}")

    def _attribute(self, tag, name, value):
        if name not in _ANYWHERE | _ATTRIBUTES.get(tag, frozenset()):
            self.out.lost.append(f"{tag}[{name}]")
            return False
        if name == "src" and not re.match(r"data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]+$", value):
            self.out.lost.append(f"{tag}[src={value}]")
            return False
        if name == "style":
            for declaration in value.split(";"):
                key, _, given = (x.strip() for x in declaration.partition(":"))
                if key not in _VALUES or not re.fullmatch(_VALUES[key], given):
                    self.out.lost.append(f"{tag} style {declaration.strip()!r}")
        return True
