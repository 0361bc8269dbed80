"""A docstring in the numpydoc form as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

#: Returns the anchor of a name that has an entry, else "".
Resolve = Callable[[str], str]

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
_LISTED = re.compile(r"^(\s*)(- |\d+\. )")


def to_markdown(text: str, resolve: Resolve) -> str:
    """Return a cleaned docstring (`inspect.getdoc`) as MyST Markdown.

    Parameters
    ----------
    text : str
        What it says, its sections underlined.
    resolve : callable
        Name in single backticks -> the full name of its entry; "" for none, which stays code.
    """
    head, *sections = _SECTION.split(text)
    parts = [_prose(head, resolve)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        listed = title not in ("Notes", "Examples", "See Also")
        parts.append(f"**{title}**\n\n{_definitions(body, resolve) if listed else _prose(body, resolve)}")
    return "\n\n".join(part for part in parts if part)


def _definitions(body: str, resolve: Resolve) -> str:
    """Names with what they mean: a line at the margin, then indented text."""
    lines = textwrap.dedent(body).strip("\n").splitlines()
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.strip() and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return "\n\n".join(f"{_term(name)}\n: {_meaning(text, resolve)}" for name, text in found)


def _term(line: str) -> str:
    name, colon, kind = line.partition(" : ")
    return f"`{name.strip()}` – {_escaped(kind)}" if colon else f"`{name.strip()}`"


def _meaning(lines: list[str], resolve: Resolve) -> str:
    text = _prose(textwrap.dedent("\n".join(lines)).strip("\n"), resolve)
    return textwrap.indent(text, "  ").strip() or "\u00a0"


def _prose(text: str, resolve: Resolve) -> str:
    """Paragraphs, lists, examples and literal blocks."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    made: list[str] = []
    literal = False
    for block in blocks:
        indented = block.startswith("    ")
        if block.lstrip().startswith(">>>"):
            made.append(f"```pycon\n{textwrap.dedent(block)}\n```")
        elif (literal and indented) or (indented and not _LISTED.match(block)):
            _add_literal(made, textwrap.dedent(block))
        elif block.strip() == "::":
            literal = True
            continue
        else:
            made.append(_words(re.sub(r"::$", ":", block), resolve))
        literal = block.rstrip().endswith("::") or (literal and indented)
    return "\n\n".join(part for part in made if part)


def _add_literal(made: list[str], text: str) -> None:
    """Blocks of code with an empty line between them are one."""
    if made and made[-1].startswith("```text\n"):
        made[-1] = f"{made[-1][:-4]}\n\n{text}\n```"
    else:
        made.append(f"```text\n{text}\n```")


def _words(text: str, resolve: Resolve) -> str:
    made = []
    for at, piece in enumerate(_CODE.split(text)):
        if at % 2 == 0:
            made.append(_escaped(piece))
        elif piece.startswith("``") or not (name := resolve(piece[1:-1])):
            made.append(piece)
        else:
            made.append(f"{{py:obj}}`{piece[1:-1]} <{name}>`")
    return "".join(made)


def line(text: str) -> str:
    """Return a line of words, code in it as code, in which nothing else is taken for markup."""
    return _words(text, lambda name: "")


def _escaped(text: str) -> str:
    return re.sub(r"([\\*<>\[\]|$]|(?<!\w)_|_(?!\w))", r"\\\1", text)
