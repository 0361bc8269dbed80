"""Tokens of a printed nest, and errors that point at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from workbench.errors import ParseError
from workbench.ir.size_limits import MOST_DIGITS
from workbench.ir.text.printer import NAME

T = TypeVar("T")

_TOKEN = re.compile(
    rf"""(?P<space>[ ]+|\#[^\n]*)
    |(?P<newline>\r?\n)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:[a-z]+\d+)?)
    |(?P<name>{NAME})
    |(?P<quoted>`(?:[^`\\\n]|\\.)*`)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<sign>//|\*\*|<=|>=|==|!=|[-+*/%<>=&?@(){{}}\[\],:])""",
    re.VERBOSE,
)
#: ``\\``, ``\"``, ``\n``, and the number of a character, as `safe_text.escaped` writes them.
_ESCAPE = re.compile(r"\\(u([0-9a-f]{4})|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `kind` is name, quoted, number, string, sign, newline, indent, dedent or end."""

    kind: str
    text: str
    line: int
    column: int


def error_at(text: str, line: int, column: int, message: str, hint: str = "", code: str = "syntax") -> ParseError:
    """Error that shows the line with a caret below `column` (both count from 1)."""
    lines = text.splitlines()
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    caret = f"line {line}, column {column}: {message}\n  {shown}\n  {' ' * (column - 1)}^"
    return ParseError(f"parse.{code}", caret, (f"line {line}",), hint)


def tokenize(text: str) -> list[Token]:
    """Split into tokens with newlines and indentation; inside brackets lines do not matter."""
    out: list[Token] = []
    levels, depth, pos, line, start, fresh = [0], 0, 0, 1, 0, True
    while pos < len(text):
        m = _TOKEN.match(text, pos)
        column = pos - start + 1
        if m is None:
            raise error_at(
                text,
                line,
                column,
                f"{text[pos]!r} cannot stand here.",
                "indent with spaces" if text[pos] == "\t" else "",
            )
        kind, value, pos = str(m.lastgroup), m.group(), m.end()
        if kind == "newline":
            if depth == 0 and not fresh:
                out.append(Token("newline", "", line, column))
                fresh = True
            line, start = line + 1, pos
        elif kind != "space":
            if fresh and depth == 0:
                _indentation(text, out, levels, line, column)
            fresh = False
            depth += (value in "([{") - (value in ")]}") if kind == "sign" else 0
            out.append(Token(kind, value, line, column))
    if not fresh:
        out.append(Token("newline", "", line, pos - start + 1))
    out += [Token("dedent", "", line, 1) for _ in levels[1:]]
    return [*out, Token("end", "", line, pos - start + 1)]


def _indentation(text: str, out: list[Token], levels: list[int], line: int, column: int) -> None:
    width = column - 1
    if width > levels[-1]:
        levels.append(width)
        out.append(Token("indent", "", line, column))
    while width < levels[-1]:
        levels.pop()
        out.append(Token("dedent", "", line, column))
    if width != levels[-1]:
        raise error_at(text, line, column, "This line is indented like none of the lines above.", code="indent")


@dataclass(slots=True)
class Reader:
    """A position in the tokens, and the small steps that every rule of the grammar is made of."""

    text: str
    tokens: list[Token]
    at: int = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def fail(self, message: str, hint: str = "", code: str = "syntax", token: Token | None = None) -> NoReturn:
        t = token or self.token
        raise error_at(self.text, t.line, t.column, message, hint, code)

    def next(self) -> Token:
        t = self.token
        self.at += 1
        return t

    def sees(self, *texts: str) -> bool:
        return self.token.kind in ("sign", "name") and self.token.text in texts

    def accept(self, *texts: str) -> str | None:
        return self.next().text if self.sees(*texts) else None

    def expect(self, text: str, why: str = "") -> None:
        if self.accept(text) is None:
            self.fail(f"Expected {text!r}{why}, found {describe(self.token)}.")

    def expect_kind(self, kind: str, what: str) -> Token:
        if self.token.kind != kind:
            self.fail(
                f"Expected {what}, found {describe(self.token)}.", code="indent" if kind == "indent" else "syntax"
            )
        return self.next()

    def name(self, what: str) -> str:
        if self.token.kind == "quoted":
            return unescape(self.next().text)
        return self.expect_kind("name", what).text

    def integer(self, what: str = "a whole number") -> int:
        sign = -1 if self.accept("-") else 1
        t = self.expect_kind("number", what)
        if not t.text.isdecimal():
            self.fail(f"Expected {what}, found {t.text!r}.", token=t)
        if len(t.text) > MOST_DIGITS:
            self.fail(f"A number has at most {MOST_DIGITS} digits.", token=t)
        return sign * int(t.text)

    def listed(self, brackets: str, item: Callable[[], T]) -> list[T]:
        """Items separated by commas in a pair of brackets; a comma may stand before the second."""
        begin, end = brackets[0], brackets[1]
        self.expect(begin)
        out: list[T] = []
        while not self.accept(end):
            out.append(item())
            if not self.sees(end):
                self.expect(",", f" or {end!r}")
        return out


def describe(t: Token) -> str:
    """Token in the words of an error message."""
    return {
        "end": "the end of the text",
        "newline": "the end of the line",
        "indent": "an indented line",
        "dedent": "the end of the indentation",
    }.get(t.kind, repr(t.text))


def unescape(quoted: str) -> str:
    """Text of a quoted name or string."""
    return _ESCAPE.sub(lambda m: chr(int(m[2], 16)) if m[2] else "\n" if m[1] == "n" else m[1], quoted[1:-1])
