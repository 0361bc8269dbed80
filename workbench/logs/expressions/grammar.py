"""From the text of an expression to a syntax tree that holds nothing but what is allowed."""

from __future__ import annotations

import ast
import re

from workbench.errors import UsageError
from workbench.logs.expressions.computing import NODES, function_of

LONGEST_TEXT = 10_000
MOST_NODES = 2_000
DEEPEST = 100
"""Bounds: characters, nodes and depth of an expression. Chosen: far above what restrictions of real spaces need."""


def parsed(text: str) -> ast.expr:
    """Return the tree of a text; names in backticks are names in it.

    Raises
    ------
    UsageError
        ``usage.expression`` where the text is no expression, or holds what is not allowed; the place is the column.
    """
    return _Parser(text).tree()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self._quoted: dict[str, str] = {}

    def tree(self) -> ast.expr:
        if len(self.text) > LONGEST_TEXT:
            raise self._refused(f"An expression has at most {LONGEST_TEXT} characters", 0)
        try:
            tree = ast.parse(self._without_backticks().lstrip(), mode="eval").body
        except SyntaxError as error:
            at = self._place(error.lineno or 1, (error.offset or 1) - 1)
            raise self._refused("This is no expression", at, _habit(self.text)) from error
        except (ValueError, RecursionError, MemoryError) as error:  # a NUL, or too deep for the parser
            raise self._refused("This is no expression", 0) from error
        if isinstance(tree, ast.Lambda):
            tree = tree.body
        if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
            raise self._refused(f"An expression has at most {MOST_NODES} parts", 0)
        self._check(tree, 0)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self._quoted.get(node.id, node.id)
        return tree

    def _without_backticks(self) -> str:
        """Put a Python name of the same length where a name stands in backticks, so that columns stay what they are."""

        def stand_in(found: re.Match[str]) -> str:
            name = f"_{len(self._quoted)}".ljust(len(found[0]), "_")
            if name in self.text:
                raise self._refused(f"{name!r} stands for a name in backticks, and is one", found.start())
            self._quoted[name] = found[1]
            return name

        return re.sub(r"`([^`\n]+)`", stand_in, self.text)

    def _check(self, node: ast.AST, depth: int) -> None:
        """Refuse what is not allowed, with its place."""
        refused = _refusal(node, depth)
        if refused:
            before = getattr(node, "col_offset", 0)  # in bytes of UTF-8
            line = self.text.lstrip().split("\n")[getattr(node, "lineno", 1) - 1]
            column = len(line.encode("utf-8", "replace")[:before].decode("utf-8", "replace"))
            raise self._refused(refused, self._place(getattr(node, "lineno", 1), column), _ALLOWED)
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.Call) and child is node.func):
                self._check(child, depth + 1)

    def _place(self, line: int, column: int) -> int:
        """Return the place in the text of a column (from 0) of a line (from 1) of the text without leading blanks."""
        begun = self.text.lstrip()
        before = sum(len(part) + 1 for part in begun.split("\n")[: line - 1])
        return min(len(self.text) - len(begun) + before + column, len(self.text))

    def _refused(self, message: str, at: int, hint: str = "") -> UsageError:
        shown = f"{message}: {_around(self.text, at)}"
        return UsageError("usage.expression", shown, (f"column {at + 1}",), hint)


_ALLOWED = "allowed: comparisons, and, or, not, in, arithmetic, names, numbers, texts, lists and a few functions"


def _around(text: str, at: int) -> str:
    """Return the text about a place."""
    begin = max(0, at - 30)
    return ("…" if begin else "") + repr(text[begin : at + 30]) + ("…" if at + 30 < len(text) else "")


def _habit(text: str) -> str:
    """Return what to write in the place of what other languages have."""
    for pattern, hint in (
        (r"&&", "write 'and' for '&&'"),
        (r"\|\|", "write 'or' for '||'"),
        (r"[!~](?!=)", "write 'not' for '!' and '~'"),
        (r"(?<![=<>!])=(?!=)", "write '==' to compare"),
    ):
        if re.search(pattern, text):
            return hint
    return 'for example: status == "ok" and block_size_x >= 32'


def _refusal(node: ast.AST, depth: int) -> str:
    """Return why a node is not allowed; "" where it is."""
    if depth > DEEPEST:
        return f"An expression is at most {DEEPEST} deep"
    if isinstance(node, ast.Call):
        if function_of(node) is None:
            return "This function is not allowed"
        return "Functions take no named arguments" if node.keywords else ""
    if isinstance(node, ast.Constant):
        return "" if isinstance(node.value, bool | int | float | str | None) else "This constant is not allowed"
    if isinstance(node, ast.comprehension):
        return "This comprehension is not allowed" if node.is_async or not isinstance(node.target, ast.Name) else ""
    if isinstance(node, ast.Invert):
        return "'~' is not allowed, write 'not'"
    return "" if isinstance(node, NODES) else f"{type(node).__name__} is not allowed"
